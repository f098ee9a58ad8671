//! Errors of requests to API servers behind APIServices.

use apimachinery::foreign_text::ForeignText;
use apimachinery::status::Status;
use endpoints::aggregated::HeaderError;
use endpoints::openapi::DocumentError;
use http::StatusCode;
use registry::client::LookupError;

/// Error of the aggregator. The texts are those of upstream's messages.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server does not serve APIServices.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// The client credentials or the CA bundle are unusable, or the address is invalid.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// The Service of the server leads nowhere.
    #[error(transparent)]
    Address(#[from] Box<Status>),
    /// The user cannot be represented in headers.
    #[error(transparent)]
    Headers(#[from] HeaderError),
    /// The request failed. The text is that of Go's client.
    #[error("{message}")]
    Request { message: String, source: client::Error },
    #[error("the API server is unavailable")]
    Unavailable,
    /// The server responded with an unexpected code.
    #[error("bad status from {from}: {}", status.as_u16())]
    Status {
        /// URL or path of the request.
        from: String,
        status: StatusCode,
    },
    /// A document of the server is invalid.
    #[error("{}", ForeignText::displayed(.0))]
    Json(#[from] schema::json::Error),
    /// An OpenAPI 2.0 document of the server is invalid.
    #[error("{}", ForeignText::displayed(.0))]
    Document(#[from] DocumentError),
    /// A document could not be read, because the server stops.
    #[error(transparent)]
    Task(#[from] tokio::task::JoinError),
    /// A probe of the server failed.
    #[error("failing or missing response from {url}: {source}")]
    Probe { url: http::Uri, source: Box<Error> },
}
