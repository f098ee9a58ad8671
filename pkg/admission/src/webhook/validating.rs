//! `ValidatingAdmissionWebhook`: calls all matching webhooks concurrently. Each may reject the request.

use std::sync::Arc;

use apimachinery::status::Status;
use async_trait::async_trait;
use component_base::trace::{Span, Step};
use futures::future::join_all;
use schema::object::Object;

use super::call::{self, EncodedRequest};
use super::hook::Hook;
use super::hooks::Hooks;
use super::metrics::FinishedCall;
use super::response::ReviewResponse;
use super::{WebhookError, Webhooks};
use crate::dynamic::{self, Invocation, NamespaceLookup, VersionedAttributes};
use crate::{AdmissionNotes, Attributes, Level, Plugin, Verdict};

const FAILED_OPEN: &str = "failed-open.validating.webhook.admission.k8s.io/round_0_index_";

pub struct ValidatingAdmissionWebhook(Webhooks);

/// A matching webhook, with the index of its encoded request.
#[derive(Clone, Copy)]
struct HookCall<'h> {
    hook: &'h Hook,
    index: usize,
}

impl ValidatingAdmissionWebhook {
    pub fn new(webhooks: Webhooks) -> Self {
        ValidatingAdmissionWebhook(webhooks)
    }

    /// Returns the webhooks that may match a request; `None` until they are loaded.
    fn hooks(&self, a: &Attributes<'_>) -> Option<Arc<Hooks>> {
        let configured = &self.0.source;
        if dynamic::is_exempt(a) {
            Some(configured.validating_manifests().unwrap_or_default())
        } else {
            configured.validating()
        }
    }

    /// Calls a webhook and measures the duration.
    async fn call_timed(
        &self,
        a: &Attributes<'_>,
        call: HookCall<'_>,
        questions: &[EncodedRequest],
    ) -> (Result<ReviewResponse, WebhookError>, std::time::Duration) {
        let start = (self.0.deps.now)();
        let result = match questions.get(call.index) {
            Some(question) => self.0.call_hook(call.hook, a, question, false).await,
            None => Ok(ReviewResponse::default()),
        };
        let duration = (self.0.deps.now)().saturating_duration_since(start);
        Span::record_step(Step::ValidatingWebhook, duration);
        Span::record_call(duration, || call::name_for_log(call.hook));
        (result, duration)
    }
}

#[async_trait]
impl Plugin for ValidatingAdmissionWebhook {
    fn name(&self) -> &'static str {
        "ValidatingAdmissionWebhook"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        !self.0.excludes(a) && !self.hooks(a).is_some_and(|hooks| hooks.is_empty())
    }

    async fn validate(
        &self,
        a: &Attributes<'_>,
        object: Option<&Object>,
        notes: &mut AdmissionNotes,
    ) -> Verdict {
        let webhooks = &self.0;
        let Some(hooks) = self.hooks(a) else {
            return Err(a.forbidden("not yet ready to handle request"));
        };
        let candidates = hooks.candidates(a, webhooks.deps.versions.as_ref());
        let namespace = NamespaceLookup::new(webhooks.deps.objects.as_ref());
        let mut concerned: Vec<(&Hook, Invocation)> = Vec::new();
        for candidate in candidates.iter() {
            let Some(hook) = hooks.get(candidate.index) else { continue };
            let invocation = webhooks.select_invocation(hook, candidate, a, object, &namespace).await?;
            concerned.extend(invocation.map(|invocation| (&**hook, invocation)));
        }
        let mut questions: Vec<EncodedRequest> = Vec::new();
        let mut calls: Vec<HookCall<'_>> = Vec::new();
        for (hook, invocation) in &concerned {
            let endpoint = invocation.endpoint(a);
            let seen = VersionedAttributes::new(webhooks.deps.versions.as_ref(), a, endpoint, object).await;
            let seen = seen.map_err(|why| Status::internal_error(why.message))?;
            if !webhooks.matches_conditions(hook, &seen, "validating").await? {
                continue;
            }
            let at = match questions.iter().position(|question| question.is_of(&seen)) {
                Some(at) => at,
                None => {
                    questions.push(EncodedRequest::new(webhooks, &seen));
                    questions.len() - 1
                }
            };
            calls.push(HookCall { hook, index: at });
        }
        if a.request.deadline.is_some_and(|deadline| !calls.is_empty() && (webhooks.deps.now)() >= deadline) {
            return Err(call::deadline_exceeded());
        }
        let results = join_all(calls.iter().map(|calls| self.call_timed(a, *calls, &questions))).await;
        let mut verdict = Ok(());
        for (index, (HookCall { hook, .. }, (result, duration))) in calls.iter().zip(results).enumerate() {
            let outcome = result.and_then(|mut result| {
                call::record_response(hook, &mut result, notes);
                call::require_allowed(hook, result)
            });
            let finished = FinishedCall { hook, attributes: a, kind: "validating", duration };
            let failed_open = |notes: &mut AdmissionNotes| {
                notes.annotate(format!("{FAILED_OPEN}{index}"), hook.name.as_ref(), Level::Metadata);
            };
            let settled = webhooks.finish_call(finished, outcome, failed_open, notes);
            verdict = verdict.and(settled.map(drop));
        }
        verdict
    }
}
