//! What a policy is told of a request, and how its conditions see it.

use cel::arena::Arena;
use jsontree::Value as Json;
use schema::builtin::IO_K8S_API_CORE_V1_NAMESPACE as NAMESPACE;
use schema::object::Object;

use super::model::Policy;
use super::params::Param;
use crate::dynamic::{DynamicAdmissionDeps, Versioned, Whose, admission_request};
use crate::expressions::{Authorizations, Inputs, LazyVariables, MatchResult, Matched};

/// A request as a policy of one version sees it, with one of its params.
#[derive(Clone, Copy)]
pub(super) struct PolicyRequest<'r> {
    pub(super) seen: &'r Versioned<'r>,
    pub(super) requests: &'r Requests,
    pub(super) param: Option<&'r Param>,
    /// The namespace of the object.
    pub(super) namespace: Option<&'r Object>,
    pub(super) authorizations: &'r Authorizations<'r>,
    pub(super) around: &'r DynamicAdmissionDeps,
}

/// The `AdmissionRequest`, as the rules of a policy and as its conditions see it: those are told the resource that the
/// request went to, whatever version is asked for.
pub(super) struct Requests {
    rules: Json,
    /// None: the same.
    conditions: Option<Json>,
}

impl Requests {
    /// What is told of an operation.
    pub(super) fn new(seen: &Versioned<'_>) -> Self {
        let request = admission_request(seen);
        let is_other = request.get("resource") != request.get("requestResource");
        let conditions = is_other.then(|| {
            let mut request = request.clone();
            let own = request.get("requestResource").cloned().unwrap_or_default();
            request.insert("resource", own);
            Json::Object(request)
        });
        Requests { rules: Json::Object(request), conditions }
    }
}

impl PolicyRequest<'_> {
    /// What rules may refer to, variables aside.
    pub(super) fn inputs<'a>(&'a self, arena: &'a Arena) -> Inputs<'a> {
        let message = self.seen.endpoint.message;
        let own = |object: &'a Object| Inputs::object(message, object, arena);
        let mut inputs = Inputs {
            object: self.seen.object.as_deref().map(own),
            old: self.seen.old.as_deref().map(own),
            namespace: self.namespace.map(|object| Inputs::object(&NAMESPACE, object, arena)),
            params: self.param.map(|param| Inputs::object(param.message, &param.object, arena)),
            aside: Some(self.around.aside.as_ref()),
            ..Inputs::default()
        };
        inputs.request(&self.requests.rules);
        inputs.authorizer(self.seen.attributes, self.authorizations, arena);
        inputs
    }

    /// Whether the conditions of a policy hold. What is wrong with them counts for nothing where failures do not.
    ///
    /// # Errors
    /// Why that is not known.
    pub(super) fn meets<E>(&self, policy: &Policy<E>) -> Result<bool, String> {
        if policy.conditions.is_empty() {
            return Ok(true);
        }
        let arena = Arena::new();
        let mut inputs = Inputs { namespace: None, ..self.inputs(&arena) };
        if let Some(request) = &self.requests.conditions {
            inputs.request(request);
        }
        let inputs = LazyVariables::begin(&policy.variables, &inputs, &arena);
        let began = (self.around.now)();
        let MatchResult { matched, errors } = policy.conditions.judge(&inputs, &arena);
        if !self.authorizations.is_open() {
            let operation = self.seen.attributes.operation;
            let whose = Whose { kind: "policy", name: &policy.name, step: "validate", operation };
            let took = (self.around.now)().saturating_duration_since(began);
            self.around.conditions.evaluated(&whose, errors, took);
        }
        match matched {
            Matched::Yes => Ok(true),
            Matched::No(_) => Ok(false),
            Matched::Error(_) if policy.ignores_failures => Ok(false),
            Matched::Error(why) => Err(why),
        }
    }
}
