//! The seam between the chain that every request passes and the API behind it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use tokio_util::sync::{CancellationToken, DropGuard};

use apimachinery::request_context::RequestContext;
use apimachinery::request_info::RequestInfo;
use authorization::Authorized;
pub use registry::generic::{Extent, Lag, Progress};

/// A body's failure; the connection is cut.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A request's or a response's body.
pub type Body = UnsyncBoxBody<Bytes, BoxError>;

/// The largest body that is read (upstream's `MaxRequestBodyBytes`).
pub const BODY_BYTES_MAX: usize = 3 * 1024 * 1024;

/// A response.
pub type Response = http::Response<Body>;

/// A connection that is passed through behind a 101; it is among the extensions of that answer. Clones are the
/// same one.
#[derive(Debug, Clone, Default)]
pub struct Tunnel(CancellationToken);

impl Tunnel {
    /// The tunnel is open until this is dropped.
    pub fn guard(&self) -> DropGuard {
        self.0.clone().drop_guard()
    }

    /// Waits until it is closed.
    pub async fn closed(&self) {
        self.0.cancelled().await;
    }
}

/// Says when a watch has sent the state that it begins with; it is among the extensions of the answer. Clones say the
/// same.
#[derive(Debug, Clone, Default)]
pub struct Initialized(Arc<AtomicBool>);

impl Initialized {
    /// It is sent.
    pub fn set(&self) {
        self.0.store(true, Relaxed);
    }

    /// Whether it is sent. To be asked after the body was polled.
    pub fn is_set(&self) -> bool {
        self.0.load(Relaxed)
    }
}

/// A request that has passed the chain. It can only be built with the proof that it was authorized.
pub struct Request {
    /// Method, URI, headers.
    pub parts: http::request::Parts,
    /// The body, not read yet.
    pub body: Body,
    /// What it asks for, and where it came from.
    pub context: Arc<RequestContext>,
    /// Proof, and who asks.
    pub authorized: Authorized,
}

/// Whatever answers authorized requests.
#[async_trait]
pub trait Dispatch: Send + Sync + 'static {
    /// Answers a request. Never fails: every error is a response.
    async fn dispatch(&self, request: Request) -> Response;

    /// How many bytes a change will look at that are not in the request: those of the object that it is about.
    /// An estimate, made without waiting; 0 if nothing is known.
    fn stored_bytes(&self, info: &RequestInfo) -> usize;

    /// How much a list or the beginning of a watch has to look at. An estimate, made without waiting or allocating;
    /// `None` where nothing is known: what somebody else answers, what is not stored.
    fn extent(&self, _info: &RequestInfo) -> Option<Extent> {
        None
    }

    /// How many watches are told of a change. An estimate, made as that.
    fn watch_count(&self, _info: &RequestInfo) -> usize {
        0
    }

    /// Whether somebody else does what a request asks for. Then there is no work here to see to its end, and its body
    /// is not for this server to wait for.
    fn is_forwarded(&self, _info: &RequestInfo) -> bool {
        false
    }
}
