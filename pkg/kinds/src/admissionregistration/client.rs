//! Client configuration of a webhook.

use api::tree::{child, integer, maybe_text, text};
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::go_quote::quote;
use apimachinery::names;
use schema::object::Object;
use thiserror::Error as ThisError;

const FORM: &str = "; desired format: https://host[/path]";

/// Validates the address of a webhook: a URL or a service. `path` is that of the configuration.
pub(crate) fn client_config(path: &Path<'_>, config: &Object, errors: &mut ErrorList) {
    match (maybe_text(config, "url"), child(config, "service")) {
        (Some(address), None) => url(&path.child("url"), address, errors),
        (None, Some(reference)) => service(&path.child("service"), reference, errors),
        _ => errors.push(Error::required(path, "exactly one of url or service is required")),
    }
}

/// True for a URL with a host.
pub(crate) fn is_url_with_host(text: &str) -> bool {
    parse(text).is_ok_and(|url| !url.scheme.is_empty() && !url.host.is_empty())
}

/// Parts of a URL (Go's `net/url`) that are validated.
#[derive(Debug, Default, PartialEq)]
struct Url<'u> {
    scheme: String,
    user: Option<&'u str>,
    host: &'u str,
    query: &'u str,
    fragment: &'u str,
}

fn url(path: &Path<'_>, text: &str, errors: &mut ErrorList) {
    let url = match parse(text) {
        Ok(url) => url,
        Err(reason) => {
            let detail = format!("url must be a valid URL: parse {}: {reason}{FORM}", quote(text));
            errors.push(Error::required(path, detail));
            return;
        }
    };
    let mut wrong = |is: bool, value: &str, detail: String| {
        if is {
            errors.push(Error::invalid(path, value, detail));
        }
    };
    let scheme_detail = format!("'https' is the only allowed URL scheme{FORM}");
    wrong(url.scheme != "https", &url.scheme, scheme_detail);
    wrong(url.host.is_empty(), url.host, format!("host must be specified{FORM}"));
    let user = url.user.unwrap_or_default();
    wrong(url.user.is_some(), user, "user information is not permitted in the URL".to_owned());
    wrong(!url.fragment.is_empty(), url.fragment, "fragments are not permitted in the URL".to_owned());
    wrong(!url.query.is_empty(), url.query, "query parameters are not permitted in the URL".to_owned());
}

/// Parse error of a URL, in the words of Go's parser.
#[derive(Debug, PartialEq, Eq, ThisError)]
enum UrlError {
    #[error("net/url: invalid control character in URL")]
    ControlCharacter,
    #[error("first path segment in URL cannot contain colon")]
    ColonInFirstSegment,
    #[error("missing protocol scheme")]
    MissingScheme,
    #[error("missing ']' in host")]
    OpenBracket,
    #[error("invalid port {} after host", quote(.0))]
    Port(String),
    #[error("invalid character {} in host name", quote(.0))]
    HostCharacter(String),
    #[error("invalid URL escape {}", quote(.0))]
    Escape(String),
}

/// Splits a URL.
fn parse(text: &str) -> Result<Url<'_>, UrlError> {
    if text.bytes().any(|b| b < b' ' || b == 0x7f) {
        return Err(UrlError::ControlCharacter);
    }
    let (rest, fragment) = text.split_once('#').unwrap_or((text, ""));
    escapes(fragment)?;
    if rest.is_empty() {
        return Ok(Url { fragment, ..Url::default() });
    }
    let (scheme, rest) = scheme(rest)?;
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let mut url = Url { scheme: scheme.to_ascii_lowercase(), query, fragment, ..Url::default() };
    if !rest.starts_with('/') {
        if !scheme.is_empty() {
            // An opaque URL has no host and no path.
            return Ok(url);
        }
        if rest.split('/').next().is_some_and(|first| first.contains(':')) {
            return Err(UrlError::ColonInFirstSegment);
        }
    }
    let mut path = rest;
    if let Some(authority) =
        rest.strip_prefix("//").filter(|rest| !scheme.is_empty() || !rest.starts_with('/'))
    {
        let end = authority.find('/').unwrap_or(authority.len());
        let (authority, after) = authority.split_at(end);
        path = after;
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        check_host(host)?;
        (url.user, url.host) = (user, host);
    }
    escapes(path)?;
    Ok(url)
}

/// Splits off the scheme, which is empty if the text does not start with one.
fn scheme(text: &str) -> Result<(&str, &str), UrlError> {
    for (at, c) in text.char_indices() {
        match c {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if at > 0 => {}
            ':' if at == 0 => return Err(UrlError::MissingScheme),
            ':' => return Ok(text.split_once(':').unwrap_or(("", text))),
            _ => break,
        }
    }
    Ok(("", text))
}

fn check_host(host: &str) -> Result<(), UrlError> {
    let port = if host.starts_with('[') {
        let Some((_, after)) = host.rsplit_once(']') else {
            return Err(UrlError::OpenBracket);
        };
        after
    } else {
        host.rfind(':').and_then(|at| host.get(at..)).unwrap_or_default()
    };
    let digits = port.strip_prefix(':').unwrap_or(port);
    let valid = port.is_empty() || (port.starts_with(':') && digits.bytes().all(|b| b.is_ascii_digit()));
    if !valid {
        return Err(UrlError::Port(port.to_owned()));
    }
    let allowed =
        |c: char| c.is_ascii_alphanumeric() || !c.is_ascii() || "-_.~!$&'()*+,;=:[]<>\"%".contains(c);
    match host.chars().find(|c| !allowed(*c)) {
        Some(bad) => Err(UrlError::HostCharacter(bad.to_string())),
        None => escapes(host),
    }
}

/// Checks that each percent sign is followed by two hexadecimal digits.
fn escapes(text: &str) -> Result<(), UrlError> {
    for (at, _) in text.match_indices('%') {
        let escape: String =
            text.chars().skip(text.get(..at).map_or(0, |head| head.chars().count())).take(3).collect();
        if escape.len() < 3 || !escape.bytes().skip(1).all(|b| b.is_ascii_hexdigit()) {
            return Err(UrlError::Escape(escape));
        }
    }
    Ok(())
}

/// Validates a service reference. Upstream swaps the paths of name and namespace.
fn service(path: &Path<'_>, service: &Object, errors: &mut ErrorList) {
    for (member, step) in [("namespace", "name"), ("name", "namespace")] {
        if text(service, member).is_empty() {
            errors.push(Error::required(&path.child(step), ""));
        }
    }
    let port = integer(service, "port");
    let messages = names::is_port_number(port);
    if !messages.is_empty() {
        let detail = format!("port is not valid: {}", messages.join(", "));
        errors.push(Error::invalid(&path.child("port"), port, detail));
    }
    if let Some(url_path) = maybe_text(service, "path") {
        service_path(&path.child("path"), url_path, errors);
    }
}

fn service_path(path: &Path<'_>, value: &str, errors: &mut ErrorList) {
    let mut wrong = |detail: String| errors.push(Error::invalid(path, value, detail));
    match value {
        "" | "/" => return,
        "//" => return wrong("segment[0] may not be empty".to_owned()),
        _ => {}
    }
    if !value.starts_with('/') {
        wrong("must start with a '/'".to_owned());
    }
    // Skips the first character, whatever it is.
    let mut rest = value.chars();
    rest.next();
    let rest = rest.as_str();
    for (index, segment) in rest.strip_suffix('/').unwrap_or(rest).split('/').enumerate() {
        if segment.is_empty() {
            wrong(format!("segment[{index}] may not be empty"));
            continue;
        }
        for message in names::is_dns1123_subdomain(segment) {
            wrong(format!("segment[{index}]: {message}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::{Value, json};

    fn check(config: Value, expected: &[&str]) {
        let mut errors = ErrorList::new();
        client_config(&Path::root("c"), config.as_object().unwrap_or(&Object::new()), &mut errors);
        assert_eq!(errors.iter().map(Error::to_string).collect::<Vec<_>>(), expected, "{config}");
    }

    #[test]
    fn a_webhook_is_at_one_place() {
        let detail = "c: Required value: exactly one of url or service is required";
        check(json!({}), &[detail]);
        check(json!({"url": "https://a", "service": {}}), &[detail]);
        check(json!({"service": {"name": "a", "namespace": "b", "port": 443, "path": "/a/b/"}}), &[]);
        check(
            json!({"service": {"name": "a", "port": 443, "path": "//"}}),
            &[
                "c.service.name: Required value",
                "c.service.path: Invalid value: \"//\": segment[0] may not be empty",
            ],
        );
    }

    #[test]
    fn urls_are_plain_and_secure() {
        let url = |url: &str, expected: &[&str]| check(json!({"url": url}), expected);
        url("https://example.com:8443/a", &[]);
        url("HTTPS://[::1]:80", &[]);
        let scheme = "'https' is the only allowed URL scheme; desired format: https://host[/path]";
        url("http://a", &[&format!("c.url: Invalid value: \"http\": {scheme}")]);
        let host = "c.url: Invalid value: \"\": host must be specified; desired format: https://host[/path]";
        url("", &[&format!("c.url: Invalid value: \"\": {scheme}"), host]);
        url("https:a", &[host]);
        url(
            "https://u:p@a/?q#f",
            &[
                "c.url: Invalid value: \"u:p\": user information is not permitted in the URL",
                "c.url: Invalid value: \"f\": fragments are not permitted in the URL",
                "c.url: Invalid value: \"q\": query parameters are not permitted in the URL",
            ],
        );
        url("a:b", &[&format!("c.url: Invalid value: \"a\": {scheme}"), host]);
        let refused = |text: &str, reason: &str| {
            let form = "; desired format: https://host[/path]";
            url(
                text,
                &[&format!("c.url: Required value: url must be a valid URL: parse {text:?}: {reason}{form}")],
            );
        };
        refused("https://a:b", "invalid port \":b\" after host");
        refused("https://a/%zz", "invalid URL escape \"%zz\"");
        refused(":a", "missing protocol scheme");
        refused("https://a b", "invalid character \" \" in host name");
    }
}
