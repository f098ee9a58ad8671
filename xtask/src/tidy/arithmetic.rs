//! Checks which crates enable clippy's lints against panicking or wrapping arithmetic, and which files are
//! exempt.

/// Crates with the lints. Single modules of other crates have the lints in their own headers.
pub(crate) const CRATES: [&str; 2] = ["pkg/apimachinery", "pkg/component-base"];

/// Attribute in the `lib.rs` of a crate that parses client input. Not in tests, where a panicking sum is a
/// normal failure.
const HELD: &str = "#![cfg_attr(
    not(test),
    warn(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::as_conversions)
)]";
/// Lints in the exemption of a file.
const EXCUSED: [&str; 3] =
    ["clippy::arithmetic_side_effects", "clippy::indexing_slicing", "clippy::as_conversions"];

/// Returns crates without the lints, exempt files that are not listed, and listed files that are not exempt.
pub(crate) fn findings(sources: &[(String, String)], crates: &[&str], listed: &[&str]) -> Vec<String> {
    let mut findings = Vec::new();
    for name in crates {
        let lib = format!("{name}/src/lib.rs");
        if !sources.iter().any(|(path, text)| *path == lib && text.contains(HELD)) {
            findings.push(format!("{lib}: lacks {HELD}"));
        }
    }
    let of_crates = |path: &str| crates.iter().any(|name| path.starts_with(&format!("{name}/src/")));
    let excused: Vec<&str> = sources
        .iter()
        .filter(|(path, text)| of_crates(path) && is_excused(text))
        .map(|(path, _)| path.as_str())
        .collect();
    let new = excused.iter().filter(|path| !listed.contains(path));
    findings.extend(new.map(|path| format!("{path}: does arithmetic that clippy does not look at")));
    let done = listed.iter().filter(|path| !excused.contains(path));
    findings.extend(done.map(|path| format!("{path}: is ready, so take it off the list")));
    findings
}

fn is_excused(text: &str) -> bool {
    let allows = text.lines().filter(|line| {
        line.trim_start().starts_with("#![allow(") || line.trim_start().starts_with("#[allow(")
    });
    allows.into_iter().any(|line| EXCUSED.iter().any(|lint| line.contains(lint)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exempt_files_are_found() {
        let check = |lib: &str, file: &str, listed: &[&str], expected: usize| {
            let sources = [("a/src/lib.rs", lib), ("a/src/b.rs", file), ("c/src/lib.rs", "")];
            let sources = sources.map(|(path, text)| (path.to_owned(), text.to_owned()));
            assert_eq!(findings(&sources, &["a"], listed).len(), expected, "{lib} {file}");
        };
        let excuse = "#![allow(clippy::as_conversions, reason = \"x\")]";
        check(HELD, "", &[], 0);
        check("", "", &[], 1);
        check(HELD, excuse, &[], 1);
        check(HELD, excuse, &["a/src/b.rs"], 0);
        check(HELD, "", &["a/src/b.rs"], 1);
    }
}
