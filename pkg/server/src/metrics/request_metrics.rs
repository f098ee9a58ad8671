//! Metrics of one request.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use http::request::Parts;
use tokio::time::Instant;

use apimachinery::request_context::RequestContext;
use component_base::trace::Latencies;

use super::Metrics;
use super::requests::{Directive, Labels};

/// Slower requests are logged, like upstream's traces.
pub(crate) const SLOW: Duration = Duration::from_millis(500);
/// Minimum duration of a step in the log.
const LOGGED_STEP_MIN: Duration = Duration::from_millis(1);

/// Request that is counted when its response is complete or its client disconnects. A request whose client
/// disconnects before the response starts is not counted.
pub(crate) struct ResponseRecord {
    metrics: Arc<Metrics>,
    labels: Labels,
    kind: Kind,
    code: Option<StatusCode>,
    /// Value of `fieldValidation`; `None` if the request has no object.
    directive: Option<Directive>,
    /// Time that the request waited for its seat.
    queue_micros: u32,
    /// Time until the response started, if its body is streamed.
    response_start_micros: u32,
    received: Instant,
    bytes: u64,
}

/// Parts that depend on the kind of request. One value, because there may be a hundred thousand watches.
enum Kind {
    /// Labels of the gauge while the request runs. Such a request never counts as slow.
    LongRunning(Labels),
    /// Context and latencies of the steps, for the log.
    Finite { context: Arc<RequestContext>, latencies: Arc<Latencies> },
}

impl ResponseRecord {
    /// Starts the metrics of a request that was `received` at this time.
    pub(crate) fn begin(
        metrics: &Arc<Metrics>,
        parts: &Parts,
        context: &Arc<RequestContext>,
        long_running: bool,
        received: Instant,
    ) -> Self {
        let labels = metrics.requests.labels(parts, &context.info, &context.query);
        let kind = if long_running {
            let labels = labels.while_running(&context.info);
            metrics.requests.add_long_running(labels, 1);
            Kind::LongRunning(labels)
        } else {
            Kind::Finite { context: Arc::clone(context), latencies: Arc::default() }
        };
        ResponseRecord {
            metrics: Arc::clone(metrics),
            labels,
            kind,
            code: None,
            directive: labels.directive(&context.query),
            queue_micros: 0,
            response_start_micros: 0,
            received,
            bytes: 0,
        }
    }

    /// Records the start of a response after this time, with a body that is still to be sent. `queue_time` is the
    /// time in the queue.
    pub(crate) fn record_response(
        &mut self,
        code: StatusCode,
        queue_time: Duration,
        response_start: Duration,
    ) {
        let micros = |time: Duration| u32::try_from(time.as_micros()).unwrap_or(u32::MAX);
        self.code = Some(code);
        self.queue_micros = micros(queue_time);
        self.response_start_micros = micros(response_start);
    }

    /// Time at which the request was received.
    pub(crate) fn received(&self) -> Instant {
        self.received
    }

    /// Latencies of the steps; `None` for a long-running request.
    pub(crate) fn latencies(&self) -> Option<&Arc<Latencies>> {
        match &self.kind {
            Kind::LongRunning(_) => None,
            Kind::Finite { latencies, .. } => Some(latencies),
        }
    }

    /// Records that the server rejected the request for its own protection.
    pub(crate) fn terminated(&self, code: StatusCode) {
        self.metrics.requests.terminated(self.labels, code.as_u16());
    }

    /// Records that the response was cut off.
    pub(crate) fn aborted(&self) {
        self.metrics.requests.aborted(self.labels);
    }

    /// Counts sent bytes of the body.
    pub(crate) fn add_bytes(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }
}

impl ResponseRecord {
    /// Logs a slow request with the duration of its steps.
    fn log(&self, context: &RequestContext, latencies: &Latencies, code: StatusCode, duration: Duration) {
        let RequestContext { info, user_agent, audit_id, .. } = context;
        let answering = Duration::from_micros(self.response_start_micros.into());
        let longest = latencies.longest_call();
        tracing::info!(
            verb = info.verb,
            path = info.path,
            code = code.as_u16(),
            audit_id = audit_id.truncated(),
            user_agent,
            client = context.source_addresses().next().map(tracing::field::display),
            bytes = self.bytes,
            answering = ?answering,
            sending = ?duration.saturating_sub(answering),
            took = ?duration,
            steps = Some(steps_text(latencies)).filter(|steps| !steps.is_empty()),
            longest_call = longest.as_ref().map(|call| call.name.as_str()),
            longest_call_took = longest.as_ref().map(|call| tracing::field::debug(call.time)),
            "slow request"
        );
    }
}

/// Returns the steps that took a relevant part of a slow request, such as `etcd=412ms`.
fn steps_text(latencies: &Latencies) -> String {
    let mut text = String::new();
    for (step, time) in latencies.all().filter(|(_, time)| *time >= LOGGED_STEP_MIN) {
        let separator = if text.is_empty() { "" } else { " " };
        let whole = Duration::from_millis(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        let _ = write!(text, "{separator}{}={whole:?}", step.name());
    }
    text
}

impl Drop for ResponseRecord {
    fn drop(&mut self) {
        let requests = &self.metrics.requests;
        if let Kind::LongRunning(labels) = self.kind {
            requests.add_long_running(labels, -1);
        }
        if let Some(code) = self.code {
            let duration = self.received.elapsed();
            let queue_time = Duration::from_micros(self.queue_micros.into());
            requests.count_response(self.labels, code.as_u16(), [duration, queue_time], self.bytes);
            self.directive.inspect(|directive| self.metrics.validated.count(*directive, duration));
            let Kind::Finite { context, latencies } = &self.kind else { return };
            context.body.bytes().inspect(|bytes| requests.read(self.labels, *bytes));
            if duration >= SLOW {
                self.log(context, latencies, code, duration);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use component_base::trace::Step;

    use super::*;

    #[test]
    fn relevant_steps_are_logged() {
        let latencies = Latencies::default();
        assert_eq!(steps_text(&latencies), "");
        latencies.record(Step::Authentication, Duration::from_micros(900));
        latencies.record(Step::MutatingWebhook, Duration::from_millis(1_412));
        latencies.record(Step::Storage, Duration::from_micros(412_345));
        assert_eq!(steps_text(&latencies), "mutating-webhook=1.412s etcd=412ms");
    }
}
