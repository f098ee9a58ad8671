//! The observer of a request: metrics, audit, trace and console learn of each step here, so that the chain names none
//! of them.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use ::audit::Sink;
use bytes::Bytes;
use http::request::Parts;
use http::{StatusCode, Uri};
use tokio::time::Instant;

use apimachinery::request_context::RequestContext;
use apimachinery::request_notes::Notes;
use apimachinery::status::Status;
use authentication::{Authenticated, Unauthenticated};
use authorization::{Authorized, Unauthorized};
use component_base::clock::Clock;
use component_base::trace::{Latencies, Span, Step};
use endpoints::routing::dispatch::{Progress, Response};

use super::DispatchedResponse;
use super::audit::{AuditRecord, Auditor, RecordedRequest};
use super::impersonation::EffectiveUser;
use super::rejection::{Rejection, note_decision};
use super::trace::{self, Traces};
use crate::env::Env;
use crate::limits::concurrency::ConcurrencyGuard;
use crate::metrics::{Filter, Metrics, ResponseRecord};
use crate::pages::console::{RequestTracker, Requests, Stage};

/// The destinations of what is observed.
pub(super) struct Observability {
    pub(super) metrics: Arc<Metrics>,
    pub(super) traces: Option<Traces>,
    pub(super) auditor: Option<Arc<Auditor>>,
    /// Requests in flight; `None` without the console.
    pub(super) requests: Option<Arc<Requests>>,
    pub(super) clock: Arc<dyn Clock>,
}

impl Observability {
    /// The sink of audit events.
    pub(super) fn sink(&self) -> Option<Arc<dyn Sink>> {
        self.auditor.as_ref().map(|auditor| Arc::clone(auditor.sink()))
    }
}

/// Observes one request, until its response is sent.
pub(crate) struct Observer {
    /// Boxed, because most responses are not audited and many can be active.
    audit_record: Option<Box<AuditRecord>>,
    response: ResponseRecord,
    console_entry: Option<RequestTracker>,
}

impl Observer {
    /// Counts a request in the metrics. The audit record is [opened](Self::open_record) next.
    pub(super) fn begin(
        to: &Observability,
        parts: &Parts,
        context: &Arc<RequestContext>,
        received: Instant,
        long_running: bool,
    ) -> Self {
        let response = ResponseRecord::begin(&to.metrics, parts, context, long_running, received);
        Observer { audit_record: None, response, console_entry: None }
    }

    /// Opens the request's entry in the console and its audit record. Those of a long-running request keep only a part
    /// of its context.
    pub(super) fn open_record(&mut self, to: &Observability, request: RecordedRequest<'_>) {
        let RecordedRequest { context, long_running, .. } = request;
        let received = self.response.received();
        let context = if long_running { Arc::new(context.retained()) } else { Arc::clone(context) };
        let request = RecordedRequest { context: &context, ..request };
        self.console_entry =
            to.requests.as_ref().map(|requests| requests.enter(&context, received, long_running));
        let latencies = self.response.latencies();
        let recording = |auditor| Box::new(AuditRecord::new(auditor, &to.clock, request, latencies));
        self.audit_record = to.auditor.as_ref().map(recording);
    }

    /// The head of the request is not valid, so that it is rejected without a user.
    pub(super) fn invalid(&self, context: &RequestContext, uri: &Uri) {
        let recording = self.audit_record.as_ref().filter(|_| !context.info.verb.is_empty());
        recording.inspect(|recording| _ = recording.record_received(context, uri, None));
    }

    /// Records the remaining validity of the client certificate.
    pub(super) fn certificate_expires_in(&self, seconds: i64) {
        self.metrics().authentications.certificate(seconds);
    }

    /// Records the result of the authentication, which began at `start`.
    pub(super) fn record_authentication(
        &self,
        outcome: Result<&Authenticated, &Unauthenticated>,
        start: Instant,
    ) {
        let duration = self.metrics().filters.observe_since(Filter::Authentication, start) - start;
        self.metrics().authentications.count(outcome, duration);
        self.latencies().inspect(|latencies| latencies.record(Step::Authentication, duration));
    }

    /// Records that the request was received, if it is audited. False if the record is required and failed: then the
    /// request must not go on.
    pub(super) fn record_received(
        &self,
        context: &RequestContext,
        uri: &Uri,
        sender: Option<&Authenticated>,
    ) -> bool {
        let Some(recording) = &self.audit_record else { return true };
        let start = Instant::now();
        let recorded = recording.record_received(context, uri, sender.map(Authenticated::user));
        if recorded {
            self.metrics().filters.observe_since(Filter::Audit, start);
        }
        recorded
    }

    /// Recorder of the latencies of the steps. A long-running request has one only if it is audited.
    fn latencies(&self) -> Option<&Arc<Latencies>> {
        let audited = || self.audit_record.as_ref().map(|recording| recording.latencies());
        self.response.latencies().or_else(audited)
    }

    /// The span for the steps after authentication; `None` if neither trace, audit nor log needs one.
    pub(super) fn begin_span(
        &self,
        to: &Observability,
        parts: &Parts,
        context: &RequestContext,
        sender: &Authenticated,
        env: &Env,
    ) -> Option<Span> {
        let traces = to.traces.as_ref();
        let span = traces.map_or(Span::none(), |traces| traces.begin(parts, context, sender.user(), env));
        match self.latencies() {
            Some(latencies) => Some(span.timed(latencies)),
            None => Some(span).filter(|span| !span.is_none()),
        }
    }

    /// Starts the clock for the steps after authentication.
    pub(super) fn start_step_timer(&self, sender: &Authenticated) -> StepTimer<'_> {
        self.console_entry.as_ref().inspect(|tracked| tracked.set_user(&sender.user().name));
        StepTimer { observer: self, started: Instant::now() }
    }

    /// The request is handed to the API, which notes the object that it brings if audit wants that.
    pub(super) fn record_dispatch(&self, parts: &Parts) {
        self.audit_record.as_ref().inspect(|recording| recording.require_object(parts));
    }

    /// A handler or a step panicked with this text.
    pub(super) fn record_panic(&self, text: &str) {
        self.audit_record.as_ref().inspect(|recording| recording.record_panic(text));
    }

    /// The request is rejected with this status.
    pub(super) fn rejected(&self, status: &Status) {
        self.audit_record.as_ref().inspect(|recording| recording.record_rejection(status));
    }

    /// Records that the server rejected the request for its own protection.
    pub(super) fn record_termination(&self, code: StatusCode) {
        self.response.terminated(code);
    }

    /// Records the start of a response, whose body is still to be sent. Returns the time since the request was
    /// received. `queue_time` is the time that the request was queued.
    pub(super) fn record_response(&mut self, response: &mut Response, queue_time: Duration) -> Duration {
        let duration = self.response.received().elapsed();
        self.audit_record.as_ref().inspect(|recording| recording.record_response(response, duration));
        let progress = response.extensions_mut().remove::<Progress>();
        if let Some(tracked) = &mut self.console_entry {
            tracked.set_response(response.status(), progress);
        }
        self.response.record_response(response.status(), queue_time, duration);
        duration
    }

    /// A request is turned away before anything but the metrics observes it.
    pub(super) fn record_early_rejection(&mut self, code: StatusCode) {
        self.response.record_response(code, Duration::ZERO, Duration::ZERO);
    }

    /// A part of the body is sent; `None` for a frame without data.
    pub(super) fn record_sent(&mut self, data: Option<&Bytes>) {
        let bytes = data.map_or(0, Bytes::len);
        self.response.add_bytes(bytes);
        self.console_entry.as_ref().inspect(|tracked| tracked.count_sent(bytes));
        if let (Some(recording), Some(data)) = (&self.audit_record, data) {
            recording.record_sent(data);
        }
    }

    /// The body is complete. The audit event is written now: a client with the whole response finds it in the log.
    pub(super) fn record_completion(&mut self) {
        self.audit_record = None;
    }

    /// The deadline passed while the body was sent.
    pub(super) fn record_send_timeout(&self) {
        self.metrics().timeouts.increment();
        self.response.aborted();
    }

    /// Making the body panicked.
    pub(super) fn record_send_panic(&self) {
        self.metrics().panics.increment();
        self.response.aborted();
        tracing::error!("panic while an answer was sent");
        self.record_panic("while an answer was sent");
    }

    fn metrics(&self) -> &Metrics {
        self.response.metrics()
    }
}

/// Times the steps after authentication, each from the end of the one before.
pub(super) struct StepTimer<'o> {
    observer: &'o Observer,
    started: Instant,
}

impl StepTimer<'_> {
    /// Records the effective user.
    pub(super) fn record_impersonation(&mut self, filter: Filter, actor: &EffectiveUser) {
        let Observer { audit_record, console_entry, .. } = self.observer;
        if let (Some(audit_record), EffectiveUser::Other { user, constraint }) = (audit_record, actor) {
            audit_record.record_impersonation(user, constraint);
        }
        let duration = self.record_step(filter);
        if matches!(actor, EffectiveUser::Other { .. }) {
            Span::record_step(Step::Impersonation, duration);
        }
        console_entry.as_ref().inspect(|console_entry| console_entry.set_stage(Stage::Queue));
    }

    /// Records that the request was admitted by the concurrency limit.
    pub(super) fn record_queueing(&mut self, filter: Filter, concurrency: &ConcurrencyGuard) {
        self.record_step(filter);
        Span::record_step(Step::Queue, concurrency.queue_time());
        self.observer.console_entry.as_ref().inspect(|tracked| tracked.set_stage(Stage::Authorization));
    }

    /// Records the decision of the authorizer.
    pub(super) fn record_authorization(&mut self, outcome: &Result<Authorized, Unauthorized>, notes: &Notes) {
        let duration = self.record_step(Filter::Authorization);
        Span::record_step(Step::Authorization, duration);
        self.observer.metrics().authorizations.count(outcome, duration);
        self.observer.audit_record.as_ref().inspect(|_| note_decision(notes, outcome));
        if outcome.is_ok() {
            self.observer.console_entry.as_ref().inspect(|tracked| tracked.set_stage(Stage::Work));
        }
    }

    /// Counts a step, and returns how long it took.
    fn record_step(&mut self, filter: Filter) -> Duration {
        let now = self.observer.metrics().filters.observe_since(filter, self.started);
        now - std::mem::replace(&mut self.started, now)
    }
}

/// Runs `steps` within the span and ends the span with the response.
pub(super) async fn within_span(
    span: Span,
    steps: Pin<&mut impl Future<Output = Result<DispatchedResponse, Rejection>>>,
) -> Result<DispatchedResponse, Rejection> {
    match span.clone().instrument(steps).await {
        Ok(DispatchedResponse { response, guards }) => {
            Ok(DispatchedResponse { response: trace::end_span_when_sent(span, response), guards })
        }
        Err(rejection) => {
            trace::record_rejection(&span, &rejection);
            Err(rejection)
        }
    }
}
