//! `MutatingAdmissionPolicy`: mutates objects with one policy after the other (upstream's
//! `mutating/dispatcher.go`, `generic/policy_dispatcher.go`).

use std::fmt::Display;
use std::sync::Arc;

use apimachinery::go_quote::quote;
use apimachinery::status::{Cause, Reason, Status};
use async_trait::async_trait;
use schema::object::Object;

use super::apply_change::{ApplyError, changed};
use super::catalog::{Candidate, Policies};
use super::matching::Matching;
use super::metrics::error_type;
use super::model::{Binding, Policy};
use super::mutations::{Change, Mutation, MutationError, Mutations};
use super::params::Param;
use super::policy_request::{PolicyRequest, Requests};
use super::{PolicyParts, applicable};
use crate::dynamic::{EditedObject, Invocation, Versioned};
use crate::expressions::Authorizations;
use crate::{AdmissionNotes, Attributes, ObjectError, Operation, Plugin, Verdict};

pub struct MutatingAdmissionPolicy(PolicyParts);

impl MutatingAdmissionPolicy {
    pub fn new(parts: PolicyParts) -> Self {
        MutatingAdmissionPolicy(parts)
    }

    /// Returns the policies that may match a request; `None` until they are loaded.
    fn policies(&self, a: &Attributes<'_>) -> Option<Arc<Policies<Mutations>>> {
        let configured = &self.0.configured;
        applicable(a, || configured.mutating(), || configured.mutating_manifests())
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
        a: &Attributes<'_>,
        object: Option<&mut Object>,
        notes: &mut AdmissionNotes,
    ) -> Verdict {
        let Some(policies) = self.policies(a) else {
            return Err(a.forbidden("not yet ready to handle request"));
        };
        let candidates = policies.candidates(a, self.0.around.versions.as_ref());
        if candidates.is_empty() {
            return Ok(());
        }
        let mut dispatch = Dispatch {
            parts: &self.0,
            a,
            matching: Matching::new(&self.0, a),
            authorizations: Authorizations::new(self.0.around.authorizer.as_ref(), a.user),
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
    parts: &'r PolicyParts,
    a: &'r Attributes<'r>,
    matching: Matching<'r>,
    authorizations: Authorizations<'r>,
    rejections: Vec<PolicyRejection>,
}

impl<'r> Dispatch<'r> {
    fn failed<E>(&mut self, policy: &Policy<E>, binding: Option<&Binding>, why: impl Display, invalid: bool) {
        if policy.ignores_failures {
            return;
        }
        let message = match binding {
            Some(binding) => {
                format!("policy '{}' with binding '{}' denied request: {why}", policy.name, binding.name)
            }
            None => format!("policy {} denied request: {why}", quote(&policy.name)),
        };
        self.rejections.push(PolicyRejection { message, invalid });
    }

    fn misconfigured<E>(&mut self, policy: &Policy<E>, binding: Option<&Binding>, why: impl Display) {
        let what = if binding.is_some() { "binding" } else { "policy" };
        self.failed(policy, binding, format_args!("failed to configure {what}: {why}"), false);
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
                Err(why) => {
                    self.misconfigured(policy, None, why);
                    continue;
                }
            };
            // Convertibility to the policy's version is checked once, and only if a binding matches.
            let mut convertible = None;
            for place in self.matching.places(candidate, object).await {
                let Some(binding) = candidate.binding(place) else { continue };
                match self.matching.binding(binding, object).await {
                    Ok(true) => {}
                    Ok(false) => continue,
                    Err(why) => {
                        self.misconfigured(policy, Some(binding), why);
                        continue;
                    }
                }
                if convertible.is_none() {
                    let endpoint = invocation.endpoint(self.a);
                    let versions = self.parts.around.versions.as_ref();
                    convertible = Some(Versioned::new(versions, self.a, endpoint, object).await.map(drop));
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
                    Err(why) => self.misconfigured(policy, Some(binding), why),
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
        if again && notes.policies.left.as_ref() != object.as_deref() {
            notes.policies.changed();
        }
        let namespace = self.matching.namespace().await?;
        let mut changed = false;
        for one in applied {
            let namespace = namespace.as_deref();
            if !self.meets(one, object.as_deref(), namespace).await? {
                continue;
            }
            let key = one.key();
            if again && !notes.policies.wanted.contains(&key) {
                continue;
            }
            if let Some(object) = object.as_deref_mut() {
                notes.keep_managed_fields(object);
                changed |= self.mutate(one, object, namespace, notes).await?;
            }
            if one.policy.rules.reinvokes {
                notes.policies.asked.insert(key);
            }
        }
        if changed {
            notes.policies.changed();
            notes.request_reinvocation();
        }
        notes.policies.leave(object.as_deref());
        Ok(())
    }

    /// True if the match conditions of a policy hold.
    async fn meets(
        &mut self,
        one: &SelectedMutation<'_>,
        object: Option<&Object>,
        namespace: Option<&Object>,
    ) -> Result<bool, Box<Status>> {
        if one.policy.has_no_conditions() {
            return Ok(true);
        }
        let endpoint = one.invocation.endpoint(self.a);
        let seen = Versioned::new(self.parts.around.versions.as_ref(), self.a, endpoint, object).await?;
        let requests = Requests::new(&seen);
        let about = self.about(one, &seen, &requests, namespace);
        let met = loop {
            let met = about.meets(one.policy);
            if !self.authorizations.is_open() {
                break met;
            }
            self.authorizations.settle().await;
        };
        met.or_else(|why| {
            self.failed(one.policy, Some(one.binding), why, true);
            Ok(false)
        })
    }

    fn about<'t>(
        &'t self,
        one: &'t SelectedMutation<'_>,
        seen: &'t Versioned<'t>,
        requests: &'t Requests,
        namespace: Option<&'t Object>,
    ) -> PolicyRequest<'t> {
        PolicyRequest {
            seen,
            requests,
            param: one.param.as_ref(),
            namespace,
            authorizations: &self.authorizations,
            around: &self.parts.around,
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
        let mut made = false;
        for mutation in &one.policy.rules.mutations {
            let began = (self.parts.around.now)();
            let outcome = self.mutated(one, mutation, object, namespace).await;
            let kind = match &outcome {
                Ok(_) => "no_error",
                Err(error) => error_type(&error.to_string()),
            };
            self.parts.metrics.mutated(
                &one.policy.name,
                &one.binding.name,
                kind,
                (self.parts.around.now)().saturating_duration_since(began),
            );
            match outcome {
                Ok(new) => {
                    made = true;
                    if let Some(new) = new {
                        notes.replace(object, new);
                    }
                }
                Err(MutateError::Request(status)) => return Err(status),
                Err(error) => self.failed(one.policy, Some(one.binding), error, true),
            }
        }
        Ok(made)
    }

    /// Returns the mutated object; `None` if nothing changes.
    async fn mutated(
        &self,
        one: &SelectedMutation<'_>,
        mutation: &Mutation,
        object: &Object,
        namespace: Option<&Object>,
    ) -> Result<Option<EditedObject>, MutateError> {
        let a = self.a;
        let versions = self.parts.around.versions.as_ref();
        let endpoint = one.invocation.endpoint(a);
        let seen = Versioned::new(versions, a, endpoint, Some(object)).await.map_err(MutateError::Request)?;
        let requests = Requests::new(&seen);
        let about = self.about(one, &seen, &requests, namespace);
        let change = loop {
            let change = one.policy.change(mutation, &about);
            if !self.authorizations.is_open() {
                break change?;
            }
            self.authorizations.settle().await;
        };
        let internal =
            |why: &dyn Display| MutateError::Request(Status::internal_error(why.to_string()).into());
        let Some(seen) = seen.object.as_deref() else { return Ok(None) };
        let text = versions.text(seen, endpoint)?;
        let text = match changed(&change, seen, &text, endpoint) {
            Ok(text) => text,
            Err(ApplyError::TestFailed) => return Ok(None),
            Err(error @ ApplyError::Invalid(_)) => return Err(MutateError::Apply(error)),
            Err(error @ ApplyError::Result(_)) => return Err(internal(&error)),
        };
        let read = versions.read(a, &text, endpoint).await;
        read.map(Some).map_err(|error| match change {
            Change::Patch(_) => internal(&error),
            Change::Configuration(_) => MutateError::Object(error),
        })
    }

    /// Returns the rejection for failed policies.
    fn verdict(self) -> Verdict {
        let Some(first) = self.rejections.first() else { return Ok(()) };
        let mut status = self.a.forbidden("admission request denied by policy");
        status.message.clone_from(&first.message);
        if first.invalid {
            status.reason = Reason::Invalid;
        }
        let details = status.details.get_or_insert_default();
        let causes =
            self.rejections.into_iter().map(|told| Cause { message: told.message, ..Cause::default() });
        details.causes.extend(causes);
        Err(status)
    }
}
