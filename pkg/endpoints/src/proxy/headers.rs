//! Headers of proxied requests and responses (upstream's and Go's `httputil.ReverseProxy`).

use std::borrow::Cow;
use std::net::IpAddr;

use http::header::{
    CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::request::Parts;
use http::{Method, Request};

use super::error::UrlError;
use super::links;
use super::url::Url;
use crate::header::{self, ContentLengthError};
use crate::routing::dispatch::Body;

/// Headers of one connection (RFC 9110, 7.6.1 and 11.7; RFC 9113, 3.2.1).
const HOP_BY_HOP: [HeaderName; 11] = [
    CONNECTION,
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("proxy-authentication-info"),
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("http2-settings"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_URI: HeaderName = HeaderName::from_static("x-forwarded-uri");

/// True if the client requests a protocol upgrade.
pub(crate) fn is_upgrade(headers: &HeaderMap) -> bool {
    header::texts(headers, CONNECTION).any(|value| value.to_ascii_lowercase().contains("upgrade"))
}

/// Returns the headers for the next connection, with the framing of the message: at most one `Content-Length`, and none
/// beside `Transfer-Encoding`, which overrides it (RFC 9112, 6.3).
///
/// # Errors
/// The length of the message is ambiguous.
pub(super) fn forwarded(headers: &HeaderMap) -> Result<HeaderMap, ContentLengthError> {
    let length = header::content_length(headers)?;
    let mut forwarded = end_to_end(headers);
    match length.filter(|_| !headers.contains_key(TRANSFER_ENCODING)) {
        Some(length) => drop(forwarded.insert(CONTENT_LENGTH, length.into())),
        None => drop(forwarded.remove(CONTENT_LENGTH)),
    }
    Ok(forwarded)
}

/// Adds the headers of an upgrade. `from` are the headers of the other connection, which name the protocols.
pub(super) fn add_upgrade(headers: &mut HeaderMap, from: &HeaderMap) {
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    let protocols: Vec<Cow<'_, str>> = header::texts(from, UPGRADE).collect();
    if let Ok(value) = HeaderValue::try_from(protocols.join(", "))
        && !protocols.is_empty()
    {
        headers.insert(UPGRADE, value);
    }
}

/// Returns the headers without those of the connection.
pub(crate) fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    let mut retained = headers.clone();
    for names in header::texts(headers, CONNECTION) {
        for name in names.split(',').filter_map(|name| HeaderName::try_from(name.trim()).ok()) {
            retained.remove(name);
        }
    }
    for name in &HOP_BY_HOP {
        retained.remove(name);
    }
    if header::texts(headers, TE).any(|text| text.split(',').any(|coding| coding.trim() == "trailers")) {
        retained.insert(TE, HeaderValue::from_static("trailers"));
    }
    retained
}

/// Removes CORS headers, which would allow other sites to read this server's responses.
pub(super) fn remove_cors(headers: &mut HeaderMap) {
    for name in ["credentials", "headers", "methods", "origin"] {
        headers.remove(format!("access-control-allow-{name}"));
    }
}

/// Adds the host of the client's request, which the backend may use. In HTTP/2 it is in the URI. If an
/// HTTP/1.1 URI contains it, the header is ignored.
pub(super) fn add_host(headers: &mut HeaderMap, parts: &Parts, url: &Url) {
    let host = match parts.uri.authority() {
        Some(authority) => HeaderValue::try_from(authority.as_str()).ok(),
        None => parts.headers.get(HOST).cloned(),
    };
    if let Some(value) = host.or_else(|| HeaderValue::try_from(url.authority()).ok()) {
        headers.insert(HOST, value);
    }
}

/// Appends the client's address to `X-Forwarded-For`.
pub(super) fn add_forwarded_for(headers: &mut HeaderMap, sender: Option<IpAddr>) {
    let Some(sender) = sender else { return };
    let sender = sender.to_canonical().to_string();
    let all: Vec<Cow<'_, str>> = header::texts(headers, FORWARDED_FOR).chain([sender.into()]).collect();
    if let Ok(value) = HeaderValue::try_from(all.join(", ")) {
        headers.insert(FORWARDED_FOR, value);
    }
}

/// Adds the URI that the client sees (`X-Forwarded-Uri`).
pub(super) fn add_forwarded_uri(headers: &mut HeaderMap, prefix: &str, url: &Url) {
    if let Ok(value) = HeaderValue::try_from(links::forwarded_uri(prefix, url)) {
        headers.insert(FORWARDED_URI, value);
    }
}

/// Builds a request to a backend URL.
///
/// # Errors
/// As [`Url::uri`].
pub(super) fn request(
    method: &Method,
    url: &Url,
    headers: HeaderMap,
    body: Body,
) -> Result<Request<Body>, UrlError> {
    let mut request = Request::new(body);
    *request.method_mut() = method.clone();
    *request.uri_mut() = url.uri()?;
    *request.headers_mut() = headers;
    Ok(request)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(*name, HeaderValue::from_static(value));
        }
        map
    }

    #[test]
    fn hop_by_hop_headers_are_removed() {
        let check = |received: &[(&'static str, &'static str)], expected: &[(&'static str, &'static str)]| {
            assert_eq!(end_to_end(&headers(received)), headers(expected), "{received:?}");
        };
        check(&[("accept", "x"), ("connection", "close")], &[("accept", "x")]);
        check(&[("connection", "X-Mine, keep-alive"), ("x-mine", "1"), ("keep-alive", "5")], &[]);
        check(&[("transfer-encoding", "chunked"), ("upgrade", "h2c"), ("proxy-authorization", "x")], &[]);
        check(&[("te", "gzip, trailers")], &[("te", "trailers")]);
    }

    #[test]
    fn message_has_one_framing() {
        let check = |received: &[(&'static str, &'static str)], expected: &[(&'static str, &'static str)]| {
            assert_eq!(forwarded(&headers(received)).unwrap(), headers(expected), "{received:?}");
        };
        check(&[("content-length", "5"), ("content-length", "5")], &[("content-length", "5")]);
        check(&[("content-length", "5"), ("transfer-encoding", "chunked")], &[]);
        check(&[("content-length", "5"), ("connection", "content-length")], &[("content-length", "5")]);
        let ambiguous = forwarded(&headers(&[("content-length", "5"), ("content-length", "6")]));
        assert!(ambiguous.is_err());
    }

    #[test]
    fn upgrade_requires_connection_header() {
        let check = |received: &[(&'static str, &'static str)], expected: bool| {
            assert_eq!(is_upgrade(&headers(received)), expected, "{received:?}");
        };
        check(&[("upgrade", "websocket")], false);
        check(&[("connection", "close")], false);
        check(&[("connection", "keep-alive, Upgrade")], true);
    }

    #[test]
    fn forwarded_for_is_appended() {
        let check = |received: &[(&'static str, &'static str)], sender: &str, expected: &str| {
            let mut map = headers(received);
            add_forwarded_for(&mut map, Some(sender.parse().unwrap()));
            let all: Vec<_> = map.get_all(FORWARDED_FOR).iter().collect();
            assert_eq!(all, [expected]);
        };
        check(&[], "::ffff:10.0.0.1", "10.0.0.1");
        check(&[("x-forwarded-for", "a"), ("x-forwarded-for", "b")], "::1", "a, b, ::1");
    }
}
