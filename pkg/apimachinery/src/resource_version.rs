//! Parses resource versions of clients: empty, `0`, or a revision. An invalid one is a 400 on list, with
//! [`invalid_message`], and a 500 on get and watch, with the bare field error; the caller selects.

use crate::field;
use crate::strconv::parse_uint;

/// Requirement of a `resourceVersion` parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ResourceVersion {
    /// Absent: the most recent state.
    #[default]
    Unset,
    /// `0`: any state.
    Any,
    /// A revision of the store, not zero.
    Revision(u64),
}

impl ResourceVersion {
    /// The revision; 0 if there is none.
    pub fn revision(self) -> u64 {
        match self {
            Self::Unset | Self::Any => 0,
            Self::Revision(revision) => revision,
        }
    }
}

/// Parses a `resourceVersion` parameter. As in upstream, any other notation of zero (such as `00`) counts as
/// zero.
///
/// # Errors
/// Upstream's field error: `resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid
/// syntax`.
pub fn parse(text: &str) -> Result<ResourceVersion, field::Error> {
    if text.is_empty() {
        return Ok(ResourceVersion::Unset);
    }
    match parse_uint(text) {
        Ok(0) => Ok(ResourceVersion::Any),
        Ok(revision) => Ok(ResourceVersion::Revision(revision)),
        Err(error) => {
            let path = field::Path::root("resourceVersion");
            Err(field::Error::invalid(&path, text, error.to_string()))
        }
    }
}

/// Message of the 400 for a list with an invalid version.
pub fn invalid_message(error: &field::Error) -> String {
    format!("invalid resource version: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<ResourceVersion, &str>) {
        let actual = parse(text).map_err(|error| invalid_message(&error));
        assert_eq!(actual, expected.map_err(str::to_owned), "{text:?}");
    }

    #[test]
    fn versions_are_unset_any_or_a_revision() {
        check("", Ok(ResourceVersion::Unset));
        check("0", Ok(ResourceVersion::Any));
        check("00", Ok(ResourceVersion::Any));
        check("42", Ok(ResourceVersion::Revision(42)));
        check("18446744073709551615", Ok(ResourceVersion::Revision(u64::MAX)));
    }

    #[test]
    fn errors_match_upstream() {
        check(
            "abc",
            Err(
                r#"invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax"#,
            ),
        );
        check(
            "-1",
            Err(
                r#"invalid resource version: resourceVersion: Invalid value: "-1": strconv.ParseUint: parsing "-1": invalid syntax"#,
            ),
        );
        check(
            "18446744073709551616",
            Err(
                r#"invalid resource version: resourceVersion: Invalid value: "18446744073709551616": strconv.ParseUint: parsing "18446744073709551616": value out of range"#,
            ),
        );
    }

    #[test]
    fn only_a_revision_has_a_number() {
        assert_eq!(ResourceVersion::Any.revision(), 0);
        assert_eq!(ResourceVersion::Revision(7).revision(), 7);
    }
}
