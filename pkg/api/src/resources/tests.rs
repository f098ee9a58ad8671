//! Invariants of every resource row.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeSet;

use bytes::Bytes;
use jsontree::json;
use schema::json;

use super::custom::{CustomKind, Names, ScalePaths, SchemaText};
use super::*;

#[test]
fn rows_are_unique_and_sorted() {
    for group in groups() {
        let keys: Vec<_> = group.resources.iter().map(|r| (r.version, r.plural, r.subresource)).collect();
        assert!(keys.is_sorted_by(|a, b| a < b), "{}", group.name);
        assert!(group.resources.iter().all(|r| r.group == group.name), "{}", group.name);
    }
}

#[test]
fn every_row_is_found_by_its_name() {
    for row in all() {
        let found = find(row.group, row.version, row.plural, row.subresource).unwrap();
        assert!(std::ptr::eq(row, found), "{} {}", row.group_version, row.path());
    }
    for absent in [("", "v1", "nope", ""), ("apps", "v9", "deployments", ""), ("x", "v1", "pods", "")] {
        assert!(find(absent.0, absent.1, absent.2, absent.3).is_none());
    }
}

#[test]
fn kinds_are_registered_under_their_names() {
    for row in all() {
        let name = format!("{} {}", row.group_version, row.path());
        let kind = |version, kind: &str| schema::builtin::kind(version, kind).unwrap();
        assert_eq!(kind(row.kind_group_version, row.kind), row.message, "{name}");
        assert_eq!(row.list_message.is_some(), row.serves("list"), "{name}");
        if let Some(list) = row.list_message {
            assert_eq!(kind(row.group_version, &format!("{}List", row.kind)), list, "{name}");
        }
        if let Some(storage) = row.storage {
            assert_eq!(kind(storage.group_version, storage.kind), storage.message, "{name}");
        }
    }
}

#[test]
fn versions_of_a_resource_share_one_storage() {
    for group in groups() {
        for a in group.resources.iter().filter(|r| r.subresource.is_empty()) {
            for b in group.resources.iter().filter(|b| b.plural == a.plural && b.subresource.is_empty()) {
                let facts = |r: &Resource<'static>| {
                    (r.storage.map(|s| (s.prefix, s.group_version, s.kind)), r.storage_version_hash)
                };
                assert_eq!(facts(a), facts(b), "{}", a.plural);
            }
        }
    }
}

#[test]
fn subresources_stand_beside_their_resource() {
    for row in all().filter(|r| !r.subresource.is_empty()) {
        let parent = find(row.group, row.version, row.plural, "").unwrap();
        assert_eq!(parent.namespaced, row.namespaced, "{}", row.path());
        assert_eq!(parent.off_by_default, row.off_by_default, "{}", row.path());
        assert!(row.storage.is_none() && !row.serves("list"), "{}", row.path());
    }
}

#[test]
fn defaults_follow_from_the_version() {
    for group in groups() {
        for version in group.versions {
            let rows = group.resources_of(version.version);
            assert!(!rows.is_empty(), "{}", version.group_version);
            assert!(rows.iter().all(|r| r.off_by_default != version.on_by_default));
            assert!(rows.iter().all(|r| r.group_version == version.group_version));
        }
        let listed: BTreeSet<_> = group.versions.iter().map(|v| v.version).collect();
        assert!(group.resources.iter().all(|r| listed.contains(r.version)), "{}", group.name);
    }
}

#[test]
fn v1_37_serves_72_resources_and_49_subresources() {
    let count = |main: bool, off: bool| {
        all().filter(|r| r.subresource.is_empty() == main && r.off_by_default == off).count()
    };
    assert_eq!((count(true, false), count(false, false)), (72, 49));
    assert_eq!(all().count(), 170);
}

#[test]
fn deprecated_kinds_warn() {
    let check = |group, version, plural, expected: Option<&str>| {
        let warning = find(group, version, plural, "").unwrap().deprecation_warning();
        assert_eq!(warning.as_deref(), expected);
    };
    check("", "v1", "pods", None);
    check("", "v1", "componentstatuses", Some("v1 ComponentStatus is deprecated in v1.19+"));
    let endpoints = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice";
    check("", "v1", "endpoints", Some(endpoints));
    check(
        "resource.k8s.io",
        "v1beta1",
        "deviceclasses",
        Some("resource.k8s.io/v1beta1 DeviceClass is deprecated in v1.35+, unavailable in v1.38+"),
    );
    check(
        "admissionregistration.k8s.io",
        "v1beta1",
        "mutatingadmissionpolicies",
        Some(
            "admissionregistration.k8s.io/v1beta1 MutatingAdmissionPolicy is deprecated in v1.37+, unavailable in \
             v1.40+; use admissionregistration.k8s.io/v1 MutatingAdmissionPolicy",
        ),
    );
    // Declared, but only from 1.40 on.
    check("scheduling.k8s.io", "v1beta1", "podgroups", None);
}

#[test]
fn every_row_has_a_unique_builtin_kind() {
    let mut kinds = std::collections::BTreeMap::new();
    for row in all() {
        let kind = row.builtin.unwrap_or_else(|| panic!("{} {}", row.group_version, row.path()));
        let main = find(row.group, row.version, row.plural, "").unwrap_or(row);
        assert_eq!(format!("{kind:?}"), main.kind, "{}", row.path());
        // An Event is one kind in two groups.
        let stored = main.storage.map_or(main.group, |storage| storage.prefix);
        assert_eq!(*kinds.entry(kind).or_insert(stored), stored, "{}", row.path());
    }
}

#[test]
fn unstored_resources_have_another_operation() {
    for row in all().filter(|row| row.subresource.is_empty()) {
        assert_eq!(row.operation == EndpointOperation::Store, row.storage.is_some(), "{}", row.path());
    }
}

#[test]
fn skipped_schema_is_parsed_on_demand() {
    let schema = r#"{"type":"object","x-kubernetes-validations":[{"rule":"self.a > 1"}],"properties":{"a":{"type":"integer"}}}"#;
    let spec = format!(
        r#"{{"group":"g","validation":{{"openAPIV3Schema":{schema}}},"versions":[{{"name":"v1"}},{{"name":"v2","schema":{{"openAPIV3Schema":7}}}}]}}"#
    );
    let outline = json::decode_outline(spec.as_bytes(), custom::BULK).unwrap();
    let bytes = Bytes::from(spec.clone());
    for text in [SchemaText::shared as fn(Bytes) -> SchemaText, |bytes| SchemaText::packed(&bytes)] {
        let skipped = |number: usize| Some(text(bytes.slice(outline.skipped.get(number)?.clone())));
        let spec = outline.value.as_object().unwrap();
        let kind = CustomKind::of_stored(spec, &skipped, &Names::default(), false, 36);
        let [v1, v2] = &*kind.versions else { panic!("two versions") };
        assert_eq!(v1.schema(), Some(json::decode_untyped(schema.as_bytes()).unwrap().value));
        assert!(v1.rules().is_some());
        // An invalid value in place of a schema does not refer to a text.
        assert!(v2.schema().is_none() && v2.rules().is_none());
    }
}

#[test]
fn scale_with_endless_path_is_not_served() {
    for (steps, served) in [(ScalePaths::STEPS_MAX, true), (ScalePaths::STEPS_MAX + 1, false)] {
        let scale = json!({"specReplicasPath": ".a".repeat(steps), "statusReplicasPath": ".status.b"});
        let spec = json!({"group": "g", "versions": [{"name": "v1", "subresources": {"scale": scale}}]});
        let names = Names::default();
        let kind = CustomKind::of_stored(spec.as_object().unwrap(), &|_| None, &names, false, 36);
        assert_eq!(kind.versions.first().unwrap().scale.is_some(), served, "{steps}");
    }
}
