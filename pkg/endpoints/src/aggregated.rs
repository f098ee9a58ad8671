//! Proxies requests for API groups that aggregated API servers serve (upstream's
//! `kube-aggregator/pkg/apiserver/handler_proxy.go`).
//!
//! Such a request has passed the whole chain. It is forwarded with the authenticated user in headers. The
//! other server trusts these headers because of the client certificate of the connection.

mod headers;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use apimachinery::request_context::RequestContext;
use apimachinery::user_info::UserInfo;
use async_trait::async_trait;
use http::header::{CONTENT_TYPE, HeaderValue, LOCATION};
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use hyper::upgrade::OnUpgrade;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::proxy::url::Url;
use crate::proxy::{self, Network, ProxyRequest, Trust};
use crate::routing::dispatch::{Body, Response};
pub(crate) use crate::routing::proxied::find_proxied;
use crate::{header, response};
pub use headers::{HeaderError, set_user};

/// Timeout of a discovery request to an aggregated server. Every client sends this request, so one slow
/// server would slow all of discovery.
const DISCOVERY_MAX: Duration = Duration::from_secs(5);

/// Connections to the servers behind APIServices.
#[async_trait]
pub trait ServerResolver: Send + Sync + 'static {
    /// Returns the current address and transport for an APIService.
    ///
    /// # Errors
    /// The APIService has no usable server.
    async fn resolve(&self, api_service: &str) -> Result<BackendAddress, ErrorResponse>;
}

/// Address and transport of an aggregated server.
pub struct BackendAddress {
    /// Connects to the server. The TLS trust comes from the APIService, not from the request.
    pub network: Arc<dyn Network>,
    /// DNS name or IP address, without brackets.
    pub host: String,
    pub port: u16,
}

/// Error response that is sent in place of the server's response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorResponse {
    /// HTTP status code.
    pub code: u16,
    pub message: String,
}

/// Proxy for aggregated API servers.
#[derive(Clone)]
pub struct Aggregation {
    pub servers: Arc<dyn ServerResolver>,
    /// Sends the uid of the user (gate `RemoteRequestHeaderUID`).
    pub send_uid: bool,
    /// Returns redirects to the client (`--aggregator-reject-forwarding-redirect=false`).
    pub forward_redirects: bool,
}

/// Request that is forwarded to another server.
pub(crate) struct ForwardedRequest<'r> {
    pub(crate) parts: Parts,
    /// The body, not read yet.
    pub(crate) body: Body,
    pub(crate) context: &'r RequestContext,
    pub(crate) user: &'r UserInfo,
    pub(crate) connection: Option<OnUpgrade>,
    /// Ends long-running requests at shutdown.
    pub(crate) shutdown: &'r CancellationToken,
}

impl Aggregation {
    /// Forwards a request. Every failure becomes a plain-text response.
    pub(crate) async fn forward(&self, api_service: &str, request: ForwardedRequest<'_>) -> Response {
        let way = match self.servers.resolve(api_service).await {
            Ok(way) => way,
            Err(ErrorResponse { code, message }) => return rejection(code, message),
        };
        match self.forward_to(way, request).await {
            Ok(response) if is_redirect(&response) && !self.forward_redirects => not_redirected(),
            Ok(response) => response,
            Err(ProxyError { message, .. }) => rejection(503, message),
        }
    }

    async fn forward_to(
        &self,
        way: BackendAddress,
        request: ForwardedRequest<'_>,
    ) -> Result<Response, ProxyError> {
        let info = &request.context.info;
        let context = request.context;
        let is_discovery = !info.is_resource && info.path.trim_matches('/').split('/').count() == 3;
        let user = if self.send_uid {
            request.user.clone()
        } else {
            UserInfo { uid: String::new(), ..request.user.clone() }
        };
        let nothing_more = HeaderMap::new();
        let passed = pass_on(way, ForwardedRequest { user: &user, context, ..request }, &nothing_more);
        if is_discovery {
            timeout(DISCOVERY_MAX, passed).await.map_err(|_| deadline_exceeded())?
        } else {
            passed.await
        }
    }
}

/// Failure to get a response from another server.
pub(crate) struct ProxyError {
    /// False if the request was not sent because headers cannot represent the user.
    pub(crate) was_sent: bool,
    /// Error text in the wording of Go's HTTP client.
    pub(crate) message: String,
}

/// Forwards a request with the user and the headers in `more`.
///
/// # Errors
/// The server did not respond, or the request could not be sent.
pub(crate) async fn pass_on(
    way: BackendAddress,
    request: ForwardedRequest<'_>,
    upgrade_headers: &HeaderMap,
) -> Result<Response, ProxyError> {
    let ForwardedRequest { mut parts, body, context, user, connection, shutdown } = request;
    let path = context.info.path.as_str();
    let url = Url {
        tls: true,
        trust: Trust::AnyServer,
        host: way.host,
        port: way.port.to_string(),
        path: path.to_owned(),
        query: String::new(),
    };
    let prepared = headers::prepare(&mut parts, &url, context, user);
    prepared.map_err(|error| {
        let message = format!("error trying to reach service: {error}");
        ProxyError { was_sent: false, message }
    })?;
    parts.headers.extend(upgrade_headers.clone());
    let incoming = ProxyRequest { parts: &parts, path, body, connection, peer: context.peer, shutdown };
    let response = proxy::proxy_request(&*way.network, url, incoming).await;
    response.map_err(|status| ProxyError { was_sent: true, message: status.message })
}

fn deadline_exceeded() -> ProxyError {
    let message = "error trying to reach service: context deadline exceeded".to_owned();
    ProxyError { was_sent: true, message }
}

fn is_redirect(response: &Response) -> bool {
    response.status().is_redirection() && !header::text_or_empty(response.headers(), LOCATION).is_empty()
}

/// Rejects a redirect. Otherwise a server could send clients and their credentials to any address.
fn not_redirected() -> Response {
    let text = "the backend attempted to redirect this request, which is not permitted";
    let mut response = http::Response::new(response::full(text));
    *response.status_mut() = StatusCode::BAD_GATEWAY;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

pub(crate) fn rejection(code: u16, message: String) -> Response {
    response::plain(code, message + "\n")
}
