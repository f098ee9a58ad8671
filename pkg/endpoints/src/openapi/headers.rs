//! Request and response headers of documents, like Go's `http.ServeContent`.

use apimachinery::time::UnixTime;
use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH, LAST_MODIFIED,
    LOCATION,
};
use http::request::Parts;
use http::{HeaderMap, Response, StatusCode};

use super::Tag;
use crate::header;
use crate::negotiation::accept_clauses;

pub(super) const DAY_SECONDS: i64 = 24 * 60 * 60;

pub(super) enum Body {
    Plain(Bytes),
    Gzip(Bytes),
}

/// Formats a time for HTTP headers (RFC 9110, 5.6.7).
pub(super) fn http_date(time: UnixTime) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let text = time.rfc3339().to_string();
    let (date, clock) = text.split_once('T').unwrap_or((&text, ""));
    let (year, rest) = date.split_once('-').unwrap_or((date, ""));
    let (month, day) = rest.split_once('-').unwrap_or((rest, ""));
    let month = month.parse::<usize>().ok().and_then(|m| MONTHS.get(m.wrapping_sub(1))).unwrap_or(&"");
    let weekday = time.seconds.div_euclid(DAY_SECONDS).rem_euclid(7);
    let weekday = usize::try_from(weekday).ok().and_then(|at| DAYS.get(at)).unwrap_or(&"");
    format!("{weekday}, {day} {month} {year} {} GMT", clock.trim_end_matches('Z'))
}

/// The hash in the request; an empty one counts as absent.
pub(super) fn hash_parameter(request: &Parts) -> Option<&str> {
    let mut pairs = request.uri.query()?.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(name, _)| *name == "hash").map(|(_, hash)| hash).filter(|hash| !hash.is_empty())
}

/// Returns the first of the `application` subtypes that the best clause accepts. Without a header, every type
/// is accepted.
pub(super) fn accepted_subtype(headers: &HeaderMap, subtypes: &[&'static str]) -> Option<&'static str> {
    let header = crate::discovery::accept_header(headers);
    let header = if header.is_empty() { "*/*" } else { &header };
    accept_clauses(header).iter().find_map(|clause| {
        let takes = |subtype: &&&'static str| clause.subtype == "*" || clause.subtype == **subtype;
        let accepted = matches!(clause.main, "application" | "*").then(|| subtypes.iter().find(takes))?;
        accepted.copied()
    })
}

/// True if the client accepts gzip. Used only for the one upstream handler that compresses its own response.
pub(super) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let takes = |coding: &str| {
        let (name, parameters) = coding.split_once(';').unwrap_or((coding, ""));
        let quality = parameters.split(';').find_map(|parameter| parameter.trim().strip_prefix("q="));
        let refused = quality.is_some_and(|quality| quality.parse().is_ok_and(|quality: f64| quality <= 0.0));
        name.trim().eq_ignore_ascii_case("gzip") && !refused
    };
    header::texts(headers, ACCEPT_ENCODING).any(|value| value.split(',').any(takes))
}

/// Returns 304 if the client has the document, otherwise the document with its tag.
pub(super) fn conditional_response(
    headers: &HeaderMap,
    tag: &Tag,
    body: impl FnOnce() -> Body,
) -> Response<Bytes> {
    let quoted = tag.quoted();
    let unmodified = header::texts(headers, IF_NONE_MATCH).any(|value| {
        value
            .split(',')
            .map(str::trim)
            .any(|value| value == "*" || value.strip_prefix("W/").unwrap_or(value) == quoted)
    });
    let mut response = if unmodified {
        empty(StatusCode::NOT_MODIFIED)
    } else {
        let (body, coding) = match body() {
            Body::Plain(body) => (body, None),
            Body::Gzip(body) => (body, Some((CONTENT_ENCODING, HeaderValue::from_static("gzip")))),
        };
        let mut response = Response::new(body);
        let last_modified =
            HeaderValue::from_str(&http_date(tag.built_at)).ok().map(|date| (LAST_MODIFIED, date));
        response.headers_mut().extend(coding.into_iter().chain(last_modified));
        response
    };
    etag(&mut response, tag);
    response
}

/// 301 to a document's current address.
pub(super) fn redirect(location: &str, tag: &Tag) -> Response<Bytes> {
    let mut response = empty(StatusCode::MOVED_PERMANENTLY);
    response.headers_mut().extend(HeaderValue::from_str(location).ok().map(|value| (LOCATION, value)));
    etag(&mut response, tag);
    response
}

fn etag(response: &mut Response<Bytes>, tag: &Tag) {
    let value = HeaderValue::from_str(&tag.quoted());
    response.headers_mut().extend(value.ok().map(|value| (ETAG, value)));
}

pub(super) fn empty(status: StatusCode) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = status;
    response
}

/// Sets the content type of a response with a body.
pub(super) fn content_type(response: &mut Response<Bytes>, value: &'static str) {
    if response.status() != StatusCode::NOT_MODIFIED {
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_accepted_unless_quality_is_zero() {
        let check = |value: &'static str, expected: bool| {
            let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(value))]);
            assert_eq!(accepts_gzip(&headers), expected, "{value}");
        };
        check("gzip", true);
        check("deflate, GZIP;q=0.5", true);
        check("gzip; q=0", false);
        check("br", false);
        check("", false);
    }
}
