//! Which crates let clippy look for arithmetic that can panic or wrap, and which files are not ready for it.

/// The crates. Single modules of others have the lints at their own heads.
pub(crate) const CRATES: [&str; 2] = ["pkg/apimachinery", "pkg/component-base"];

/// What a crate that reads what clients send has at the head of its `lib.rs`. Not in tests, where a sum that
/// panics is a failure like any other.
const HELD: &str = "#![cfg_attr(
    not(test),
    warn(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::as_conversions)
)]";
/// How a file says that it is not ready.
const EXCUSED: [&str; 3] =
    ["clippy::arithmetic_side_effects", "clippy::indexing_slicing", "clippy::as_conversions"];

/// Crates without the lints, files that are excused and not listed, and files that are listed without need.
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

mod tests {
    use super::*;

    #[test]
    fn what_clippy_does_not_look_at_is_found() {
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
