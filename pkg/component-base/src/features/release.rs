//! Kubernetes releases by major and minor version.
#![allow(clippy::arithmetic_side_effects)]

use std::fmt;

use apimachinery::go_quote::Quoted;
use apimachinery::strconv::{NumError, Problem};

/// Error of a text that is no release, with upstream's text (apimachinery `util/version`).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReleaseError {
    /// The text starts with no number.
    #[error("could not parse {} as version", Quoted(.0))]
    NoNumber(String),
    /// The text has one number only.
    #[error("illegal version string {}", Quoted(.0))]
    OneNumber(String),
    /// The major version starts with a zero.
    #[error("illegal zero-prefixed version component {} in {}", Quoted(component), Quoted(text))]
    LeadingZero {
        /// The major version.
        component: String,
        /// The whole text.
        text: String,
    },
    /// A number exceeds 32 bits.
    #[error("illegal non-numeric version component {} in {}: {source}", Quoted(component), Quoted(text))]
    Range {
        /// The number.
        component: String,
        /// The whole text.
        text: String,
        /// Error of Go's `strconv.ParseUint`.
        source: NumError,
    },
}

/// Release without its patch version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release {
    /// Major version; 1 in all Kubernetes releases.
    pub major: u32,
    /// Minor version, for example 37 in `v1.37.2`.
    pub minor: u32,
}

/// The release whose API this program implements.
impl Default for Release {
    fn default() -> Self {
        Release::THIS
    }
}

impl Release {
    /// The release whose API this program implements.
    pub const THIS: Release = Release::minor_of_1(37);

    /// [`THIS`](Self::THIS) with the patch version whose behaviour this program follows.
    pub const THIS_WITH_PATCH: &str = "1.37.2";

    /// Returns release 1.`minor`.
    pub const fn minor_of_1(minor: u32) -> Self {
        Release { major: 1, minor }
    }

    /// Returns the release `by` minor versions earlier, at least 1.0.
    pub const fn subtract_minor(self, by: u32) -> Self {
        Release { major: self.major, minor: self.minor.saturating_sub(by) }
    }

    /// Parses two or more numbers separated by dots, of which the first two are used. A `v` may precede them,
    /// and any text may follow. Also returns the patch version, 0 if absent.
    ///
    /// # Errors
    /// The text does not start with two numbers of at most 32 bits.
    pub fn parse(text: &str) -> Result<(Self, u32), ReleaseError> {
        let trimmed = text.trim_start();
        let trimmed = trimmed.strip_prefix('v').unwrap_or(trimmed);
        let numbers = numbers(trimmed);
        let parts: Vec<&str> = numbers.split('.').collect();
        let number = |part: &str| {
            part.parse::<u32>().map_err(|_| ReleaseError::Range {
                component: part.to_owned(),
                text: text.to_owned(),
                source: NumError { function: "ParseUint", input: part.to_owned(), problem: Problem::Range },
            })
        };
        match parts.as_slice() {
            [""] | [] => Err(ReleaseError::NoNumber(text.to_owned())),
            [_] => Err(ReleaseError::OneNumber(text.to_owned())),
            [major, ..] if major.len() > 1 && major.starts_with('0') => {
                Err(ReleaseError::LeadingZero { component: (*major).to_owned(), text: text.to_owned() })
            }
            [major, minor, patch @ ..] => {
                let patch = patch.first().map_or(Ok(0), |patch| number(patch))?;
                Ok((Release { major: number(major)?, minor: number(minor)? }, patch))
            }
        }
    }
}

/// Returns the leading numbers of a text, with the dots between them.
fn numbers(text: &str) -> &str {
    let mut end = 0;
    let mut rest = text;
    loop {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits == 0 {
            return text.get(..end).unwrap_or_default().trim_end_matches('.');
        }
        end += digits;
        match rest.get(digits..).and_then(|rest| rest.strip_prefix('.')) {
            Some(after) => {
                end += 1;
                rest = after;
            }
            None => return text.get(..end).unwrap_or_default(),
        }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn release_needs_at_least_two_numbers() {
        let check = |text: &str, major: u32, minor: u32, patch: u32| {
            assert_eq!(Release::parse(text), Ok((Release { major, minor }, patch)), "{text}");
        };
        check("1.35", 1, 35, 0);
        check(" v1.35", 1, 35, 0);
        check("1.35.0", 1, 35, 0);
        check("1.35.2", 1, 35, 2);
        check("1.35-alpha.1", 1, 35, 0);
        check("1.35.", 1, 35, 0);
        check("1.07", 1, 7, 0);
        check("0.0", 0, 0, 0);
    }

    #[test]
    fn invalid_release_errors_match_upstream() {
        let check = |text: &str, expected: &str| {
            assert_eq!(Release::parse(text).unwrap_err().to_string(), expected, "{text}");
        };
        check("", "could not parse \"\" as version");
        check("x1.2", "could not parse \"x1.2\" as version");
        check(".1", "could not parse \".1\" as version");
        check("1", "illegal version string \"1\"");
        check("v1.x", "illegal version string \"v1.x\"");
        check("01.35", "illegal zero-prefixed version component \"01\" in \"01.35\"");
        check(
            "1.99999999999999999999",
            "illegal non-numeric version component \"99999999999999999999\" in \
             \"1.99999999999999999999\": strconv.ParseUint: parsing \"99999999999999999999\": value out of range",
        );
    }

    #[test]
    fn patch_version_is_of_this_release() {
        assert_eq!(Release::parse(Release::THIS_WITH_PATCH).map(|(release, _)| release), Ok(Release::THIS));
    }

    #[test]
    fn releases_are_ordered_by_their_numbers() {
        assert!(Release::minor_of_1(9) < Release::minor_of_1(10));
        assert!(Release::minor_of_1(99) < Release { major: 2, minor: 0 });
        assert_eq!(Release::minor_of_1(36).subtract_minor(3), Release::minor_of_1(33));
        assert_eq!(Release::minor_of_1(0).subtract_minor(1), Release::minor_of_1(0));
    }
}
