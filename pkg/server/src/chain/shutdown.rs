//! Which requests are turned away before anybody looks who sends them: those that come while the server goes
//! down (apiserver `server/filters/with_retry_after.go`).

use http::HeaderValue;
use http::header::USER_AGENT;
use http::request::Parts;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::observer::Observer;
use super::{Answer, Chain, RequestResources};
use crate::chain::response_body::ResponseBody;
use crate::connection::{ActiveRequest, Peer};
use crate::respond;

/// A request that the end of the server waits for, while it lives; `None` for others.
pub(crate) type UnderWay = Option<TaskTrackerToken>;

impl Chain {
    /// Waits until no request is under way, but for those that go on for ever. Call it when new ones are
    /// refused.
    pub async fn answered(&self) {
        self.under_way.close();
        self.under_way.wait().await;
    }

    /// Counts a request as under way, unless it is to be refused.
    pub(super) fn admitted(&self, parts: &Parts, long_running: bool) -> Option<UnderWay> {
        let exempt = is_exempt(parts);
        // Counted before the question, so that whoever waits for the last request overlooks none.
        let under_way = (!long_running && !exempt).then(|| self.under_way.token());
        (exempt || !self.options.refusing.is_cancelled()).then_some(under_way)
    }
}

/// The answer to a request that comes too late: come again, to another server.
pub(super) fn turned_away(peer: &Peer, mut observer: Observer, active: ActiveRequest) -> Answer {
    let mut response = respond::shutting_down();
    peer.close_after_response(response.headers_mut());
    observer.turned_away(response.status());
    let held = RequestResources { observer, _active: active, _under_way: None, lease: None };
    response.map(|body| ResponseBody::new(body, None, held))
}

/// Whether a request is served to the last: probes, metrics, and what servers ask each other.
fn is_exempt(parts: &Parts) -> bool {
    const PATHS: [&str; 4] = ["/readyz", "/livez", "/healthz", "/metrics"];
    let agent = parts.headers.get(USER_AGENT).map(HeaderValue::as_bytes).unwrap_or_default();
    PATHS.iter().any(|path| parts.uri.path().starts_with(path)) || agent.starts_with(b"kube-apiserver/")
}
