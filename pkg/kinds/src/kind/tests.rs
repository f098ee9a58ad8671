//! Names and finalizers by kind.
#![allow(clippy::unwrap_used)]

use api::resources;
use jsontree::{Value, json};

use super::*;
use crate::builtin::{ALL, kind_of};

fn kind(group: &str, plural: &str) -> &'static Kind {
    let row = resources::all().find(|row| (row.group, row.plural) == (group, plural));
    kind_of(row.unwrap()).unwrap()
}

#[test]
fn custom_resources_alone_have_no_descriptor() {
    for row in resources::all() {
        assert_eq!(kind_of(row).is_none(), row.message.open, "{} {}", row.group, row.plural);
    }
}

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
    characters, '-' or '.', and must start and end with an alphanumeric character (e.g. \
    'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

fn check(group: &str, plural: &str, spec: Value, name: &str, expected: &[&str]) {
    let object = Object::from_iter([("spec".to_owned(), spec)]);
    assert_eq!(kind(group, plural).names.check(&object, name, false), expected, "{plural} {name}");
}

#[test]
fn names_follow_the_rule_of_their_kind() {
    check("", "pods", json!({}), "a.b", &[]);
    check("", "pods", json!({}), "A_", &[SUBDOMAIN]);
    check("", "services", json!({}), "1a", &[]);
    check("", "services", json!({}), "a.b", &["must not contain dots"]);
    check("rbac.authorization.k8s.io", "roles", json!({}), "system:x Y", &[]);
    check("rbac.authorization.k8s.io", "roles", json!({}), "a%b", &["may not contain '%'"]);
    check("rbac.authorization.k8s.io", "roles", json!({}), "..", &["may not be '..'"]);
    check("networking.k8s.io", "ipaddresses", json!({}), "10.0.0.1", &[]);
    check("networking.k8s.io", "ipaddresses", json!({}), "010.0.0.1", &["must not have leading 0s"]);
    check("certificates.k8s.io", "certificatesigningrequests", json!({}), "A b/c", &[]);
    check("policy", "poddisruptionbudgets", json!({}), "A_b", &[]);
    check("", "events", json!({}), "A_", &[]);
    check("events.k8s.io", "events", json!({}), "A_", &[SUBDOMAIN]);
    check(
        "internal.apiserver.k8s.io",
        "storageversions",
        json!({}),
        "apps",
        &["name must be in the form of <group>.<resource>"],
    );
}

#[test]
fn some_names_depend_on_the_spec() {
    let spec = json!({"group": "example.com", "version": "v1", "names": {"plural": "widgets"}});
    let crd = ("apiextensions.k8s.io", "customresourcedefinitions");
    check(crd.0, crd.1, spec.clone(), "widgets.example.com", &[]);
    check(crd.0, crd.1, spec.clone(), "a.b", &["must be spec.names.plural+\".\"+spec.group"]);
    check(crd.0, crd.1, spec.clone(), "A_", &[SUBDOMAIN, "must be spec.names.plural+\".\"+spec.group"]);
    let service = ("apiregistration.k8s.io", "apiservices");
    check(service.0, service.1, spec.clone(), "v1.example.com", &[]);
    check(
        service.0,
        service.1,
        spec.clone(),
        "v1.x",
        &["must be `spec.version+\".\"+spec.group`: \"v1.example.com\""],
    );
    check(service.0, service.1, spec, "a/b", &["may not contain '/'"]);
    let bundle = ("certificates.k8s.io", "clustertrustbundles");
    let signed = json!({"signerName": "example.com/s"});
    check(bundle.0, bundle.1, signed.clone(), "example.com:s:a", &[]);
    check(
        bundle.0,
        bundle.1,
        signed,
        "a",
        &["ClusterTrustBundle for signerName example.com/s must be named with prefix example.com:s:"],
    );
    check(bundle.0, bundle.1, json!({}), "a", &[]);
    check(
        bundle.0,
        bundle.1,
        json!({}),
        "a:b",
        &["ClusterTrustBundle without signer name must not have \":\" in its name"],
    );
}

#[test]
fn a_long_name_counts_bytes() {
    let name = "x".repeat(254);
    let check = |group, plural, expected: &str| {
        assert_eq!(kind(group, plural).names.check(&Object::new(), &name, false), [expected]);
    };
    check("", "replicationcontrollers", "must be no more than 253 bytes");
    check("", "configmaps", "must be no more than 253 characters");
}

#[test]
fn some_kinds_may_have_bare_finalizers() {
    assert!(kind("", "pods").qualified_finalizers);
    assert!(kind("rbac.authorization.k8s.io", "roles").qualified_finalizers);
    assert!(kind("events.k8s.io", "events").qualified_finalizers);
    assert!(!kind("", "events").qualified_finalizers);
    assert!(!kind("coordination.k8s.io", "leases").qualified_finalizers);
}

/// A kind with defaults has an entry for every served version, even if a version has none.
#[test]
fn defaults_cover_every_served_version() {
    for row in resources::all().filter(|row| row.subresource.is_empty()) {
        let Some(kind) = kind_of(row).filter(|kind| !kind.defaults.is_empty()) else { continue };
        let stated = kind.defaults.iter().any(|version| version.api_version == row.group_version);
        assert!(stated, "{} {}", row.group_version, row.kind);
    }
}

#[test]
fn stored_kinds_have_validation_if_on_by_default() {
    for row in resources::all().filter(|row| row.storage.is_some() && !row.off_by_default) {
        let rules = kind_of(row).map(|kind| &kind.validation);
        assert!(!matches!(rules, Some(Validation::Metadata)), "{} {}", row.group_version, row.kind);
    }
}

#[test]
fn rare_defaults_name_registered_kinds() {
    for body in ALL.iter().flat_map(|kind| kind.rare_properties.subresource_defaults) {
        assert!(schema::builtin::kind(body.api_version, body.kind).is_some(), "{}", body.kind);
    }
}
