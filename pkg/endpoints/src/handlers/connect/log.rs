//! `pods/log`: the log of a container, from its kubelet.

use std::fmt::Display;

use api::resources::Resource;
use apimachinery::foreign_text::ForeignText;
use apimachinery::gvk::GroupKind;
use apimachinery::status::{Details, Reason, Status};
use client::failure_text;
use component_base::features::Gate;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue, LOCATION, USER_AGENT};
use hyper::upgrade::OnUpgrade;

use super::{kubelet_of, location, options, pod_named};
use crate::proxy::{Trust, url::Url};
use crate::response;
use crate::routing::dispatch::Response;
use crate::scope::RequestScope;
use crate::websocket;

/// Streams a log, over a WebSocket if the client requests one. The log of a pod without a node is empty.
///
/// # Errors
/// 400 and 422 for invalid options, the kubelet's error, 500 when it does not respond.
pub(in crate::handlers) async fn log(
    call: &RequestScope<'_>,
    connection: Option<OnUpgrade>,
) -> Result<Response, Box<Status>> {
    let splits = call.api.registry.gates().enabled(Gate::PodLogsQuerySplitStreams);
    let options =
        options::Log::parse(call.query, splits).map_err(|error| Status::bad_request(error.to_string()))?;
    let errors = options.errors(splits);
    if !errors.is_empty() {
        return Err(Status::invalid(&GroupKind::new("", "PodLogOptions"), call.name(), &errors).into());
    }
    let pod = pod_named(call, call.name()).await?;
    let container = location::container(&pod, &options.container)?;
    let Some(node) = location::node_of(&pod) else {
        let mut no_content = http::Response::new(response::full(bytes::Bytes::new()));
        *no_content.status_mut() = StatusCode::NO_CONTENT;
        return Ok(no_content);
    };
    let trust = if options.insecure { Trust::UnverifiedKubelet } else { Trust::Kubelet };
    call.api.backends.logs.record_request(options.insecure);
    let path = location::log_path(&pod, container);
    let url = kubelet_of(call, node).await?.url(trust, path, options.query());
    let stream = fetch_log(call, &url).await?;
    if let Some(connection) = connection.filter(|_| websocket::is_requested(call.headers)) {
        return Ok(match websocket::accept(call.headers, websocket::log::PROTOCOLS) {
            Ok(websocket::Accepted { mut response, protocol }) => {
                let messages = websocket::log::messages(stream.into_body(), &protocol);
                websocket::start(&mut response, connection, messages, call.api.shutdown.clone());
                response
            }
            Err(rejection) => *rejection,
        });
    }
    let mut response = http::Response::new(stream.into_body());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    Ok(response)
}

/// Requests the log from the kubelet. Returns its response if it is a log.
async fn fetch_log(call: &RequestScope<'_>, url: &Url) -> Result<Response, Box<Status>> {
    let failed = |error: &dyn Display| Box::new(Status::unmapped(format!("Get \"{url}\": {error}")));
    let mut request = http::Request::new(response::full(bytes::Bytes::new()));
    *request.uri_mut() = url.uri().map_err(|error| failed(&error))?;
    request.headers_mut().insert(USER_AGENT, HeaderValue::from_static("kube-apiserver"));
    let network = call.api.backends.network.as_ref();
    let response = network.send(url.trust, request).await;
    let response = response.map_err(|error| {
        call.api.backends.logs.failed(&error.to_string());
        failed(&error)
    })?;
    match response.status().as_u16() {
        200..=206 => Ok(response),
        301 | 302 | 303 | 307 | 308 if response.headers().contains_key(LOCATION) => {
            Err(failed(&"redirects forbidden"))
        }
        code => {
            let text = failure_text(response.into_body())
                .await
                .map_err(|error| Status::internal_error(error.to_string()))?;
            Err(rejection(code, &text, call.endpoint(), call.name()))
        }
    }
}

/// Converts a kubelet's error response (upstream's `GenericHttpResponseChecker` and
/// `NewGenericServerResponse`).
fn rejection(code: u16, text: &ForeignText, endpoint: &Resource, name: &str) -> Box<Status> {
    let quoted = || text.quoted();
    let text = text.as_str();
    let (reason, message) = match code {
        500 => return Status::internal_error(text).into(),
        400 => return Status::bad_request(text).into(),
        401 => (Reason::Unauthorized, "the server has asked for the client to provide credentials"),
        403 => (Reason::Forbidden, text),
        404 => (Reason::NotFound, "the server could not find the requested resource"),
        405 => (Reason::MethodNotAllowed, "the server does not allow this method on the requested resource"),
        406 if matches!(text, "" | "unknown") => (
            Reason::NotAcceptable,
            "the server was unable to respond with a content type that the client supports",
        ),
        406 => (Reason::NotAcceptable, text),
        409 => (Reason::Conflict, "the server reported a conflict"),
        415 => (Reason::UnsupportedMediaType, text),
        422 => (Reason::Invalid, "the server rejected our request due to an error in our request"),
        429 => (
            Reason::TooManyRequests,
            "the server has received too many requests and has asked us to try again later",
        ),
        503 => (Reason::ServiceUnavailable, "the server is currently unable to handle the request"),
        504 => (
            Reason::Timeout,
            "the server was unable to return a response in the time allotted, but may still be processing \
             the request",
        ),
        501.. => (
            Reason::InternalError,
            &*format!("an error on the server ({}) has prevented the request from succeeding", quoted()),
        ),
        _ => (
            Reason::Unknown,
            &*format!("the server responded with the status code {code} but did not return more information"),
        ),
    };
    let resource = format!("{}/{}", endpoint.plural, endpoint.subresource);
    let message = format!("{message} ( {resource} {name})");
    let details = Details { kind: resource, name: name.to_owned(), ..Details::default() };
    Status::failure(code, reason, message).with_details(details).into()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn kubelet_errors_match_upstream() {
        let row = api::resources::find("", "v1", "pods", "log").unwrap();
        let check = |code: u16, text: &str, reason: &str, message: &str| {
            let status = rejection(code, &text.into(), row, "p");
            assert_eq!((status.code, status.reason.as_str(), &*status.message), (code, reason, message));
        };
        check(400, "no c", "BadRequest", "no c");
        check(500, "oh", "InternalError", "Internal error occurred: oh");
        let not_found = "the server could not find the requested resource ( pods/log p)";
        check(404, "x", "NotFound", not_found);
        check(403, "no", "Forbidden", "no ( pods/log p)");
        let server =
            "an error on the server (\"a\\nb\") has prevented the request from succeeding ( pods/log p)";
        check(502, "a\nb", "InternalError", server);
        let odd =
            "the server responded with the status code 418 but did not return more information ( pods/log p)";
        check(418, "", "", odd);
    }
}
