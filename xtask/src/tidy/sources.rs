//! Format rules for source files, and length limits of files and functions.

use super::exceptions::Entry;
use super::functions::functions;

/// Maximum lines of a file.
pub(crate) const FILE_LINES_MAX: usize = 800;
/// Maximum lines of a function, including its signature.
pub(crate) const FUNCTION_LINES_MAX: usize = 70;

/// Returns the violations of a file, except length.
pub(crate) fn findings(path: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    if !text.starts_with("//!") {
        findings.push(format!("{path}: the first line must describe the file (//! …)"));
    }
    if path.ends_with("/mod.rs") {
        findings.push(format!("{path}: name it after its module, beside the module's directory"));
    }
    findings
}

/// Returns the files and functions over the limits.
pub(crate) fn too_long(sources: &[(String, String)]) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (path, text) in sources {
        let lines = text.lines().count();
        if lines > FILE_LINES_MAX {
            entries.push(Entry { lines, path: path.clone(), function: None });
        }
        let long = functions(text).into_iter().filter(|function| function.lines > FUNCTION_LINES_MAX);
        entries.extend(long.map(|f| Entry { lines: f.lines, path: path.clone(), function: Some(f.name) }));
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_without_header_is_found() {
        let check = |path: &str, text: &str, expected: usize| {
            assert_eq!(findings(path, text).len(), expected, "{path}")
        };
        check("a/src/lib.rs", "//! What it is.\n", 0);
        check("a/src/lib.rs", "use x;\n//! Too late.\n", 1);
        check("a/src/lib.rs", "", 1);
        check("a/src/b/mod.rs", "//! What it is.\n", 1);
    }

    #[test]
    fn excess_line_is_found() {
        let function = |lines: usize| format!("fn f() {{{}}}\n", "\n".repeat(lines - 1));
        let check = |text: String, expected: &[&str]| {
            let found = too_long(&[("a.rs".to_owned(), text)]);
            assert_eq!(found.iter().map(Entry::to_string).collect::<Vec<_>>(), expected);
        };
        check(function(FUNCTION_LINES_MAX), &[]);
        check(function(FUNCTION_LINES_MAX + 1), &["71 a.rs f"]);
        check("x\n".repeat(FILE_LINES_MAX), &[]);
        check("x\n".repeat(FILE_LINES_MAX + 1), &["801 a.rs"]);
    }
}
