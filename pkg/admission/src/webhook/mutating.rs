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
use crate::dynamic::{self, EditedObject, Invocation, NamespaceLookup, VersionedAttributes};
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
        let configured = &self.0.source;
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
        !self.0.excludes(a) && !self.hooks(a).is_some_and(|hooks| hooks.is_empty())
    }

    async fn mutate(
        &self,
        attributes: &Attributes<'_>,
        object: Option<&mut Object>,
        notes: &mut AdmissionNotes,
    ) -> Verdict {
        let Some(hooks) = self.hooks(attributes) else {
            return Err(attributes.forbidden("not yet ready to handle request"));
        };
        let round = WebhookRound {
            webhooks: &self.0,
            hooks: &hooks,
            attributes,
            round_index: usize::from(notes.is_reinvocation()),
        };
        round.run(object, notes).await
    }
}

/// One round of webhooks for a request.
struct WebhookRound<'r> {
    webhooks: &'r Webhooks,
    hooks: &'r Hooks,
    attributes: &'r Attributes<'r>,
    round_index: usize,
}

impl WebhookRound<'_> {
    async fn run(&self, mut object: Option<&mut Object>, notes: &mut AdmissionNotes) -> Verdict {
        let candidates = self.hooks.candidates(self.attributes, self.webhooks.deps.versions.as_ref());
        if candidates.is_empty() {
            return Ok(());
        }
        if self.round_index > 0 && notes.webhooks.last_output.as_ref() != object.as_deref() {
            notes.webhooks.require_reinvocation();
        }
        let namespace = NamespaceLookup::new(self.webhooks.deps.objects.as_ref());
        let mut encoded: Option<EncodedRequest> = None;
        for candidate in candidates.iter() {
            let Some(hook) = self.hooks.get(candidate.index) else { continue };
            let concerned = self
                .webhooks
                .select_invocation(hook, candidate, self.attributes, object.as_deref(), &namespace)
                .await?;
            let Some(invocation) = concerned else { continue };
            let matched = MatchedHook { hook, invocation, index: candidate.index };
            let changed = self.call_and_settle(&matched, object.as_deref(), &mut encoded, notes).await?;
            if let (Some(mut new), Some(object)) = (changed, object.as_deref_mut()) {
                new.keep_unseen(self.attributes, matched.invocation.endpoint(self.attributes), object);
                if !self.is_same(object, &new.object) {
                    notes.webhooks.require_reinvocation();
                    notes.request_reinvocation();
                }
                notes.keep_managed_fields(object);
                notes.replace(object, new);
                encoded = None;
            }
            if hook.reinvokes {
                notes.webhooks.previously_invoked.insert(hook.uid.clone());
            }
        }
        notes.webhooks.set_last_output(object.as_deref());
        Ok(())
    }

    /// True if a webhook has changed nothing.
    fn is_same(&self, old: &Object, new: &Object) -> bool {
        let storage = self
            .attributes
            .resource
            .storage
            .as_ref()
            .filter(|_| self.attributes.endpoint.kind == self.attributes.resource.kind);
        let message = storage.map_or(self.attributes.endpoint.message, |storage| storage.message);
        api::semantic::equal(message, old, new)
    }

    /// Calls a webhook. Returns the changed object, if any.
    async fn call_and_settle(
        &self,
        matched: &MatchedHook<'_>,
        object: Option<&Object>,
        encoded: &mut Option<EncodedRequest>,
        notes: &mut AdmissionNotes,
    ) -> Result<Option<EditedObject>, Box<Status>> {
        let webhooks = self.webhooks;
        let a = self.attributes;
        let hook = matched.hook;
        let endpoint = matched.invocation.endpoint(a);
        let seen = VersionedAttributes::new(webhooks.deps.versions.as_ref(), a, endpoint, object).await;
        // Upstream wraps this error twice.
        let seen = seen.map_err(|why| Status::internal_error(Status::internal_error(why.message).message))?;
        if !webhooks.matches_conditions(hook, &seen, "admit").await? {
            return Ok(None);
        }
        if self.round_index > 0 && !notes.webhooks.to_reinvoke.contains(&hook.uid) {
            return Ok(None);
        }
        let request = match encoded.take().filter(|request| request.is_of(&seen)) {
            Some(request) => request,
            None => EncodedRequest::new(webhooks, &seen),
        };
        let request = encoded.insert(request);
        let start = (webhooks.deps.now)();
        let outcome = self.call_and_patch(matched, request, notes).await;
        let object_changed =
            matches!(&outcome, Ok(Some(new)) if !object.is_some_and(|old| self.is_same(old, &new.object)));
        let annotation = MutationAnnotation {
            configuration: &hook.configuration,
            webhook: &hook.name,
            mutated: Some(object_changed),
            ..MutationAnnotation::default()
        };
        notes.annotate(
            format!("{ANNOTATION}{}", matched.annotation_key(self.round_index)),
            annotation.text(),
            Level::Metadata,
        );
        let duration = (webhooks.deps.now)().saturating_duration_since(start);
        Span::record_step(Step::MutatingWebhook, duration);
        Span::record_call(duration, || call::name_for_log(hook));
        let counted = FinishedCall { hook, attributes: a, kind: "admit", duration };
        let failed_open = |notes: &mut AdmissionNotes| {
            let key = format!("failed-open.{ANNOTATION}{}", matched.annotation_key(self.round_index));
            notes.annotate(key, hook.name.as_ref(), Level::Metadata);
        };
        webhooks.finish_call(counted, outcome, failed_open, notes).map(Option::flatten)
    }

    async fn call_and_patch(
        &self,
        matched: &MatchedHook<'_>,
        request: &EncodedRequest,
        notes: &mut AdmissionNotes,
    ) -> Result<Option<EditedObject>, WebhookError> {
        let webhooks = self.webhooks;
        let a = self.attributes;
        let hook = matched.hook;
        let mut response = webhooks.call_hook(hook, a, request, true).await?;
        call::record_response(hook, &mut response, notes);
        let response = call::require_allowed(hook, response)?;
        let patched = webhooks.apply_patch(hook, a, &matched.invocation, request, &response).await?;
        if patched.is_some() {
            let annotation = MutationAnnotation {
                configuration: &hook.configuration,
                webhook: &hook.name,
                patch: serde_json::from_slice(&response.patch).ok(),
                patch_type: "JSONPatch",
                ..MutationAnnotation::default()
            };
            notes.annotate(
                format!("{PATCH_ANNOTATION}{}", matched.annotation_key(self.round_index)),
                annotation.text(),
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
    fn annotation_key(&self, round: usize) -> String {
        format!("round_{round}_index_{}", self.index)
    }
}
