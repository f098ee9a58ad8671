//! The bearer token inside an `Authorization` header.

/// Finds the token of an `Authorization` header's value.
///
/// `None` stands for "no bearer credential": another scheme, no token, or white space in front of the
/// token (upstream ignores such a header, so the request is anonymous). Whatever follows the token
/// after a space is ignored.
pub fn bearer_token(authorization: &str) -> Option<&str> {
    let mut words = authorization.trim().splitn(3, ' ');
    let scheme = words.next()?;
    let token = words.next()?;
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// What is said to whoever sends a header with a space before its token.
pub(crate) const SPACE_WARNING: &str =
    "the provided Authorization header contains extra space before the bearer token, and is ignored";

/// Whether a header would have a token, were it not for the white space in front of it.
pub(crate) fn has_space_before_token(authorization: &str) -> bool {
    let mut words = authorization.trim().splitn(3, ' ');
    let bearer = words.next().is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer"));
    bearer && words.next() == Some("") && words.next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_bearer_scheme_with_a_token_is_a_credential() {
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
    fn a_space_before_the_token_is_told_apart() {
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
