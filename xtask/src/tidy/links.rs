//! Links of docs to items: each name must exist. This finds links to renamed items within a second; `cargo doc`, which also
//! resolves them, takes minutes.

use std::collections::{HashMap, HashSet};

use super::workspace::{Package, Workspace};

/// Names that a path can start with in every file. Includes the prelude names that links use.
const ROOTS: [&str; 7] = ["Future", "Option", "Self", "Vec", "crate", "self", "super"];
/// Crates of Rust itself.
const STANDARD: [&str; 3] = ["alloc", "core", "std"];

/// Crates that paths can start with, by the names that code uses.
pub(crate) struct Crates {
    own: HashSet<String>,
    /// Their items are not checked.
    external: HashSet<String>,
}

impl Crates {
    pub(crate) fn of(workspace: &Workspace) -> Self {
        let names =
            |packages: &[Package]| packages.iter().map(|package| package.name.replace('-', "_")).collect();
        let mut external: HashSet<String> = names(&workspace.dependencies);
        external.extend(STANDARD.map(str::to_owned));
        Crates { own: names(&workspace.members), external }
    }
}

/// Returns the links to names that do not exist. The first name of a path must occur in the code of its file, or be a
/// crate; every other one must occur in the code of some crate.
pub(crate) fn findings(sources: &[(String, String)], crates: &Crates) -> Vec<String> {
    let code: HashMap<&str, HashSet<&str>> =
        sources.iter().map(|(path, text)| (path.as_str(), words(text))).collect();
    let all: HashSet<&str> = code.values().flatten().copied().collect();
    let is_known = |path: &str, link: &str| {
        let mut names = link.split("::").filter(|name| !name.is_empty());
        let Some(first) = names.next() else { return true };
        if crates.external.contains(first) {
            return true;
        }
        let in_file = code.get(path).is_some_and(|words| words.contains(first));
        let is_root = ROOTS.contains(&first) || crates.own.contains(first);
        (in_file || is_root) && names.all(|name| all.contains(name))
    };
    let mut findings = Vec::new();
    for (path, text) in sources {
        let docs = text.lines().enumerate().filter_map(|(at, line)| Some((at, doc(line)?)));
        for (at, doc) in docs {
            let links = links(doc).into_iter();
            let unknown = links.filter(|link| !is_known(path, link));
            findings.extend(unknown.map(|link| format!("{path}:{}: {link}", at + 1)));
        }
    }
    findings
}

/// Returns the text of a line of docs.
fn doc(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))
}

/// Returns the words of the lines that are no docs.
fn words(text: &str) -> HashSet<&str> {
    let code = text.lines().filter(|line| doc(line).is_none());
    code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_')).collect()
}

/// Returns the paths that a line of docs links to: `` [`path`] `` and `[text](path)`.
fn links(doc: &str) -> Vec<String> {
    let mut links = Vec::new();
    let mut rest = doc;
    while let Some((_, after)) = rest.split_once('[') {
        let Some((label, after)) = after.split_once(']') else { break };
        rest = after;
        let quoted = label.strip_prefix('`').and_then(|label| label.strip_suffix('`'));
        let target =
            after.strip_prefix('(').and_then(|after| after.split_once(')')).map(|(target, _)| target);
        links.extend(target.or(quoted).map(path_of).filter(|path| is_path(path)));
    }
    links
}

/// Removes generic arguments, the parentheses of a function, the mark of a macro and the kind of an item.
fn path_of(link: &str) -> String {
    let link = link.trim_matches('`');
    let link = link.split_once('<').map_or(link, |(path, _)| path);
    let link = link.split_once('@').map_or(link, |(_, path)| path);
    link.trim_end_matches("()").trim_end_matches('!').to_owned()
}

/// True for a path of Rust names; false for an address, a file or an expression.
fn is_path(link: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    link.starts_with(|c: char| c.is_alphabetic() || c == '_') && link.chars().all(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &[&str]) {
        let code = "use storage::Error;\nstruct Store;\nimpl Store { fn close() {} }\n";
        let sources = [
            ("pkg/a/src/b.rs".to_owned(), format!("{code}{line}\n")),
            ("pkg/c/src/d.rs".to_owned(), "enum Error { Invalid }\nstruct Other;\n".to_owned()),
        ];
        let expected: Vec<String> = expected.iter().map(|link| format!("pkg/a/src/b.rs:4: {link}")).collect();
        let own = HashSet::from(["storage".to_owned()]);
        let crates = Crates { own, external: HashSet::from(["std".to_owned()]) };
        assert_eq!(findings(&sources, &crates), expected, "{line}");
    }

    #[test]
    fn links_to_renamed_items_are_found() {
        check(
            "/// [`close`](Embedded::close), [`Stored`] and [text](Store::open).",
            &["Embedded::close", "Stored", "Store::open"],
        );
        check("//! [`Other`] is not imported.", &["Other"]);
    }

    #[test]
    fn links_to_existing_items_pass() {
        check(
            "/// [`Store::close()`], [`Error::Invalid`], [`storage::Error`], [`crate::Other`], [`Store<T>`].",
            &[],
        );
        check("/// [`std::mem::size_of`] and [`Future`].", &[]);
    }

    #[test]
    fn other_brackets_are_no_links() {
        check("/// `[1, 2]`, [docs](https://example.com/x), [a] and [guide](docs/guide.md).", &[]);
    }
}
