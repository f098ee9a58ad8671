//! One request on its way through the metrics.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use http::request::Parts;
use tokio::time::Instant;

use apimachinery::request_context::RequestContext;

use super::Metrics;
use super::requests::{Directive, Labels};

/// A request that took longer has a line in the log, as upstream's traces have.
pub(crate) const SLOW: Duration = Duration::from_millis(500);

/// A request, counted when its answer is through or its client stops listening. One whose client
/// left before there was an answer is not counted.
pub(crate) struct Answered {
    metrics: Arc<Metrics>,
    labels: Labels,
    /// Where it counts as long-running meanwhile.
    long_running: Option<Labels>,
    code: Option<StatusCode>,
    /// What it wants to be done about unknown fields; `None` if it brings no object.
    directive: Option<Directive>,
    /// What a line about it says; none of a long-running one, which is never slow.
    context: Option<Arc<RequestContext>>,
    /// How long it waited for its seat.
    waited_micros: u32,
    /// How long it took until there was an answer, with a body that was still to be sent.
    answering_micros: u32,
    received: Instant,
    bytes: u64,
}

impl Answered {
    /// Notes a request that was `received` then.
    pub(crate) fn begin(
        metrics: &Arc<Metrics>,
        parts: &Parts,
        context: &Arc<RequestContext>,
        long_running: bool,
        received: Instant,
    ) -> Self {
        let labels = metrics.requests.labels(parts, &context.info, &context.query);
        let long_running = long_running.then(|| labels.while_running(&context.info));
        if let Some(labels) = long_running {
            metrics.requests.add_long_running(labels, 1);
        }
        Answered {
            metrics: Arc::clone(metrics),
            labels,
            long_running,
            code: None,
            directive: labels.directive(&context.query),
            context: long_running.is_none().then(|| Arc::clone(context)),
            waited_micros: 0,
            answering_micros: 0,
            received,
            bytes: 0,
        }
    }

    /// There is an answer after this time, with a body that is still to be sent. The request has `waited` for its seat.
    pub(crate) fn answered(&mut self, code: StatusCode, waited: Duration, answering: Duration) {
        let micros = |time: Duration| u32::try_from(time.as_micros()).unwrap_or(u32::MAX);
        self.code = Some(code);
        self.waited_micros = micros(waited);
        self.answering_micros = micros(answering);
    }

    /// When the request was received.
    pub(crate) fn received(&self) -> Instant {
        self.received
    }

    /// The answer is that the server gives it up to save itself.
    pub(crate) fn terminated(&self, code: StatusCode) {
        self.metrics.requests.terminated(self.labels, code.as_u16());
    }

    /// The answer is cut off.
    pub(crate) fn aborted(&self) {
        self.metrics.requests.aborted(self.labels);
    }

    /// Some of the body was sent.
    pub(crate) fn add_bytes(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
    }

    /// Where it is counted.
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }
}

impl Answered {
    /// One line about a slow request: what it was, and when it had got how far.
    fn log(&self, context: &RequestContext, code: StatusCode, took: Duration) {
        let RequestContext { info, user_agent, audit_id, .. } = context;
        let answering = Duration::from_micros(self.answering_micros.into());
        tracing::info!(
            verb = info.verb,
            path = info.path,
            code = code.as_u16(),
            audit_id = audit_id.truncated(),
            user_agent,
            client = context.source_addresses().next().map(tracing::field::display),
            bytes = self.bytes,
            answering = ?answering,
            sending = ?took.saturating_sub(answering),
            took = ?took,
            "slow request"
        );
    }
}

impl Drop for Answered {
    fn drop(&mut self) {
        let requests = &self.metrics.requests;
        if let Some(labels) = self.long_running {
            requests.add_long_running(labels, -1);
        }
        if let Some(code) = self.code {
            let took = self.received.elapsed();
            let waited = Duration::from_micros(self.waited_micros.into());
            requests.answered(self.labels, code.as_u16(), [took, waited], self.bytes);
            self.directive.inspect(|directive| self.metrics.validated.count(*directive, took));
            let Some(context) = self.context.as_deref() else { return };
            context.body.bytes().inspect(|bytes| requests.read(self.labels, *bytes));
            if took >= SLOW {
                self.log(context, code, took);
            }
        }
    }
}
