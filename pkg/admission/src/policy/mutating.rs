//! `MutatingAdmissionPolicy`: mutates objects with one policy after the other (upstream's
//! `mutating/dispatcher.go`, `generic/policy_dispatcher.go`).

use std::fmt::Display;
use std::sync::Arc;

use apimachinery::go_quote::quote;
use apimachinery::status::{Cause, Reason, Status};
use async_trait::async_trait;
use component_base::weakened::WeakenedKind;
use schema::object::Object;

use super::apply_change::{ApplyError, apply};
use super::catalog::{Candidate, Policies};
use super::matching::RequestMatcher;
use super::metrics::error_type;
use super::model::{Binding, Policy};
use super::mutations::{Change, Mutation, MutationError, Mutations};
use super::params::Param;
use super::policy_request::{PolicyRequest, Requests};
use super::{PolicyDeps, applicable_policies};
use crate::dynamic::{EditedObject, Invocation, VersionedAttributes};
use crate::expressions::Authorizations;
use crate::{AdmissionNotes, Attributes, ObjectError, Operation, Plugin, Verdict};

pub struct MutatingAdmissionPolicy(PolicyDeps);

impl MutatingAdmissionPolicy {
    pub fn new(deps: PolicyDeps) -> Self {
        MutatingAdmissionPolicy(deps)
    }

    /// Returns the policies that may match a request; `None` until they are loaded.
    fn policies(&self, a: &Attributes<'_>) -> Option<Arc<Policies<Mutations>>> {
        let configured = &self.0.source;
        applicable_policies(a, || configured.mutating(), || configured.mutating_manifests())
    }
}

#[async_trait]
impl Plugin for MutatingAdmissionPolicy {
    fn name(&self) -> &'static str {
        "MutatingAdmissionPolicy"
    }

    /// Deletions have no object to mutate.
    fn handles(&self, a: &Attributes<'_>) -> bool {
        a.operation != Operation::Delete && !self.policies(a).is_some_and(|policies| policies.is_empty())
    }

    async fn mutate(
        &self,
        attributes: &Attributes<'_>,
        object: Option<&mut Object>,
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
            matching: RequestMatcher::new(&self.0, attributes),
            authorizations: Authorizations::new(self.0.deps.authorizer.as_ref(), attributes.user),
            rejections: Vec::new(),
        };
        let applied = dispatch.select(&candidates, object.as_deref()).await;
        if !applied.is_empty() {
            dispatch.apply(&applied, object, notes).await?;
        }
        dispatch.verdict()
    }
}

/// A policy with a binding and one of its params.
struct SelectedMutation<'c> {
    policy: &'c Policy<Mutations>,
    binding: &'c Binding,
    invocation: Invocation,
    param: Option<Param>,
}

impl SelectedMutation<'_> {
    /// Returns the unique key, which is the same in both rounds.
    fn key(&self) -> Box<str> {
        let param = self.param.as_ref().map(|param| {
            let text = |name| crate::meta::text(&param.object, name);
            format!("{}/{}", text("namespace"), text("name"))
        });
        format!("{}/{}/{}", self.policy.name, self.binding.name, param.unwrap_or_default()).into()
    }
}

/// Failed mutation.
#[derive(Debug, thiserror::Error)]
enum MutateError {
    #[error(transparent)]
    Mutation(#[from] MutationError),
    #[error(transparent)]
    Apply(ApplyError),
    /// The object cannot be encoded or decoded.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// Fails the request regardless of the failure policy.
    #[error("{}", .0.message)]
    Request(Box<Status>),
}

/// Rejection by a policy, for the client.
struct PolicyRejection {
    message: String,
    /// True if the reason is `Invalid`.
    invalid: bool,
}

/// State for one request.
struct Dispatch<'r> {
    policy_deps: &'r PolicyDeps,
    attributes: &'r Attributes<'r>,
    matching: RequestMatcher<'r>,
    authorizations: Authorizations<'r>,
    rejections: Vec<PolicyRejection>,
}

impl<'r> Dispatch<'r> {
    fn record_failure<E>(
        &mut self,
        policy: &Policy<E>,
        binding: Option<&Binding>,
        reason: impl Display,
        invalid: bool,
    ) {
        if policy.ignores_failures {
            self.policy_deps.deps.weakened.record(WeakenedKind::PolicyFailOpen, &policy.name, &reason);
            return;
        }
        let message = match binding {
            Some(binding) => {
                format!("policy '{}' with binding '{}' denied request: {reason}", policy.name, binding.name)
            }
            None => format!("policy {} denied request: {reason}", quote(&policy.name)),
        };
        self.rejections.push(PolicyRejection { message, invalid });
    }

    fn misconfigured<E>(&mut self, policy: &Policy<E>, binding: Option<&Binding>, reason: impl Display) {
        let noun = if binding.is_some() { "binding" } else { "policy" };
        self.record_failure(policy, binding, format_args!("failed to configure {noun}: {reason}"), false);
    }

    /// Selects policies, bindings and params for the request as it was before any mutation.
    async fn select<'c>(
        &mut self,
        candidates: &'c [Candidate<Mutations>],
        object: Option<&Object>,
    ) -> Vec<SelectedMutation<'c>> {
        let mut applied = Vec::new();
        for candidate in candidates {
            let policy = &*candidate.policy;
            let invocation = match self.matching.policy(candidate, object).await {
                Ok(Some(invocation)) => invocation,
                Ok(None) => continue,
                Err(error) => {
                    self.misconfigured(policy, None, error);
                    continue;
                }
            };
            // Convertibility to the policy's version is checked once, and only if a binding matches.
            let mut convertible = None;
            for place in self.matching.matching_bindings(candidate, object).await {
                let Some(binding) = candidate.binding(place) else { continue };
                match self.matching.binding(binding, object).await {
                    Ok(true) => {}
                    Ok(false) => continue,
                    Err(error) => {
                        self.misconfigured(policy, Some(binding), error);
                        continue;
                    }
                }
                if convertible.is_none() {
                    let endpoint = invocation.endpoint(self.attributes);
                    let versions = self.policy_deps.deps.versions.as_ref();
                    convertible = Some(
                        VersionedAttributes::new(versions, self.attributes, endpoint, object).await.map(drop),
                    );
                }
                if let Some(Err(status)) = &convertible {
                    self.misconfigured(policy, None, &status.message);
                    continue;
                }
                match self.matching.params(policy, binding).await {
                    Ok(params) => applied.extend(params.into_iter().map(|param| {
                        let invocation = invocation.clone();
                        SelectedMutation { policy, binding, invocation, param }
                    })),
                    Err(error) => self.misconfigured(policy, Some(binding), error),
                }
            }
        }
        applied
    }

    /// Applies policies, one after the other.
    ///
    /// # Errors
    /// The Status for the client, for errors that no policy causes.
    async fn apply(
        &mut self,
        applied: &[SelectedMutation<'_>],
        mut object: Option<&mut Object>,
        notes: &mut AdmissionNotes,
    ) -> Verdict {
        let again = notes.is_reinvocation();
        if again && notes.policies.last_output.as_ref() != object.as_deref() {
            notes.policies.require_reinvocation();
        }
        let namespace = self.matching.namespace().await?;
        let mut changed = false;
        for one in applied {
            let namespace = namespace.as_deref();
            if !self.matches_conditions(one, object.as_deref(), namespace).await? {
                continue;
            }
            let key = one.key();
            if again && !notes.policies.to_reinvoke.contains(&key) {
                continue;
            }
            if let Some(object) = object.as_deref_mut() {
                notes.keep_managed_fields(object);
                changed |= self.mutate(one, object, namespace, notes).await?;
            }
            if one.policy.rules.reinvokes {
                notes.policies.previously_invoked.insert(key);
            }
        }
        if changed {
            notes.policies.require_reinvocation();
            notes.request_reinvocation();
        }
        notes.policies.set_last_output(object.as_deref());
        Ok(())
    }

    /// True if the match conditions of a policy hold.
    async fn matches_conditions(
        &mut self,
        one: &SelectedMutation<'_>,
        object: Option<&Object>,
        namespace: Option<&Object>,
    ) -> Result<bool, Box<Status>> {
        if one.policy.has_no_conditions() {
            return Ok(true);
        }
        let endpoint = one.invocation.endpoint(self.attributes);
        let versioned = VersionedAttributes::new(
            self.policy_deps.deps.versions.as_ref(),
            self.attributes,
            endpoint,
            object,
        )
        .await?;
        let requests = Requests::new(&versioned);
        let about = self.policy_request(one, &versioned, &requests, namespace);
        let met = loop {
            let met = about.matches_conditions(one.policy);
            if !self.authorizations.is_pending() {
                break met;
            }
            self.authorizations.resolve_pending().await;
        };
        met.or_else(|error| {
            self.record_failure(one.policy, Some(one.binding), error, true);
            Ok(false)
        })
    }

    fn policy_request<'t>(
        &'t self,
        one: &'t SelectedMutation<'_>,
        versioned: &'t VersionedAttributes<'t>,
        requests: &'t Requests,
        namespace: Option<&'t Object>,
    ) -> PolicyRequest<'t> {
        PolicyRequest {
            versioned,
            requests,
            param: one.param.as_ref(),
            namespace,
            authorizations: &self.authorizations,
            deps: &self.policy_deps.deps,
        }
    }

    /// Applies the mutations of a policy. Returns true if any was applied.
    async fn mutate(
        &mut self,
        one: &SelectedMutation<'_>,
        object: &mut Object,
        namespace: Option<&Object>,
        notes: &mut AdmissionNotes,
    ) -> Result<bool, Box<Status>> {
        let mut changed = false;
        for mutation in &one.policy.rules.mutations {
            let start = (self.policy_deps.deps.now)();
            let outcome = self.mutated(one, mutation, object, namespace).await;
            let kind = match &outcome {
                Ok(_) => "no_error",
                Err(error) => error_type(&error.to_string()),
            };
            self.policy_deps.metrics.mutated(
                &one.policy.name,
                &one.binding.name,
                kind,
                (self.policy_deps.deps.now)().saturating_duration_since(start),
            );
            match outcome {
                Ok(new) => {
                    changed = true;
                    if let Some(mut new) = new {
                        new.keep_unseen(self.attributes, one.invocation.endpoint(self.attributes), object);
                        notes.replace(object, new);
                    }
                }
                Err(MutateError::Request(status)) => return Err(status),
                Err(error) => self.record_failure(one.policy, Some(one.binding), error, true),
            }
        }
        Ok(changed)
    }

    /// Returns the mutated object; `None` if nothing changes.
    async fn mutated(
        &self,
        one: &SelectedMutation<'_>,
        mutation: &Mutation,
        object: &Object,
        namespace: Option<&Object>,
    ) -> Result<Option<EditedObject>, MutateError> {
        let a = self.attributes;
        let versions = self.policy_deps.deps.versions.as_ref();
        let endpoint = one.invocation.endpoint(a);
        let versioned = VersionedAttributes::new(versions, a, endpoint, Some(object))
            .await
            .map_err(MutateError::Request)?;
        let requests = Requests::new(&versioned);
        let about = self.policy_request(one, &versioned, &requests, namespace);
        let change = loop {
            let change = one.policy.change(mutation, &about);
            if !self.authorizations.is_pending() {
                break change?;
            }
            self.authorizations.resolve_pending().await;
        };
        let internal =
            |error: &dyn Display| MutateError::Request(Status::internal_error(error.to_string()).into());
        let Some(object) = versioned.object.as_deref() else { return Ok(None) };
        let text = versions.to_json(object, endpoint)?;
        let text = match apply(&change, object, &text, endpoint) {
            Ok(text) => text,
            Err(ApplyError::TestFailed) => return Ok(None),
            Err(error @ ApplyError::Invalid(_)) => return Err(MutateError::Apply(error)),
            Err(error @ ApplyError::Result(_)) => return Err(internal(&error)),
        };
        let read = versions.parse_json(a, &text, endpoint).await;
        read.map(Some).map_err(|error| match change {
            Change::Patch(_) => internal(&error),
            Change::Configuration(_) => MutateError::Object(error),
        })
    }

    /// Returns the rejection for failed policies.
    fn verdict(self) -> Verdict {
        let Some(first) = self.rejections.first() else { return Ok(()) };
        let mut status = self.attributes.forbidden("admission request denied by policy");
        status.message.clone_from(&first.message);
        if first.invalid {
            status.reason = Reason::Invalid;
        }
        let details = status.details.get_or_insert_default();
        let causes = self
            .rejections
            .into_iter()
            .map(|rejection| Cause { message: rejection.message, ..Cause::default() });
        details.causes.extend(causes);
        Err(status)
    }
}
