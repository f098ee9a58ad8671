//! Rewrites links of a backend to the paths that the client sees (upstream's `proxy.Transport`).

use std::fmt::Write as _;

use cel::ext::ParseError;
use cel::ext::url::{self, Url as Link};

use super::url::{Url, clean, clean_bytes, escape_path};

/// Attributes with a URL, by element (upstream's `atomsToAttrs`). Sorted.
const ATTRIBUTES: [(&[u8], &[&[u8]]); 25] = [
    (b"a", &[b"href"]),
    (b"applet", &[b"codebase"]),
    (b"area", &[b"href"]),
    (b"audio", &[b"src"]),
    (b"base", &[b"href"]),
    (b"blockquote", &[b"cite"]),
    (b"body", &[b"background"]),
    (b"button", &[b"formaction"]),
    (b"command", &[b"icon"]),
    (b"del", &[b"cite"]),
    (b"embed", &[b"src"]),
    (b"form", &[b"action"]),
    (b"frame", &[b"longdesc", b"src"]),
    (b"head", &[b"profile"]),
    (b"html", &[b"manifest"]),
    (b"iframe", &[b"longdesc", b"src"]),
    (b"img", &[b"longdesc", b"src", b"usemap"]),
    (b"input", &[b"src", b"usemap", b"formaction"]),
    (b"ins", &[b"cite"]),
    (b"link", &[b"href"]),
    (b"object", &[b"classid", b"codebase", b"data", b"usemap"]),
    (b"q", &[b"cite"]),
    (b"script", &[b"src"]),
    (b"source", &[b"src"]),
    (b"video", &[b"poster", b"src"]),
];

/// Rewriter of the links of one response.
#[derive(Debug, Clone)]
pub(super) struct LinkRewriter {
    /// Prefix of the request path that the backend does not see.
    pub(super) prefix: String,
    /// Host and port of the backend.
    pub(super) backend: String,
    /// Host and port in the request.
    pub(super) requested: String,
}

impl LinkRewriter {
    /// Returns the value of an attribute as the client needs it; `None` if it does not change.
    pub(super) fn attribute(&self, element: &[u8], name: &[u8], value: &[u8]) -> Option<Vec<u8>> {
        let at = ATTRIBUTES.binary_search_by_key(&element, |(element, _)| *element).ok()?;
        let is_link = ATTRIBUTES.get(at).is_some_and(|(_, names)| names.contains(&name));
        let link = is_link.then(|| self.rewrite(&escape_invalid(value)).ok())?;
        link.map(String::into_bytes)
    }

    /// Returns a link as the client needs it, in the encoding of Go's `net/url`. Links to other hosts and relative links
    /// keep their meaning.
    ///
    /// # Errors
    /// The link is not a URL.
    pub(super) fn rewrite(&self, link: &str) -> Result<String, ParseError> {
        let mut link = url::parse_reference(link)?;
        let host = link.host();
        let is_own = host.is_empty() || host == self.backend || host == self.requested;
        if !is_own || !link.path().starts_with(b"/") {
            return Ok(link.to_string());
        }
        if host != self.requested {
            link.remove_origin();
        }
        if !link.path().starts_with(self.prefix.as_bytes()) {
            let joined = self.join(&link);
            link.set_path(joined);
        }
        Ok(link.to_string())
    }

    fn join(&self, link: &Link) -> Vec<u8> {
        let mut joined = clean_bytes(&[self.prefix.as_bytes(), b"/", link.path()].concat());
        if link.path().ends_with(b"/") {
            joined.push(b'/');
        }
        joined
    }
}

/// Returns the prefix of a request path that the backend does not see.
pub(super) fn prefix<'p>(path: &'p str, backend_path: &str) -> &'p str {
    path.strip_suffix(backend_path).unwrap_or(path)
}

/// URI of a backend URL as the client sees it.
pub(super) fn forwarded_uri(prefix: &str, url: &Url) -> String {
    let mut uri = clean(&format!("{prefix}/{}", escape_path(&url.path)));
    if url.path.ends_with('/') {
        uri.push('/');
    }
    uri
}

/// Escapes the bytes that are not UTF-8, as Go does when it writes a path.
fn escape_invalid(link: &[u8]) -> String {
    let mut text = String::with_capacity(link.len());
    for chunk in link.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // Writing to a String does not fail.
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewriter() -> LinkRewriter {
        let prefix = "/api/v1/x/proxy".to_owned();
        LinkRewriter { prefix, backend: "10.0.0.1:80".to_owned(), requested: "api:6443".to_owned() }
    }

    #[test]
    fn own_links_stay_behind_the_proxy() {
        let check = |to: &str, expected: &str| {
            assert_eq!(rewriter().rewrite(to).ok().as_deref(), Some(expected), "{to}");
        };
        check("/login", "/api/v1/x/proxy/login");
        check("/a/?b=c#d", "/api/v1/x/proxy/a/?b=c#d");
        check("/", "/api/v1/x/proxy/");
        check("http://10.0.0.1:80/a", "/api/v1/x/proxy/a");
        check("//10.0.0.1:80/a", "/api/v1/x/proxy/a");
        check("https://api:6443/a%20b", "https://api:6443/api/v1/x/proxy/a%20b");
        check("/api/v1/x/proxy/there", "/api/v1/x/proxy/there");
        check("/a/../%2e%2e/b%2fc", "/api/v1/x/b/c");
    }

    #[test]
    fn foreign_and_relative_links_are_kept() {
        let check = |to: &str, expected: &str| {
            assert_eq!(rewriter().rewrite(to).ok().as_deref(), Some(expected), "{to}");
        };
        check("http://elsewhere/a", "http://elsewhere/a");
        check("//elsewhere/a", "//elsewhere/a");
        check("next?a=<b>", "next?a=<b>");
        check("a b", "a%20b");
        check("#top", "#top");
        check("", "");
        check("mailto:a@b", "mailto:a@b");
        check("http://10.0.0.1:80", "http://10.0.0.1:80");
        check("a%3Ab c", "./a:b%20c");
    }

    #[test]
    fn invalid_links_are_kept() {
        for link in ["1:b", "/%zz", "/a\nb", ":a", "http://[::1/"] {
            assert!(rewriter().attribute(b"a", b"href", link.as_bytes()).is_none(), "{link}");
        }
    }

    #[test]
    fn links_depend_on_the_element() {
        let check = |element: &str, name: &str, expected: bool| {
            let rewritten = rewriter().attribute(element.as_bytes(), name.as_bytes(), b"/a");
            assert_eq!(rewritten.is_some(), expected, "{element} {name}");
        };
        check("a", "href", true);
        check("a", "src", false);
        check("video", "poster", true);
        check("div", "href", false);
        assert!(ATTRIBUTES.is_sorted());
    }

    #[test]
    fn bytes_that_are_not_utf8_are_escaped() {
        let rewritten = rewriter().attribute(b"a", b"href", b"/\xe9");
        assert_eq!(rewritten.as_deref(), Some(&b"/api/v1/x/proxy/%E9"[..]));
    }

    #[test]
    fn prefix_is_hidden_from_backend() {
        assert_eq!(prefix("/api/proxy/a/b", "/a/b"), "/api/proxy");
        assert_eq!(prefix("/api/proxy/a//b", "/a/b"), "/api/proxy/a//b");
    }
}
