//! Expressions of admission policies: each is compiled with the variables that are declared before it.

use super::match_condition::Context;
use crate::validation::expression::Releases;
use crate::validation::kinds::Given;
use api::tree::{child, children, text};
use apimachinery::field::{Error, Path};
use cel::admission::{Options, Returns, Variables, compile_for, environment};
use cel::checked::Checked;
use schema::object::Object;
use std::collections::HashSet;

/// What a policy's expressions are compiled with.
pub(super) struct Expressions<'o> {
    releases: Releases,
    /// The spec of the policy that is replaced.
    old: Option<&'o Object>,
    stored: Stored<'o>,
    /// Whether expressions may speak of `params`.
    params: bool,
    /// The variables that are declared so far; none if the policy has no use for them.
    variables: Option<Variables>,
}

/// The expressions of the policy that is replaced, by their places.
#[derive(Default)]
struct Stored<'o> {
    validations: HashSet<&'o str>,
    messages: HashSet<&'o str>,
    annotations: HashSet<&'o str>,
    configurations: HashSet<&'o str>,
}

impl<'o> Stored<'o> {
    fn of(spec: &'o Object) -> Self {
        let texts = |list, member| children(spec, list).map(|entry| text(entry, member)).collect();
        let applied =
            children(spec, "mutations").filter_map(|mutation| child(mutation, "applyConfiguration"));
        Stored {
            validations: texts("validations", "expression"),
            messages: texts("validations", "messageExpression"),
            annotations: texts("auditAnnotations", "valueExpression"),
            configurations: applied.map(|applied| text(applied, "expression")).collect(),
        }
    }
}

impl<'o> Expressions<'o> {
    pub(super) fn new(spec: &Object, old: Option<&'o Object>, composes: bool, given: &Given) -> Self {
        let old = old.and_then(|old| child(old, "spec"));
        Self {
            releases: Releases::of(given),
            old,
            stored: old.map(Stored::of).unwrap_or_default(),
            params: child(spec, "paramKind").is_some(),
            variables: composes.then(Variables::new),
        }
    }

    /// What conditions are compiled with, which see no variables.
    pub(super) fn conditions(&self) -> Context<'o> {
        let stored = self.old.into_iter().flat_map(super::match_condition::expressions).collect();
        Context { releases: self.releases, params: self.params, stored }
    }

    /// Compiles a variable and declares it. Upstream takes it for a stored one if a stored validation has the same
    /// text.
    pub(super) fn declare(&mut self, path: &Path<'_>, name: &str, expression: &str) -> Option<Error> {
        let is_stored = self.stored.validations.contains(expression);
        let compiled = self.compile(expression, is_stored, self.options(), Returns::Anything);
        if let Some(variables) = &mut self.variables {
            variables.declare(name, compiled.as_ref().ok());
        }
        compiled.err().map(|detail| Error::invalid(path, expression, detail))
    }

    /// What is wrong with a validation.
    pub(super) fn validation(&self, path: &Path<'_>, expression: &str) -> Option<Error> {
        let is_stored = self.stored.validations.contains(expression);
        let compiled = self.compile(expression, is_stored, self.options(), Returns::Bool);
        compiled.err().map(|detail| Error::invalid(path, expression, detail))
    }

    /// What is wrong with the expression of a message, which does not see the authorizer.
    pub(super) fn message(&self, path: &Path<'_>, expression: &str) -> Option<Error> {
        let is_stored = self.stored.messages.contains(expression);
        let options = Options { authorizer: false, ..self.options() };
        let compiled = self.compile(expression, is_stored, options, Returns::String);
        compiled.err().map(|detail| Error::invalid(path, expression, detail))
    }

    /// What is wrong with the value of an audit annotation.
    pub(super) fn audit(&self, path: &Path<'_>, expression: &str) -> Option<Error> {
        let is_stored = self.stored.annotations.contains(expression);
        let compiled = self.compile(expression.trim(), is_stored, self.options(), Returns::StringOrNull);
        compiled.err().map(|detail| Error::invalid(path, expression, detail))
    }

    /// What is wrong with a mutation. Upstream takes it for a stored one only if a stored configuration to apply
    /// has the same text.
    pub(super) fn mutation(&self, path: &Path<'_>, expression: &str, returns: Returns) -> Option<Error> {
        let is_stored = self.stored.configurations.contains(expression);
        let expression = expression.trim();
        let options = Options { patches: true, ..self.options() };
        let compiled = self.compile(expression, is_stored, options, returns);
        compiled.err().map(|detail| Error::invalid(path, expression, detail))
    }

    fn options(&self) -> Options {
        Options { params: self.params, authorizer: true, patches: false }
    }

    fn compile(
        &self,
        expression: &str,
        is_stored: bool,
        options: Options,
        returns: Returns,
    ) -> Result<Checked, String> {
        let env = environment(self.releases.minor(is_stored), options, self.variables.as_ref());
        compile_for(&env, expression, returns)
    }
}
