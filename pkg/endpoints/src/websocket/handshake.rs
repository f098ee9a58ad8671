//! Opening handshake, with the checks and responses of upstream's library (`golang.org/x/net/websocket`).

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{
    CONNECTION, HeaderName, HeaderValue, ORIGIN, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{HeaderMap, StatusCode};

use crate::header;
use crate::response::full;
use crate::routing::dispatch::{Response, UnchangedHead};

/// Key of the accept header (RFC 6455, 1.3).
const ACCEPT_KEY: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Subprotocols of a resource.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Protocols {
    /// At most one subprotocol, whose name does not matter. The client must send an `Origin`.
    AnyWithOrigin,
    /// One of these. The empty name stands for clients that request none.
    OneOf(&'static [&'static str]),
}

/// An accepted WebSocket.
#[derive(Debug)]
pub(crate) struct Accepted {
    /// Response that starts it.
    pub(crate) response: Response,
    /// Chosen subprotocol; empty if none was chosen.
    pub(crate) protocol: String,
}

/// Accepts a WebSocket.
///
/// # Errors
/// Response to an invalid or forbidden request.
pub(crate) fn accept(headers: &HeaderMap, supported: Protocols) -> Result<Accepted, Box<Response>> {
    let text = |name: HeaderName| header::text_or_empty(headers, name);
    let key = text(SEC_WEBSOCKET_KEY);
    if key.is_empty() {
        return Err(rejection(StatusCode::BAD_REQUEST, "mismatch challenge/response"));
    }
    if text(SEC_WEBSOCKET_VERSION) != "13" {
        let mut rejection = rejection(StatusCode::BAD_REQUEST, "missing or bad WebSocket Version");
        rejection.headers_mut().insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
        return Err(rejection);
    }
    let requested = text(SEC_WEBSOCKET_PROTOCOL);
    let requested = protocols(&requested);
    let chosen = choose(&requested, supported, &text(ORIGIN)).map_err(|code| rejection(code, ""))?;
    Ok(Accepted { response: accepted(&key, chosen), protocol: chosen.unwrap_or_default().to_owned() })
}

/// Returns the response that starts a WebSocket, with the subprotocol that it names.
pub(crate) fn accepted(key: &str, protocol: Option<&str>) -> Response {
    let accept = [key.as_bytes(), ACCEPT_KEY].concat();
    let accept = STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, &accept));
    let mut response = response(StatusCode::SWITCHING_PROTOCOLS, "");
    let head = response.headers_mut();
    head.insert(UPGRADE, HeaderValue::from_static("websocket"));
    head.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    if let Ok(accept) = HeaderValue::try_from(accept) {
        head.insert(SEC_WEBSOCKET_ACCEPT, accept);
    }
    if let Some(Ok(protocol)) = protocol.map(HeaderValue::from_str) {
        head.insert(SEC_WEBSOCKET_PROTOCOL, protocol);
    }
    response
}

/// Splits the header with the subprotocols that the client requests.
pub(crate) fn protocols(header: &str) -> Vec<&str> {
    match header.trim() {
        "" => Vec::new(),
        list => list.split(',').map(str::trim).collect(),
    }
}

/// Chooses a subprotocol; `None` if the response names none.
///
/// # Errors
/// Status code of the rejection.
fn choose<'r>(
    requested: &[&'r str],
    supported: Protocols,
    origin: &str,
) -> Result<Option<&'r str>, StatusCode> {
    match supported {
        Protocols::AnyWithOrigin if !cel::ext::url::is_url(origin) => Err(StatusCode::FORBIDDEN),
        Protocols::AnyWithOrigin => match *requested {
            [] => Ok(None),
            [only] => Ok(Some(only)),
            _ => Err(StatusCode::BAD_REQUEST),
        },
        Protocols::OneOf(names) => {
            let requested = if requested.is_empty() { &[""] } else { requested };
            let chosen = requested.iter().copied().find(|protocol| names.contains(protocol));
            chosen.map(Some).ok_or(StatusCode::FORBIDDEN)
        }
    }
}

/// Rejects a WebSocket and closes the connection.
pub(crate) fn rejection(code: StatusCode, text: &'static str) -> Box<Response> {
    let mut rejection = response(code, text);
    rejection.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    Box::new(rejection)
}

fn response(code: StatusCode, text: &'static str) -> Response {
    let mut response = http::Response::new(full(text));
    *response.status_mut() = code;
    response.extensions_mut().insert(UnchangedHead);
    response
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const LOG: Protocols = Protocols::OneOf(&["", "binary.k8s.io"]);

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        map.insert(SEC_WEBSOCKET_KEY, HeaderValue::from_static("dGhlIHNhbXBsZSBub25jZQ=="));
        map.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
        for (name, value) in pairs {
            map.insert(*name, HeaderValue::from_static(value));
        }
        map
    }

    #[test]
    fn accept_header_proves_the_key() {
        let response = accept(&headers(&[]), LOG).unwrap().response;
        assert_eq!(response.status(), 101);
        // The example of RFC 6455, 1.3.
        assert_eq!(response.headers()[SEC_WEBSOCKET_ACCEPT], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn first_supported_protocol_is_chosen() {
        let check = |requested: &'static str, expected: Result<&str, u16>| {
            let actual = accept(&headers(&[("sec-websocket-protocol", requested)]), LOG);
            let actual =
                actual.map(|accepted| accepted.protocol).map_err(|response| response.status().as_u16());
            assert_eq!(actual, expected.map(str::to_owned), "{requested}");
        };
        check("", Ok(""));
        check("v1, binary.k8s.io", Ok("binary.k8s.io"));
        check("v1", Err(403));
    }

    #[test]
    fn watch_requires_an_origin() {
        let check = |pairs: &[(&'static str, &'static str)], expected: u16| {
            let code = match accept(&headers(pairs), Protocols::AnyWithOrigin) {
                Ok(accepted) => accepted.response.status(),
                Err(response) => response.status(),
            };
            assert_eq!(code, expected, "{pairs:?}");
        };
        check(&[], 403);
        check(&[("origin", "null")], 403);
        check(&[("origin", "https://a")], 101);
        check(&[("origin", "https://a"), ("sec-websocket-protocol", "x")], 101);
        check(&[("origin", "https://a"), ("sec-websocket-protocol", "x,y")], 400);
        check(&[("origin", "https://a"), ("sec-websocket-version", "12")], 400);
        check(&[("origin", "https://a"), ("sec-websocket-key", "")], 400);
    }
}
