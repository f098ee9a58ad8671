//! Requests that turn their connection into something else (SPDY, WebSocket): the backend agrees to it,
//! and what follows is passed through both ways, whatever it is.

use std::time::Duration;

use apimachinery::status::Status;
use http::StatusCode;
use http::header::{CONNECTION, HeaderValue, TRANSFER_ENCODING};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncWriteExt, copy, split};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::url::Url;
use super::{Incoming, Network, UpgradeError, answer_of, headers};
use crate::routing::dispatch::{Response, Tunnel};

/// How long the ends may take to hear that it is over.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Passes an upgrade on. If the backend refuses, its refusal is the answer.
///
/// # Errors
/// 500 when the backend does not answer, or agrees to something else.
pub(crate) async fn upgrade(
    network: &dyn Network,
    url: &Url,
    incoming: Incoming<'_>,
) -> Result<Response, Box<Status>> {
    let Incoming { parts, body, connection, peer, shutdown, .. } = incoming;
    let mut head = parts.headers.clone();
    head.remove(TRANSFER_ENCODING);
    headers::add_host(&mut head, parts, url);
    headers::add_forwarded_for(&mut head, peer.map(|peer| peer.ip()));
    let failed = |failure| match failure {
        UpgradeError::Dial(error) => Status::unmapped(format!("error dialing backend: {error}")),
        UpgradeError::Exchange(error) => Status::unmapped(error),
    };
    let request = headers::request(&parts.method, url, head, body);
    let request = request.map_err(|error| failed(UpgradeError::Dial(error)))?;
    let mut answer = network.send_alone(url.trust(), request).await.map_err(failed)?;
    if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
        let client = connection.ok_or_else(|| Status::unmapped("request connection cannot be hijacked"))?;
        let backend = hyper::upgrade::on(&mut answer);
        let (tunnel, shutdown) = (Tunnel::default(), shutdown.clone());
        let open = tunnel.guard();
        tokio::spawn(async move {
            copy_bidirectional(client, backend, shutdown).await;
            drop(open);
        });
        let head = answer.into_parts().0.headers;
        let nothing = crate::response::full(bytes::Bytes::new());
        let mut answer = answer_of(StatusCode::SWITCHING_PROTOCOLS, head, nothing);
        answer.extensions_mut().insert(tunnel);
        return Ok(answer);
    }
    let (head, body) = answer.into_parts();
    if head.status.as_u16() < 400 {
        let code = head.status.as_u16();
        return Err(Status::unmapped(format!("invalid upgrade response: status code {code}")).into());
    }
    let mut kept = headers::end_to_end(&head.headers);
    if parts.version < http::Version::HTTP_2 {
        kept.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(answer_of(head.status, kept, body))
}

/// Copies both ways until one side has said all, or the server stops.
async fn copy_bidirectional(client: OnUpgrade, backend: OnUpgrade, shutdown: CancellationToken) {
    let both = async { tokio::try_join!(client, backend) };
    let (client, backend): (Upgraded, Upgraded) = tokio::select! {
        both = both => match both {
            Ok(both) => both,
            Err(error) => return tracing::debug!(%error, "an upgrade did not take place"),
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
        tracing::debug!(%error, "a connection that was passed through broke");
    }
    let goodbye = async { tokio::join!(to_client.shutdown(), to_backend.shutdown()) };
    let _ = timeout(SHUTDOWN_TIMEOUT, goodbye).await;
}
