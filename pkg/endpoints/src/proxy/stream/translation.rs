//! Runs a translated command: accepts the WebSocket, calls the kubelet, and relays.

use std::sync::Arc;

use apimachinery::status::Status;
use http::{Method, StatusCode};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::CHANNEL_PROTOCOL;
use super::metrics::StreamMetrics;
use super::negotiation::{SpdyConnection, negotiate};
use super::outcome::Outcome;
use super::relay::{self, Connection, Outputs};
use super::remote_command::{Options, RemoteCommand, append_status, first_message};
use crate::proxy::upgrade::upgraded_by_client;
use crate::proxy::url::Url;
use crate::proxy::{Backends, Network, ProxyRequest};
use crate::routing::dispatch::{Response, Tunnel};
use crate::websocket::{self, Accepted, Protocols, handshake};

/// Text of a rejected method in upstream's library.
const BAD_METHOD: &str = "bad method";

/// Accepts the client's WebSocket and starts the command. Later errors are sent on the error channel.
///
/// # Errors
/// 500 for a client over HTTP/2.
pub(crate) fn translate(
    backends: &Backends,
    url: Url,
    options: Options,
    incoming: ProxyRequest<'_>,
) -> Result<Response, Box<Status>> {
    let ProxyRequest { parts, connection, shutdown, .. } = incoming;
    let accepted = if parts.method == Method::GET {
        websocket::accept(&parts.headers, Protocols::OneOf(&[CHANNEL_PROTOCOL]))
    } else {
        Err(handshake::rejection(StatusCode::METHOD_NOT_ALLOWED, BAD_METHOD))
    };
    let mut response = match accepted {
        Ok(Accepted { response, .. }) => response,
        Err(rejection) => {
            backends.streams.record_translated(400);
            return Ok(*rejection);
        }
    };
    let client = upgraded_by_client(connection)?;
    let network = Arc::clone(&backends.network);
    let command = Command { network, url, options, metrics: Arc::clone(&backends.streams) };
    let shutdown = shutdown.clone();
    Tunnel::spawn(&mut response, async move { command.accept(client, &shutdown).await });
    Ok(response)
}

/// Command on a kubelet.
struct Command {
    network: Arc<dyn Network>,
    url: Url,
    options: Options,
    metrics: Arc<StreamMetrics>,
}

impl Command {
    async fn accept(&self, client: OnUpgrade, shutdown: &CancellationToken) {
        let client = tokio::select! {
            client = client => client,
            () = shutdown.cancelled() => return,
        };
        match client {
            Ok(client) => self.run(Connection::new(TokioIo::new(client)), shutdown).await,
            Err(error) => tracing::debug!(%error, "connection upgrade failed"),
        }
    }

    /// Runs until the command, the client or the server ends.
    async fn run<C: AsyncRead + AsyncWrite>(&self, mut client: Connection<C>, shutdown: &CancellationToken) {
        let mut out = Outputs { client: first_message(self.options), ..Outputs::default() };
        let negotiated = async {
            tokio::select! {
                negotiated = negotiate(&*self.network, &self.url) => Some(negotiated),
                () = shutdown.cancelled() => None,
            }
        };
        match client.serve_while(&mut out.client, negotiated).await.flatten() {
            Some(Ok(SpdyConnection { connection, version })) => {
                let mut kubelet = Connection::new(TokioIo::new(connection));
                let mut command = RemoteCommand::start(self.options, version, &mut out);
                relay::relay(&mut client, &mut kubelet, &mut out, &mut command, shutdown).await;
                self.metrics.record_translated(command.code());
                relay::finish(&mut client, &mut kubelet, &mut out).await;
            }
            Some(Err(error)) => {
                let outcome = Outcome::Failure(error.to_string());
                self.metrics.record_translated(outcome.code());
                append_status(&outcome, &mut out.client);
                client.finish(&mut out.client).await;
            }
            None => client.finish(&mut out.client).await,
        }
    }
}
