//! Packages of the workspace, from `cargo metadata`.

use std::process::Command;

use serde_json::Value;

use crate::tree::output;

/// Kind of a dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Normal,
    Build,
    Dev,
}

/// A dependency as a manifest declares it.
#[derive(Debug, Clone)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

/// Prefix of the names of this workspace's libraries, whose short names belong to others on crates.io.
pub(crate) const PREFIX: &str = "mainstay-";

/// A package, from the workspace or external.
#[derive(Debug, Clone)]
pub(crate) struct Package {
    /// Name without [`PREFIX`].
    pub(crate) name: String,
    pub(crate) full_name: String,
    pub(crate) version: String,
    pub(crate) license: Option<String>,
    pub(crate) dependencies: Vec<Dependency>,
}

/// The workspace's crates, and all their dependencies on this platform.
pub(crate) struct Workspace {
    pub(crate) members: Vec<Package>,
    pub(crate) dependencies: Vec<Package>,
}

impl Workspace {
    /// Runs `cargo metadata`. It works offline once this platform's dependencies are downloaded, which any
    /// build does.
    pub(crate) fn load() -> Self {
        let arguments = ["metadata", "--format-version", "1", "--filter-platform", &host()];
        let metadata = text_of(Command::new(cargo()).args(arguments));
        Self::parse(&serde_json::from_str(&metadata).unwrap())
    }

    /// Returns the packages that are actually built, including those of tests, one per line. A lock file also
    /// lists packages that no enabled feature needs.
    pub(crate) fn built() -> String {
        let arguments = "tree --workspace --edges all --prefix none --format {p} --target";
        text_of(Command::new(cargo()).args(arguments.split(' ')).arg(host()))
    }

    fn parse(metadata: &Value) -> Self {
        let ids = |of: &Value, id: fn(&Value) -> &Value| -> Vec<String> {
            of.as_array().unwrap().iter().map(|value| id(value).as_str().unwrap().to_owned()).collect()
        };
        let member_ids = ids(&metadata["workspace_members"], |id| id);
        let used_ids = ids(&metadata["resolve"]["nodes"], |node| &node["id"]);
        let mut members = Vec::new();
        let mut dependencies = Vec::new();
        for value in metadata["packages"].as_array().unwrap() {
            let id = value["id"].as_str().unwrap().to_owned();
            if member_ids.contains(&id) {
                members.push(package(value));
            } else if used_ids.contains(&id) {
                dependencies.push(package(value));
            }
        }
        Self { members, dependencies }
    }
}

fn package(value: &Value) -> Package {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let name = |value: &Value| value["name"].as_str().unwrap().trim_start_matches(PREFIX).to_owned();
    let dependency = |value: &Value| Dependency {
        name: name(value),
        kind: match value["kind"].as_str() {
            Some("dev") => Kind::Dev,
            Some("build") => Kind::Build,
            _ => Kind::Normal,
        },
    };
    Package {
        name: name(value),
        full_name: text(&value["name"]).unwrap(),
        version: text(&value["version"]).unwrap(),
        license: text(&value["license"]),
        dependencies: value["dependencies"].as_array().unwrap().iter().map(dependency).collect(),
    }
}

/// Returns the platform of the compiler.
fn host() -> String {
    let version = text_of(Command::new("rustc").arg("-vV"));
    version.lines().find_map(|line| line.strip_prefix("host: ")).expect("rustc names its host").to_owned()
}

/// Returns the cargo that runs this program.
fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

fn text_of(command: &mut Command) -> String {
    String::from_utf8(output(command).unwrap()).unwrap()
}

/// Returns an example package for tests of checks.
#[cfg(test)]
pub(crate) fn example(name: &str, license: Option<&str>, dependencies: &[(&str, Kind)]) -> Package {
    let dependency = |(name, kind): &(&str, Kind)| Dependency { name: (*name).to_owned(), kind: *kind };
    Package {
        name: name.to_owned(),
        full_name: name.to_owned(),
        version: "1.0.0".to_owned(),
        license: license.map(str::to_owned),
        dependencies: dependencies.iter().map(dependency).collect(),
    }
}

#[test]
fn workspace_packages_and_dependencies_are_loaded() {
    let workspace = Workspace::load();
    let server = workspace.members.iter().find(|package| package.name == "storage-etcd3").unwrap();
    assert!(server.dependencies.iter().any(|d| d.name == "storage" && d.kind == Kind::Normal));
    assert!(server.dependencies.iter().any(|d| d.name == "tempfile" && d.kind == Kind::Dev));
    assert!(workspace.dependencies.iter().any(|package| package.name == "tokio"));
    assert!(workspace.members.iter().all(|package| package.name != "tokio"));
}
