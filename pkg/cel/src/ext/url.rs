//! URLs, parsed like Go's `net/url`.

use std::collections::BTreeMap;

use super::error::ParseError;
use apimachinery::go_quote::Quoted;

/// A parsed URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Url {
    scheme: String,
    opaque: String,
    /// Escaped user name and password between scheme and host.
    user: Option<String>,
    host: Vec<u8>,
    path: Vec<u8>,
    /// The path as written, if it differs from the default escaping.
    raw_path: String,
    query: String,
    empty_query: bool,
    fragment: Vec<u8>,
    raw_fragment: String,
    omit_host: bool,
}

/// Part of a URL, which determines the characters to escape.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Component {
    Path,
    Host,
    Zone,
    User,
    Query,
    Fragment,
}

/// Implements the `isURL` function.
pub fn is_url(text: &str) -> bool {
    parse(text, true).is_ok()
}

/// Parses a request URL, for `isURL` and the format `uri`; only the error matters.
pub fn parse_request_uri(text: &str) -> Result<(), ParseError> {
    parse(text, true).map(drop).map_err(|error| ParseError::new(format!("parse {}: {error}", Quoted(text))))
}

/// Parses any URL or reference, like `url.Parse`.
///
/// # Errors
///
/// In Go's words.
pub fn parse_reference(text: &str) -> Result<Url, ParseError> {
    let context = |text: &str, error| ParseError::new(format!("parse {}: {error}", Quoted(text)));
    let (before, fragment) = text.split_once('#').unwrap_or((text, ""));
    let mut url = parse(before, false).map_err(|error| context(before, error))?;
    set_fragment(&mut url, fragment).map_err(|error| context(text, error))?;
    Ok(url)
}

/// Parses a URL for the `url` function.
pub fn parse_url(text: &str) -> Result<Url, ParseError> {
    let context =
        |error: String| ParseError::new(format!("URL parse error during conversion from string: {error}"));
    parse_request_uri(text).map_err(|error| context(error.to_string()))?;
    let (before, fragment) = text.split_once('#').unwrap_or((text, ""));
    let mut url =
        parse(before, false).map_err(|error| context(format!("parse {}: {error}", Quoted(before))))?;
    set_fragment(&mut url, fragment).map_err(|error| context(format!("parse {}: {error}", Quoted(text))))?;
    Ok(url)
}

fn set_fragment(url: &mut Url, fragment: &str) -> Result<(), ParseError> {
    url.fragment = unescape(fragment, Component::Fragment)?;
    if escape(&url.fragment, Component::Fragment) != fragment {
        url.raw_fragment = fragment.to_owned();
    }
    Ok(())
}

fn parse(text: &str, for_request: bool) -> Result<Url, ParseError> {
    if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return Err(ParseError::new("net/url: invalid control character in URL"));
    }
    if text.is_empty() && for_request {
        return Err(ParseError::new("empty url"));
    }
    let mut url = Url::default();
    if text == "*" {
        url.path = b"*".to_vec();
        return Ok(url);
    }
    let (scheme, rest) = split_scheme(text)?;
    url.scheme = scheme.to_ascii_lowercase();
    let (mut rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
    url.empty_query = query == Some("");
    url.query = query.unwrap_or_default().to_owned();
    if !rest.starts_with('/') {
        if !url.scheme.is_empty() {
            url.opaque = rest.to_owned();
            return Ok(url);
        }
        if for_request {
            return Err(ParseError::new("invalid URI for request"));
        }
        if rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
            return Err(ParseError::new("first path segment in URL cannot contain colon"));
        }
    }
    let has_authority = !url.scheme.is_empty() || (!for_request && !rest.starts_with("///"));
    if let Some(authority) = rest.strip_prefix("//").filter(|_| has_authority) {
        let end = authority.find('/').unwrap_or(authority.len());
        rest = &authority[end..];
        parse_authority(&mut url, &authority[..end])?;
    } else if !url.scheme.is_empty() && rest.starts_with('/') {
        url.omit_host = true;
    }
    url.path = unescape(rest, Component::Path)?;
    if escape(&url.path, Component::Path) != rest {
        url.raw_path = rest.to_owned();
    }
    Ok(url)
}

fn split_scheme(text: &str) -> Result<(&str, &str), ParseError> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err(ParseError::new("missing protocol scheme")),
            b':' => return Ok((&text[..at], &text[at + 1..])),
            _ => break,
        }
    }
    Ok(("", text))
}

fn parse_authority(url: &mut Url, authority: &str) -> Result<(), ParseError> {
    let (user, host) =
        authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    url.host = parse_host(&url.scheme, host)?;
    let Some(user) = user else { return Ok(()) };
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
    if !user.chars().all(allowed) {
        return Err(ParseError::new("net/url: invalid userinfo"));
    }
    let (name, password) =
        user.split_once(':').map_or((user, None), |(name, password)| (name, Some(password)));
    let mut escaped = escape(&unescape(name, Component::User)?, Component::User);
    if let Some(password) = password {
        escaped.push(':');
        escaped.push_str(&escape(&unescape(password, Component::User)?, Component::User));
    }
    url.user = Some(escaped);
    Ok(())
}

fn parse_host(scheme: &str, host: &str) -> Result<Vec<u8>, ParseError> {
    match host.rfind('[') {
        Some(0) => return parse_literal_host(host),
        Some(_) => return Err(ParseError::new("invalid IP-literal")),
        None => {}
    }
    if let (Some(first), Some(last)) = (host.find(':'), host.rfind(':')) {
        // Other schemes allow host lists, which some databases use.
        let colon = if matches!(scheme, "http" | "https") { first } else { last };
        check_port(&host[colon..])?;
    }
    unescape(host, Component::Host)
}

/// Parses a host in brackets, which must be an IPv6 address with an optional zone.
fn parse_literal_host(host: &str) -> Result<Vec<u8>, ParseError> {
    let end = host.rfind(']').ok_or_else(|| ParseError::new("missing ']' in host"))?;
    let name = &host[1..end];
    let port = &host[end + 1..];
    check_port(port)?;
    let port = unescape(port, Component::Host)?;
    let name = match name.find("%25") {
        Some(zone) => {
            let mut address = unescape(&name[..zone], Component::Host)?;
            address.extend(unescape(&name[zone..], Component::Zone)?);
            address
        }
        None => unescape(name, Component::Host)?,
    };
    let text = String::from_utf8_lossy(&name);
    let (address, _) =
        super::ip::parse_addr(&text).map_err(|error| ParseError::new(format!("invalid host: {error}")))?;
    if address.is_ipv4() {
        return Err(ParseError::new("invalid IP-literal"));
    }
    Ok([b"[", &name[..], b"]", &port].concat())
}

fn check_port(port: &str) -> Result<(), ParseError> {
    if is_port(port) {
        Ok(())
    } else {
        Err(ParseError::new(format!("invalid port {} after host", Quoted(port))))
    }
}

fn is_port(text: &str) -> bool {
    text.is_empty()
        || text.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
}

fn must_escape(byte: u8, component: Component) -> bool {
    if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
        return false;
    }
    match component {
        Component::Host | Component::Zone => !b"!$&'()*+,;=:[]<>\"".contains(&byte),
        Component::Path => !b"$&+,/:;=@".contains(&byte),
        Component::User => !b"$&+,;=".contains(&byte),
        Component::Query => true,
        Component::Fragment => !b"$&+,/:;=?@!()*".contains(&byte),
    }
}

fn escape(bytes: &[u8], component: Component) -> String {
    let mut out = String::with_capacity(bytes.len());
    for byte in bytes {
        if must_escape(*byte, component) {
            out.push_str(&format!("%{byte:02X}"));
        } else {
            out.push(char::from(*byte));
        }
    }
    out
}

fn unescape(text: &str, component: Component) -> Result<Vec<u8>, ParseError> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        match byte {
            b'%' => {
                out.push(escaped_byte(&bytes[at..], component)?);
                at += 2;
            }
            b'+' if component == Component::Query => out.push(b' '),
            _ if matches!(component, Component::Host | Component::Zone)
                && byte < 0x80
                && must_escape(byte, component) =>
            {
                return Err(ParseError::new(format!(
                    "invalid character {} in host name",
                    Quoted(&text[at..=at])
                )));
            }
            _ => out.push(byte),
        }
        at += 1;
    }
    Ok(out)
}

/// Decodes the byte after a percent sign. Hosts may escape only non-ASCII bytes; zones may escape only bytes
/// that hosts allow unescaped.
fn escaped_byte(rest: &[u8], component: Component) -> Result<u8, ParseError> {
    let shown = &rest[..rest.len().min(3)];
    let invalid =
        || ParseError::new(format!("invalid URL escape {}", apimachinery::go_quote::quote_bytes(shown)));
    let digits = shown.get(1..3).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
    let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
    let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).ok_or_else(invalid)?;
    let allowed = match component {
        Component::Host => byte >= 0x80 || byte == b'%',
        Component::Zone => matches!(byte, b'%' | b' ') || !must_escape(byte, Component::Host),
        _ => true,
    };
    if allowed { Ok(byte) } else { Err(invalid()) }
}

/// Returns true if a path or fragment can stay as written.
fn is_valid_escaped(text: &str, component: Component) -> bool {
    text.bytes().all(|byte| b"!$&'()*+,;=:@[]%".contains(&byte) || !must_escape(byte, component))
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Url {
    /// `getScheme`.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// Returns true if it contains user information.
    pub fn has_user(&self) -> bool {
        self.user.is_some()
    }

    /// Returns true if it has a non-empty query.
    pub fn has_query(&self) -> bool {
        !self.query.is_empty()
    }

    /// Returns true if it has a non-empty fragment.
    pub fn has_fragment(&self) -> bool {
        !self.fragment.is_empty()
    }

    /// `getHost`: host with port.
    pub fn host(&self) -> String {
        lossy(&self.host)
    }

    /// `getHostname`: host without port and brackets.
    pub fn hostname(&self) -> String {
        self.host_and_port().0
    }

    /// `getPort`: empty if there is none.
    pub fn port(&self) -> String {
        self.host_and_port().1
    }

    fn host_and_port(&self) -> (String, String) {
        let host = self.host();
        let colon = host.rfind(':').filter(|colon| is_port(&host[*colon..]));
        let (name, port) = colon.map_or((&host[..], ""), |colon| (&host[..colon], &host[colon + 1..]));
        let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        (name.to_owned(), port.to_owned())
    }

    /// `getEscapedPath`.
    pub fn escaped_path(&self) -> String {
        if !self.raw_path.is_empty() && is_valid_escaped(&self.raw_path, Component::Path) {
            return self.raw_path.clone();
        }
        if self.path == b"*" { "*".to_owned() } else { escape(&self.path, Component::Path) }
    }

    /// The decoded path.
    pub fn path(&self) -> &[u8] {
        &self.path
    }

    /// Replaces the decoded path.
    pub fn set_path(&mut self, path: Vec<u8>) {
        self.path = path;
        self.raw_path.clear();
    }

    /// Removes scheme and host.
    pub fn remove_origin(&mut self) {
        self.scheme.clear();
        self.host.clear();
    }

    fn escaped_fragment(&self) -> String {
        if !self.raw_fragment.is_empty() && is_valid_escaped(&self.raw_fragment, Component::Fragment) {
            return self.raw_fragment.clone();
        }
        escape(&self.fragment, Component::Fragment)
    }

    /// `getQuery`: the values of each key. Malformed pairs are skipped.
    pub fn query(&self) -> BTreeMap<String, Vec<String>> {
        let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for pair in self.query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            if let (Ok(key), Ok(value)) = (unescape(key, Component::Query), unescape(value, Component::Query))
            {
                values.entry(lossy(&key)).or_default().push(lossy(&value));
            }
        }
        values
    }
}

/// Formats the URL; comparisons use this text.
impl std::fmt::Display for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.scheme.is_empty() {
            write!(f, "{}:", self.scheme)?;
        }
        if !self.opaque.is_empty() {
            f.write_str(&self.opaque)?;
        } else {
            let has_authority = !self.scheme.is_empty() || !self.host.is_empty() || self.user.is_some();
            let omitted = self.omit_host && self.host.is_empty() && self.user.is_none();
            let shown = !self.host.is_empty() || !self.path.is_empty() || self.user.is_some();
            if has_authority && !omitted && shown {
                f.write_str("//")?;
                if let Some(user) = &self.user {
                    write!(f, "{user}@")?;
                }
                f.write_str(&escape(&self.host, Component::Host))?;
            }
            let path = self.escaped_path();
            if !path.is_empty() && !path.starts_with('/') && !self.host.is_empty() {
                f.write_str("/")?;
            }
            // Before a colon, a relative path would be a scheme (RFC 3986, 4.2).
            let is_first = self.scheme.is_empty() && self.host.is_empty() && self.user.is_none();
            if is_first && path.split('/').next().is_some_and(|segment| segment.contains(':')) {
                f.write_str("./")?;
            }
            f.write_str(&path)?;
        }
        if self.empty_query || !self.query.is_empty() {
            write!(f, "?{}", self.query)?;
        }
        if !self.fragment.is_empty() {
            write!(f, "#{}", self.escaped_fragment())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_equal_gos() {
        let url =
            parse_url("https://user:pa%20ss@[::1%25en0]:8080/a%2fb c?k=v%20w&k=x+y&bad=%zz&e#frag ment")
                .unwrap();
        assert_eq!(url.scheme(), "https");
        assert_eq!(url.host(), "[::1%en0]:8080");
        assert_eq!((url.hostname(), url.port()), ("::1%en0".to_owned(), "8080".to_owned()));
        assert_eq!(url.escaped_path(), "/a/b%20c");
        let query = url.query();
        assert_eq!(query["k"], ["v w", "x y"]);
        assert_eq!(query["e"], [""]);
        assert!(!query.contains_key("bad"));
        assert_eq!(parse_url("/a%2fb").unwrap().escaped_path(), "/a%2fb");
    }

    #[test]
    fn errors_equal_gos() {
        let cases = [
            ("", "empty url"),
            ("abc", "invalid URI for request"),
            (":x", "missing protocol scheme"),
            ("http://a b/", "invalid character \" \" in host name"),
            ("http://a:b/", "invalid port \":b\" after host"),
            ("http://[::1/", "missing ']' in host"),
            ("http://[1.2.3.4]/", "invalid IP-literal"),
            ("http://h/%zz", "invalid URL escape \"%zz\""),
            ("http://h/\u{7f}", "net/url: invalid control character in URL"),
        ];
        for (text, message) in cases {
            let expected =
                format!("URL parse error during conversion from string: parse {}: {message}", Quoted(text));
            assert_eq!(parse_url(text).map(drop), Err(ParseError::new(expected)));
        }
    }
}
