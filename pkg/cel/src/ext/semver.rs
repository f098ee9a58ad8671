//! Semantic versions, parsed like `github.com/blang/semver/v4`.

use std::cmp::Ordering;

use super::error::ParseError;
use apimachinery::go_quote::Quoted;

/// A version. Build metadata affects neither order nor equality.
#[derive(Clone, Debug)]
pub struct Version {
    /// First number of the version.
    pub major: u64,
    /// Second number of the version.
    pub minor: u64,
    /// Third number of the version.
    pub patch: u64,
    prerelease: Vec<Identifier>,
}

/// A prerelease identifier; numbers sort before words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Word(String),
}

impl Version {
    /// Parses a complete version: three numbers without leading zeros, and no `v` before them.
    ///
    /// # Errors
    /// The error text of the Go library.
    pub fn parse(text: &str) -> Result<Version, ParseError> {
        if text.is_empty() {
            return Err(ParseError::new("Version string empty"));
        }
        let parts: Vec<&str> = text.splitn(3, '.').collect();
        let [major, minor, patch] = parts[..] else {
            return Err(ParseError::new("No Major.Minor.Patch elements found"));
        };
        let major = number(major, "major", "Major")?;
        let minor = number(minor, "minor", "Minor")?;
        let (patch, build) =
            patch.split_once('+').map_or((patch, None), |(patch, build)| (patch, Some(build)));
        let (patch, prerelease) =
            patch.split_once('-').map_or((patch, None), |(patch, rest)| (patch, Some(rest)));
        let patch = number(patch, "patch", "Patch")?;
        let prerelease = match prerelease {
            Some(prerelease) => prerelease.split('.').map(identifier).collect::<Result<_, _>>()?,
            None => Vec::new(),
        };
        for part in build.into_iter().flat_map(|build| build.split('.')) {
            if part.is_empty() {
                return Err(ParseError::new("Build meta data is empty"));
            }
            if !part.bytes().all(is_word) {
                return Err(ParseError::new(format!(
                    "Invalid character(s) found in build meta data {}",
                    Quoted(part)
                )));
            }
        }
        Ok(Version { major, minor, patch, prerelease })
    }

    /// Parses a version after completing forms such as `v1` or `1.2` and removing leading zeros.
    pub fn parse_normalized(text: &str) -> Result<Version, ParseError> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut parts: Vec<String> = text.splitn(3, '.').map(without_leading_zeros).collect();
        if parts.len() < 3 && parts.last().is_some_and(|last| last.contains(['+', '-'])) {
            return Err(ParseError::new("short version cannot contain PreRelease/Build meta data"));
        }
        parts.resize(3, "0".to_owned());
        Version::parse(&parts.join("."))
    }
}

fn without_leading_zeros(part: &str) -> String {
    let trimmed = part.trim_start_matches('0');
    if part.len() <= 1 {
        part.to_owned()
    } else if trimmed.starts_with(|c: char| c.is_ascii_digit()) {
        trimmed.to_owned()
    } else {
        format!("0{trimmed}")
    }
}

fn number(text: &str, part: &str, title: &str) -> Result<u64, ParseError> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(ParseError::new(format!("Invalid character(s) found in {part} number {}", Quoted(text))));
    }
    if text.len() > 1 && text.starts_with('0') {
        return Err(ParseError::new(format!(
            "{title} number must not contain leading zeroes {}",
            Quoted(text)
        )));
    }
    parse_uint(text)
}

fn parse_uint(text: &str) -> Result<u64, ParseError> {
    text.parse().map_err(|_| {
        let reason = if text.is_empty() { "invalid syntax" } else { "value out of range" };
        ParseError::new(format!("strconv.ParseUint: parsing {}: {reason}", Quoted(text)))
    })
}

fn identifier(text: &str) -> Result<Identifier, ParseError> {
    if text.is_empty() {
        return Err(ParseError::new("Prerelease is empty"));
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        if text.len() > 1 && text.starts_with('0') {
            let quoted = Quoted(text);
            return Err(ParseError::new(format!(
                "Numeric PreRelease version must not contain leading zeroes {quoted}"
            )));
        }
        return parse_uint(text).map(Identifier::Number);
    }
    if !text.bytes().all(is_word) {
        return Err(ParseError::new(format!("Invalid character(s) found in prerelease {}", Quoted(text))));
    }
    Ok(Identifier::Word(text.to_owned()))
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

impl Ord for Version {
    fn cmp(&self, other: &Version) -> Ordering {
        let numbers = |version: &Version| (version.major, version.minor, version.patch);
        // A version without prerelease sorts after those with one.
        let prerelease = || {
            let released = self.prerelease.is_empty().cmp(&other.prerelease.is_empty());
            released.then_with(|| self.prerelease.cmp(&other.prerelease))
        };
        numbers(self).cmp(&numbers(other)).then_with(prerelease)
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Version) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Version) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Version {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_precedence() {
        let order = ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-2", "1.0.0", "1.0.1"];
        let order = order.map(|text| Version::parse(text).unwrap());
        assert!(order[3] < order[0]);
        assert!(order[0] < order[1] && order[1] < order[2] && order[2] < order[4] && order[4] < order[5]);
        assert_eq!(Version::parse("1.0.0+a"), Version::parse("1.0.0+b"));
    }

    #[test]
    fn errors_equal_the_go_librarys() {
        let error = |text: &str| Version::parse(text).unwrap_err().to_string();
        assert_eq!(error("v1.0"), "No Major.Minor.Patch elements found");
        assert_eq!(error("v1.0.0"), "Invalid character(s) found in major number \"v1\"");
        assert_eq!(error("1.01.0"), "Minor number must not contain leading zeroes \"01\"");
        assert_eq!(error("1..0"), "strconv.ParseUint: parsing \"\": invalid syntax");
        assert_eq!(Version::parse_normalized("v01.2"), Version::parse("1.2.0"));
    }
}
