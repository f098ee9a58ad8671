//! `OPTIONS *`: a request about the server, not about a resource (RFC 9110, 9.3.7). Go's server responds to it
//! before any handler.

use http::Method;
use http::header::{CONTENT_LENGTH, HeaderValue};
use http::request::Parts;

use crate::chain::observer::Observer;
use crate::chain::response_body::ResponseBody;
use crate::chain::{RequestResources, SentResponse};
use crate::connection::peer::ActiveRequest;
use crate::respond;

/// True for `OPTIONS *`.
pub(super) fn is_general(parts: &Parts) -> bool {
    parts.method == Method::OPTIONS && parts.uri.path() == "*"
}

/// Returns the empty response. It needs no credentials and is not counted as a request.
pub(super) fn respond(observer: Observer, active: ActiveRequest) -> SentResponse {
    let mut response = http::Response::new(respond::empty());
    response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
    let resources =
        RequestResources { observer, _active: active, _active_token: None, response_guards: None };
    response.map(|body| ResponseBody::new(body, None, resources))
}
