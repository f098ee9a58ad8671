//! Image references, as far as the pull policy depends on them: `[host[:port]/]path[:tag][@digest]`.
//!
//! The grammar is that of the `distribution/reference` library, which upstream parses images with.

/// The longest path of a repository, in bytes.
const PATH_BYTES_MAX: usize = 255;
/// The longest tag, in bytes.
const TAG_BYTES_MAX: usize = 128;
/// What a path of one component is put under on the default host.
const OFFICIAL: &str = "library/";

/// The pull policy of a container or volume that names none. `latest` may move, so it is pulled always.
/// What is no image reference counts as one with a tag; validation has its say later.
pub(super) fn pull_policy(image: &str) -> &'static str {
    match tag(image) {
        Some("latest") => "Always",
        _ => "IfNotPresent",
    }
}

/// The tag of an image: `latest` if it has neither tag nor digest, none if it has a digest alone or is no
/// image reference.
fn tag(image: &str) -> Option<&str> {
    if is_hex(image, 64) {
        return None;
    }
    let (host, rest) = split_host(image);
    let (name, digest) = match rest.split_once('@') {
        Some((name, digest)) => (name, Some(digest)),
        None => (rest, None),
    };
    let (path, tag) = match name.split_once(':') {
        Some((path, tag)) => (path, Some(tag)),
        None => (name, None),
    };
    if !is_repository(host, path) || !digest.is_none_or(is_digest) || !tag.is_none_or(is_tag) {
        return None;
    }
    match (tag, digest) {
        (None, None) => Some("latest"),
        (tag, _) => tag,
    }
}

/// Takes the host off. The first component is one if it could not begin a path on the default host.
fn split_host(image: &str) -> (Option<&str>, &str) {
    match image.split_once('/') {
        Some((first, rest)) if first == "localhost" || first.contains(['.', ':']) || has_upper(first) => {
            (Some(first), rest)
        }
        _ => (None, image),
    }
}

fn has_upper(text: &str) -> bool {
    text.chars().any(char::is_uppercase)
}

fn is_repository(host: Option<&str>, path: &str) -> bool {
    // What cannot be a host, such as `a_b.c`, may still be the first component of the path.
    let (host_is_path, on_default_host) = match host {
        None | Some("docker.io" | "index.docker.io") => (false, true),
        Some(host) if is_host(host) => (false, false),
        Some(host) if is_component(host) => (true, false),
        Some(_) => return false,
    };
    let prefix_bytes = match host {
        Some(host) if host_is_path => host.len() + 1,
        _ if on_default_host && !path.contains('/') => OFFICIAL.len(),
        _ => 0,
    };
    prefix_bytes + path.len() <= PATH_BYTES_MAX && path.split('/').all(is_component)
}

/// A domain name or an IPv6 address in brackets, with or without a port.
fn is_host(text: &str) -> bool {
    let (name, port) = match text.strip_prefix('[').and_then(|text| text.split_once(']')) {
        Some((address, port)) => {
            let valid = !address.is_empty() && address.bytes().all(|b| b.is_ascii_hexdigit() || b == b':');
            (valid, if port.is_empty() { None } else { Some(port.strip_prefix(':').unwrap_or_default()) })
        }
        None => match text.split_once(':') {
            Some((name, port)) => (name.split('.').all(is_label), Some(port)),
            None => (text.split('.').all(is_label), None),
        },
    };
    name && port.is_none_or(|port| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()))
}

fn is_label(text: &str) -> bool {
    let inner = text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    inner && !text.is_empty() && !text.starts_with('-') && !text.ends_with('-')
}

/// Lower-case letters and digits, in runs parted by `.`, `_`, `__` or any number of `-`.
fn is_component(text: &str) -> bool {
    let is_run = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let ends = |b: Option<&u8>| b.is_some_and(|b| is_run(*b));
    let bytes = text.as_bytes();
    ends(bytes.first())
        && ends(bytes.last())
        && bytes
            .split(|b| is_run(*b))
            .all(|parting| matches!(parting, b"" | b"." | b"_" | b"__") || parting.iter().all(|b| *b == b'-'))
}

fn is_tag(text: &str) -> bool {
    text.len() <= TAG_BYTES_MAX
        && !text.is_empty()
        && !text.starts_with(['.', '-'])
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
}

fn is_digest(text: &str) -> bool {
    match text.split_once(':') {
        Some(("sha256", hex)) => is_hex(hex, 64),
        Some(("sha384", hex)) => is_hex(hex, 96),
        Some(("sha512", hex)) => is_hex(hex, 128),
        _ => false,
    }
}

/// Lower-case hexadecimal digits, so many.
fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(image: &str, policy: &str) {
        assert_eq!(pull_policy(image), policy, "{image}");
    }

    #[test]
    fn what_resolves_to_latest_is_pulled_always() {
        let hosts = [
            "",
            "a/",
            "localhost/",
            "localhost:1/",
            "EXAMPLE/",
            "x.io/a/",
            "x.io:80/a/b/",
            "[::1]:80/",
            "a_b.c/",
        ];
        for host in hosts {
            check(&format!("{host}nginx"), "Always");
            check(&format!("{host}nginx:latest"), "Always");
            check(&format!("{host}nginx:latest@sha256:{}", "0".repeat(64)), "Always");
        }
        for path in ["a-b", "a---b", "a_b", "a__b", "a.b", "0"] {
            check(path, "Always");
        }
    }

    #[test]
    fn what_is_pinned_is_pulled_when_it_is_missing() {
        check("nginx:1", "IfNotPresent");
        check("localhost:5000", "IfNotPresent");
        check("x.io/a:latest-1", "IfNotPresent");
        check(&format!("nginx@sha256:{}", "0".repeat(64)), "IfNotPresent");
        check(&format!("nginx@sha512:{}", "f".repeat(128)), "IfNotPresent");
    }

    #[test]
    fn what_is_no_reference_counts_as_pinned() {
        let long_path = "a".repeat(256);
        let long_tag = format!("a:{}", "t".repeat(129));
        let identifier = "a".repeat(64);
        let texts = [
            "",
            " ",
            "a b",
            "A",
            "a/B",
            "A:latest",
            "a/",
            "/a",
            "a//b",
            "-a",
            "a-",
            "a___b",
            "a..b",
            "a._b",
            "a:",
            "a:.x",
            "a:latest@",
            "a:latest@sha256:00",
            "a:latest@md5:00",
            "x.io:/a",
            "x.io:b/a",
            "[]/a",
            "[::1]x/a",
            "-x.io/a",
            "https://a/b",
            "a_b:80/c",
            "ä",
            &long_path,
            &long_tag,
            &identifier,
        ];
        for text in texts {
            check(text, "IfNotPresent");
        }
        for hex in ["A".repeat(64), "0".repeat(63)] {
            check(&format!("a:latest@sha256:{hex}"), "IfNotPresent");
        }
    }

    #[test]
    fn the_length_limit_counts_the_path_as_it_is_resolved() {
        check(&"a".repeat(247), "Always");
        check(&"a".repeat(248), "IfNotPresent");
        check(&format!("x.io/{}", "a".repeat(255)), "Always");
        check(&format!("x.io/{}", "a".repeat(256)), "IfNotPresent");
        check(&format!("a_b.c/{}", "a".repeat(249)), "Always");
        check(&format!("a_b.c/{}", "a".repeat(250)), "IfNotPresent");
    }
}
