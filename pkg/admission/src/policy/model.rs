//! Compiled policies and bindings.

use std::fmt;

use api::tree::{child, maybe_text, text, texts};
use apimachinery::labels::{LabelSelectorError, Selector, from_label_selector};
use cel::admission::Options;
use schema::object::Object;

use crate::dynamic::Criteria;
use crate::expressions::{Conditions, Variables, stored};

/// The kind of a policy's params.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ParamKind {
    /// `v1` or `group/version`.
    pub api_version: Box<str>,
    pub kind: Box<str>,
}

impl ParamKind {
    /// Formats the kind like Go's `GroupVersionKind`.
    pub(super) fn as_group_version_kind(&self) -> String {
        let (group, version) = apimachinery::gvk::split_api_version(&self.api_version);
        format!("{group}/{version}, Kind={}", self.kind)
    }
}

impl fmt::Display for ParamKind {
    /// Formats the kind like Go's API type.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "&ParamKind{{APIVersion:{},Kind:{},}}", self.api_version, self.kind)
    }
}

/// A compiled policy. `E` contains its rules: validations or mutations.
pub struct Policy<E> {
    pub(super) name: Box<str>,
    pub(super) criteria: Criteria,
    pub(super) param_kind: Option<ParamKind>,
    /// `failurePolicy: Ignore`.
    pub(super) ignores_failures: bool,
    pub(super) conditions: Conditions,
    pub(super) variables: Variables,
    pub(super) rules: E,
}

/// Compiled rules of one kind of policy.
pub trait Rules: Sized + Send + Sync + 'static {
    /// Reads the spec of a policy. Expressions may use the variables that `options` selects, and the policy's
    /// own variables.
    fn read(spec: &Object, options: Options, variables: &cel::admission::Variables) -> Self;
}

impl<E: Rules> Policy<E> {
    /// Reads a stored policy. Compile errors are returned at evaluation.
    pub fn read(policy: &Object) -> Self {
        let empty = Object::new();
        let spec = child(policy, "spec").unwrap_or(&empty);
        let param_kind = child(spec, "paramKind").map(|kind| ParamKind {
            api_version: text(kind, "apiVersion").into(),
            kind: text(kind, "kind").into(),
        });
        let options = Options { params: param_kind.is_some(), authorizer: true, patches: false };
        let (variables, declared) = Variables::read(spec, options);
        let has_conditions = !api::tree::list(spec, "matchConditions").is_empty();
        let conditions = has_conditions.then(|| Conditions::compile(spec, &stored(options, &declared)));
        Policy {
            name: crate::meta::text(policy, "name").into(),
            criteria: Criteria::read(child(spec, "matchConstraints").unwrap_or(&empty)),
            ignores_failures: text(spec, "failurePolicy") == "Ignore",
            conditions: conditions.unwrap_or_default(),
            rules: E::read(spec, options, &declared),
            param_kind,
            variables,
        }
    }
}

impl<E> Policy<E> {
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn has_no_conditions(&self) -> bool {
        self.conditions.is_empty()
    }
}

/// Enforcement action of a binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Deny,
    Warn,
    Audit,
}

/// Reference of a binding to params.
#[derive(Debug, Clone)]
pub(super) struct ParamRef {
    pub(super) name: Box<str>,
    /// Empty for the namespace of the request.
    pub(super) namespace: Box<str>,
    pub(super) selector: Option<Result<Selector, LabelSelectorError>>,
    /// `parameterNotFoundAction: Deny`.
    pub(super) denies_absence: bool,
}

/// A binding: applies a policy to some requests, with some params.
pub struct Binding {
    pub(super) name: Box<str>,
    pub(super) policy: Box<str>,
    pub(super) param_ref: Option<ParamRef>,
    /// `None` for all requests that the policy matches.
    pub(super) criteria: Option<Criteria>,
    /// In the order of the binding.
    pub(super) actions: Vec<Action>,
}

impl Binding {
    /// Reads a stored binding of either kind.
    pub fn read(binding: &Object) -> Self {
        let empty = Object::new();
        let spec = child(binding, "spec").unwrap_or(&empty);
        let actions = texts(spec, "validationActions").filter_map(|action| match action {
            "Deny" => Some(Action::Deny),
            "Warn" => Some(Action::Warn),
            "Audit" => Some(Action::Audit),
            _ => None,
        });
        Binding {
            name: crate::meta::text(binding, "name").into(),
            policy: text(spec, "policyName").into(),
            param_ref: child(spec, "paramRef").map(param_ref),
            criteria: child(spec, "matchResources").map(Criteria::read),
            actions: actions.collect(),
        }
    }

    /// Returns the name of the policy.
    pub fn policy(&self) -> &str {
        &self.policy
    }
}

fn param_ref(reference: &Object) -> ParamRef {
    let selector = child(reference, "selector").map(|selector| from_label_selector(Some(selector)));
    ParamRef {
        name: text(reference, "name").into(),
        namespace: text(reference, "namespace").into(),
        selector,
        denies_absence: maybe_text(reference, "parameterNotFoundAction") == Some("Deny"),
    }
}

impl Action {
    pub(super) fn name(self) -> &'static str {
        match self {
            Action::Deny => "Deny",
            Action::Warn => "Warn",
            Action::Audit => "Audit",
        }
    }
}
