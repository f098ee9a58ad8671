//! Rules of the source tree that can be checked automatically: crate dependencies, third-party dependencies,
//! the format of manifests and files, their lengths and their prose.
//!
//! Every check is a function from data to findings, and is itself tested with a violation: a check that
//! cannot fail is useless.

mod arithmetic;
mod cycles;
mod documents;
mod edges;
mod exceptions;
mod foreign;
mod functions;
pub(crate) mod gates;
mod internal_errors;
mod licenses;
mod links;
mod manifests;
mod members;
mod prose;
mod ratchet;
mod recursion;
mod sources;
mod supply;
mod versions;
mod workspace;

use component_base::features::Release;

use crate::error::Error;
use crate::tree;
use workspace::Workspace;

/// Input of the checks: the source tree and the packages.
struct Tree {
    /// Path from the root and text of all Rust, Markdown, IDL and manifest files, and of `deny.toml`, in path order.
    files: Vec<(String, String)>,
    workspace: Workspace,
    /// Packages that are built, one per line.
    built: String,
}

/// A rule, and the function that finds its violations.
struct Check {
    name: &'static str,
    /// Text and place of the rule, printed with its violations.
    rule: &'static str,
    findings: fn(&Tree) -> Vec<String>,
}

const CHECKS: [Check; 21] = [
    Check {
        name: "edges",
        rule: "Edges between crates are a table in xtask/src/tidy/edges.rs, after ARCHITECTURE.md",
        findings: |tree| {
            let members = &tree.workspace.members;
            [edges::findings(members), edges::unused_findings(members)].concat()
        },
    },
    Check {
        name: "owners",
        rule: "Only their owners may depend on these packages (xtask/src/tidy/edges.rs)",
        findings: |tree| edges::owner_findings(&tree.workspace.members),
    },
    Check {
        name: "crypto",
        rule: "aws-lc is the only library for TLS and tokens (xtask/src/tidy/edges.rs)",
        findings: |tree| edges::crypto_findings(&tree.built),
    },
    Check {
        name: "licenses",
        rule: "Allowed licences are in xtask/src/tidy/licenses.rs",
        findings: |tree| licenses::findings(&tree.workspace.dependencies),
    },
    Check {
        name: "registry",
        rule: "Dependencies come from crates.io",
        findings: |_| supply::elsewhere(include_str!("../../Cargo.lock")),
    },
    Check { name: "deny", rule: "deny.toml equals xtask/src/tidy/{licenses,edges}.rs", findings: deny },
    Check {
        name: "manifests",
        rule: "Crates inherit lints and versions, and carry the prefix",
        findings: manifests,
    },
    Check {
        name: "sources",
        rule: "A source file has a header, and lies where its module is",
        findings: |tree| rust(tree).iter().flat_map(|(path, text)| sources::findings(path, text)).collect(),
    },
    Check {
        name: "foreign text",
        rule: "Text of other programs is bounded (apimachinery::foreign_text)",
        findings: |tree| foreign::findings(&matching(tree, receives_foreign_text)),
    },
    Check {
        name: "members",
        rule: "Member names in rules exist (xtask/src/tidy/members.rs)",
        findings: members,
    },
    Check {
        name: "lengths",
        rule: "Files and functions are short; xtask/src/tidy/exceptions.txt lists older ones",
        findings: |tree| {
            let long = sources::too_long(&rust(tree));
            let listed = exceptions::parse(include_str!("tidy/exceptions.txt")).unwrap();
            exceptions::findings(&long, &listed)
        },
    },
    Check {
        name: "cycles",
        rule: "Files of a crate do not import each other in cycles; xtask/src/tidy/cycles.txt lists older ones",
        findings: |tree| {
            let cycles =
                cycles::cycles(&matching(tree, |path| path.ends_with(".rs") && path.contains("/src/")));
            cycles::findings(&cycles, include_str!("tidy/cycles.txt"))
        },
    },
    Check {
        name: "arithmetic",
        rule: "Arithmetic on client input saturates or is rejected; xtask/src/tidy/arithmetic.txt lists older files",
        findings: arithmetic,
    },
    Check {
        name: "gates",
        rule: "docs/feature-gates.md lists the gates that the code reads",
        findings: gates,
    },
    Check {
        name: "prose",
        rule: "Prose is plain English (STYLE.md)",
        findings: |tree| {
            let measured = |path: &str| [".rs", ".md", "Cargo.toml"].iter().any(|end| path.ends_with(end));
            prose::findings(&matching(tree, measured))
        },
    },
    Check {
        name: "documents",
        rule: "Pages are in the book, links resolve, commands can be run, sentences are short (STYLE.md)",
        findings: |tree| {
            let pages = matching(tree, |path| path.ends_with(".md"));
            documents::findings(&pages, |path| tree::root().join(path).exists())
        },
    },
    Check {
        name: "recursion",
        rule: "A recursive function over a tree has a bound; xtask/src/tidy/recursion.txt lists them",
        findings: |tree| {
            let functions = recursion::recursive(&product(tree));
            recursion::findings(&functions, include_str!("tidy/recursion.txt"))
        },
    },
    Check {
        name: "internal-errors",
        rule: "A mapping of an error to status 500 has a reason; xtask/src/tidy/internal_errors.txt lists them",
        findings: |tree| {
            let mappings = internal_errors::mappings(&product(tree));
            recursion::findings(&mappings, include_str!("tidy/internal_errors.txt"))
        },
    },
    Check {
        name: "versions",
        rule: "Every file has the version of the release (xtask/src/tidy/versions.rs)",
        findings: |_| {
            let text = |path: &str| std::fs::read_to_string(tree::root().join(path)).unwrap_or_default();
            versions::findings(env!("CARGO_PKG_VERSION"), Release::THIS_WITH_PATCH, text)
        },
    },
    Check {
        name: "links",
        rule: "Links of docs lead to items that exist",
        findings: |tree| links::findings(&rust(tree), &links::Crates::of(&tree.workspace)),
    },
    Check {
        name: "ratchet",
        rule: "Errors are types, and values have names; xtask/src/tidy/ratchet.txt counts what is left, exactly",
        findings: |tree| ratchet::findings(&rust(tree), include_str!("tidy/ratchet.txt")),
    },
];

/// Returns the sources of the server's crates without tests.
fn product(tree: &Tree) -> Vec<(String, String)> {
    let is_test =
        |path: &str| path.contains("/tests") || path.contains("/testing") || path.contains("_tests");
    matching(tree, |path| {
        path.starts_with("pkg/") && path.contains("/src/") && path.ends_with(".rs") && !is_test(path)
    })
}

/// Runs all checks, or those with these names.
///
/// # Errors
/// The violations by rule, or the names of all checks if one is unknown.
pub(crate) fn run(names: &[&str]) -> Result<(), Error> {
    if let Some(unknown) = names.iter().find(|name| CHECKS.iter().all(|check| check.name != **name)) {
        let known: Vec<&str> = CHECKS.iter().map(|check| check.name).collect();
        let name = (*unknown).to_owned();
        return Err(Error::Unknown { kind: "check", name, known: known.join(", ") });
    }
    let tree = Tree::load();
    let chosen = CHECKS.iter().filter(|check| names.is_empty() || names.contains(&check.name));
    let violated: Vec<String> = chosen
        .filter_map(|check| {
            let findings = (check.findings)(&tree);
            let rule = format!("{}: {}\n  {}", check.name, check.rule, findings.join("\n  "));
            (!findings.is_empty()).then_some(rule)
        })
        .collect();
    if violated.is_empty() { Ok(()) } else { Err(Error::Violations(violated.join("\n\n"))) }
}

/// Returns the package names of the workspace's crates.
pub(crate) fn member_names() -> Vec<String> {
    Workspace::load().members.into_iter().map(|package| package.full_name).collect()
}

impl Tree {
    fn load() -> Self {
        let read =
            |path: &str| [".rs", ".md", ".idl", ".toml"].iter().any(|extension| path.ends_with(extension));
        Tree {
            files: tree::files(&tree::root(), read),
            workspace: Workspace::load(),
            built: Workspace::built(),
        }
    }

    /// Returns the text of a file that must exist.
    fn text(&self, path: &str) -> &str {
        let file = self.files.iter().find(|(of, _)| of == path);
        file.map(|(_, text)| text.as_str()).unwrap_or_else(|| panic!("{path} does not exist"))
    }
}

/// Returns copies of the files that `filter` accepts. A rule that applies to no file is a defect of the rule.
fn matching(tree: &Tree, filter: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let files: Vec<_> = tree.files.iter().filter(|(path, _)| filter(path)).cloned().collect();
    assert!(!files.is_empty(), "a check applies to no file");
    files
}

fn rust(tree: &Tree) -> Vec<(String, String)> {
    matching(tree, |path| path.ends_with(".rs"))
}

fn deny(tree: &Tree) -> Vec<String> {
    let deny = tree.text("deny.toml");
    let licenses = supply::differences(deny, "allow", licenses::ALLOWED);
    let bans = supply::differences(deny, "deny", edges::OTHER_CRYPTO);
    [licenses, bans].concat()
}

fn manifests(tree: &Tree) -> Vec<String> {
    // Fuzz targets are separate workspaces, because cargo-fuzz needs flags that the main workspace must not
    // have. Client libraries are separate because they are published.
    let alone = |path: &str| path == "Cargo.toml" || path.contains("/fuzz/") || path.starts_with("clients/");
    let manifests = matching(tree, |path| path.ends_with("Cargo.toml") && !alone(path));
    manifests.iter().flat_map(|(path, text)| manifests::findings(path, text)).collect()
}

/// True for sources of the server, without its tests.
fn receives_foreign_text(path: &str) -> bool {
    let tests = path.contains("test") || path.contains("/benches/") || path.contains("/fuzz/");
    path.starts_with("pkg/") && path.ends_with(".rs") && !tests
}

fn members(tree: &Tree) -> Vec<String> {
    let idl = matching(tree, |path| path.starts_with("proto/") && path.ends_with(".idl"));
    let members = members::members(idl.iter().map(|(_, text)| text.as_str()));
    let reads = |path: &str| {
        let tests = path.ends_with("tests.rs") || path.contains("/tests/");
        path.ends_with(".rs") && !tests && members::PLACES.iter().any(|place| path.starts_with(place))
    };
    let sources = matching(tree, reads);
    sources.iter().flat_map(|(path, text)| members::findings(path, text, &members)).collect()
}

fn arithmetic(tree: &Tree) -> Vec<String> {
    let sources = matching(tree, |path| path.starts_with("pkg/") && path.ends_with(".rs"));
    let list = include_str!("tidy/arithmetic.txt").lines();
    let listed: Vec<&str> = list.filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    arithmetic::findings(&sources, &arithmetic::CRATES, &listed)
}

fn gates(tree: &Tree) -> Vec<String> {
    let sources = gates::sources(&tree.files);
    let read = gates::read(&sources);
    let mut findings = gates::findings(&read, tree.text(gates::DOCUMENT));
    if read.keys().copied().collect::<Vec<_>>() != gates::listed(&sources) {
        findings.push("controlplane::features::IMPLEMENTED is not the list of these gates".to_owned());
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tree_passes_every_check() {
        if let Err(violations) = run(&[]) {
            panic!("\n{violations}\n");
        }
    }

    #[test]
    fn unknown_check_is_rejected() {
        assert!(
            run(&["edges", "eges"]).is_err_and(|error| error.to_string().contains("no check is named eges"))
        );
    }
}
