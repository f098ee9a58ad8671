//! Interface between the chain that every request passes and the API behind it.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use tokio_util::sync::{CancellationToken, DropGuard};

use apimachinery::request_context::RequestContext;
use apimachinery::request_info::RequestInfo;
use authorization::Authorized;
pub use registry::generic::{Extent, Lag, Progress};

/// Error of a body; the connection is cut.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Body of a request or a response.
pub type Body = UnsyncBoxBody<Bytes, BoxError>;

/// Returns a body of these bytes.
pub fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// Maximum size of a request body (upstream's `MaxRequestBodyBytes`).
pub const BODY_BYTES_MAX: usize = 3 * 1024 * 1024;

pub type Response = http::Response<Body>;

/// Connection that is tunnelled after a 101 response, in whose extensions it is stored. Clones share one
/// state.
#[derive(Debug, Clone, Default)]
pub struct Tunnel(CancellationToken);

impl Tunnel {
    /// Runs a task on the connection of a 101 response. The tunnel is open until the task is done.
    pub(crate) fn spawn(response: &mut Response, task: impl Future<Output = ()> + Send + 'static) {
        let tunnel = Tunnel::default();
        let open = tunnel.guard();
        response.extensions_mut().insert(tunnel);
        tokio::spawn(async move {
            task.await;
            drop(open);
        });
    }

    /// Returns a guard; the tunnel is open until the guard is dropped.
    pub fn guard(&self) -> DropGuard {
        self.0.clone().drop_guard()
    }

    /// Waits until the tunnel is closed.
    pub async fn closed(&self) {
        self.0.cancelled().await;
    }
}

/// Flag that a watch has sent its initial state; stored in the extensions of the response. Clones share one
/// state.
#[derive(Debug, Clone, Default)]
pub struct InitializedFlag(CancellationToken);

impl InitializedFlag {
    pub fn set(&self) {
        self.0.cancel();
    }

    /// True if the initial state was sent. Valid after the body was polled.
    pub fn is_set(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Waits until the initial state was sent.
    pub async fn wait(&self) {
        self.0.cancelled().await;
    }
}

/// Marker in the extensions of a response whose head is sent without further headers: upstream writes it to the
/// connection itself.
#[derive(Debug, Clone, Copy)]
pub struct UnchangedHead;

/// Request that has passed the chain. It can only be built with the proof that it was authorized.
pub struct Request {
    pub parts: http::request::Parts,
    /// The body, not read yet.
    pub body: Body,
    /// The request info and the origin of the request.
    pub context: Arc<RequestContext>,
    /// Proof of authorization, with the user.
    pub authorized: Authorized,
}

/// Handler of authorized requests.
#[async_trait]
pub trait Dispatch: Send + Sync + 'static {
    /// Handles a request. Never fails: every error is a response.
    async fn dispatch(&self, request: Request) -> Response;

    /// Size in bytes of the stored object that a write reads, in addition to the request. An estimate, made
    /// without waiting; 0 if unknown.
    fn stored_bytes(&self, info: &RequestInfo) -> usize;

    /// Estimates the size of a list or of the initial state of a watch, without waiting or allocating. `None`
    /// if unknown: resources that another server serves, or that are not stored.
    fn extent(&self, _info: &RequestInfo) -> Option<Extent> {
        None
    }

    /// Estimates the number of watches that get an event for a write, without waiting.
    fn watch_count(&self, _info: &RequestInfo) -> usize {
        0
    }

    /// True if another server handles the request. Then this server does not wait for the body and has no
    /// work to complete.
    fn is_forwarded(&self, _info: &RequestInfo) -> bool {
        false
    }
}
