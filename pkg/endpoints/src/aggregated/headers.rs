//! Headers that are added to a request for an aggregated API server.

use std::borrow::Cow;

use apimachinery::query::Query;
use apimachinery::request_context::RequestContext;
use apimachinery::user_info::UserInfo;
use http::header::{AUTHORIZATION, CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use http::uri::{InvalidUri, PathAndQuery, Uri};

use crate::proxy::url::{Url, escape_path};
use crate::proxy::{end_to_end, is_upgrade};

const USER: HeaderName = HeaderName::from_static("x-remote-user");
const UID: HeaderName = HeaderName::from_static("x-remote-uid");
const GROUP: HeaderName = HeaderName::from_static("x-remote-group");
const EXTRA: &str = "x-remote-extra-";
const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Error of a request that cannot be represented, in the wording of Go's client.
#[derive(Debug, thiserror::Error)]
pub enum HeaderError {
    #[error("net/http: invalid header field name {0:?}")]
    Name(String),
    /// The value of the field with this name is invalid.
    #[error("net/http: invalid header field value for {0:?}")]
    Value(String),
    #[error(transparent)]
    Target(#[from] InvalidUri),
}

/// Rewrites the client's request head for the server at `url`. The query is the authorized one.
///
/// # Errors
/// Headers cannot represent the user; the text is in the wording of Go's client.
pub(super) fn prepare(
    parts: &mut Parts,
    url: &Url,
    context: &RequestContext,
    user: &UserInfo,
) -> Result<(), HeaderError> {
    // The client's `Connection` header must not remove headers that are added here.
    if is_upgrade(&parts.headers) {
        drop(parts.headers.insert(CONNECTION, HeaderValue::from_static("Upgrade")))
    } else {
        parts.headers = end_to_end(&parts.headers)
    }
    let headers = &mut parts.headers;
    headers.remove(AUTHORIZATION);
    let impersonation: Vec<HeaderName> =
        headers.keys().filter(|name| name.as_str().starts_with("impersonate-")).cloned().collect();
    impersonation.iter().for_each(|name| drop(headers.remove(name)));
    set_user(headers, user)?;
    if let Ok(id) = HeaderValue::from_bytes(&context.audit_id.bytes())
        && !id.is_empty()
    {
        headers.insert(AUDIT_ID, id);
    }
    if let Ok(host) = HeaderValue::try_from(url.authority()) {
        if !is_upgrade(headers) {
            headers.insert(FORWARDED_HOST, host.clone());
            headers.insert(FORWARDED_PROTO, HeaderValue::from_static("https"));
        }
        headers.insert(HOST, host);
    }
    let query = encode(&context.query);
    let mark = if query.is_empty() { "" } else { "?" };
    let target = PathAndQuery::try_from(format!("{}{mark}{query}", escape_path(&url.path)));
    parts.uri = Uri::from(target?);
    Ok(())
}

/// Sets the user headers and removes those of the client.
///
/// # Errors
/// A name or a value that is not valid in a header, in the wording of Go's client. Leaving it out would
/// identify a different user.
pub fn set_user(headers: &mut HeaderMap, user: &UserInfo) -> Result<(), HeaderError> {
    let identifies_user =
        |name: &HeaderName| [USER, UID, GROUP].contains(name) || name.as_str().starts_with(EXTRA);
    let client_names: Vec<HeaderName> =
        headers.keys().filter(|name| identifies_user(name)).cloned().collect();
    client_names.iter().for_each(|name| drop(headers.remove(name)));
    headers.insert(USER, value("X-Remote-User", &user.name)?);
    if !user.uid.is_empty() {
        headers.insert(UID, value("X-Remote-Uid", &user.uid)?);
    }
    for group in &user.groups {
        headers.append(GROUP, value("X-Remote-Group", group)?);
    }
    for (key, values) in &user.extra {
        let key = format!("{EXTRA}{}", escape_key(key));
        let name = HeaderName::try_from(&*key);
        let name = name.map_err(|_| HeaderError::Name(key.clone()))?;
        for text in values {
            headers.append(&name, value(&key, text)?);
        }
    }
    Ok(())
}

fn value(name: &str, text: &str) -> Result<HeaderValue, HeaderError> {
    HeaderValue::from_bytes(text.as_bytes()).map_err(|_| HeaderError::Value(name.to_owned()))
}

/// Escapes a key for a header name: invalid characters and the escape character.
fn escape_key(key: &str) -> String {
    const LEGAL: &[u8] = b"!#$&'*+-.^_`|~";
    let mut out = String::with_capacity(key.len());
    for byte in key.bytes() {
        if byte.is_ascii_alphanumeric() || LEGAL.contains(&byte) {
            out.push(char::from(byte))
        } else {
            out.push_str(&format!("%{byte:02X}"))
        }
    }
    out
}

/// Encodes a query like Go: sorted by name.
fn encode(query: &Query) -> String {
    let mut pairs: Vec<(&str, &str)> = query.pairs().collect();
    pairs.sort_by_key(|(name, _)| *name);
    let pairs = pairs.iter().map(|(name, value)| format!("{}={}", escape_query(name), escape_query(value)));
    pairs.collect::<Vec<_>>().join("&")
}

fn escape_query(text: &str) -> Cow<'_, str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    if text.bytes().all(plain) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' ' => out.push('+'),
            byte if plain(byte) => out.push(char::from(byte)),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out.into()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn user(name: &str) -> UserInfo {
        UserInfo {
            name: name.to_owned(),
            uid: "7".to_owned(),
            groups: vec!["a".to_owned(), "b".to_owned()],
            extra: [("example.com/% x".to_owned(), vec!["1".to_owned(), "2".to_owned()])].into(),
        }
    }

    #[test]
    fn only_authenticated_user_is_sent() {
        let mut headers = HeaderMap::new();
        for name in ["x-remote-user", "x-remote-uid", "x-remote-group", "x-remote-extra-scopes"] {
            headers.append(name, HeaderValue::from_static("system:masters"));
        }
        set_user(&mut headers, &user("jane")).unwrap();
        let mut sent: Vec<String> =
            headers.iter().map(|(name, value)| format!("{name}={}", value.to_str().unwrap())).collect();
        sent.sort();
        let expected = [
            "x-remote-extra-example.com%2f%25%20x=1",
            "x-remote-extra-example.com%2f%25%20x=2",
            "x-remote-group=a",
            "x-remote-group=b",
            "x-remote-uid=7",
            "x-remote-user=jane",
        ];
        assert_eq!(sent, expected);
    }

    #[test]
    fn user_invalid_in_headers_is_rejected() {
        let error = set_user(&mut HeaderMap::new(), &user("a\nb")).unwrap_err();
        assert_eq!(error.to_string(), "net/http: invalid header field value for \"X-Remote-User\"");
    }

    #[test]
    fn query_is_encoded_like_go() {
        let check = |raw: &str, expected: &str| assert_eq!(encode(&Query::parse(raw)), expected, "{raw}");
        check("", "");
        check("watch=1&a=b+c&watch=%32", "a=b+c&watch=1&watch=2");
        check("b&a=%2F~x;y&a=%zz&c=%26", "b=&c=%26");
    }
}
