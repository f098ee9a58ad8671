//! Responses of the server itself.

use bytes::Bytes;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use http_body_util::{BodyExt, Empty, Full};

use apimachinery::status::Status;
use endpoints::response::ErrorForm;
use endpoints::routing::dispatch::{Body, Response};

pub(crate) const X_CONTENT_TYPE_OPTIONS: HeaderName = HeaderName::from_static("x-content-type-options");
const TEXT_PLAIN: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const APPLICATION_JSON: HeaderValue = HeaderValue::from_static("application/json");
const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");

pub(crate) fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

pub(crate) fn empty() -> Body {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}

pub(crate) fn response(code: u16, content_type: HeaderValue, body: impl Into<Bytes>) -> Response {
    let mut response = Response::new(full(body));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}

/// Plain-text response with `nosniff`.
pub(crate) fn text(code: u16, body: impl Into<Bytes>) -> Response {
    let mut response = response(code, TEXT_PLAIN, body);
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, NOSNIFF);
    response
}

pub(crate) fn json(code: u16, body: impl Into<Bytes>) -> Response {
    response(code, APPLICATION_JSON, body)
}

/// 404 in the text of Go's mux.
pub(crate) fn not_found() -> Response {
    text(404, "404 page not found\n")
}

/// Error response for API clients, in a representation that the request accepts.
pub(crate) fn status(status: &Status, form: ErrorForm<'_>) -> Response {
    let mut response = endpoints::response::status_response(form, status, &[]);
    if status.code == 403 {
        response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, NOSNIFF);
    }
    response
}

/// 429 with upstream's text during shutdown.
pub(crate) fn shutting_down() -> Response {
    let mut response = text(429, "The apiserver is shutting down, please try again later.\n");
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(5));
    response
}

/// 429 with upstream's text for a request without a seat, with the seconds until a retry.
pub(crate) fn too_many_requests(retry_after: u64) -> Response {
    let mut response = text(429, "Too many requests, please try again later.\n");
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(retry_after));
    response
}

/// Diagnostic table as plain text. Upstream sets no content type.
pub(crate) fn dump(table: String) -> Response {
    response(200, TEXT_PLAIN, table)
}
