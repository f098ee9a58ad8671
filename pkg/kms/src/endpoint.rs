//! Parses plugin endpoints.

use encryption::Error;

/// Returns the socket name in an endpoint URL: `unix:///path`, or `unix:///@name` for an abstract socket.
///
/// # Errors
/// The endpoint is not such a URL. The text is upstream's.
pub(crate) fn socket(endpoint: &str) -> Result<String, Error> {
    if endpoint.is_empty() {
        return Err(Error::new("remote KMS provider can't use empty string as endpoint"));
    }
    let (scheme, rest) = endpoint.split_once(':').unwrap_or(("", endpoint));
    if !scheme.eq_ignore_ascii_case("unix") {
        let scheme = scheme.to_ascii_lowercase();
        return Err(Error::new(format!("unsupported scheme {scheme:?} for remote KMS provider")));
    }
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    // The authority part of the URL is ignored.
    let path = match rest.strip_prefix("//") {
        Some(rest) => rest.find('/').and_then(|at| rest.get(at..)).unwrap_or_default(),
        None => rest,
    };
    let path = unescaped(path).ok_or_else(|| {
        Error::new(format!(
            "invalid endpoint {endpoint:?} for remote KMS provider, error: invalid URL escape"
        ))
    })?;
    Ok(match path.strip_prefix("/@") {
        Some(name) => format!("@{name}"),
        None => path,
    })
}

/// Decodes the `%XX` escapes of a path. Returns `None` for an incomplete escape or if the result is not
/// UTF-8.
fn unescaped(path: &str) -> Option<String> {
    let mut parts = path.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(endpoint: &str, expected: Result<&str, &str>) {
        let got = socket(endpoint).map_err(|error| error.to_string());
        assert_eq!(got.as_deref().map_err(String::as_str), expected, "{endpoint}");
    }

    #[test]
    fn sockets_are_paths_or_names() {
        check("unix:///run/kms.sock", Ok("/run/kms.sock"));
        check("unix:///@kms-socket", Ok("@kms-socket"));
        check("unix://host/run/a%20b", Ok("/run/a b"));
        check("UNIX:/run/kms.sock", Ok("/run/kms.sock"));
    }

    #[test]
    fn other_endpoints_are_refused() {
        check("", Err("remote KMS provider can't use empty string as endpoint"));
        check("tcp://localhost:1", Err("unsupported scheme \"tcp\" for remote KMS provider"));
        check("/run/kms.sock", Err("unsupported scheme \"\" for remote KMS provider"));
        let bad = "invalid endpoint \"unix:///%2\" for remote KMS provider, error: invalid URL escape";
        check("unix:///%2", Err(bad));
    }
}
