//! The bearer token of an `Authorization` header.

/// Returns the bearer token of an `Authorization` header's value.
///
/// `None` means that there is no bearer credential: another scheme, no token, or white space before the
/// token. Upstream ignores such a header, so the request is anonymous. Text after the token and a space is
/// ignored.
pub fn bearer_token(authorization: &str) -> Option<&str> {
    let mut words = authorization.trim().splitn(3, ' ');
    let scheme = words.next()?;
    let token = words.next()?;
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// Warning for a header with a space before its token.
pub(crate) const SPACE_WARNING: &str =
    "the provided Authorization header contains extra space before the bearer token, and is ignored";

/// True if a header would contain a token without the white space before it.
pub(crate) fn has_space_before_token(authorization: &str) -> bool {
    let mut words = authorization.trim().splitn(3, ' ');
    let bearer = words.next().is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer"));
    bearer && words.next() == Some("") && words.next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bearer_scheme_with_token_is_accepted() {
        let check =
            |header: &str, expected: Option<&str>| assert_eq!(bearer_token(header), expected, "{header:?}");
        check("Bearer abc", Some("abc"));
        check("bearer abc", Some("abc"));
        check("BEARER abc", Some("abc"));
        check("  Bearer abc  ", Some("abc"));
        check("Bearer abc x", Some("abc"));
        check("Bearer  abc", None);
        check("Bearer ", None);
        check("Bearer", None);
        check("", None);
        check("abc", None);
        check("Basic YWRtaW46eA==", None);
        check("Bearer\tabc", None);
    }

    #[test]
    fn space_before_token_is_detected() {
        for (header, expected) in [
            ("Bearer  abc", true),
            ("bearer   abc", true),
            ("Bearer abc", false),
            ("Bearer", false),
            ("x  abc", false),
        ] {
            assert_eq!(has_space_before_token(header), expected, "{header:?}");
        }
    }
}
