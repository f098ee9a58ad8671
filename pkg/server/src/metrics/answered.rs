//! One request on its way through the metrics.

use std::sync::Arc;

use http::StatusCode;
use http::request::Parts;
use tokio::time::Instant;

use apimachinery::request_context::RequestContext;

use super::Metrics;
use super::requests::Labels;

/// A request, counted when its answer is through or its client stops listening. One whose client
/// left before there was an answer is not counted.
pub(crate) struct Answered {
    metrics: Arc<Metrics>,
    labels: Labels,
    /// Where it counts as long-running meanwhile.
    long_running: Option<Labels>,
    code: Option<StatusCode>,
    received: Instant,
    bytes: u64,
}

impl Answered {
    /// Notes a request that was `received` then.
    pub(crate) fn begin(
        metrics: &Arc<Metrics>,
        parts: &Parts,
        context: &RequestContext,
        long_running: bool,
        received: Instant,
    ) -> Self {
        let labels = metrics.requests.labels(parts, &context.info, &context.query);
        let long_running = long_running.then(|| labels.while_running(&context.info));
        if let Some(labels) = long_running {
            metrics.requests.add_long_running(labels, 1);
        }
        Answered { metrics: Arc::clone(metrics), labels, long_running, code: None, received, bytes: 0 }
    }

    /// There is an answer, with a body that is still to be sent.
    pub(crate) fn with_code(mut self, code: StatusCode) -> Self {
        self.code = Some(code);
        self
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

impl Drop for Answered {
    fn drop(&mut self) {
        let requests = &self.metrics.requests;
        if let Some(labels) = self.long_running {
            requests.add_long_running(labels, -1);
        }
        if let Some(code) = self.code {
            requests.answered(self.labels, code.as_u16(), self.received.elapsed(), self.bytes);
        }
    }
}
