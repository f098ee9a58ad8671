//! One request to a backend, on a connection of its own.

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;

use super::Network;
use super::url::Url;
use crate::dispatch::Body;

/// Room for the head of an answer, in bytes.
const HEAD_BYTES_MAX: usize = 1 << 20;

/// A connection to a backend that has not been used yet. It lasts as long as somebody reads the answer, or
/// what is spoken after an upgrade.
pub(super) struct Dialled(http1::SendRequest<Body>);

/// Connects to the backend of a URL.
///
/// # Errors
/// Why not.
pub(super) async fn dial(network: &dyn Network, url: &Url) -> Result<Dialled, String> {
    let stream = TokioIo::new(network.connect(url.backend()).await?);
    let mut builder = http1::Builder::new();
    let handshake = builder.max_buf_size(HEAD_BYTES_MAX).handshake(stream).await;
    let (sender, connection) = handshake.map_err(|error| error.to_string())?;
    tokio::spawn(async move {
        if let Err(error) = connection.with_upgrades().await {
            tracing::debug!(%error, "connection to a backend ended");
        }
    });
    Ok(Dialled(sender))
}

impl Dialled {
    /// Sends a request and waits for the head of its answer.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) async fn send(mut self, request: Request<Body>) -> Result<Response<Incoming>, String> {
        self.0.send_request(request).await.map_err(|error| match error.is_incomplete_message() {
            true => "EOF".to_owned(),
            false => error.to_string(),
        })
    }
}

/// Sends a request to a backend and waits for the head of its answer.
///
/// # Errors
/// Why there is none.
pub(crate) async fn exchange(
    network: &dyn Network,
    url: &Url,
    request: Request<Body>,
) -> Result<Response<Incoming>, String> {
    dial(network, url).await?.send(request).await
}
