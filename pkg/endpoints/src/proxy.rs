//! Proxies requests to backends: a kubelet, a pod, or the endpoints of a Service (upstream's
//! `apimachinery/pkg/util/proxy`). A [`Network`] makes the connections; this module rewrites the messages.

mod error;
mod headers;
mod html;
mod links;
mod log_metrics;
mod single_client;
mod spdy;
pub(crate) mod stream;
#[cfg(test)]
pub(crate) mod testing;
mod trust;
mod upgrade;
pub(crate) mod url;

use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use apimachinery::status::{Reason, Status};
use async_trait::async_trait;
use http::header::{CONTENT_LENGTH, HeaderValue, LOCATION};
use http::request::Parts;
use http::{HeaderMap, Method, Request};
use hyper::upgrade::OnUpgrade;
use tokio_util::sync::CancellationToken;

use crate::header;
use crate::routing::dispatch::{Body, Response, full};
use crate::routing::path::LongQuery;
pub use error::{NetworkError, UrlError};
pub(crate) use headers::{end_to_end, is_upgrade};
use links::LinkRewriter;
pub use log_metrics::LogMetrics;
pub use single_client::SingleClient;
pub use stream::StreamMetrics;
pub use trust::{Trust, is_global};
pub(crate) use upgrade::upgrade;
use url::Url;

/// Connects to other machines. Requests have absolute URLs. Connecting has a timeout.
#[async_trait]
pub trait Network: Send + Sync + 'static {
    /// Sends a request and waits for the response headers. `trust` applies to `https` only.
    ///
    /// # Errors
    /// An error in Go's wording, which the client sees.
    async fn send(&self, trust: Trust, request: Request<Body>) -> Result<Response, NetworkError>;

    /// Sends a request on a dedicated connection, which the response may upgrade.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    async fn send_dedicated(&self, trust: Trust, request: Request<Body>) -> Result<Response, NetworkError>;

    /// Returns all addresses of a host. An IP address is returned unchanged.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, NetworkError>;
}

/// Configuration of backend connections.
#[derive(Clone)]
pub struct Backends {
    pub network: Arc<dyn Network>,
    /// `--kubelet-port`: the port of kubelets that do not report theirs.
    pub kubelet_port: u16,
    /// `--kubelet-preferred-address-types`, best first.
    pub address_types: Vec<String>,
    /// IP family of Service backends that are tried first: `IPv4` or `IPv6`.
    pub primary_family: &'static str,
    pub logs: Arc<LogMetrics>,
    pub streams: Arc<StreamMetrics>,
}

/// Request that may be proxied.
pub(crate) struct ProxyRequest<'r> {
    pub(crate) parts: &'r Parts,
    pub(crate) path: &'r str,
    /// The body, not read yet.
    pub(crate) body: Body,
    pub(crate) connection: Option<OnUpgrade>,
    /// Address of the client.
    pub(crate) peer: Option<SocketAddr>,
    /// Ends long-running requests at shutdown.
    pub(crate) shutdown: &'r CancellationToken,
}

/// Proxies a request to `url` and returns the response. Headers and links are rewritten.
///
/// # Errors
/// 400 for a request of ambiguous length; 503 when the backend does not respond.
pub(crate) async fn proxy_request(
    network: &dyn Network,
    mut url: Url,
    incoming: ProxyRequest<'_>,
) -> Result<Response, Box<Status>> {
    let ProxyRequest { parts, path, .. } = incoming;
    if parts.extensions.get::<LongQuery>().is_some() {
        let text = "the query is too long for a proxied request";
        return Err(Status::failure(414, Reason::Unknown, text).into());
    }
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
    let prefix = links::prefix(path, &url.path);
    let head = headers::forwarded(&parts.headers);
    let mut head = head.map_err(|error| Status::bad_request(error.to_string()))?;
    headers::add_host(&mut head, parts, &url);
    headers::add_forwarded_for(&mut head, incoming.peer.map(|peer| peer.ip()));
    headers::add_forwarded_uri(&mut head, prefix, &url);
    let host = header::text_or_empty(&head, http::header::HOST).into_owned();
    let unreachable = |error: &dyn Display| {
        Status::failure(503, Reason::ServiceUnavailable, format!("error trying to reach service: {error}"))
    };
    let request =
        headers::request(&parts.method, &url, head, incoming.body).map_err(|error| unreachable(&error))?;
    let response = network.send(url.trust, request).await.map_err(|error| unreachable(&error))?;
    let (mut head, body) = response.into_parts();
    head.headers = headers::forwarded(&head.headers).map_err(|error| unreachable(&error))?;
    headers::remove_cors(&mut head.headers);
    let links = LinkRewriter { prefix: prefix.to_owned(), backend: url.authority(), requested: host };
    let body = rewrite_links(links, &parts.method, &mut head.headers, body).await?;
    Ok(into_response(head.status, head.headers, body))
}

/// Rewrites the target of a redirect, or the links of an HTML document, to the paths that the client sees.
///
/// # Errors
/// 500 for a target that is not a URL, and for a document whose beginning cannot be decoded.
async fn rewrite_links(
    links: LinkRewriter,
    method: &Method,
    head: &mut HeaderMap,
    body: Body,
) -> Result<Body, Box<Status>> {
    if let Some(to) = header::text(head, LOCATION).filter(|to| !to.is_empty()) {
        let rewritten = links.rewrite(&to).map_err(|error| {
            Status::internal_error(format!("error trying to parse Location header: {error}"))
        })?;
        if let Ok(value) = HeaderValue::try_from(rewritten) {
            head.insert(LOCATION, value);
        }
        return Ok(body);
    }
    let Some(coding) = html::coding(head) else { return Ok(body) };
    head.remove(CONTENT_LENGTH);
    if *method == Method::HEAD {
        return Ok(html::without_document());
    }
    html::rewrite(body, coding, links).await.map_err(|error| Status::unmapped(error.to_string()).into())
}

/// Redirects a browser to the root of the backend with a trailing slash. Otherwise relative links would be
/// wrong.
fn redirect_to_root(path: &str, query: &str) -> Response {
    let mark = if query.is_empty() { "" } else { "?" };
    let mut head = HeaderMap::new();
    if let Ok(value) = HeaderValue::try_from(format!("{}/{mark}{query}", url::escape_path(path))) {
        head.insert(LOCATION, value);
    }
    into_response(http::StatusCode::MOVED_PERMANENTLY, head, full(bytes::Bytes::new()))
}

/// Marks the response of a backend, whose headers this server adds to but never replaces.
#[derive(Debug, Clone, Copy)]
pub struct BackendResponse;

fn into_response(status: http::StatusCode, headers: HeaderMap, body: Body) -> Response {
    let mut response = http::Response::new(body);
    response.extensions_mut().insert(BackendResponse);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

#[cfg(test)]
mod tests;
