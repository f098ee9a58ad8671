//! Ratchet for constructs that STYLE.md forbids: errors that are texts, and tuples that pack unrelated values. The counts of a
//! crate may only fall.

use std::collections::BTreeMap;
use std::fmt;

/// Counts of one crate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Lines with a `Result` whose error is a `String`.
    text_errors: usize,
    /// Parameters of functions that are tuple patterns.
    tuple_parameters: usize,
    /// `let` statements that bind elements of a tuple literal without a test. `let (Some(a), Some(b)) = … else` is one test of
    /// two values, so it does not count.
    tuple_lets: usize,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.text_errors, self.tuple_parameters, self.tuple_lets)
    }
}

/// Returns the crates whose counts differ from the list: `crate text_errors tuple_parameters tuple_lets` per line. A crate without
/// a line has none.
pub(crate) fn findings(sources: &[(String, String)], list: &str) -> Vec<String> {
    let counted = by_crate(sources);
    let lines = list.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let listed: BTreeMap<&str, &str> = lines.filter_map(|line| line.split_once(' ')).collect();
    let differs = counted.iter().filter(|(name, counts)| match listed.get(name.as_str()) {
        Some(expected) => **expected != counts.to_string(),
        None => **counts != Counts::default(),
    });
    let stale = listed.keys().filter(|name| !counted.contains_key(**name));
    differs
        .map(|(name, counts)| {
            format!("{name} {counts}, listed: {}", listed.get(name.as_str()).unwrap_or(&"0 0 0"))
        })
        .chain(stale.map(|name| format!("{name}: listed, but not there")))
        .collect()
}

fn by_crate(sources: &[(String, String)]) -> BTreeMap<String, Counts> {
    let mut counted: BTreeMap<String, Counts> = BTreeMap::new();
    let examples = "xtask/src/tidy/ratchet.rs";
    for (path, text) in sources.iter().filter(|(path, _)| path != examples) {
        let depth = if path.starts_with("pkg/") || path.starts_with("cmd/") { 2 } else { 1 };
        let name: Vec<&str> = path.split('/').take(depth).collect();
        let counts = counted.entry(name.join("/")).or_default();
        for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
            counts.text_errors += usize::from(has_text_error(line));
            counts.tuple_parameters += tuple_parameters(line);
            counts.tuple_lets += usize::from(is_tuple_let(line));
        }
    }
    counted
}

/// True for a line with `Result<…, String>`.
fn has_text_error(line: &str) -> bool {
    line.match_indices("Result<").any(|(at, start)| {
        let arguments = line.get(at + start.len()..).unwrap_or_default();
        let mut depth = 1usize;
        for (at, c) in arguments.char_indices() {
            match c {
                '<' => depth += 1,
                // The arrow of a function type.
                '>' if arguments[..at].ends_with('-') => {}
                '>' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return arguments[..at].ends_with(", String");
            }
        }
        false
    })
}

/// Returns the number of parameters of the form `(a, b): (A, B)`. Parameters of closures do not count: iterators yield tuples.
fn tuple_parameters(line: &str) -> usize {
    if line.trim_start().starts_with("let ") {
        return 0;
    }
    let typed = ["): (", "): &("].iter().flat_map(|text| line.match_indices(text));
    typed
        .filter(|(end, _)| {
            let Some(start) = line[..*end].rfind('(') else { return false };
            let before = line[..start].trim_end_matches('&');
            line[start..*end].contains(',') && !before.ends_with('|') && !before.ends_with("| ")
        })
        .count()
}

/// True for `let (a, b) = (x, y);` and for `let (a, Some(b)) = (x, y) else`, which bind `a` whatever its value is.
fn is_tuple_let(line: &str) -> bool {
    let Some(statement) = line.trim_start().strip_prefix("let (") else { return false };
    let Some((pattern, value)) = statement.split_once(") = (") else { return false };
    let patterns = elements(pattern);
    // A value without a comma is in parentheses, as in `(0..3).map(f).unzip()`, or continues on the next line.
    let is_tuple = value.is_empty() || elements(value).len() > 1;
    is_tuple && patterns.len() > 1 && patterns.into_iter().any(always_matches)
}

/// Splits a pattern at the commas outside of brackets.
fn elements(pattern: &str) -> Vec<&str> {
    let mut depth = 0usize;
    pattern
        .split(|c| {
            match c {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            c == ',' && depth == 0
        })
        .collect()
}

/// True for a pattern of names only. Variants, literals and slices can fail to match.
fn always_matches(pattern: &str) -> bool {
    let tests = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '"';
    !pattern.contains(tests) && !pattern.contains("&[") && !["true", "false"].contains(&pattern.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &str) {
        let actual = findings(&[("pkg/a/src/b.rs".to_owned(), line.to_owned())], "");
        let expected: Vec<String> =
            if expected == "0 0 0" { Vec::new() } else { vec![format!("pkg/a {expected}, listed: 0 0 0")] };
        assert_eq!(actual, expected, "{line}");
    }

    #[test]
    fn text_errors_are_counted() {
        check("pub fn f() -> Result<u8, String> {", "1 0 0");
        check("f: impl Fn() -> Result<Vec<Option<u8>>, String>,", "1 0 0");
        check("fn f() -> Result<String, Error> {", "0 0 0");
        check("fn f(a: Result<u8, Error>, b: BTreeMap<u8, String>) {}", "0 0 0");
        check("// fn f() -> Result<u8, String>", "0 0 0");
    }

    #[test]
    fn tuple_parameters_are_counted() {
        check("fn f((a, b): (A, B), (c, d): &(C, D)) {", "0 2 0");
        check("    (a, b): (A, B),", "0 1 0");
        check("let f = |(a, b): (A, B)| a;", "0 0 0");
        check("names.map(|(a, b): &(A, B)| a)", "0 0 0");
        check("fn f(a: fn(A) -> B, b: (C, D)) {", "0 0 0");
    }

    #[test]
    fn tuple_lets_are_counted() {
        check("    let (mut a, b) = (1, 2);", "0 0 1");
        check("    let ((a, b), [c, d]) = (f(), g);", "0 0 1");
        check("    let (a, Some(b)) = (1, c) else { return };", "0 0 1");
        check("    let (Some(a), Some(b)) = (c, d) else { return };", "0 0 0");
        check("    let (true, Some(a), &[b, c]) = (d, e, f) else {", "0 0 0");
        check("    let (a, b) = (", "0 0 1");
        check("    let (a, b) = pair;", "0 0 0");
        check("    let (a, b): (Vec<_>, Vec<_>) = (0..3)", "0 0 0");
        check("    (a, b) = (b, a);", "0 0 0");
    }

    #[test]
    fn list_is_exact() {
        let sources = [("pkg/a/src/b.rs".to_owned(), "let (a, b) = (1, 2);".to_owned())];
        assert_eq!(findings(&sources, "# Comment.\npkg/a 0 0 1\n"), Vec::<String>::new());
        assert_eq!(findings(&sources, "pkg/a 0 0 2\n"), ["pkg/a 0 0 1, listed: 0 0 2"]);
        assert_eq!(findings(&sources, "pkg/a 0 0 1\npkg/b 1 0 0\n"), ["pkg/b: listed, but not there"]);
    }
}
