//! Rules of the source tree that can be checked automatically: crate dependencies, third-party dependencies,
//! the format of manifests and files, and their lengths.
//!
//! Every check is a function from data to findings, and is itself tested with a violation: a check that
//! cannot fail is useless.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod tidy {
    pub(crate) mod arithmetic;
    pub(crate) mod cycles;
    pub(crate) mod edges;
    pub(crate) mod exceptions;
    pub(crate) mod functions;
    pub(crate) mod gates;
    pub(crate) mod licenses;
    pub(crate) mod manifests;
    pub(crate) mod members;
    pub(crate) mod prose;
    pub(crate) mod sources;
    pub(crate) mod supply;
    pub(crate) mod workspace;
}

use tidy::workspace::{Workspace, files, root};

/// Fails with all findings at once.
fn none(rule: &str, findings: Vec<String>) {
    assert!(findings.is_empty(), "\n{rule}\n  {}\n", findings.join("\n  "));
}

#[test]
fn crate_dependencies_match_the_architecture() {
    let members = Workspace::load().members;
    let findings = [tidy::edges::findings(&members), tidy::edges::unused_findings(&members)].concat();
    none("Edges between crates are a table in e2e/tests/tidy/edges.rs, after ARCHITECTURE.md:", findings);
}

#[test]
fn delicate_dependencies_have_one_owner() {
    let findings = tidy::edges::owner_findings(&Workspace::load().members);
    none("Only their owners may depend on these (e2e/tests/tidy/edges.rs):", findings);
}

#[test]
fn there_is_one_crypto_library() {
    let findings = tidy::edges::crypto_findings(&Workspace::built());
    none("TLS and tokens are aws-lc's (e2e/tests/tidy/edges.rs); something pulls in:", findings);
}

#[test]
fn dependency_licenses_are_allowed() {
    let findings = tidy::licenses::findings(&Workspace::load().dependencies);
    none("The licenses we may use are listed in e2e/tests/tidy/licenses.rs:", findings);
}

#[test]
fn dependencies_come_from_the_registry() {
    let findings = tidy::supply::elsewhere(include_str!("../../Cargo.lock"));
    none("Sources of dependencies other than crates.io:", findings);
}

#[test]
fn cargo_deny_matches_these_rules() {
    let deny = include_str!("../../deny.toml");
    let licenses = tidy::supply::differences(deny, "allow", tidy::licenses::ALLOWED);
    let bans = tidy::supply::differences(deny, "deny", tidy::edges::OTHER_CRYPTO);
    none("deny.toml, after e2e/tests/tidy/{licenses,edges}.rs:", [licenses, bans].concat());
}

#[test]
fn manifests_inherit_lints_and_versions() {
    // Fuzz targets are separate workspaces, because cargo-fuzz needs flags that the main workspace must not
    // have. Client libraries are separate because they are published.
    let alone = |path: &str| path == "Cargo.toml" || path.contains("/fuzz/") || path.starts_with("clients/");
    let ours = |path: &str| path.ends_with("Cargo.toml") && !alone(path);
    let manifests = files(&root(), ours);
    assert!(!manifests.is_empty(), "the tree has crates");
    let findings = manifests.iter().flat_map(|(path, text)| tidy::manifests::findings(path, text));
    none("Lints and versions are the workspace's (Cargo.toml):", findings.collect());
}

#[test]
fn files_have_headers_and_correct_locations() {
    let sources = files(&root(), |path| path.ends_with(".rs"));
    assert!(!sources.is_empty(), "the tree has sources");
    let findings = sources.iter().flat_map(|(path, text)| tidy::sources::findings(path, text));
    none("How a source file looks:", findings.collect());
}

#[test]
fn members_that_are_read_by_name_exist() {
    let idl = files(&root(), |path| path.starts_with("proto/") && path.ends_with(".idl"));
    let members = tidy::members::members(idl.iter().map(|(_, text)| text.as_str()));
    let reads = |path: &str| {
        let tests = path.ends_with("tests.rs") || path.contains("/tests/");
        path.ends_with(".rs") && !tests && tidy::members::PLACES.iter().any(|place| path.starts_with(place))
    };
    let sources = files(&root(), reads);
    assert!(!sources.is_empty() && !idl.is_empty(), "the tree has rules and types");
    let findings =
        sources.iter().flat_map(|(path, text)| tidy::members::findings(path, text, &members)).collect();
    none("Member names in rules (e2e/tests/tidy/members.rs):", findings);
}

#[test]
fn files_and_functions_are_short() {
    let sources = files(&root(), |path| path.ends_with(".rs"));
    let long = tidy::sources::too_long(&sources);
    let listed = tidy::exceptions::parse(include_str!("tidy/exceptions.txt")).unwrap();
    none(
        "Split it, or (old code only) keep e2e/tests/tidy/exceptions.txt true:",
        tidy::exceptions::findings(&long, &listed),
    );
}

#[test]
fn files_of_a_crate_do_not_import_each_other_in_cycles() {
    let sources = files(&root(), |path| path.ends_with(".rs") && path.contains("/src/"));
    let found = tidy::cycles::cycles(&sources);
    none(
        "Move what both need to a leaf module, or (old code only) keep e2e/tests/tidy/cycles.txt true:",
        tidy::cycles::findings(&found, include_str!("tidy/cycles.txt")),
    );
}

#[test]
fn arithmetic_on_client_input_is_reviewed() {
    let sources = files(&root(), |path| path.starts_with("pkg/") && path.ends_with(".rs"));
    let list = include_str!("tidy/arithmetic.txt").lines();
    let listed: Vec<&str> = list.filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let findings = tidy::arithmetic::findings(&sources, &tidy::arithmetic::CRATES, &listed);
    none("Saturate or refuse, or (old code only) keep e2e/tests/tidy/arithmetic.txt true:", findings);
}

#[test]
fn gate_uses_match_the_documentation() {
    let ours = |path: &str| path.starts_with("pkg/") || path.starts_with("cmd/");
    let sources = files(&root(), |path| ours(path) && path.ends_with(".rs"));
    let read = tidy::gates::read(&sources);
    let listed = tidy::gates::listed(&sources);
    assert_eq!(read.keys().copied().collect::<Vec<_>>(), listed, "controlplane::features::IMPLEMENTED");
    let findings = tidy::gates::findings(&read, include_str!("../../docs/feature-gates.md"));
    none("What reads which gate (docs/feature-gates.md):", findings);
}

#[test]
fn prose_stays_below_the_ceilings() {
    let sources =
        files(&root(), |path| path.ends_with(".rs") || path.ends_with(".md") || path.ends_with("Cargo.toml"));
    assert!(!sources.is_empty(), "the tree has sources");
    none("Write it in plain English (STYLE.md):", tidy::prose::findings(&sources));
}
