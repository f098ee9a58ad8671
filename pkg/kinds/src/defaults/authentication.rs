//! authentication.k8s.io: requests for tokens.

use super::Rule;
use super::fill::{if_nil, within};

/// Lifetime of a requested token in seconds.
const TOKEN_SECONDS: i64 = 3600;

pub(super) fn rule(version: &str, kind: &str) -> Option<Rule> {
    Some(match (version, kind) {
        ("v1", "TokenRequest") => {
            |request| within(request, "spec", |spec| if_nil(spec, "expirationSeconds", TOKEN_SECONDS))
        }
        _ => return None,
    })
}
