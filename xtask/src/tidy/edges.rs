//! Allowed dependencies between crates, and owners of sensitive dependencies.

use std::collections::BTreeSet;

use super::workspace::{Kind, Package};

/// Each crate with the workspace crates it may depend on. Rows are in layer order: a crate may only depend on
/// crates above it.
const ALLOWED: &[(&str, &[&str])] = &[
    ("jsontree", &[]),
    ("apimachinery", &["jsontree"]),
    ("schema", &["jsontree", "apimachinery"]),
    ("fieldmanager", &["jsontree", "apimachinery", "schema"]),
    ("component-base", &["apimachinery"]),
    ("client", &["jsontree", "apimachinery", "schema", "component-base"]),
    ("cel", &["jsontree", "apimachinery", "schema"]),
    ("telemetry", &["jsontree", "apimachinery", "schema", "component-base", "client"]),
    ("encryption", &["jsontree", "apimachinery", "schema", "component-base", "cel"]),
    ("storage", &[]),
    ("api", &["jsontree", "apimachinery", "schema", "fieldmanager", "component-base", "cel"]),
    ("kinds", &["jsontree", "apimachinery", "schema", "component-base", "cel", "api"]),
    ("storage-etcd3", &["apimachinery", "component-base", "storage"]),
    ("storage-embedded", &["storage"]),
    ("cacher", &["apimachinery", "component-base", "storage"]),
    ("authentication", &["jsontree", "apimachinery", "schema", "component-base", "client", "cel"]),
    ("grpc", &["apimachinery"]),
    ("profiling", &[]),
    ("egress", &["jsontree", "apimachinery", "schema", "component-base", "client", "grpc"]),
    ("token-signer", &["apimachinery", "authentication", "grpc"]),
    ("kms", &["apimachinery", "component-base", "encryption", "grpc"]),
    ("authorization", &["jsontree", "apimachinery", "schema", "component-base", "cel", "api"]),
    ("audit", &["jsontree", "apimachinery", "schema", "component-base", "authorization"]),
    ("flowcontrol", &["apimachinery", "component-base"]),
    (
        "admission",
        &[
            "jsontree",
            "apimachinery",
            "schema",
            "fieldmanager",
            "component-base",
            "cel",
            "api",
            "kinds",
            "authorization",
        ],
    ),
    (
        "registry",
        &[
            "jsontree",
            "apimachinery",
            "schema",
            "fieldmanager",
            "component-base",
            "cel",
            "storage",
            "api",
            "kinds",
            "cacher",
        ],
    ),
    (
        "endpoints",
        &[
            "jsontree",
            "apimachinery",
            "schema",
            "fieldmanager",
            "component-base",
            "client",
            "cel",
            "api",
            "kinds",
            "authentication",
            "authorization",
            "admission",
            "registry",
        ],
    ),
    (
        "server",
        &[
            "jsontree",
            "apimachinery",
            "schema",
            "component-base",
            "authentication",
            "profiling",
            "authorization",
            "audit",
            "flowcontrol",
            "endpoints",
        ],
    ),
    (
        "apiextensions",
        &[
            "jsontree",
            "apimachinery",
            "schema",
            "component-base",
            "client",
            "storage",
            "api",
            "kinds",
            "registry",
            "endpoints",
            "server",
        ],
    ),
    (
        "aggregator",
        &[
            "jsontree",
            "apimachinery",
            "schema",
            "component-base",
            "client",
            "api",
            "registry",
            "endpoints",
            "server",
            "apiextensions",
        ],
    ),
    (
        "controllers",
        &[
            "jsontree",
            "apimachinery",
            "schema",
            "component-base",
            "client",
            "cel",
            "storage",
            "api",
            "kinds",
            "cacher",
            "authentication",
            "authorization",
            "registry",
            "endpoints",
            "server",
        ],
    ),
    (
        "controlplane",
        &[
            "jsontree",
            "apimachinery",
            "schema",
            "component-base",
            "client",
            "cel",
            "telemetry",
            "encryption",
            "storage",
            "api",
            "kinds",
            "storage-etcd3",
            "storage-embedded",
            "cacher",
            "authentication",
            "egress",
            "token-signer",
            "kms",
            "authorization",
            "audit",
            "flowcontrol",
            "admission",
            "registry",
            "endpoints",
            "server",
            "apiextensions",
            "aggregator",
            "controllers",
        ],
    ),
    (
        "kube-apiserver",
        &[
            "jsontree",
            "apimachinery",
            "component-base",
            "authentication",
            "profiling",
            "authorization",
            "server",
            "controlplane",
        ],
    ),
    ("apibench", &[]),
    ("e2e", &["apimachinery", "schema", "api"]),
    ("xtask", &["component-base"]),
];

/// Additional edges for tests only.
const ALLOWED_IN_TESTS: &[(&str, &[&str])] = &[
    ("kinds", &["fieldmanager"]),
    // The registry is tested on both stores, the handlers on a whole server in process.
    ("registry", &["jsontree", "storage-embedded", "admission"]),
    ("cacher", &["storage-embedded", "api"]),
    ("admission", &["jsontree", "storage"]),
    ("endpoints", &["jsontree", "storage", "cacher"]),
    ("server", &["jsontree", "storage", "registry", "api"]),
    // The store file of a stopped server gets unreadable elements.
    ("e2e", &["storage", "storage-embedded"]),
];

/// Dependencies restricted to these crates. Tests are exempt.
const OWNERS: &[(&str, &[&str])] = &[
    // e2e writes hostile elements into etcd, and answers over TLS as a hostile webhook.
    ("etcd-client", &["storage-etcd3", "e2e"]),
    ("redb", &["storage-embedded"]),
    ("opentelemetry", &["telemetry"]),
    ("opentelemetry_sdk", &["telemetry"]),
    ("opentelemetry-otlp", &["telemetry"]),
    ("rustls", &["client", "server", "storage-etcd3", "apibench"]),
    ("tokio-rustls", &["client", "server", "storage-etcd3", "apibench", "e2e"]),
    ("jsonwebtoken", &["authentication"]),
    ("aws-lc-rs", &["api", "kinds", "authentication", "encryption", "endpoints", "server"]),
    // For XSalsa20, which aws-lc lacks.
    ("crypto_secretbox", &["encryption"]),
    // For request signatures that aws-lc does not verify; never for secrets.
    ("num-bigint", &["kinds"]),
    ("p224", &["kinds"]),
    ("p384", &["kinds"]),
];

/// Libraries for TLS and tokens other than aws-lc. No dependency may pull them in, including those of tests.
pub(crate) const OTHER_CRYPTO: &[&str] =
    &["boring-sys", "openssl-sys", "ring", "rustls-openssl", "s2n-tls-sys"];

type Table<'a> = &'a [(&'a str, &'a [&'a str])];

fn row<'a>(table: Table<'a>, name: &str) -> Option<&'a [&'a str]> {
    table.iter().find(|(of, _)| *of == name).map(|(_, list)| *list)
}

/// Returns crates that are missing in the table, and edges that it does not allow.
pub(crate) fn findings(members: &[Package]) -> Vec<String> {
    let names: Vec<&str> = members.iter().map(|package| package.name.as_str()).collect();
    let mut findings = Vec::new();
    for package in members {
        let name = package.name.as_str();
        let Some(allowed) = row(ALLOWED, name) else {
            findings.push(format!("{name} is not in the table"));
            continue;
        };
        let in_tests = row(ALLOWED_IN_TESTS, name).unwrap_or_default();
        for dependency in &package.dependencies {
            let to = dependency.name.as_str();
            let test = dependency.kind == Kind::Dev;
            let fine = allowed.contains(&to) || (test && (in_tests.contains(&to) || to == name));
            if names.contains(&to) && !fine {
                let kind = if test { " in its tests" } else { "" };
                findings.push(format!("{name} must not know {to}{kind}"));
            }
        }
    }
    findings
}

/// Returns edges of the table that no manifest declares.
pub(crate) fn unused_findings(members: &[Package]) -> Vec<String> {
    let declares = |from: &str, to: &str| {
        members
            .iter()
            .any(|package| package.name == from && package.dependencies.iter().any(|edge| edge.name == to))
    };
    ALLOWED
        .iter()
        .flat_map(|(from, allowed)| allowed.iter().map(move |to| (*from, *to)))
        .filter(|(from, to)| !declares(from, to))
        .map(|(from, to)| format!("{from} does not use {to}"))
        .collect()
}

/// Returns sensitive dependencies of other crates than their owners.
pub(crate) fn owner_findings(members: &[Package]) -> Vec<String> {
    let edges = members.iter().flat_map(|package| package.dependencies.iter().map(move |d| (package, d)));
    edges
        .filter(|(_, dependency)| dependency.kind != Kind::Dev)
        .filter_map(|(package, dependency)| {
            let owners = row(OWNERS, &dependency.name)?;
            let owned = owners.contains(&package.name.as_str());
            (!owned).then(|| format!("{} has {}, which belongs to {owners:?}", package.name, dependency.name))
        })
        .collect()
}

/// Returns other crypto libraries in a list of the built packages, one per line.
pub(crate) fn crypto_findings(built: &str) -> Vec<String> {
    let named = |line: &&str| line.split(' ').next().is_some_and(|name| OTHER_CRYPTO.contains(&name));
    let libraries: BTreeSet<&str> = built.lines().filter(named).collect();
    libraries.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::super::workspace::example;
    use super::*;

    fn check(package: Package, expected: &[&str]) {
        let others = ["api", "admission", "storage-etcd3", "storage"].map(|name| example(name, None, &[]));
        let members: Vec<Package> = others.into_iter().chain([package]).collect();
        assert_eq!(findings(&members), expected);
    }

    #[test]
    fn unlisted_edge_is_found() {
        check(example("registry", None, &[("api", Kind::Normal)]), &[]);
        check(
            example("registry", None, &[("admission", Kind::Normal)]),
            &["registry must not know admission"],
        );
        check(
            example("cacher", None, &[("storage-etcd3", Kind::Build)]),
            &["cacher must not know storage-etcd3"],
        );
        check(example("server", None, &[("storage", Kind::Normal)]), &["server must not know storage"]);
        check(example("novel", None, &[]), &["novel is not in the table"]);
    }

    #[test]
    fn unused_edge_is_found() {
        let member = example("api", None, &[("schema", Kind::Normal)]);
        let actual = unused_findings(&[member]);
        assert!(actual.contains(&"api does not use cel".to_owned()), "{actual:?}");
        assert!(!actual.contains(&"api does not use schema".to_owned()), "{actual:?}");
    }

    #[test]
    fn tests_may_use_further_edges_but_not_any() {
        check(example("registry", None, &[("admission", Kind::Dev)]), &[]);
        check(
            example("cacher", None, &[("storage-etcd3", Kind::Dev)]),
            &["cacher must not know storage-etcd3 in its tests"],
        );
    }

    #[test]
    fn a_second_crypto_library_is_found() {
        let built = "aws-lc-rs v1.0.0\nring v0.17.14\nrustls v0.23.46\nring v0.17.14 (*)";
        assert_eq!(crypto_findings(built), ["ring v0.17.14", "ring v0.17.14 (*)"]);
        assert!(crypto_findings("aws-lc-rs v1.0.0").is_empty());
    }

    #[test]
    fn the_table_has_no_cycle() {
        for (index, (name, allowed)) in ALLOWED.iter().enumerate() {
            let above: Vec<&str> = ALLOWED[..index].iter().map(|(name, _)| *name).collect();
            assert!(allowed.iter().all(|to| above.contains(to)), "{name} knows something below itself");
        }
    }

    #[test]
    fn sensitive_dependency_of_other_crate_is_found() {
        let check = |name, dependency, kind, expected| {
            let members = [example(name, None, &[(dependency, kind)])];
            assert_eq!(owner_findings(&members).len(), expected, "{name} {dependency}");
        };
        check("storage-etcd3", "etcd-client", Kind::Normal, 0);
        check("cacher", "etcd-client", Kind::Normal, 1);
        check("cacher", "etcd-client", Kind::Dev, 0);
        check("endpoints", "rustls", Kind::Build, 1);
        check("registry", "redb", Kind::Normal, 1);
        check("server", "jsonwebtoken", Kind::Normal, 1);
        check("server", "tokio", Kind::Normal, 0);
    }
}
