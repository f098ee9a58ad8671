//! List of known files and functions over the length limits. Each entry has the exact length, so every change
//! is visible, and an unnecessary entry must be removed.

use std::fmt;

use crate::error::Error;

/// A file or function over the limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) lines: usize,
    pub(crate) path: String,
    /// `None` for the whole file.
    pub(crate) function: Option<String>,
}

/// Formats as in the list.
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.lines, self.path)?;
        self.function.iter().try_for_each(|name| write!(f, " {name}"))
    }
}

impl Entry {
    fn excuses(&self, other: &Entry) -> bool {
        (&self.path, &self.function) == (&other.path, &other.function)
    }
}

/// Parses the list: `lines path [function]` per line, `#` for comments.
pub(crate) fn parse(text: &str) -> Result<Vec<Entry>, Error> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let (lines, path, function) = match words[..] {
                [lines, path] => (lines, path, None),
                [lines, path, function] => (lines, path, Some(function.to_owned())),
                _ => return Err(Error::ExceptionLine(line.to_owned())),
            };
            let lines = lines.parse().map_err(|_| Error::ExceptionLine(line.to_owned()))?;
            Ok(Entry { lines, path: path.to_owned(), function })
        })
        .collect()
}

/// Returns unlisted items over the limits, and list entries that are unnecessary or too large.
pub(crate) fn findings(long: &[Entry], listed: &[Entry]) -> Vec<String> {
    let mut findings = Vec::new();
    for item in long {
        match listed.iter().find(|entry| entry.excuses(item)) {
            None => findings.push(format!("too long: {item}")),
            Some(entry) if entry.lines < item.lines => {
                findings.push(format!("grew from {} lines: {item}", entry.lines));
            }
            Some(entry) if entry.lines > item.lines => {
                findings.push(format!("shrank, so write it into the list: {item}"));
            }
            Some(_) => {}
        }
    }
    let stale = listed.iter().filter(|entry| !long.iter().any(|item| entry.excuses(item)));
    findings.extend(stale.map(|entry| format!("not needed any more, take it off the list: {entry}")));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(long: &str, listed: &str, expected: &[&str]) {
        assert_eq!(findings(&parse(long).unwrap(), &parse(listed).unwrap()), expected);
    }

    #[test]
    fn the_list_is_exact() {
        check("", "", &[]);
        check("80 a.rs f", "# why\n80 a.rs f", &[]);
        check("80 a.rs f", "", &["too long: 80 a.rs f"]);
        check("80 a.rs f", "79 a.rs f", &["grew from 79 lines: 80 a.rs f"]);
        check("80 a.rs f", "81 a.rs f", &["shrank, so write it into the list: 80 a.rs f"]);
        check("", "80 a.rs f", &["not needed any more, take it off the list: 80 a.rs f"]);
        check("900 a.rs\n80 a.rs f", "900 a.rs", &["too long: 80 a.rs f"]);
    }

    #[test]
    fn malformed_list_is_an_error() {
        assert!(parse("many a.rs").is_err());
        assert!(parse("80").is_err());
        assert!(parse("80 a.rs f g").is_err());
    }
}
