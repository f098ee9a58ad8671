//! Requests for what other API servers answer for (upstream's `kube-aggregator/pkg/apiserver/handler_proxy.go`).
//!
//! Such a request has passed the chain like any other. It is passed on with the user that was found in headers, which
//! the other server believes because of the certificate that comes with them.

mod headers;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use api::catalog::{Catalog, Owner, Proxied};
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
use crate::proxy::{self, Incoming, Network, Trust};
use crate::routing::dispatch::{Body, Response};
use crate::{header, response};
pub use headers::set_user;

/// How long a server may take to say what it serves. Every client asks for that, so a slow one would slow all.
const DISCOVERY_MAX: Duration = Duration::from_secs(5);

/// The servers behind APIServices.
#[async_trait]
pub trait Servers: Send + Sync + 'static {
    /// The way to the server of an APIService, as it is now.
    ///
    /// # Errors
    /// There is none.
    async fn way(&self, api_service: &str) -> Result<BackendAddress, ErrorResponse>;
}

/// The way to a server.
pub struct BackendAddress {
    /// Gets there, whatever trust a request asks for: whom to believe is the APIService's to say.
    pub network: Arc<dyn Network>,
    /// A name or an address, without brackets.
    pub host: String,
    /// A port.
    pub port: u16,
}

/// An answer instead of a server's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorResponse {
    /// HTTP status.
    pub code: u16,
    /// Why, for clients.
    pub message: String,
}

/// How requests are passed on to the servers of others.
#[derive(Clone)]
pub struct Aggregation {
    /// The way to them.
    pub servers: Arc<dyn Servers>,
    /// Tell the uid of users (gate `RemoteRequestHeaderUID`).
    pub send_uid: bool,
    /// Pass redirects on to clients (`--aggregator-reject-forwarding-redirect=false`).
    pub forward_redirects: bool,
}

/// A request for another server.
pub(crate) struct Forwarded<'r> {
    /// Its head.
    pub(crate) parts: Parts,
    /// Its body, not read yet.
    pub(crate) body: Body,
    /// What is known of it.
    pub(crate) context: &'r RequestContext,
    /// Who asks.
    pub(crate) user: &'r UserInfo,
    /// The connection, for those who want to speak something else on it.
    pub(crate) connection: Option<OnUpgrade>,
    /// When to end what has no end of its own.
    pub(crate) shutdown: &'r CancellationToken,
}

/// The version that a decoded path leads into, if another server answers for it. Who answers for `v1` of the core group
/// answers for all of `/api`, as upstream has it.
pub(crate) fn proxied<'c>(catalog: &'c Catalog, path: &str) -> Option<&'c Arc<Proxied>> {
    if !catalog.has_proxied() {
        return None;
    }
    let mut segments = path.strip_prefix('/')?.split('/');
    let (group, version) = match segments.next()? {
        "api" => ("", "v1"),
        "apis" => (segments.next().filter(|group| !group.is_empty())?, segments.next()?),
        _ => return None,
    };
    match &catalog.group(group)?.version(version)?.owner {
        Owner::Proxied(proxied) => Some(proxied),
        Owner::Builtin | Owner::Custom => None,
    }
}

impl Aggregation {
    /// Passes a request on. Every failure is an answer, as plain text.
    pub(crate) async fn forward(&self, api_service: &str, request: Forwarded<'_>) -> Response {
        let way = match self.servers.way(api_service).await {
            Ok(way) => way,
            Err(ErrorResponse { code, message }) => return refusal(code, message),
        };
        match self.pass_on(way, request).await {
            Ok(answer) if is_redirect(&answer) && !self.forward_redirects => not_redirected(),
            Ok(answer) => answer,
            Err(ProxyError { message, .. }) => refusal(503, message),
        }
    }

    async fn pass_on(&self, way: BackendAddress, request: Forwarded<'_>) -> Result<Response, ProxyError> {
        let (info, context) = (&request.context.info, request.context);
        let is_discovery = !info.is_resource && info.path.trim_matches('/').split('/').count() == 3;
        let user = if self.send_uid {
            request.user.clone()
        } else {
            UserInfo { uid: String::new(), ..request.user.clone() }
        };
        let nothing_more = HeaderMap::new();
        let passed = pass_on(way, Forwarded { user: &user, context, ..request }, &nothing_more);
        if is_discovery {
            timeout(DISCOVERY_MAX, passed).await.map_err(|_| too_slow())?
        } else {
            passed.await
        }
    }
}

/// Why another server has not answered.
pub(crate) struct ProxyError {
    /// Whether it was asked at all: a user whom no header can name is not passed on.
    pub(crate) asked: bool,
    /// In the words of Go's client.
    pub(crate) message: String,
}

/// Passes a request on, with the user in headers and what `more` says.
///
/// # Errors
/// Why there is no answer.
pub(crate) async fn pass_on(
    way: BackendAddress,
    request: Forwarded<'_>,
    more: &HeaderMap,
) -> Result<Response, ProxyError> {
    let Forwarded { mut parts, body, context, user, connection, shutdown } = request;
    let path = context.info.path.as_str();
    let url = Url {
        tls: Some(Trust::Anyone),
        host: way.host,
        port: way.port.to_string(),
        path: path.to_owned(),
        query: String::new(),
    };
    let prepared = headers::prepare(&mut parts, &url, context, user);
    prepared.map_err(|message| ProxyError { asked: false, message })?;
    parts.headers.extend(more.clone());
    let incoming = Incoming { parts: &parts, path, body, connection, peer: context.peer, shutdown };
    let answer = proxy::pass_on(&*way.network, url, incoming).await;
    answer.map_err(|status| ProxyError { asked: true, message: status.message })
}

fn too_slow() -> ProxyError {
    let message = "error trying to reach service: context deadline exceeded".to_owned();
    ProxyError { asked: true, message }
}

fn is_redirect(answer: &Response) -> bool {
    answer.status().is_redirection() && !header::text_or_empty(answer.headers(), LOCATION).is_empty()
}

/// A server could send clients, with what they show it, to wherever it likes.
fn not_redirected() -> Response {
    let text = "the backend attempted to redirect this request, which is not permitted";
    let mut answer = http::Response::new(response::full(text));
    *answer.status_mut() = StatusCode::BAD_GATEWAY;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    answer
}

pub(crate) fn refusal(code: u16, message: String) -> Response {
    response::plain(code, message + "\n")
}
