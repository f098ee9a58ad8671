//! Rejects requests before authentication while the server shuts down (apiserver
//! `server/filters/with_retry_after.go`).

use http::HeaderValue;
use http::header::USER_AGENT;
use http::request::Parts;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::observer::Observer;
use super::{Chain, RequestResources, SentResponse};
use crate::chain::response_body::ResponseBody;
use crate::connection::peer::{ActiveRequest, Peer};
use crate::respond;

/// Active request that delays the end of the server until it is dropped; `None` for exempt requests.
pub(crate) type ActiveToken = Option<TaskTrackerToken>;

impl Chain {
    /// Waits until no request is active, except long-running ones. Call it after new requests are rejected.
    pub async fn wait_for_responses(&self) {
        self.in_flight.close();
        self.in_flight.wait().await;
    }

    /// Counts a request as active, unless it must be rejected.
    pub(super) fn admit(&self, parts: &Parts, long_running: bool) -> Option<ActiveToken> {
        let exempt = is_exempt(parts);
        // Counted before the check, so that a waiter for the last request misses none.
        let under_way = (!long_running && !exempt).then(|| self.in_flight.token());
        (exempt || !self.options.rejecting.is_cancelled()).then_some(under_way)
    }
}

/// Rejection of a late request: retry on another server.
pub(super) fn reject_late(peer: &Peer, mut observer: Observer, active: ActiveRequest) -> SentResponse {
    let mut response = respond::shutting_down();
    peer.close_after_response(response.headers_mut());
    observer.record_early_rejection(response.status());
    let resources =
        RequestResources { observer, _active: active, _active_token: None, response_guards: None };
    response.map(|body| ResponseBody::new(body, None, resources))
}

/// True for requests that are always served: probes, metrics, and requests between servers.
fn is_exempt(parts: &Parts) -> bool {
    const PATHS: [&str; 4] = ["/readyz", "/livez", "/healthz", "/metrics"];
    let agent = parts.headers.get(USER_AGENT).map(HeaderValue::as_bytes).unwrap_or_default();
    PATHS.iter().any(|path| parts.uri.path().starts_with(path)) || agent.starts_with(b"kube-apiserver/")
}
