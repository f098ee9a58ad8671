//! The seam between the chain that every request passes and the API behind it.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;

use apimachinery::request_context::RequestContext;
use authorization::Authorized;

/// A body's failure; the connection is cut.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A request's or a response's body.
pub type Body = UnsyncBoxBody<Bytes, BoxError>;

/// A response.
pub type Response = http::Response<Body>;

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
}
