//! What of a head is passed on, and what is added to it (upstream's and Go's `httputil.ReverseProxy`).

use std::borrow::Cow;
use std::net::IpAddr;

use http::header::{
    CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE,
    TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::request::Parts;
use http::{Method, Request};

use super::rewrite;
use super::url::Url;
use crate::header;
use crate::routing::dispatch::Body;

/// Headers that are about one connection.
const HOP_BY_HOP: [HeaderName; 9] = [
    CONNECTION,
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("keep-alive"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_URI: HeaderName = HeaderName::from_static("x-forwarded-uri");

/// Whether a client wants to speak something else on its connection.
pub(crate) fn is_upgrade(headers: &HeaderMap) -> bool {
    header::texts(headers, CONNECTION).any(|value| value.to_ascii_lowercase().contains("upgrade"))
}

/// Headers that are for whoever is at the other end.
pub(crate) fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    let mut kept = headers.clone();
    for names in header::texts(headers, CONNECTION) {
        for name in names.split(',').filter_map(|name| HeaderName::try_from(name.trim()).ok()) {
            kept.remove(name);
        }
    }
    for name in &HOP_BY_HOP {
        kept.remove(name);
    }
    if header::texts(headers, TE).any(|text| text.split(',').any(|coding| coding.trim() == "trailers")) {
        kept.insert(TE, HeaderValue::from_static("trailers"));
    }
    kept
}

/// Takes off what would tell a browser that other sites may read this server's answers.
pub(super) fn remove_cors(headers: &mut HeaderMap) {
    for name in ["credentials", "headers", "methods", "origin"] {
        headers.remove(format!("access-control-allow-{name}"));
    }
}

/// The host that the client asked for: the backend may care. HTTP/2 has it in the URI, and where HTTP/1.1 has it
/// there too, the header does not count.
pub(super) fn add_host(headers: &mut HeaderMap, parts: &Parts, url: &Url) {
    let asked = match parts.uri.authority() {
        Some(authority) => authority.to_string(),
        None if headers.contains_key(HOST) => return,
        None => url.authority(),
    };
    if let Ok(value) = HeaderValue::try_from(asked) {
        headers.insert(HOST, value);
    }
}

/// Adds the sender to those who passed the request on before.
pub(super) fn add_forwarded_for(headers: &mut HeaderMap, sender: Option<IpAddr>) {
    let Some(sender) = sender else { return };
    let sender = sender.to_canonical().to_string();
    let all: Vec<Cow<'_, str>> = header::texts(headers, FORWARDED_FOR).chain([sender.into()]).collect();
    if let Ok(value) = HeaderValue::try_from(all.join(", ")) {
        headers.insert(FORWARDED_FOR, value);
    }
}

/// Says where the client sees what it asks for.
pub(super) fn add_forwarded_uri(headers: &mut HeaderMap, prefix: &str, url: &Url) {
    if let Ok(value) = HeaderValue::try_from(rewrite::forwarded_uri(prefix, url)) {
        headers.insert(FORWARDED_URI, value);
    }
}

/// A request for a place on a backend.
///
/// # Errors
/// As [`Url::uri`].
pub(super) fn request(
    method: &Method,
    url: &Url,
    headers: HeaderMap,
    body: Body,
) -> Result<Request<Body>, String> {
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
    fn what_is_about_a_connection_stays_there() {
        let check = |given: &[(&'static str, &'static str)], expected: &[(&'static str, &'static str)]| {
            assert_eq!(end_to_end(&headers(given)), headers(expected), "{given:?}");
        };
        check(&[("accept", "x"), ("connection", "close")], &[("accept", "x")]);
        check(&[("connection", "X-Mine, keep-alive"), ("x-mine", "1"), ("keep-alive", "5")], &[]);
        check(&[("transfer-encoding", "chunked"), ("upgrade", "h2c"), ("proxy-authorization", "x")], &[]);
        check(&[("te", "gzip, trailers")], &[("te", "trailers")]);
    }

    #[test]
    fn an_upgrade_is_asked_for_in_connection() {
        let check = |given: &[(&'static str, &'static str)], expected: bool| {
            assert_eq!(is_upgrade(&headers(given)), expected, "{given:?}");
        };
        check(&[("upgrade", "websocket")], false);
        check(&[("connection", "close")], false);
        check(&[("connection", "keep-alive, Upgrade")], true);
    }

    #[test]
    fn the_sender_is_added_to_those_before() {
        let check = |before: &[(&'static str, &'static str)], sender: &str, expected: &str| {
            let mut map = headers(before);
            add_forwarded_for(&mut map, Some(sender.parse().unwrap()));
            let all: Vec<_> = map.get_all(FORWARDED_FOR).iter().collect();
            assert_eq!(all, [expected]);
        };
        check(&[], "::ffff:10.0.0.1", "10.0.0.1");
        check(&[("x-forwarded-for", "a"), ("x-forwarded-for", "b")], "::1", "a, b, ::1");
    }
}
