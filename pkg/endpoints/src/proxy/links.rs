//! Rewrites redirects of a backend to the paths that the client sees (upstream's `proxy.Transport`). Links in
//! HTML are unchanged.

use super::url::{Url, clean, escape_path, unescape};

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

/// Returns the target of a redirect as the client sees it. Returns `None` for other hosts, and for relative
/// targets, which need no change. `hosts` are the backend's names.
pub(super) fn redirect(to: &str, prefix: &str, hosts: &[&str]) -> Option<String> {
    let (host, rest) = split_host(to);
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    let (path, tail) = rest.split_at(end);
    if (!host.is_empty() && !hosts.contains(&host)) || !path.starts_with('/') {
        return None;
    }
    let decoded = unescape(path)?;
    if decoded.starts_with(prefix) {
        return Some(format!("{path}{tail}"));
    }
    let mut joined = clean(&format!("{prefix}/{decoded}"));
    if decoded.ends_with('/') && !joined.ends_with('/') {
        joined.push('/');
    }
    Some(format!("{}{tail}", escape_path(&joined)))
}

/// Splits an absolute URL into host and rest; the host is empty for any other URL.
fn split_host(url: &str) -> (&str, &str) {
    let after_scheme = match url.split_once("://") {
        Some((scheme, rest)) if scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b)) => {
            Some(rest)
        }
        _ => url.strip_prefix("//"),
    };
    match after_scheme {
        Some(rest) => rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len())),
        None => ("", url),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_stays_behind_the_proxy() {
        let check = |to: &str, expected: Option<&str>| {
            let actual = redirect(to, "/api/v1/x/proxy", &["10.0.0.1:80", "api:6443"]);
            assert_eq!(actual.as_deref(), expected, "{to}");
        };
        check("/login", Some("/api/v1/x/proxy/login"));
        check("/a/?b=c#d", Some("/api/v1/x/proxy/a/?b=c#d"));
        check("http://10.0.0.1:80/a", Some("/api/v1/x/proxy/a"));
        check("https://api:6443/a%20b", Some("/api/v1/x/proxy/a%20b"));
        check("/api/v1/x/proxy/there", Some("/api/v1/x/proxy/there"));
        check("http://elsewhere/a", None);
        check("//elsewhere/a", None);
        check("next", None);
        check("http://10.0.0.1:80", None);
    }

    #[test]
    fn prefix_is_hidden_from_backend() {
        assert_eq!(prefix("/api/proxy/a/b", "/a/b"), "/api/proxy");
        assert_eq!(prefix("/api/proxy/a//b", "/a/b"), "/api/proxy/a//b");
    }
}
