//! Call of one webhook for one request.

use std::pin::pin;

use apimachinery::foreign_text::ForeignText;
use apimachinery::go_quote::quote;
use apimachinery::status::Status;
use component_base::trace::Span;
use component_base::weakened::WeakenedKind;
use schema::object::Object;
use schema::patch;
use schema::patch::json_patch::JsonPatch;

use super::hook::{Hook, SideEffects};
use super::metrics::{CallResult, FinishedCall};
use super::response::{Review, ReviewResponse};
use super::{WebhookError, Webhooks, response};
use crate::dynamic::{
    ConditionOwner, EditedObject, Invocation, NamespaceLookup, VersionedAttributes, admission_request,
};
use crate::expressions::MatchOutcome;
use crate::webhook::hooks::Candidate;
use crate::{AdmissionNotes, Attributes, Level, ObjectError};

/// Returns the name of a webhook for the log of slow requests.
pub(super) fn name_for_log(hook: &Hook) -> String {
    format!("webhook {} of configuration {}", hook.name, hook.configuration)
}

/// A request in one version, encoded once for all webhooks of that version.
pub(super) struct EncodedRequest {
    /// `apiVersion` and kind of objects.
    endpoint: (Box<str>, Box<str>, Box<str>),
    /// All fields of the request except uid and objects, without the enclosing braces.
    head: String,
    /// The objects, or the reason why one has no JSON. Each call then fails.
    objects: Result<EncodedObjects, ObjectError>,
}

/// JSON of the objects of a request; `null` for an absent one.
struct EncodedObjects {
    new: Vec<u8>,
    old: Vec<u8>,
}

impl EncodedObjects {
    fn of(webhooks: &Webhooks, versioned: &VersionedAttributes<'_>) -> Result<Self, ObjectError> {
        let text = |object: Option<&Object>| match object {
            Some(object) => webhooks.deps.versions.to_json(object, versioned.endpoint),
            None => Ok(b"null".to_vec()),
        };
        Ok(EncodedObjects { new: text(versioned.object.as_deref())?, old: text(versioned.old.as_deref())? })
    }
}

/// Returns the error of a call whose objects have no JSON. For raw values that are not JSON, the failure
/// policy decides, as in upstream. The limits of this server reject the request.
fn unencodable(error: &ObjectError) -> WebhookError {
    let status = match error {
        ObjectError::Encode(patch::Error::DoesNotApply(text)) => Status::bad_request(text.clone()),
        ObjectError::Encode(patch::Error::TooLarge(text)) => Status::request_entity_too_large(text.clone()),
        error => {
            return WebhookError::Call { message: format!("failed to call webhook: {error}"), code: 503 };
        }
    };
    WebhookError::Server(status.into())
}

impl EncodedRequest {
    fn key(versioned: &VersionedAttributes<'_>) -> (Box<str>, Box<str>, Box<str>) {
        let at = versioned.endpoint;
        (at.group_version.into(), at.kind_group_version.into(), at.kind.into())
    }

    /// True if it still represents `versioned`, provided that the object has not changed.
    pub(super) fn is_of(&self, versioned: &VersionedAttributes<'_>) -> bool {
        self.endpoint == EncodedRequest::key(versioned)
    }

    pub(super) fn new(webhooks: &Webhooks, versioned: &VersionedAttributes<'_>) -> Self {
        let head = jsontree::Value::Object(admission_request(versioned)).to_string();
        EncodedRequest {
            endpoint: EncodedRequest::key(versioned),
            head: head.trim_start_matches('{').strip_suffix('}').unwrap_or_default().to_owned(),
            objects: EncodedObjects::of(webhooks, versioned),
        }
    }

    fn objects(&self) -> Result<&EncodedObjects, WebhookError> {
        self.objects.as_ref().map_err(unencodable)
    }

    fn body(&self, review: Review, uid: &str) -> Result<Vec<u8>, WebhookError> {
        let objects = self.objects()?;
        let open = format!(
            "{{\"kind\":\"AdmissionReview\",\"apiVersion\":\"{}\",\"request\":{{\"uid\":{},{},\"object\":",
            review.group_version(),
            quote(uid),
            self.head
        );
        let between = b",\"oldObject\":";
        let segments: [&[u8]; 5] = [open.as_bytes(), &objects.new, between, &objects.old, b"}}"];
        Ok(segments.concat())
    }
}

impl Webhooks {
    /// Returns the version in which to present the request, if the webhook's named rules and selectors match.
    ///
    /// # Errors
    /// The Status for the client.
    pub(super) async fn select_invocation(
        &self,
        hook: &Hook,
        candidate: &Candidate,
        a: &Attributes<'_>,
        object: Option<&Object>,
        namespace: &NamespaceLookup<'_>,
    ) -> Result<Option<Invocation>, Box<Status>> {
        let invocation = match &candidate.invocation {
            Some(invocation) => invocation.clone(),
            None => {
                let selected =
                    hook.criteria.select(a.operation, a.endpoint, a.name, self.deps.versions.as_ref());
                let Some(invocation) = selected else { return Ok(None) };
                invocation
            }
        };
        let selects = hook.criteria.selected(a, object, namespace).await?;
        Ok(selects.then_some(invocation))
    }

    /// True if the match conditions of `hook` hold.
    ///
    /// # Errors
    /// 403 if they fail to evaluate and the failure policy is `Fail`.
    pub(super) async fn matches_conditions(
        &self,
        hook: &Hook,
        versioned: &VersionedAttributes<'_>,
        step: &'static str,
    ) -> Result<bool, Box<Status>> {
        let a = versioned.attributes;
        if hook.conditions.is_empty() {
            return Ok(true);
        }
        let owner = ConditionOwner { kind: "webhook", name: &hook.name, step, operation: a.operation };
        let error = match hook.conditions.matches(versioned, &owner, &self.deps).await {
            MatchOutcome::Match => return Ok(true),
            MatchOutcome::Mismatch(_) => None,
            MatchOutcome::Error(error) => Some(error),
        };
        match error {
            Some(error) if !hook.ignores_failures => return Err(a.forbidden(&error)),
            Some(error) => {
                self.deps.weakened.record(WeakenedKind::MatchConditionFailOpen, &hook.name, &error)
            }
            None => {}
        }
        self.deps.conditions.excluded(&owner);
        Ok(false)
    }

    /// Calls the webhook.
    ///
    /// # Errors
    /// The webhook failed or rejected the request.
    pub(super) async fn call_hook(
        &self,
        hook: &Hook,
        a: &Attributes<'_>,
        request: &EncodedRequest,
        mutating: bool,
    ) -> Result<ReviewResponse, WebhookError> {
        let uid = self.caller.uid();
        let name = if mutating { "Call mutating webhook" } else { "Call validating webhook" };
        let span = Span::current().child(name, || {
            let own = a.resource;
            let of_resource = format!("{}/{}, Resource={}", own.group, own.version, own.plural);
            vec![
                ("configuration", (*hook.configuration).into()),
                ("webhook", (*hook.name).into()),
                ("resource", of_resource.into()),
                ("subresource", a.subresource().into()),
                ("operation", a.operation.name().into()),
                ("UID", uid.as_str().into()),
            ]
        });
        let call = pin!(self.call_with_uid(&uid, hook, a, request, mutating));
        span.instrument(call).await
    }

    async fn call_with_uid(
        &self,
        uid: &str,
        hook: &Hook,
        a: &Attributes<'_>,
        request: &EncodedRequest,
        mutating: bool,
    ) -> Result<ReviewResponse, WebhookError> {
        let failed = |message: String, code| WebhookError::Call { message, code };
        if a.dry_run() {
            match hook.side_effects {
                SideEffects::None => {}
                SideEffects::Unspecified => return Err(failed("Webhook SideEffects is nil".to_owned(), 400)),
                SideEffects::Some => {
                    let text = format!("admission webhook {} does not support dry run", quote(&hook.name));
                    return Err(WebhookError::Server(Status::bad_request(text).into()));
                }
            }
        }
        let unknown = "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)";
        let review = hook.review.ok_or_else(|| failed(unknown.to_owned(), 400))?;
        let left = a.request.deadline.map(|deadline| deadline.saturating_duration_since((self.deps.now)()));
        let timeout = left.map_or(hook.timeout, |left| left.min(hook.timeout));
        let called = self.caller.call(&hook.target, request.body(review, uid)?, timeout).await;
        let body = called.map_err(|failure| {
            if failure.misconfigured {
                failed(format!("could not get REST client: {}", failure.message), 500)
            } else {
                failed(format!("failed to call webhook: {}", failure.message), failure.code)
            }
        })?;
        review.read(&body, uid, mutating).map_err(|error| failed(error.to_string(), 503))
    }

    /// Applies the webhook's patch to the object; `None` if there is no patch.
    ///
    /// # Errors
    /// The patch is invalid.
    pub(super) async fn apply_patch(
        &self,
        hook: &Hook,
        a: &Attributes<'_>,
        invocation: &Invocation,
        request: &EncodedRequest,
        response: &ReviewResponse,
    ) -> Result<Option<EditedObject>, WebhookError> {
        if response.patch.is_empty() {
            return Ok(None);
        }
        let (patch, _) = JsonPatch::parse(&response.patch, false).map_err(|error| WebhookError::Call {
            message: format!(
                "received undecodable patch in webhook response: {}",
                ForeignText::displayed(error)
            ),
            code: 503,
        })?;
        if patch.is_empty() {
            return Ok(None);
        }
        let internal = |why: ForeignText| WebhookError::Server(Status::internal_error(why.as_str()).into());
        let object = &request.objects()?.new;
        if object == b"null" {
            return Err(internal(format!(
                "admission webhook {} attempted to modify the object, which is not supported for this operation",
                quote(&hook.name)
            ).into()));
        }
        if response.patch_type != *"JSONPatch" {
            let message = format!("unsupported patch type {}", response.patch_type.quoted());
            return Err(WebhookError::Call { message, code: 400 });
        }
        let text = patch.apply(object).map_err(|error| internal(ForeignText::displayed(error)))?;
        let endpoint = invocation.endpoint(a);
        let read = self.deps.versions.parse_json(a, &text, endpoint).await;
        read.map(Some).map_err(|error| internal(ForeignText::displayed(error)))
    }

    /// Records the metrics and notes of a finished call, and decides the request.
    ///
    /// # Errors
    /// The Status for the client.
    pub(super) fn finish_call<T>(
        &self,
        call: FinishedCall<'_>,
        outcome: Result<T, WebhookError>,
        failed_open: impl FnOnce(&mut AdmissionNotes),
        notes: &mut AdmissionNotes,
    ) -> Result<Option<T>, Box<Status>> {
        let hook = call.hook;
        match outcome {
            Ok(value) => {
                self.metrics.record(&call, &CallResult::Allowed);
                Ok(Some(value))
            }
            Err(WebhookError::Rejection(status)) => {
                self.metrics.record(&call, &CallResult::Rejected(status.code));
                Err(status)
            }
            Err(WebhookError::Server(status)) => {
                self.metrics.record(&call, &CallResult::InternalError);
                Err(status)
            }
            Err(WebhookError::Call { message, code }) => {
                let text = format!("failed calling webhook {}: {message}", quote(&hook.name));
                self.metrics.record(&call, &CallResult::Failed { code, open: hook.ignores_failures });
                if !hook.ignores_failures {
                    return Err(Status::internal_error(text).into());
                }
                self.deps.weakened.record(WeakenedKind::WebhookFailOpen, &hook.name, &message);
                failed_open(notes);
                let over = |deadline| (self.deps.now)() >= deadline;
                if call.attributes.request.deadline.is_some_and(over) {
                    return Err(deadline_exceeded());
                }
                Ok(None)
            }
        }
    }
}

/// Builds the Status for a request past its deadline.
pub(super) fn deadline_exceeded() -> Box<Status> {
    Status::timeout("request did not complete within requested timeout", 0).into()
}

/// Collects warnings and audit annotations of a response, whether or not it allows the request.
pub(super) fn record_response(hook: &Hook, response: &mut ReviewResponse, notes: &mut AdmissionNotes) {
    for (key, value) in response.annotations.drain(..) {
        notes.annotate(format!("{}/{key}", hook.name), value, Level::Metadata);
    }
    for warning in response.warnings.drain(..) {
        notes.warn(warning);
    }
}

/// Returns the response if it allows the request.
pub(super) fn require_allowed(hook: &Hook, response: ReviewResponse) -> Result<ReviewResponse, WebhookError> {
    if response.allowed {
        Ok(response)
    } else {
        Err(WebhookError::Rejection(response::rejection(&hook.name, response.result.as_ref())))
    }
}
