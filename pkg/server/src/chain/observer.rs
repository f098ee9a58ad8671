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
use component_base::trace::{Span, Step};
use endpoints::routing::dispatch::{Progress, Response};

use super::Dispatched;
use super::audit::{AuditRecord, Auditor, RecordedRequest, until_closed};
use super::impersonation::EffectiveUser;
use super::rejection::{Rejection, note_decision};
use super::trace::{self, Traces};
use crate::env::Env;
use crate::limits::seat::Seat;
use crate::metrics::{Answered, Filter, Metrics};
use crate::pages::console::{Requests, Stage, Tracked};

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
    recording: Option<Box<AuditRecord>>,
    answered: Answered,
    tracked: Option<Tracked>,
}

impl Observer {
    /// Counts a request in the metrics. Requests that the server works on are [admitted](Self::admitted) next.
    pub(super) fn begin(
        to: &Observability,
        parts: &Parts,
        context: &Arc<RequestContext>,
        received: Instant,
        long_running: bool,
    ) -> Self {
        let answered = Answered::begin(&to.metrics, parts, context, long_running, received);
        Observer { recording: None, answered, tracked: None }
    }

    /// Opens the request's entry in the console and its audit record.
    pub(super) fn admitted(&mut self, to: &Observability, uri: &Uri, request: RecordedRequest<'_>) {
        let RecordedRequest { context, long_running, .. } = request;
        let received = self.answered.received();
        self.tracked = to.requests.as_ref().map(|requests| requests.enter(context, received, long_running));
        let recording = |auditor| Box::new(AuditRecord::new(auditor, &to.clock, uri, request));
        self.recording = to.auditor.as_ref().map(recording);
    }

    /// The head of the request is not valid, so that it is rejected without a user.
    pub(super) fn invalid(&self, context: &RequestContext) {
        let recording = self.recording.as_ref().filter(|_| !context.info.verb.is_empty());
        recording.inspect(|recording| _ = recording.received(None));
    }

    /// The client certificate is valid for so many more seconds.
    pub(super) fn certificate_expires_in(&self, seconds: i64) {
        self.metrics().authentications.certificate(seconds);
    }

    /// Authentication, which `began` then, has ended.
    pub(super) fn authenticated(&self, outcome: Result<&Authenticated, &Unauthenticated>, began: Instant) {
        let took = self.metrics().filters.passed(Filter::Authentication, began) - began;
        self.metrics().authentications.count(outcome, took);
        self.recording.as_ref().inspect(|recording| recording.authenticated(took));
    }

    /// Records that the request was received, if it is audited. False if the record is required and failed: then the
    /// request must not go on.
    pub(super) fn received(&self, sender: Option<&Authenticated>) -> bool {
        let Some(recording) = &self.recording else { return true };
        let began = Instant::now();
        let recorded = recording.received(sender.map(Authenticated::user));
        if recorded {
            self.metrics().filters.passed(Filter::Audit, began);
        }
        recorded
    }

    /// The span for the steps after authentication; `None` if neither trace nor audit needs one.
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
        match &self.recording {
            Some(recording) => Some(recording.timed(span)),
            None => Some(span).filter(|span| !span.is_none()),
        }
    }

    /// Starts the clock for the steps after authentication.
    pub(super) fn steps(&self, sender: &Authenticated) -> StepTimer<'_> {
        self.tracked.as_ref().inspect(|tracked| tracked.sent_by(&sender.user().name));
        StepTimer { observer: self, since: Instant::now() }
    }

    /// The request is handed to the API, which notes the object that it brings if audit wants that.
    pub(super) fn dispatching(&self, parts: &Parts) {
        self.recording.as_ref().inspect(|recording| recording.want_object(parts));
    }

    /// A handler or a step panicked with this text.
    pub(super) fn panicked(&self, text: &str) {
        self.recording.as_ref().inspect(|recording| recording.panicked(text));
    }

    /// The request is rejected with this status.
    pub(super) fn rejected(&self, status: &Status) {
        self.recording.as_ref().inspect(|recording| recording.refused(status));
    }

    /// The server gave the request up to protect itself.
    pub(super) fn terminated(&self, code: StatusCode) {
        self.answered.terminated(code);
    }

    /// There is a response, whose body is still to be sent. Returns the time since the request was received. `waited`
    /// is the time that the request was queued.
    pub(super) fn answered(&mut self, response: &mut Response, waited: Duration) -> Duration {
        let took = self.answered.received().elapsed();
        self.recording.as_ref().inspect(|recording| recording.answered(response, took));
        self.recording = until_closed(self.recording.take(), response);
        let progress = response.extensions_mut().remove::<Progress>();
        if let Some(tracked) = &mut self.tracked {
            tracked.answered(response.status(), progress);
        }
        self.answered.answered(response.status(), waited, took);
        took
    }

    /// A request is turned away before anything but the metrics observes it.
    pub(super) fn turned_away(&mut self, code: StatusCode) {
        self.answered.answered(code, Duration::ZERO, Duration::ZERO);
    }

    /// A part of the body is sent; `None` for a frame without data.
    pub(super) fn sent(&mut self, data: Option<&Bytes>) {
        let bytes = data.map_or(0, Bytes::len);
        self.answered.add_bytes(bytes);
        self.tracked.as_ref().inspect(|tracked| tracked.sent(bytes));
        if let (Some(recording), Some(data)) = (&self.recording, data) {
            recording.sent(data);
        }
    }

    /// The body is complete. The audit event is written now: a client with the whole response finds it in the log.
    pub(super) fn completed(&mut self) {
        self.recording = None;
    }

    /// The deadline passed while the body was sent.
    pub(super) fn timed_out_sending(&self) {
        self.metrics().timeouts.increment();
        self.answered.aborted();
    }

    /// Making the body panicked.
    pub(super) fn panicked_sending(&self) {
        self.metrics().panics.increment();
        self.answered.aborted();
        tracing::error!("panic while an answer was sent");
        self.panicked("while an answer was sent");
    }

    fn metrics(&self) -> &Metrics {
        self.answered.metrics()
    }
}

/// Times the steps after authentication, each from the end of the one before.
pub(super) struct StepTimer<'o> {
    observer: &'o Observer,
    since: Instant,
}

impl StepTimer<'_> {
    /// The user that the request runs as is known.
    pub(super) fn impersonated(&mut self, filter: Filter, actor: &EffectiveUser) {
        let Observer { recording, tracked, .. } = self.observer;
        if let (Some(recording), EffectiveUser::Other { user, constraint }) = (recording, actor) {
            recording.impersonated(user, constraint);
        }
        let took = self.passed(filter);
        if matches!(actor, EffectiveUser::Other { .. }) {
            Span::took(Step::Impersonation, took);
        }
        tracked.as_ref().inspect(|tracked| tracked.reaches(Stage::Queue));
    }

    /// Flow control has let the request pass.
    pub(super) fn seated(&mut self, filter: Filter, seat: &Seat) {
        self.passed(filter);
        Span::took(Step::Queue, seat.waited());
        self.observer.tracked.as_ref().inspect(|tracked| tracked.reaches(Stage::Authorization));
    }

    /// The authorizer has decided.
    pub(super) fn authorized(&mut self, outcome: &Result<Authorized, Unauthorized>, notes: &Notes) {
        let took = self.passed(Filter::Authorization);
        Span::took(Step::Authorization, took);
        self.observer.metrics().authorizations.count(outcome, took);
        self.observer.recording.as_ref().inspect(|_| note_decision(notes, outcome));
        if outcome.is_ok() {
            self.observer.tracked.as_ref().inspect(|tracked| tracked.reaches(Stage::Work));
        }
    }

    /// Counts a step, and returns how long it took.
    fn passed(&mut self, filter: Filter) -> Duration {
        let now = self.observer.metrics().filters.passed(filter, self.since);
        now - std::mem::replace(&mut self.since, now)
    }
}

/// Runs `steps` within the span and ends the span with the response.
pub(super) async fn within_span(
    span: Span,
    steps: Pin<&mut impl Future<Output = Result<Dispatched, Rejection>>>,
) -> Result<Dispatched, Rejection> {
    match span.clone().within(steps).await {
        Ok(Dispatched { response, grant }) => {
            Ok(Dispatched { response: trace::until_sent(span, response), grant })
        }
        Err(rejection) => {
            trace::refused(&span, &rejection);
            Err(rejection)
        }
    }
}
