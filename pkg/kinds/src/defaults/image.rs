//! Image references, `[host[:port]/]path[:tag][@digest]`, as far as the pull policy depends on them.
//!
//! The grammar is that of the `distribution/reference` library, which upstream uses.

/// Length limit of a repository path in bytes.
const PATH_BYTES_MAX: usize = 255;
/// Length limit of a tag in bytes.
const TAG_BYTES_MAX: usize = 128;
/// Prefix of a path with one component on the default host.
const OFFICIAL: &str = "library/";

/// Returns the default pull policy of a container or volume. `latest` may move, so it is always pulled. A
/// malformed reference counts as one with a tag; validation happens later.
pub(crate) fn pull_policy(image: &str) -> &'static str {
    match tag(image) {
        Some("latest") => "Always",
        _ => "IfNotPresent",
    }
}

/// Returns the tag of an image. It is `latest` without a tag and a digest. It is `None` with only a digest,
/// or if the image reference is malformed.
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

/// Splits off the host. The first component is a host if it could not start a path on the default host.
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
    // A component that cannot be a host, such as `a_b.c`, may still be the first component of the path.
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

/// True for a domain name or an IPv6 address in brackets, with or without a port.
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

/// True for runs of lower-case letters and digits, separated by `.`, `_`, `__` or any number of `-`.
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

/// True for exactly this number of lower-case hexadecimal digits.
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
    fn latest_images_are_always_pulled() {
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
    fn pinned_images_are_pulled_if_missing() {
        check("nginx:1", "IfNotPresent");
        check("localhost:5000", "IfNotPresent");
        check("x.io/a:latest-1", "IfNotPresent");
        check(&format!("nginx@sha256:{}", "0".repeat(64)), "IfNotPresent");
        check(&format!("nginx@sha512:{}", "f".repeat(128)), "IfNotPresent");
    }

    #[test]
    fn malformed_references_count_as_pinned() {
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
    fn length_limit_includes_default_prefix() {
        check(&"a".repeat(247), "Always");
        check(&"a".repeat(248), "IfNotPresent");
        check(&format!("x.io/{}", "a".repeat(255)), "Always");
        check(&format!("x.io/{}", "a".repeat(256)), "IfNotPresent");
        check(&format!("a_b.c/{}", "a".repeat(249)), "Always");
        check(&format!("a_b.c/{}", "a".repeat(250)), "IfNotPresent");
    }
}
