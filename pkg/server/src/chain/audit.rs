//! Audit of requests: the recorded stages and their data (upstream's `endpoints/filters/audit.go` and the
//! filters for requests that fail before authentication).
//!
//! A handler that decodes the request object records it (`RequestContext::notes`). Response bytes are
//! collected until the response is complete, and decoded only then. A body longer than [`RESPONSE_BYTES_MAX`]
//! is not recorded.

mod body;
mod encoding;
mod slow;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, Uri};

use apimachinery::request_context::RequestContext;
use apimachinery::request_notes::{MinimumLevel, RequestContent};
use apimachinery::status::Status;
use apimachinery::user_info::UserInfo;
use audit::{
    AuditMetrics, BodyObjectMeta, Content, Event, Level, ObjectReference, Policy, RequestRecord,
    ResponseStatus, Sink, Stage, Verdict,
};
use authorization::Attributes;
use component_base::clock::Clock;
use component_base::trace::Latencies;
use endpoints::routing::dispatch::Response;

use body::{BodyBuffer, BufferBudget, BufferReservation};
use encoding::Encoding;

/// Maximum size of a recorded response in bytes, compressed and decompressed.
pub const RESPONSE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Maximum size in bytes of the request members in the event of an active watch. Longer ones are complete in the events
/// of the stages `RequestReceived` and `ResponseStarted`, and shortened afterwards.
const RETAINED_RECORD_BYTES_MAX: usize = 4 * 1024;

/// Annotation of an event whose objects were dropped because of their size.
const TRUNCATED: &str = "audit.k8s.io/truncated";

/// Memory limit in bytes for recorded objects of all requests. Objects above the limit are not recorded.
pub const RECORDED_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Audit policy with its sink.
pub struct Auditor {
    policy: Policy,
    sink: Arc<dyn Sink>,
    metrics: Arc<AuditMetrics>,
    memory: Arc<BufferBudget>,
}

impl Auditor {
    /// Creates an auditor that applies `policy`, writes to `sink` and counts in `metrics`.
    pub fn new(policy: Policy, sink: Arc<dyn Sink>, metrics: Arc<AuditMetrics>) -> Self {
        Auditor { policy, sink, metrics, memory: Arc::new(BufferBudget::of(RECORDED_BYTES_MAX)) }
    }

    pub fn sink(&self) -> &Arc<dyn Sink> {
        &self.sink
    }
}

/// Audit record of one request. Dropping it completes the request.
pub(crate) struct AuditRecord {
    auditor: Arc<Auditor>,
    clock: Arc<dyn Clock>,
    context: Arc<RequestContext>,
    long_running: bool,
    /// True for requests for objects that this server handles itself.
    is_object_request: bool,
    /// Latencies of the request's steps.
    latencies: Arc<Latencies>,
    /// `None` for a request that is not audited, or is already completed.
    active: Mutex<Option<Box<OpenRecord>>>,
}

/// State of an audited request.
struct OpenRecord {
    verdict: Verdict,
    event: Event,
    /// True if authentication failed. Then there is a single event, at the response.
    is_rejected: bool,
    patch: Encoding,
    /// Memory reservation for the request object.
    object_reservation: Option<BufferReservation>,
    /// Time until the response started; `None` before.
    response_started_after: Option<Duration>,
    /// Encoding of the response, compression flag, and body.
    response_body: Option<(Encoding, bool, BodyBuffer)>,
}

/// A request at the start of its recording.
#[derive(Clone, Copy)]
pub(crate) struct RecordedRequest<'a> {
    pub(crate) context: &'a Arc<RequestContext>,
    pub(crate) long_running: bool,
    /// True if it is about objects, and this server answers it.
    pub(crate) is_object_request: bool,
}

impl AuditRecord {
    /// Starts the record of a received request. `latencies` is absent for long-running requests, which get new ones.
    /// A request without its own `latencies`, which is long-running, gets new ones.
    pub(crate) fn new(
        auditor: &Arc<Auditor>,
        clock: &Arc<dyn Clock>,
        request: RecordedRequest<'_>,
        latencies: Option<&Arc<Latencies>>,
    ) -> Self {
        let RecordedRequest { context, long_running, is_object_request } = request;
        AuditRecord {
            auditor: Arc::clone(auditor),
            clock: Arc::clone(clock),
            context: Arc::clone(context),
            long_running,
            is_object_request: is_object_request && !long_running,
            latencies: latencies.cloned().unwrap_or_default(),
            active: Mutex::new(None),
        }
    }

    fn active(&self) -> MutexGuard<'_, Option<Box<OpenRecord>>> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the authenticated user; `None` if authentication failed. The policy decides on the whole `context`. The
    /// record retains neither that nor `uri`, which can share the memory of the whole head. Returns false if the
    /// request must be rejected because its audit event could not be stored.
    pub(crate) fn record_received(
        &self,
        context: &RequestContext,
        uri: &Uri,
        user: Option<&UserInfo>,
    ) -> bool {
        let nobody = UserInfo::default();
        let attributes = Attributes::of_request(user.unwrap_or(&nobody), &context.info);
        let verdict = self.auditor.policy.evaluate(&attributes, user.is_some());
        self.auditor.metrics.level(verdict.level);
        if verdict.level == Level::None {
            return true;
        }
        let event = self.event(uri, verdict, user);
        let is_rejected = user.is_none();
        let patch = Encoding::Other;
        let object_reservation = None;
        let response_started_after = None;
        let response_body = None;
        let mut open = Box::new(OpenRecord {
            verdict,
            event,
            is_rejected,
            patch,
            object_reservation,
            response_started_after,
            response_body,
        });
        let recorded = is_rejected || self.emit(&mut open, Stage::RequestReceived);
        if !recorded {
            self.auditor.metrics.rejected();
        } else {
            *self.active() = Some(open);
        }
        recorded
    }

    /// Latencies of the request's steps.
    pub(crate) fn latencies(&self) -> &Arc<Latencies> {
        &self.latencies
    }

    fn event(&self, uri: &Uri, verdict: Verdict, user: Option<&UserInfo>) -> Event {
        let context = &*self.context;
        let long_uri = context.long_query.as_ref().map(|query| format!("{}?{query}", uri.path()));
        let uri = uri.path_and_query().map_or("/", |target| target.as_str());
        let uri = long_uri.as_deref().unwrap_or(uri);
        Event {
            level: verdict.level,
            audit_id: context.audit_id.clone(),
            stage: Stage::RequestReceived,
            request_record: RequestRecord::new(
                uri,
                &context.info.verb,
                user,
                context.source_addresses(),
                &context.user_agent,
            ),
            object: context.info.is_resource.then(|| self.reference()),
            response_status: None,
            request_object: None,
            response_object: None,
            received: context.received,
            stage_time: context.received,
            annotations: Vec::new(),
        }
    }

    fn reference(&self) -> ObjectReference {
        ObjectReference { request: Arc::clone(&self.context), body_meta: None }
    }

    /// Records the impersonated user. `constraint` is the verb of the permission; empty for unconstrained
    /// impersonation.
    pub(crate) fn record_impersonation(&self, user: &UserInfo, constraint: &'static str) {
        if let Some(open) = &mut *self.active() {
            open.event.request_record.impersonated(user, constraint);
        }
    }

    /// Requests the object of the request from the handler.
    pub(crate) fn require_object(&self, parts: &Parts) {
        let verb = self.context.info.verb.as_str();
        let writes = matches!(verb, "create" | "update" | "patch" | "delete" | "deletecollection");
        let mut open = self.active();
        let Some(open) = open.as_mut().filter(|_| self.is_object_request && writes) else { return };
        if verb == "patch" {
            open.patch = Encoding::of(parts.headers.get(CONTENT_TYPE));
        }
        self.context.notes.require_content(minimum_level(open.verdict.level));
    }

    /// Records a Status that rejected the request.
    pub(crate) fn record_rejection(&self, status: &Status) {
        if let Some(open) = &mut *self.active() {
            let json = serde_json::to_vec(status).unwrap_or_default();
            open.event.response_status = Content::json(&json).and_then(|status| status.status());
        }
    }

    /// Records a panic of the handler.
    pub(crate) fn record_panic(&self, text: &str) {
        let Some(mut open) = self.active().take() else { return };
        open.event.response_status = Some(ResponseStatus {
            status: "Failure".to_owned(),
            message: format!("APIServer panic'd: {text}"),
            reason: "InternalError".to_owned(),
            details: None,
            code: 500,
        });
        self.emit(&mut open, Stage::Panic);
    }

    /// Records the start of the response, with the time since the request was received.
    pub(crate) fn record_response(&self, response: &Response, latency: Duration) {
        let mut slot = self.active();
        let Some(open) = slot.as_mut() else { return };
        open.response_started_after = Some(latency);
        self.add_request_object(open);
        let code = response.status().as_u16();
        open.event.response_status.get_or_insert_default().code = code;
        if self.long_running || open.is_rejected {
            self.emit(open, Stage::ResponseStarted);
        }
        if self.long_running && open.event.request_record.shorten(RETAINED_RECORD_BYTES_MAX) {
            open.event.annotate(TRUNCATED, "true");
        }
        if open.is_rejected {
            *slot = None;
            return;
        }
        let may_be_status = code >= 400 || !matches!(self.context.info.verb.as_str(), "get" | "list");
        let records_body = open.verdict.level >= Level::RequestResponse || may_be_status;
        let form = Encoding::of(response.headers().get(CONTENT_TYPE));
        if self.is_object_request && records_body && form != Encoding::Other {
            open.response_body = Some((
                form,
                is_compressed(response.headers()),
                BodyBuffer::new(RESPONSE_BYTES_MAX, &self.auditor.memory),
            ));
        }
    }

    /// Records a piece of the response.
    pub(crate) fn record_sent(&self, piece: &Bytes) {
        if let Some(open) = &mut *self.active()
            && let Some((_, _, buffer)) = &mut open.response_body
        {
            buffer.push(piece);
        }
    }

    /// Sends an event to the sink. Returns false if the request must fail.
    fn emit(&self, open: &mut OpenRecord, stage: Stage) -> bool {
        if open.verdict.omit_stages.contains(stage) {
            return true;
        }
        open.event.stage = stage;
        if stage != Stage::RequestReceived {
            self.add_request_object(open);
            open.event.stage_time = self.clock.now();
        }
        if stage == Stage::ResponseComplete {
            let total = open.event.stage_time.nanos_since(open.event.received);
            let latency = open.response_started_after.filter(|_| !self.long_running);
            for (key, value) in slow::annotations(total, &self.latencies, latency) {
                open.event.annotate(key, value);
            }
        }
        let minimum = minimum_level(open.verdict.level);
        self.context.notes.each_annotation(minimum, |key, value| open.event.annotate(key.clone(), value));
        self.auditor.metrics.event();
        self.auditor.sink.process(std::slice::from_ref(&open.event))
    }

    /// Adds the request object, once it is available.
    fn add_request_object(&self, open: &mut OpenRecord) {
        let Some(request_content) = self.context.notes.take_content() else { return };
        let content = match request_content {
            RequestContent::Patch(bytes) => open.patch.json(&bytes),
            RequestContent::Object(request_content) => {
                let body_meta = BodyObjectMeta {
                    namespace: request_content.namespace,
                    name: request_content.name,
                    uid: request_content.uid,
                    resource_version: request_content.resource_version,
                };
                open.event.object.get_or_insert_with(|| self.reference()).body_meta =
                    Some(Box::new(body_meta));
                request_content.json.map(|json| open.apply_omissions(Content::from_json(json)))
            }
        };
        let Some(content) = content.filter(|_| open.verdict.level >= Level::Request) else { return };
        open.object_reservation = BufferReservation::of(&self.auditor.memory, content.bytes().len());
        match open.object_reservation {
            Some(_) => open.event.request_object = Some(content),
            None => open.event.annotate(TRUNCATED, "true"),
        }
    }

    fn finish(&self, mut open: Box<OpenRecord>) {
        if open.event.response_status.is_none() {
            open.event.response_status = Some(ResponseStatus {
                status: "Success".to_owned(),
                message: "Connection closed early".to_owned(),
                code: 200,
                ..ResponseStatus::default()
            });
            if self.long_running && !open.is_rejected {
                self.emit(&mut open, Stage::ResponseStarted);
            }
        }
        if open.is_rejected || open.verdict.omit_stages.contains(Stage::ResponseComplete) {
            return;
        }
        open.add_response_object();
        self.emit(&mut open, Stage::ResponseComplete);
    }
}

impl Drop for AuditRecord {
    fn drop(&mut self) {
        let open = self.active().take();
        if let Some(open) = open {
            self.finish(open);
        }
    }
}

impl OpenRecord {
    fn apply_omissions(&self, content: Content) -> Content {
        if self.verdict.omit_managed_fields { content.without_managed_fields() } else { content }
    }

    fn add_response_object(&mut self) {
        let Some((encoding, gzipped, mut buffer)) = self.response_body.take() else { return };
        let bytes = match buffer.take() {
            Some(bytes) if gzipped => encoding::gunzip(&bytes, RESPONSE_BYTES_MAX).map(Bytes::from),
            bytes => bytes,
        };
        let Some(bytes) = bytes else { return self.event.annotate(TRUNCATED, "true") };
        let Some(content) = encoding.json(&bytes) else { return };
        if let Some(status) = content.status() {
            let code = self.event.response_status.as_ref().map_or(0, |status| status.code);
            let code = if status.code == 0 { code } else { status.code };
            self.event.response_status = Some(ResponseStatus { code, ..status });
        }
        if self.verdict.level >= Level::RequestResponse {
            self.event.response_object = Some(self.apply_omissions(content));
        }
    }
}

fn minimum_level(level: Level) -> MinimumLevel {
    match level {
        Level::None | Level::Metadata => MinimumLevel::Metadata,
        Level::Request => MinimumLevel::Request,
        Level::RequestResponse => MinimumLevel::RequestResponse,
    }
}

fn is_compressed(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_ENCODING).is_some_and(|encoding| encoding == "gzip")
}

#[cfg(test)]
mod tests;
