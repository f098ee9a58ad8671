//! `MutatingAdmissionWebhook`: calls matching webhooks one after the other. Each may change or reject the
//! object.

use std::sync::Arc;

use apimachinery::status::Status;
use async_trait::async_trait;
use component_base::trace::{Span, Step};
use jsontree::Value;
use schema::object::Object;
use serde::Serialize;

use super::call::{self, EncodedRequest};
use super::hook::Hook;
use super::hooks::Hooks;
use super::metrics::FinishedCall;
use super::{WebhookError, Webhooks};
use crate::dynamic::{self, EditedObject, Invocation, NamespaceOf, Versioned};
use crate::{AdmissionNotes, Attributes, Level, Plugin, Verdict};

const ANNOTATION: &str = "mutation.webhook.admission.k8s.io/";
const PATCH_ANNOTATION: &str = "patch.webhook.admission.k8s.io/";

pub struct MutatingAdmissionWebhook(Webhooks);

impl MutatingAdmissionWebhook {
    pub fn new(webhooks: Webhooks) -> Self {
        MutatingAdmissionWebhook(webhooks)
    }

    /// Returns the webhooks that may match a request; `None` until they are loaded.
    fn hooks(&self, a: &Attributes<'_>) -> Option<Arc<Hooks>> {
        let configured = &self.0.configured;
        if dynamic::is_exempt(a) {
            Some(configured.mutating_manifests().unwrap_or_default())
        } else {
            configured.mutating()
        }
    }
}

#[async_trait]
impl Plugin for MutatingAdmissionWebhook {
    fn name(&self) -> &'static str {
        "MutatingAdmissionWebhook"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        !self.hooks(a).is_some_and(|hooks| hooks.is_empty())
    }

    async fn mutate(
        &self,
        a: &Attributes<'_>,
        object: Option<&mut Object>,
        notes: &mut AdmissionNotes,
    ) -> Verdict {
        let Some(hooks) = self.hooks(a) else {
            return Err(a.forbidden("not yet ready to handle request"));
        };
        let round =
            Round { webhooks: &self.0, hooks: &hooks, a, number: usize::from(notes.is_reinvocation()) };
        round.run(object, notes).await
    }
}

/// One round of webhooks for a request.
struct Round<'r> {
    webhooks: &'r Webhooks,
    hooks: &'r Hooks,
    a: &'r Attributes<'r>,
    number: usize,
}

impl Round<'_> {
    async fn run(&self, mut object: Option<&mut Object>, notes: &mut AdmissionNotes) -> Verdict {
        let candidates = self.hooks.candidates(self.a, self.webhooks.around.versions.as_ref());
        if candidates.is_empty() {
            return Ok(());
        }
        if self.number > 0 && notes.webhooks.left.as_ref() != object.as_deref() {
            notes.webhooks.changed();
        }
        let namespace = NamespaceOf::new(self.webhooks.around.objects.as_ref());
        let mut told: Option<EncodedRequest> = None;
        for candidate in candidates.iter() {
            let Some(hook) = self.hooks.get(candidate.index) else { continue };
            let concerned =
                self.webhooks.concerned(hook, candidate, self.a, object.as_deref(), &namespace).await?;
            let Some(invocation) = concerned else { continue };
            let asks = MatchedHook { hook, invocation, index: candidate.index };
            let changed = self.ask(&asks, object.as_deref(), &mut told, notes).await?;
            if let (Some(new), Some(object)) = (changed, object.as_deref_mut()) {
                if !self.is_same(object, &new.object) {
                    notes.webhooks.changed();
                    notes.request_reinvocation();
                }
                notes.keep_managed_fields(object);
                notes.replace(object, new);
                told = None;
            }
            if hook.reinvokes {
                notes.webhooks.asked.insert(hook.uid.clone());
            }
        }
        notes.webhooks.leave(object.as_deref());
        Ok(())
    }

    /// True if a webhook has changed nothing.
    fn is_same(&self, old: &Object, new: &Object) -> bool {
        let storage =
            self.a.resource.storage.as_ref().filter(|_| self.a.endpoint.kind == self.a.resource.kind);
        let message = storage.map_or(self.a.endpoint.message, |storage| storage.message);
        api::semantic::equal(message, old, new)
    }

    /// Calls a webhook. Returns the changed object, if any.
    async fn ask(
        &self,
        ask: &MatchedHook<'_>,
        object: Option<&Object>,
        told: &mut Option<EncodedRequest>,
        notes: &mut AdmissionNotes,
    ) -> Result<Option<EditedObject>, Box<Status>> {
        let webhooks = self.webhooks;
        let a = self.a;
        let hook = ask.hook;
        let endpoint = ask.invocation.endpoint(a);
        let seen = Versioned::new(webhooks.around.versions.as_ref(), a, endpoint, object).await;
        // Upstream wraps this error twice.
        let seen = seen.map_err(|why| Status::internal_error(Status::internal_error(why.message).message))?;
        if !webhooks.meets(hook, &seen, "admit").await? {
            return Ok(None);
        }
        if self.number > 0 && !notes.webhooks.wanted.contains(&hook.uid) {
            return Ok(None);
        }
        let question = match told.take().filter(|question| question.is_of(&seen)) {
            Some(question) => question,
            None => EncodedRequest::new(webhooks, &seen)?,
        };
        let question = told.insert(question);
        let began = (webhooks.around.now)();
        let outcome = self.answer(ask, question, notes).await;
        let object_changed =
            matches!(&outcome, Ok(Some(new)) if !object.is_some_and(|old| self.is_same(old, &new.object)));
        let said = MutationAnnotation {
            configuration: &hook.configuration,
            webhook: &hook.name,
            mutated: Some(object_changed),
            ..MutationAnnotation::default()
        };
        notes.annotate(format!("{ANNOTATION}{}", ask.place(self.number)), said.text(), Level::Metadata);
        let took = (webhooks.around.now)().saturating_duration_since(began);
        Span::took(Step::MutatingWebhook, took);
        let counted = FinishedCall { hook, attributes: a, kind: "admit", took };
        let failed_open = |notes: &mut AdmissionNotes| {
            let key = format!("failed-open.{ANNOTATION}{}", ask.place(self.number));
            notes.annotate(key, hook.name.as_ref(), Level::Metadata);
        };
        webhooks.settle(counted, outcome, failed_open, notes).map(Option::flatten)
    }

    async fn answer(
        &self,
        ask: &MatchedHook<'_>,
        question: &EncodedRequest,
        notes: &mut AdmissionNotes,
    ) -> Result<Option<EditedObject>, WebhookError> {
        let webhooks = self.webhooks;
        let a = self.a;
        let hook = ask.hook;
        let mut answer = webhooks.ask(hook, a, question, true).await?;
        call::note(hook, &mut answer, notes);
        let answer = call::allowed(hook, answer)?;
        let patched = webhooks.patched(hook, a, &ask.invocation, question, &answer).await?;
        if patched.is_some() {
            let said = MutationAnnotation {
                configuration: &hook.configuration,
                webhook: &hook.name,
                patch: serde_json::from_slice(&answer.patch).ok(),
                patch_type: "JSONPatch",
                ..MutationAnnotation::default()
            };
            notes.annotate(
                format!("{PATCH_ANNOTATION}{}", ask.place(self.number)),
                said.text(),
                Level::Request,
            );
        }
        Ok(patched)
    }
}

/// Audit annotation about a webhook: its changes, or only the fact of a change. The order of fields is fixed.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct MutationAnnotation<'r> {
    configuration: &'r str,
    webhook: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    mutated: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<Value>,
    #[serde(skip_serializing_if = "str::is_empty")]
    patch_type: &'r str,
}

impl MutationAnnotation<'_> {
    fn text(&self) -> String {
        // Serialization cannot fail here.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// A matching webhook.
struct MatchedHook<'r> {
    hook: &'r Hook,
    invocation: Invocation,
    /// Position among all webhooks.
    index: usize,
}

impl MatchedHook<'_> {
    fn place(&self, round: usize) -> String {
        format!("round_{round}_index_{}", self.index)
    }
}
