//! Target URL of a proxied request, with the parts of Go's `net/url` and `path` that affect its encoding.

use std::fmt;

use http::Uri;

use super::error::UrlError;
use super::trust::Trust;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Url {
    /// True for `https`.
    pub(crate) tls: bool,
    /// TLS trust, and the permitted addresses for both schemes.
    pub(crate) trust: Trust,
    /// Name or IP address, without brackets.
    pub(crate) host: String,
    /// Empty for the default port of the scheme.
    pub(crate) port: String,
    /// Decoded.
    pub(crate) path: String,
    /// Undecoded, without the question mark.
    pub(crate) query: String,
}

impl Url {
    fn scheme(&self) -> &'static str {
        if self.tls { "https" } else { "http" }
    }

    /// Host and port in URL form.
    pub(crate) fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port.is_empty() { host } else { format!("{host}:{}", self.port) }
    }

    /// Returns the URI for a request.
    ///
    /// # Errors
    /// Invalid port, in Go's wording, because clients can choose it; or invalid host.
    pub(crate) fn uri(&self) -> Result<Uri, UrlError> {
        let port = match self.port.as_str() {
            "" => String::new(),
            "http" => "80".to_owned(),
            "https" => "443".to_owned(),
            port => {
                let number = port.parse::<u16>();
                number.map_err(|_| UrlError::UnknownPort(port.to_owned()))?.to_string()
            }
        };
        let authority = Url { port, ..self.clone() }.authority();
        let builder = Uri::builder().scheme(self.scheme()).authority(authority);
        let uri = builder.path_and_query(self.path_and_query()).build();
        uri.map_err(|_| UrlError::NoSuchHost(self.host.clone()))
    }

    fn path_and_query(&self) -> String {
        let slash = if self.path.starts_with('/') { "" } else { "/" };
        let mark = if self.query.is_empty() { "" } else { "?" };
        format!("{slash}{}{mark}{}", escape_path(&self.path), self.query)
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme(), self.authority())?;
        let path = self.path_and_query();
        if path == "/" && self.path.is_empty() { Ok(()) } else { f.write_str(&path) }
    }
}

pub(crate) fn escape_path(path: &str) -> String {
    const PLAIN: &[u8] = b"-_.~$&+,/:;=@";
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || PLAIN.contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// Shortest equivalent path (Go's `path.Clean`) of a path that is not empty.
pub(crate) fn clean(path: &str) -> String {
    // Paths are split at slashes only, so that a UTF-8 path stays one.
    String::from_utf8_lossy(&clean_bytes(path.as_bytes())).into_owned()
}

/// As [`clean`], for a path that may not be UTF-8.
pub(super) fn clean_bytes(path: &[u8]) -> Vec<u8> {
    let rooted = path.starts_with(b"/");
    let mut segments: Vec<&[u8]> = Vec::new();
    for segment in path.split(|byte| *byte == b'/') {
        match segment {
            b"" | b"." => {}
            b".." if segments.last().is_some_and(|last| *last != b"..") => drop(segments.pop()),
            b".." if rooted => {}
            segment => segments.push(segment),
        }
    }
    match (rooted, segments.is_empty()) {
        (true, _) => [b"/", &*segments.join(&b'/')].concat(),
        (false, true) => b".".to_vec(),
        (false, false) => segments.join(&b'/'),
    }
}

/// As [`clean`], but keeps a trailing slash.
pub(crate) fn clean_keeping_slash(path: &str) -> String {
    if path.is_empty() {
        return String::new();
    }
    let mut cleaned = clean(path);
    if path.ends_with('/') && !cleaned.ends_with('/') {
        cleaned.push('/');
    }
    cleaned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_is_encoded_like_go() {
        let check = |tls, host: &str, port: &str, path: &str, query: &str, expected: &str| {
            let [host, port, path, query] = [host, port, path, query].map(str::to_owned);
            assert_eq!(Url { tls, trust: Trust::AnyServer, host, port, path, query }.to_string(), expected);
        };
        check(false, "h", "", "", "", "http://h");
        check(true, "::1", "10250", "/a b", "c=d", "https://[::1]:10250/a%20b?c=d");
        check(false, "::1", "", "/", "", "http://[::1]/");
        check(false, "h", "80", "", "a", "http://h:80/?a");
    }

    #[test]
    fn invalid_port_error_matches_go() {
        let check = |port: &str, expected: Result<&str, &str>| {
            let [host, port, path, query] = ["::1", port, "/a b", "c"].map(str::to_owned);
            let actual = Url { tls: false, trust: Trust::AnyServer, host, port, path, query }
                .uri()
                .map(|uri| uri.to_string())
                .map_err(|error| error.to_string());
            assert_eq!(actual, expected.map(str::to_owned).map_err(str::to_owned));
        };
        check("", Ok("http://[::1]/a%20b?c"));
        check("https", Ok("http://[::1]:443/a%20b?c"));
        check("web", Err("dial tcp: lookup tcp/web: unknown port"));
        check("1@h", Err("dial tcp: lookup tcp/1@h: unknown port"));
    }

    #[test]
    fn path_is_escaped_like_go() {
        let check = |path: &str, escaped: &str| assert_eq!(escape_path(path), escaped);
        check("/a-_.~$&+,:;=@", "/a-_.~$&+,:;=@");
        check("/a b?c%d!*'(é", "/a%20b%3Fc%25d%21%2A%27%28%C3%A9");
    }

    #[test]
    fn path_is_cleaned_like_go() {
        let check = |path: &str, expected: &str| assert_eq!(clean_keeping_slash(path), expected, "{path}");
        check("", "");
        check("/", "/");
        check("/a//b/./c/", "/a/b/c/");
        check("/../a/../../b", "/b");
        check("a/..", ".");
        check("../a", "../a");
    }
}
