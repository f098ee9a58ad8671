//! Passing requests on to somebody behind this server: a kubelet, a pod, whatever a Service stands for
//! (upstream's `apimachinery/pkg/util/proxy`). How to get there is a [`Network`]'s business; here is what is said.

mod headers;
mod log_figures;
mod one_client;
mod rewrite;
#[cfg(test)]
pub(crate) mod testing;
mod upgrade;
pub(crate) mod url;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use apimachinery::status::{Reason, Status};
use async_trait::async_trait;
use http::Request;
use http::header::{HeaderValue, LOCATION};
use http::request::Parts;
use hyper::upgrade::OnUpgrade;
use tokio_util::sync::CancellationToken;

use crate::header;
use crate::routing::dispatch::{Body, Response};
pub(crate) use headers::{end_to_end, is_upgrade};
pub use log_figures::LogFigures;
pub use one_client::OneClient;
pub(crate) use upgrade::upgrade;
use url::Url;

/// Whom to believe behind a TLS connection, and what to show them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// A kubelet: this server's client certificate is shown, and the kubelet's is verified if there is an
    /// authority for that.
    Kubelet,
    /// A kubelet whose certificate the client does not want to be verified.
    UnverifiedKubelet,
    /// Anybody, who learns nothing about this server.
    Anyone,
}

/// Gets to other machines. Requests have absolute URLs; connecting is bounded in time.
#[async_trait]
pub trait Network: Send + Sync + 'static {
    /// Sends a request and waits for the head of its answer. `trust` is for `https` alone.
    ///
    /// # Errors
    /// Why there is none, in Go's words: they are shown to the client.
    async fn send(&self, trust: Trust, request: Request<Body>) -> Result<Response, String>;

    /// Sends a request on a connection of its own, which the answer may turn into something else.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    async fn send_alone(&self, trust: Trust, request: Request<Body>) -> Result<Response, UpgradeError>;

    /// All addresses of a host. An address is its own.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, String>;
}

/// Why a request on a connection of its own has no answer.
#[derive(Debug)]
pub enum UpgradeError {
    /// There is no connection.
    Dial(String),
    /// There was one.
    Exchange(String),
}

/// What there is to know about getting to backends.
#[derive(Clone)]
pub struct Backends {
    /// The way there.
    pub network: Arc<dyn Network>,
    /// `--kubelet-port`: the port of kubelets that do not say theirs.
    pub kubelet_port: u16,
    /// `--kubelet-preferred-address-types`, best first.
    pub address_types: Vec<String>,
    /// What is counted of logs.
    pub logs: Arc<LogFigures>,
}

/// A request that may be passed on.
pub(crate) struct Incoming<'r> {
    /// Its head.
    pub(crate) parts: &'r Parts,
    /// Its decoded path.
    pub(crate) path: &'r str,
    /// Its body, not read yet.
    pub(crate) body: Body,
    /// The connection, for those who want to speak something else on it.
    pub(crate) connection: Option<OnUpgrade>,
    /// Who sent it.
    pub(crate) peer: Option<SocketAddr>,
    /// When to end what has no end of its own.
    pub(crate) shutdown: &'r CancellationToken,
}

/// Passes a request on, as a web server at `url` would like to see it, and its answer back.
///
/// # Errors
/// 503 when the backend does not answer.
pub(crate) async fn pass_on(
    network: &dyn Network,
    mut url: Url,
    incoming: Incoming<'_>,
) -> Result<Response, Box<Status>> {
    let Incoming { parts, path, .. } = incoming;
    url.query = parts.uri.query().unwrap_or_default().to_owned();
    if is_upgrade(&parts.headers) {
        return upgrade(network, &url, incoming).await;
    }
    if !url.path.ends_with('/') && path.ends_with('/') {
        url.path.push('/');
    }
    if url.path.is_empty() && matches!(parts.method.as_str(), "GET" | "HEAD") {
        return Ok(redirect_to_root(path, &url.query));
    }
    let prefix = rewrite::prefix(path, &url.path);
    let mut head = headers::end_to_end(&parts.headers);
    headers::add_host(&mut head, parts, &url);
    headers::add_forwarded_for(&mut head, incoming.peer.map(|peer| peer.ip()));
    headers::add_forwarded_uri(&mut head, prefix, &url);
    let host = header::text_or_empty(&head, http::header::HOST).into_owned();
    let unreachable = |error: String| {
        Status::failure(503, Reason::ServiceUnavailable, format!("error trying to reach service: {error}"))
    };
    let request = headers::request(&parts.method, &url, head, incoming.body).map_err(unreachable)?;
    let answer = network.send(url.trust(), request).await.map_err(unreachable)?;
    let (mut head, body) = answer.into_parts();
    head.headers = headers::end_to_end(&head.headers);
    headers::remove_cors(&mut head.headers);
    if let Some(to) = header::text(&head.headers, LOCATION)
        && let Some(rewritten) = rewrite::redirect(&to, prefix, &[&url.authority(), &host])
        && let Ok(value) = HeaderValue::try_from(rewritten)
    {
        head.headers.insert(LOCATION, value);
    }
    Ok(answer_of(head.status, head.headers, body))
}

/// Sends a browser to the root of what is proxied: relative links would miss it otherwise.
fn redirect_to_root(path: &str, query: &str) -> Response {
    let mark = if query.is_empty() { "" } else { "?" };
    let mut head = http::HeaderMap::new();
    if let Ok(value) = HeaderValue::try_from(format!("{}/{mark}{query}", url::escape_path(path))) {
        head.insert(LOCATION, value);
    }
    answer_of(http::StatusCode::MOVED_PERMANENTLY, head, crate::response::full(bytes::Bytes::new()))
}

fn answer_of(status: http::StatusCode, headers: http::HeaderMap, body: Body) -> Response {
    let mut response = http::Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

#[cfg(test)]
mod tests;
