//! `ValidatingAdmissionPolicy`: rejects requests, or adds warnings or audit annotations, as policies specify
//! (upstream's `validating/dispatcher.go`).

use std::fmt::Display;
use std::sync::Arc;

use apimachinery::status::{Cause, Reason, Status};
use async_trait::async_trait;
use component_base::weakened::WeakenedKind;
use schema::json_write::write_string;
use schema::object::Object;

use super::catalog::{Candidate, Policies};
use super::error::PolicyError;
use super::matching::RequestMatcher;
use super::metrics::{EnforcementAction, error_type};
use super::model::{Action, Binding, Policy};
use super::policy_request::{PolicyRequest, Requests};
use super::validations::{AnnotationResult, Decision, ValidationResult, Validations};
use super::{PolicyDeps, applicable_policies};
use crate::dynamic::{Invocation, VersionedAttributes};
use crate::expressions::Authorizations;
use crate::{AdmissionNotes, Attributes, Level, Plugin, Verdict};

const FAILURE: &str = "validation.policy.admission.k8s.io/validation_failure";
/// Maximum number of failed validations in the audit annotation; further ones are left out.
const FAILURES_MAX: usize = 50;
/// Maximum size in bytes of a policy's audit annotation.
const ANNOTATION_BYTES_MAX: usize = 10 * 1024;

pub struct ValidatingAdmissionPolicy(PolicyDeps);

impl ValidatingAdmissionPolicy {
    pub fn new(deps: PolicyDeps) -> Self {
        ValidatingAdmissionPolicy(deps)
    }

    /// Returns the policies that may match a request; `None` until they are loaded.
    fn policies(&self, a: &Attributes<'_>) -> Option<Arc<Policies<Validations>>> {
        let configured = &self.0.source;
        applicable_policies(a, || configured.validating(), || configured.validating_manifests())
    }
}

#[async_trait]
impl Plugin for ValidatingAdmissionPolicy {
    fn name(&self) -> &'static str {
        "ValidatingAdmissionPolicy"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        !self.policies(a).is_some_and(|policies| policies.is_empty())
    }

    async fn validate(
        &self,
        attributes: &Attributes<'_>,
        object: Option<&Object>,
        notes: &mut AdmissionNotes,
    ) -> Verdict {
        let Some(policies) = self.policies(attributes) else {
            return Err(attributes.forbidden("not yet ready to handle request"));
        };
        let candidates = policies.candidates(attributes, self.0.deps.versions.as_ref());
        if candidates.is_empty() {
            return Ok(());
        }
        let mut dispatch = Dispatch {
            policy_deps: &self.0,
            attributes,
            object,
            matching: RequestMatcher::new(&self.0, attributes),
            authorizations: Authorizations::new(self.0.deps.authorizer.as_ref(), attributes.user),
            request_view: None,
            rejection: None,
            failures: Vec::new(),
        };
        for candidate in candidates.iter() {
            dispatch.policy(candidate, notes).await?;
        }
        if !dispatch.failures.is_empty() {
            notes.annotate(FAILURE, format!("[{}]", dispatch.failures.join(",")), Level::Metadata);
        }
        dispatch.rejection.map_or(Ok(()), |denied| Err(denied.status(attributes)))
    }
}

/// A policy with one of its bindings.
#[derive(Clone, Copy)]
struct BoundPolicy<'p> {
    policy: &'p Policy<Validations>,
    binding: &'p Binding,
}

/// Request as policies of one version see it.
struct PolicyView<'r> {
    versioned: VersionedAttributes<'r>,
    requests: Requests,
}

/// State for one request.
struct Dispatch<'r> {
    policy_deps: &'r PolicyDeps,
    attributes: &'r Attributes<'r>,
    object: Option<&'r Object>,
    matching: RequestMatcher<'r>,
    authorizations: Authorizations<'r>,
    /// In the version of the request.
    request_view: Option<Arc<PolicyView<'r>>>,
    /// The first rejection.
    rejection: Option<Rejection>,
    /// Failed validations for the audit event, as JSON; at most [`FAILURES_MAX`].
    failures: Vec<String>,
}

struct Rejection {
    message: String,
    reason: Reason,
}

impl Rejection {
    fn new<E>(policy: &Policy<E>, binding: Option<&Binding>, message: &str, reason: &str) -> Self {
        let with = binding.map(|binding| format!(" with binding '{}'", binding.name)).unwrap_or_default();
        Rejection {
            message: format!("ValidatingAdmissionPolicy '{}'{with} denied request: {message}", policy.name),
            reason: if reason.is_empty() { Reason::Invalid } else { reason.into() },
        }
    }

    fn status(self, a: &Attributes<'_>) -> Box<Status> {
        let mut status = a.forbidden(&self.message);
        status.code = match self.reason {
            Reason::Forbidden => 403,
            Reason::Unauthorized => 401,
            Reason::RequestEntityTooLarge => 413,
            _ => 422,
        };
        status.reason = self.reason;
        let cause = Cause { message: self.message, ..Cause::default() };
        status.details.get_or_insert_default().causes.push(cause);
        status
    }
}

/// Audit annotations of a policy by key. Bindings with different params can produce different values.
type AnnotationValues = Vec<(Box<str>, Vec<String>)>;

impl<'r> Dispatch<'r> {
    /// Records a configuration error of a policy or binding.
    fn misconfigured(
        &mut self,
        policy: &Policy<Validations>,
        binding: Option<&Binding>,
        reason: impl Display,
    ) {
        let noun = if binding.is_some() { "binding" } else { "policy" };
        let message = format!("failed to configure {noun}: {reason}");
        if policy.ignores_failures {
            self.failed_open(policy, &message);
        } else {
            self.deny(Rejection::new(policy, binding, &message, ""));
        }
    }

    /// Records that a policy did not decide because of an error.
    fn failed_open(&self, policy: &Policy<Validations>, reason: &str) {
        self.policy_deps.deps.weakened.record(WeakenedKind::PolicyFailOpen, &policy.name, &reason);
    }

    fn deny(&mut self, denied: Rejection) {
        self.rejection.get_or_insert(denied);
    }

    /// Applies a policy.
    ///
    /// # Errors
    /// The Status for the client, for errors that the policy does not cause.
    async fn policy(&mut self, candidate: &Candidate<Validations>, notes: &mut AdmissionNotes) -> Verdict {
        let policy = &*candidate.policy;
        let invocation = match self.matching.policy(candidate, self.object).await {
            Ok(Some(invocation)) => invocation,
            Ok(None) => return Ok(()),
            Err(error) => {
                self.misconfigured(policy, None, error);
                return Ok(());
            }
        };
        let mut collected = AnnotationValues::new();
        let mut converted = None;
        for place in self.matching.matching_bindings(candidate, self.object).await {
            let Some(binding) = candidate.binding(place) else { continue };
            match self.matching.binding(binding, self.object).await {
                Ok(true) => {
                    let bound = BoundPolicy { policy, binding };
                    self.binding(bound, &invocation, &mut converted, &mut collected, notes).await?;
                }
                Ok(false) => {}
                Err(error) => self.misconfigured(policy, Some(binding), error),
            }
        }
        for (key, values) in collected {
            notes.annotate(format!("{}/{key}", policy.name), values.join(", "), Level::Metadata);
        }
        Ok(())
    }

    /// Applies a policy for a binding. `converted` is the request in the policy's version, built once for all
    /// bindings.
    async fn binding<'i>(
        &mut self,
        bound: BoundPolicy<'_>,
        invocation: &'i Invocation,
        converted: &mut Option<Arc<PolicyView<'i>>>,
        collected: &mut AnnotationValues,
        notes: &mut AdmissionNotes,
    ) -> Verdict
    where
        'r: 'i,
    {
        let BoundPolicy { policy, binding } = bound;
        let params = match self.matching.params(policy, binding).await {
            Ok(params) => params,
            Err(error) => {
                self.misconfigured(policy, Some(binding), error);
                return Ok(());
            }
        };
        if params.is_empty() {
            return self.matching.namespace().await.map(drop);
        }
        let view = match self.view(invocation, converted).await {
            Ok(view) => view,
            Err(error) => {
                let message = format!("failed to convert object version: {error}");
                self.misconfigured(policy, Some(binding), message);
                return Ok(());
            }
        };
        let namespace = self.matching.namespace().await?;
        let mut judgements = Vec::with_capacity(params.len());
        for param in &params {
            let about = PolicyRequest {
                versioned: &view.versioned,
                requests: &view.requests,
                param: param.as_ref(),
                namespace: namespace.as_deref(),
                authorizations: &self.authorizations,
                deps: &self.policy_deps.deps,
            };
            judgements.push(evaluate(policy, &about).await);
        }
        for judgement in judgements {
            self.enforce(bound, judgement, collected, notes);
        }
        Ok(())
    }

    /// Returns the request in the version of a policy.
    async fn view<'i>(
        &mut self,
        invocation: &'i Invocation,
        converted: &mut Option<Arc<PolicyView<'i>>>,
    ) -> Result<Arc<PolicyView<'i>>, PolicyError>
    where
        'r: 'i,
    {
        let Some(other) = &invocation.equivalent else { return self.request_view().await };
        if let Some(view) = &*converted {
            return Ok(Arc::clone(view));
        }
        let view = Arc::new(build_view(self.policy_deps, self.attributes, other.row(), self.object).await?);
        *converted = Some(Arc::clone(&view));
        Ok(view)
    }

    /// Returns the request in its own version. Built once.
    async fn request_view(&mut self) -> Result<Arc<PolicyView<'r>>, PolicyError> {
        if let Some(view) = &self.request_view {
            return Ok(Arc::clone(view));
        }
        let view = Arc::new(
            build_view(self.policy_deps, self.attributes, self.attributes.endpoint, self.object).await?,
        );
        self.request_view = Some(Arc::clone(&view));
        Ok(view)
    }

    /// Carries out a binding's actions for a result.
    fn enforce(
        &mut self,
        BoundPolicy { policy, binding }: BoundPolicy<'_>,
        judgement: ValidationResult,
        collected: &mut AnnotationValues,
        notes: &mut AdmissionNotes,
    ) {
        let metrics = &self.policy_deps.metrics;
        for decision in judgement.decisions {
            let kind = error_type(&decision.message);
            let count =
                |enforced| metrics.checked(&policy.name, &binding.name, kind, enforced, decision.duration);
            if !decision.denies {
                count(EnforcementAction::Allow);
                self.failed_open(policy, &decision.message);
                continue;
            }
            for action in &binding.actions {
                match action {
                    Action::Deny => {
                        self.rejection.get_or_insert_with(|| {
                            Rejection::new(policy, Some(binding), &decision.message, &decision.reason)
                        });
                        count(EnforcementAction::Deny);
                    }
                    Action::Audit => {
                        if self.failures.len() < FAILURES_MAX {
                            self.failures.push(failure(policy, binding, &decision));
                        }
                        count(EnforcementAction::Audit);
                    }
                    Action::Warn => {
                        notes.warn(format!(
                            "Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {}",
                            policy.name, binding.name, decision.message
                        ));
                        count(EnforcementAction::Warn);
                    }
                }
            }
        }
        for AnnotationResult { key, value, took: duration } in judgement.annotations {
            match value {
                Ok(value) => collect(collected, key, value),
                Err(error) => {
                    let message = error.to_string();
                    let kind = error_type(&message);
                    metrics.checked(&policy.name, &binding.name, kind, EnforcementAction::Deny, duration);
                    self.deny(Rejection::new(policy, Some(binding), &message, ""));
                }
            }
        }
    }
}

/// Evaluates a policy until no authorization check is pending.
async fn evaluate(policy: &Policy<Validations>, about: &PolicyRequest<'_>) -> ValidationResult {
    loop {
        let judgement = policy.evaluate(about);
        if !about.authorizations.is_pending() {
            return judgement;
        }
        about.authorizations.resolve_pending().await;
    }
}

async fn build_view<'t>(
    deps: &PolicyDeps,
    a: &'t Attributes<'t>,
    endpoint: &'t api::resources::Resource<'t>,
    object: Option<&'t Object>,
) -> Result<PolicyView<'t>, PolicyError> {
    let versioned = VersionedAttributes::new(deps.deps.versions.as_ref(), a, endpoint, object).await;
    let versioned = versioned.map_err(PolicyError::LookUp)?;
    Ok(PolicyView { requests: Requests::new(&versioned), versioned })
}

/// Adds a value under a key. Skips duplicates.
fn collect(collected: &mut AnnotationValues, key: Box<str>, value: String) {
    let value = match value.as_bytes().get(..ANNOTATION_BYTES_MAX) {
        Some(bytes) if value.len() > ANNOTATION_BYTES_MAX => String::from_utf8_lossy(bytes).into_owned(),
        _ => value,
    };
    match collected.iter_mut().find(|(existing_key, _)| *existing_key == key) {
        Some((_, values)) if values.contains(&value) => {}
        Some((_, values)) => values.push(value),
        None => collected.push((key, vec![value])),
    }
}

/// Describes a failed validation in the audit annotation, as JSON in Go's format.
fn failure(policy: &Policy<Validations>, binding: &Binding, decision: &Decision) -> String {
    let mut json = b"{\"message\":".to_vec();
    write_string(decision.message.as_bytes(), &mut json);
    for (member, name) in [(&b",\"policy\":"[..], &policy.name), (b",\"binding\":", &binding.name)] {
        json.extend_from_slice(member);
        write_string(name.as_bytes(), &mut json);
    }
    let actions: Vec<String> =
        binding.actions.iter().map(|action| format!("\"{}\"", action.name())).collect();
    let rest =
        format!(",\"expressionIndex\":{},\"validationActions\":[{}]}}", decision.index, actions.join(","));
    json.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&json).into_owned()
}
