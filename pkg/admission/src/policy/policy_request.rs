//! Inputs of a policy's expressions for one request.

use cel::arena::Arena;
use component_base::weakened::WeakenedKind;
use jsontree::Value as Json;
use schema::builtin::IO_K8S_API_CORE_V1_NAMESPACE as NAMESPACE;
use schema::object::Object;

use super::model::Policy;
use super::params::Param;
use crate::dynamic::{ConditionOwner, DynamicAdmissionDeps, VersionedAttributes, admission_request};
use crate::expressions::{Authorizations, EvaluationError, Inputs, LazyVariables, MatchOutcome, MatchResult};

/// A request in the version of a policy, with one param.
#[derive(Clone, Copy)]
pub(super) struct PolicyRequest<'r> {
    pub(super) versioned: &'r VersionedAttributes<'r>,
    pub(super) requests: &'r Requests,
    pub(super) param: Option<&'r Param>,
    pub(super) namespace: Option<&'r Object>,
    pub(super) authorizations: &'r Authorizations<'r>,
    pub(super) deps: &'r DynamicAdmissionDeps,
}

/// The `AdmissionRequest` for the rules and for the conditions of a policy. Conditions see the resource of
/// the original request, regardless of the converted version.
pub(super) struct Requests {
    rules: Json,
    /// `None` if it equals `rules`.
    conditions: Option<Json>,
}

impl Requests {
    pub(super) fn new(versioned: &VersionedAttributes<'_>) -> Self {
        let request = admission_request(versioned);
        let is_other = request.get("resource") != request.get("requestResource");
        let conditions = is_other.then(|| {
            let mut request = request.clone();
            let resource = request.get("requestResource").cloned().unwrap_or_default();
            request.insert("resource", resource);
            Json::Object(request)
        });
        Requests { rules: Json::Object(request), conditions }
    }
}

impl PolicyRequest<'_> {
    /// Returns the variables of rules, except the policy's own `variables`.
    pub(super) fn inputs<'a>(&'a self, arena: &'a Arena) -> Inputs<'a> {
        let message = self.versioned.endpoint.message;
        let input = |object: &'a Object| Inputs::object(message, object, arena);
        let mut inputs = Inputs {
            object: self.versioned.object.as_deref().map(input),
            old: self.versioned.old.as_deref().map(input),
            namespace: self.namespace.map(|object| Inputs::object(&NAMESPACE, object, arena)),
            params: self.param.map(|param| Inputs::object(param.message, &param.object, arena)),
            run_blocking: Some(self.deps.run_blocking.as_ref()),
            ..Inputs::default()
        };
        inputs.request(&self.requests.rules);
        inputs.authorizer(self.versioned.attributes, self.authorizations, arena);
        inputs
    }

    /// True if the match conditions of a policy hold. With `failurePolicy: Ignore`, an evaluation error
    /// counts as false.
    ///
    /// # Errors
    /// The evaluation error.
    pub(super) fn matches_conditions<E>(&self, policy: &Policy<E>) -> Result<bool, EvaluationError> {
        if policy.conditions.is_empty() {
            return Ok(true);
        }
        let arena = Arena::new();
        let mut inputs = Inputs { namespace: None, ..self.inputs(&arena) };
        if let Some(request) = &self.requests.conditions {
            inputs.request(request);
        }
        let inputs = LazyVariables::begin(&policy.variables, &inputs, &arena);
        let start = (self.deps.now)();
        let MatchResult { matched, errors } = policy.conditions.evaluate(&inputs, &arena);
        if !self.authorizations.is_pending() {
            let operation = self.versioned.attributes.operation;
            let owner = ConditionOwner { kind: "policy", name: &policy.name, step: "validate", operation };
            let duration = (self.deps.now)().saturating_duration_since(start);
            self.deps.conditions.evaluated(&owner, errors, duration);
        }
        match matched {
            MatchOutcome::Match => Ok(true),
            MatchOutcome::Mismatch(_) => Ok(false),
            MatchOutcome::Error(error) if policy.ignores_failures => {
                if !self.authorizations.is_pending() {
                    let weakened = &self.deps.weakened;
                    weakened.record(WeakenedKind::MatchConditionFailOpen, &policy.name, &error);
                }
                Ok(false)
            }
            MatchOutcome::Error(error) => Err(EvaluationError::Expression(error)),
        }
    }
}
