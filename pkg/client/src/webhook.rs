//! Webhook client: posts a JSON body to the URL of a kubeconfig and reads a JSON body (apiserver's
//! `util/webhook`). Transient failures are retried a few times with exponential back-off.

mod hook;
mod metrics;

use std::sync::Arc;
use std::time::Duration;

#[cfg(doc)]
use apimachinery::foreign_text::FOREIGN_TEXT_BYTES_MAX;
use apimachinery::foreign_text::ForeignText;
use apimachinery::time::format_duration;
use bytes::Bytes;
use component_base::trace::Span;
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER};
use http::{Method, Request, Response, StatusCode, Uri};
use serde::Deserialize;
use tokio::time::{Instant, sleep};

use crate::call::Limits;
use crate::client::Client;
use crate::error::Error;
use crate::kubeconfig::Kubeconfig;

/// Timeout and response size limit of one attempt.
const LIMITS: Limits =
    Limits { total: Duration::from_secs(30), response_bytes_max: 1 << 20, redirects_max: 0 };
/// Maximum number of attempts.
const STEPS: usize = 5;
/// Back-off factor.
const FACTOR: f64 = 1.5;
/// Maximum jitter, as a fraction of the back-off.
const JITTER: f64 = 0.2;

pub use hook::{Dialers, ServiceResolver, WebhookAddress};
use metrics::HostMetrics;
pub use metrics::{ClientMetrics, InFlightCalls};

/// Callback for finished attempts.
pub type AttemptCallback<'t> = &'t (dyn Fn(Attempt) + Sync);

/// Source of random numbers in `[0, 1)`.
pub type JitterSource = Arc<dyn Fn() -> f64 + Send + Sync>;

/// A webhook client. Cheap to clone.
#[derive(Clone)]
pub struct Webhook {
    client: Client,
    url: Uri,
    limits: Limits,
    initial_wait: Duration,
    jitter: JitterSource,
    /// True if every failure is retried.
    retries_all_failures: bool,
    /// Call metrics of the host, if enabled.
    metrics: Option<Arc<HostMetrics>>,
}

/// A finished attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    /// Status code of the response; `None` without a response.
    pub code: Option<u16>,
    /// Duration of the attempt.
    pub duration: Duration,
    /// True if it timed out, on the client or as reported by the webhook.
    pub timed_out: bool,
}

/// Error of a webhook call. The text equals that of upstream's client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct WebhookCallError {
    /// Error text. The webhook's part of it is bounded.
    message: String,
    /// Status code of the response; `None` without a response.
    pub code: Option<u16>,
    /// True if a retry may help.
    retryable: bool,
}

impl WebhookCallError {
    /// Error text. At most [`FOREIGN_TEXT_BYTES_MAX`] bytes of it come from the webhook.
    pub fn into_message(self) -> String {
        self.message
    }
}

/// Cleans a path: removes empty parts, `.`, `..` and trailing slashes. Upstream's clients join paths, and
/// some servers redirect requests for `//path`.
fn clean_path(path: &str) -> String {
    let mut segments = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            segment => segments.push(segment),
        }
    }
    format!("/{}", segments.join("/"))
}

impl Webhook {
    /// Creates a webhook client from a kubeconfig. `initial_wait` is the pause before the second attempt.
    ///
    /// # Errors
    /// [`Error::Credentials`].
    pub fn new(kubeconfig: Kubeconfig, initial_wait: Duration, jitter: JitterSource) -> Result<Self, Error> {
        let client = Client::new(kubeconfig.options)?;
        let url = kubeconfig.server;
        let retries_all_failures = false;
        let metrics = None;
        let webhook =
            Webhook { client, url, limits: LIMITS, initial_wait, jitter, retries_all_failures, metrics };
        Ok(webhook.with_timeout(LIMITS.total))
    }

    /// Sets the timeout of an attempt, 30 s by default. It is also sent as a URL parameter.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        let nanos = i64::try_from(timeout.as_nanos()).unwrap_or(i64::MAX);
        let target = format!("{}?timeout={}", clean_path(self.url.path()), format_duration(nanos));
        let mut parts = self.url.clone().into_parts();
        parts.path_and_query = target.parse().ok();
        self.url = Uri::from_parts(parts).unwrap_or(self.url);
        self.limits.total = timeout;
        self
    }

    /// Retries after any failure, for data that must not get lost.
    #[must_use]
    pub fn retrying_all_failures(self) -> Self {
        Webhook { retries_all_failures: true, ..self }
    }

    /// Enables metrics of calls and of credential plugin runs.
    #[must_use]
    pub fn with_metrics(self, metrics: &ClientMetrics) -> Self {
        let host = self.url.authority().map_or("", http::uri::Authority::as_str);
        self.client.register_plugin_metrics(metrics.programs());
        Webhook { metrics: metrics.host(host), ..self }
    }

    /// Posts a JSON body and reads the JSON response. Calls `tell` after every attempt.
    ///
    /// # Errors
    /// The last attempt's [`WebhookCallError`].
    pub async fn call(
        &self,
        body: Bytes,
        report: impl Fn(Attempt) + Sync,
    ) -> Result<Bytes, WebhookCallError> {
        let mut wait = self.initial_wait;
        for _ in 1..STEPS {
            match self.attempt(&body, &[], &report).await {
                Err(failure) if failure.retryable || self.retries_all_failures => {}
                outcome => return outcome,
            }
            sleep(wait.mul_f64(1.0 + JITTER * (self.jitter)().clamp(0.0, 1.0))).await;
            wait = wait.mul_f64(FACTOR);
        }
        self.attempt(&body, &[], &report).await
    }

    async fn attempt(
        &self,
        body: &Bytes,
        headers: &[(&'static str, String)],
        report: AttemptCallback<'_>,
    ) -> Result<Bytes, WebhookCallError> {
        let start = Instant::now();
        let failed = |message: String| WebhookCallError { message, code: None, retryable: false };
        let request = Request::post(&self.url)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, */*");
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, value));
        let request = request.body(body.clone()).map_err(|error| failed(error.to_string()))?;
        let in_flight = self.metrics.as_ref().map(|host| host.begin(self.url.path(), start));
        let outcome = self.client.call(request, &self.limits).await;
        drop(in_flight);
        let code = outcome.as_ref().ok().map(|response| response.status().as_u16());
        let timed_out = matches!(outcome, Err(Error::Timeout)) || code == Some(504);
        let duration = start.elapsed();
        Span::record_call(duration, || {
            format!("webhook {}{}", self.url.host().unwrap_or_default(), self.url.path())
        });
        let response =
            outcome.as_ref().ok().map(|response| (response.status().as_u16(), response.body().len()));
        self.metrics.as_ref().inspect(|host| host.record_call(body.len(), response, duration));
        report(Attempt { code, duration, timed_out });
        match outcome {
            // The content type is ignored: upstream's clients have one decoder and use it for all types.
            Ok(response) if response.status().is_success() => Ok(response.into_body()),
            Ok(response) => Err(response_error(&response)),
            Err(error) => {
                let message = error.of_request(&Method::POST, &self.url);
                self.metrics.as_ref().inspect(|host| host.record_error(&message));
                let retryable = message.contains("connection reset by peer")
                    || message.contains("http2: client connection lost");
                Err(WebhookCallError { message, code: None, retryable })
            }
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    kind: ForeignText,
    message: ForeignText,
}

/// Converts an unsuccessful response to the error of upstream's client.
fn response_error(response: &Response<Bytes>) -> WebhookCallError {
    let code = response.status();
    let of_status = serde_json::from_slice::<Status>(response.body()).ok();
    let of_status = of_status.filter(|status| status.kind == *"Status" && !status.message.is_empty());
    let text = response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/"));
    let text_body = if text {
        ForeignText::from_bytes(response.body().trim_ascii())
    } else {
        ForeignText::new("unknown")
    };
    let message = match of_status {
        Some(status) => status.message.into(),
        None => generic_message(code, text_body),
    };
    let later =
        response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse::<u32>().ok());
    let delays = later.is_some() && (code == StatusCode::TOO_MANY_REQUESTS || code.is_server_error());
    let retryable = delays
        || matches!(
            code,
            StatusCode::INTERNAL_SERVER_ERROR | StatusCode::GATEWAY_TIMEOUT | StatusCode::TOO_MANY_REQUESTS
        );
    WebhookCallError { message, code: Some(code.as_u16()), retryable }
}

/// Returns the generic text of a status code (apimachinery's `NewGenericServerResponse`).
fn generic_message(code: StatusCode, body: ForeignText) -> String {
    let words = match code.as_u16() {
        400 => "the server rejected our request for an unknown reason",
        401 => "the server has asked for the client to provide credentials",
        403 => return body.into(),
        404 => "the server could not find the requested resource",
        405 => "the server does not allow this method on the requested resource",
        409 => "the server reported a conflict",
        422 => "the server rejected our request due to an error in our request",
        429 => "the server has received too many requests and has asked us to try again later",
        503 => "the server is currently unable to handle the request",
        504 => {
            "the server was unable to return a response in the time allotted, but may still be processing the request"
        }
        500.. => {
            return format!(
                "an error on the server ({}) has prevented the request from succeeding",
                body.quoted()
            );
        }
        code => {
            return format!(
                "the server responded with the status code {code} but did not return more information"
            );
        }
    };
    words.to_owned()
}

#[cfg(test)]
mod tests;
