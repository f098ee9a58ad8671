//! Upgraded requests (SPDY, WebSocket): after the backend accepts, bytes are copied in both directions.

use std::net::SocketAddr;
use std::time::Duration;

use apimachinery::foreign_text::ForeignText;
use apimachinery::status::Status;
use http::header::{CONNECTION, CONTENT_LENGTH, HeaderMap, HeaderValue, TRANSFER_ENCODING};
use http::request::Parts;
use http::{Method, StatusCode, Version};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncWriteExt, copy, split};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::url::Url;
use super::{Network, NetworkError, ProxyRequest, headers, into_response};
use crate::routing::dispatch::{Body, Response, Tunnel, UnchangedHead};

/// Timeout of the final shutdown of both connections.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Proxies an upgrade request. If the backend rejects it, its response is returned.
///
/// # Errors
/// 400 for a request of ambiguous length; 500 when the backend does not respond, or accepts a different protocol.
pub(crate) async fn upgrade(
    network: &dyn Network,
    url: &Url,
    incoming: ProxyRequest<'_>,
) -> Result<Response, Box<Status>> {
    let ProxyRequest { parts, body, connection, peer, shutdown, .. } = incoming;
    let request = UpgradeRequest { method: &parts.method, headers: &parts.headers, body, parts, peer };
    let mut response = request.send(network, url).await?;
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        return rejection(response, parts.version);
    }
    let client = upgraded_by_client(connection)?;
    let backend = hyper::upgrade::on(&mut response);
    let mut head = response.into_parts().0.headers;
    // Such a response has no body (RFC 9110, 8.6).
    head.remove(CONTENT_LENGTH);
    head.remove(TRANSFER_ENCODING);
    let empty_body = crate::response::full(bytes::Bytes::new());
    let mut response = into_response(StatusCode::SWITCHING_PROTOCOLS, head, empty_body);
    Tunnel::spawn(&mut response, copy_bidirectional(client, backend, shutdown.clone()));
    response.extensions_mut().insert(UnchangedHead);
    Ok(response)
}

/// Returns the client's connection after the response.
///
/// # Errors
/// 500 for a connection that cannot be upgraded, such as HTTP/2.
pub(super) fn upgraded_by_client(connection: Option<OnUpgrade>) -> Result<OnUpgrade, Box<Status>> {
    Ok(connection.ok_or_else(|| Status::unmapped("request connection cannot be hijacked"))?)
}

/// Upgrade request to a backend.
pub(super) struct UpgradeRequest<'r> {
    pub(super) method: &'r Method,
    /// Headers of the client, which name the protocol.
    pub(super) headers: &'r HeaderMap,
    pub(super) body: Body,
    /// Request of the client.
    pub(super) parts: &'r Parts,
    /// Address of the client.
    pub(super) peer: Option<SocketAddr>,
}

impl UpgradeRequest<'_> {
    /// Sends the request and returns the response.
    ///
    /// # Errors
    /// 400 for a request of ambiguous length; 500 when the backend does not respond.
    pub(super) async fn send(self, network: &dyn Network, url: &Url) -> Result<Response, Box<Status>> {
        let head = headers::forwarded(self.headers);
        let mut head = head.map_err(|error| Status::bad_request(error.to_string()))?;
        headers::add_upgrade(&mut head, self.headers);
        headers::add_host(&mut head, self.parts, url);
        headers::add_forwarded_for(&mut head, self.peer.map(|peer| peer.ip()));
        let request = headers::request(self.method, url, head, self.body);
        let request = request.map_err(|error| failure(NetworkError::Url(error)))?;
        let response = network.send_dedicated(url.trust, request).await;
        Ok(response.map_err(failure)?)
    }
}

fn failure(error: NetworkError) -> Status {
    match error {
        NetworkError::Exchange(error) => Status::unmapped(error.as_str()),
        error => Status::unmapped(format!("error dialing backend: {error}")),
    }
}

/// Returns the response of a backend that does not upgrade. `version` is that of the client's connection.
///
/// # Errors
/// 500 for a response that is not an error.
pub(super) fn rejection(response: Response, version: Version) -> Result<Response, Box<Status>> {
    let (head, body) = response.into_parts();
    if head.status.as_u16() < 400 {
        let code = head.status.as_u16();
        return Err(Status::unmapped(format!("invalid upgrade response: status code {code}")).into());
    }
    let forwarded = headers::forwarded(&head.headers);
    let mut forwarded =
        forwarded.map_err(|error| failure(NetworkError::Exchange(ForeignText::displayed(error))))?;
    if version < Version::HTTP_2 {
        forwarded.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    let mut response = into_response(head.status, forwarded, body);
    response.extensions_mut().insert(UnchangedHead);
    Ok(response)
}

/// Copies in both directions until one side ends or the server stops.
async fn copy_bidirectional(client: OnUpgrade, backend: OnUpgrade, shutdown: CancellationToken) {
    let copied = async { tokio::try_join!(client, backend) };
    let (client, backend): (Upgraded, Upgraded) = tokio::select! {
        copied = copied => match copied {
            Ok(copied) => copied,
            Err(error) => return tracing::debug!(%error, "connection upgrade failed"),
        },
        () = shutdown.cancelled() => return,
    };
    let (mut from_client, mut to_client) = split(TokioIo::new(client));
    let (mut from_backend, mut to_backend) = split(TokioIo::new(backend));
    let ended = tokio::select! {
        ended = copy(&mut from_client, &mut to_backend) => ended,
        ended = copy(&mut from_backend, &mut to_client) => ended,
        () = shutdown.cancelled() => Ok(0),
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "upgraded connection failed");
    }
    let goodbye = async { tokio::join!(to_client.shutdown(), to_backend.shutdown()) };
    let _ = timeout(SHUTDOWN_TIMEOUT, goodbye).await;
}
