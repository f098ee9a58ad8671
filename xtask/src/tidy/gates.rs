//! Feature gates used in the code, compared with their documentation.

use std::collections::{BTreeMap, BTreeSet};

use component_base::features::{Gate, Release, Stage};

/// File with the list of used gates.
const LIST: &str = "pkg/controlplane/src/features.rs";
/// Files that define or list gates, which do not count as uses.
const NO_READERS: [&str; 2] = ["pkg/component-base/src/features", LIST];

/// Returns the gates used outside of tests, with the files that use them, both sorted.
pub(crate) fn read(sources: &[(String, String)]) -> BTreeMap<Gate, BTreeSet<String>> {
    let mut uses: BTreeMap<Gate, BTreeSet<String>> = BTreeMap::new();
    let is_test = |path: &str| path.contains("/tests") || path.ends_with("_tests.rs");
    let is_reader = |path: &str| !is_test(path) && !NO_READERS.iter().any(|start| path.starts_with(start));
    for (path, text) in sources.iter().filter(|(path, _)| is_reader(path)) {
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for gate in named(code) {
            uses.entry(gate).or_default().insert(path.clone());
        }
    }
    uses
}

/// Returns the listed gates in order.
pub(crate) fn listed(sources: &[(String, String)]) -> Vec<Gate> {
    let list = sources.iter().find(|(path, _)| path == LIST).map_or("", |(_, text)| text);
    let (_, list) = list.split_once("const IMPLEMENTED: &[Gate] = &[").unwrap_or_default();
    named(list.split(']').next().unwrap_or_default()).collect()
}

/// Returns the gates that code mentions.
fn named(code: &str) -> impl Iterator<Item = Gate> {
    let names = code.split("Gate::").skip(1);
    names.filter_map(|rest| Gate::find(rest.split(|c: char| !c.is_ascii_alphanumeric()).next()?))
}

/// Returns missing and superfluous rows of the document.
pub(crate) fn findings(read: &BTreeMap<Gate, BTreeSet<String>>, document: &str) -> Vec<String> {
    let expected: BTreeSet<String> = read.iter().map(|(gate, paths)| row(*gate, paths)).collect();
    let actual: BTreeSet<String> =
        document.lines().filter(|line| line.starts_with("| `")).map(str::to_owned).collect();
    let missing = expected.difference(&actual).map(|row| format!("missing row: {row}"));
    missing.chain(actual.difference(&expected).map(|row| format!("superfluous row: {row}"))).collect()
}

/// Formats a gate with its stage in this release and its uses.
fn row(gate: Gate, paths: &BTreeSet<String>) -> String {
    let standing = gate.spec_in(Release::THIS).map_or("not there yet".to_owned(), |spec| {
        let stage = match spec.stage {
            Stage::Alpha => "alpha",
            Stage::Beta => "beta",
            Stage::Stable => "stable",
            Stage::Deprecated => "deprecated",
        };
        let locked = if spec.locked { ", locked" } else { "" };
        format!("{stage}, {}{locked}", if spec.default { "on" } else { "off" })
    });
    let paths: Vec<String> = paths.iter().map(|path| format!("`{path}`")).collect();
    format!("| `{}` | {standing} | {} |", gate.name(), paths.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(listed: &[(&str, &str)]) -> Vec<(String, String)> {
        listed.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn gate_use_is_found_in_code() {
        let code = "if gates.enabled(Gate::MemoryQoS) {}\n#[cfg(test)]\nmod tests {\n Gate::WinDSR }";
        let read = read(&sources(&[
            ("pkg/a/src/lib.rs", code),
            ("pkg/a/src/tests.rs", "Gate::WinDSR"),
            ("pkg/component-base/src/features.rs", "Gate::WinDSR"),
            ("pkg/b/src/lib.rs", "Gate::find(name)"),
        ]));
        assert_eq!(read.keys().collect::<Vec<_>>(), [&Gate::MemoryQoS]);
        let list = "pub const IMPLEMENTED: &[Gate] = &[Gate::MemoryQoS, Gate::WinDSR];\nGate::WinOverlay";
        assert_eq!(listed(&sources(&[(LIST, list)])), [Gate::MemoryQoS, Gate::WinDSR]);
    }

    #[test]
    fn missing_or_stray_row_is_found() {
        let read = read(&sources(&[("pkg/a/src/lib.rs", "Gate::MemoryQoS")]));
        let row = "| `MemoryQoS` | alpha, off | `pkg/a/src/lib.rs` |";
        assert_eq!(findings(&read, row), [""; 0]);
        assert_eq!(findings(&read, ""), [format!("missing row: {row}")]);
        let stray = findings(&read, &format!("{row}\n| `WinDSR` | stable, on | `x` |"));
        assert_eq!(stray, ["superfluous row: | `WinDSR` | stable, on | `x` |"]);
    }
}
