//! Conversion of whole objects that Kubernetes itself wrote (the archives in `pkg/schema/testdata`):
//! what is converted to the stored form and back says what it said before.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../../schema/testdata/files.rs"]
mod testdata;

use api::conversion::{convert, normalise_for_storage};
use api::semantic;
use schema::object::Object;
use std::collections::BTreeMap;

/// Converts the objects of a kind from one version to the other and back; at least `expected` of them.
fn round_trip(kind: &str, there: &str, back: &str, expected: usize) {
    let message = schema::builtin::kind(there, kind).unwrap();
    let group_version = if there == "v1" { "core.v1".to_owned() } else { there.replace('/', ".") };
    let mut seen = 0;
    for (name, text) in fixtures(&format!("{group_version}.{kind}.")) {
        let before = schema::json::decode(message, &text).unwrap().object;
        let stored = convert(before.clone(), there, back, kind);
        assert_eq!(stored.get("apiVersion").unwrap(), back, "{name}");
        let target = schema::builtin::kind(back, kind).unwrap();
        assert!(stored.keys().all(|key| known(target, key)), "{name}: {:?}", stored.keys());
        let after = convert(stored, back, there, kind);
        assert!(semantic::equal(message, &before, &after), "{name}\n{before:#?}\n{after:#?}");
        seen += 1;
    }
    assert!(seen >= expected, "{seen} objects of {kind} in {there}");
}

fn known(message: &schema::table::Message, member: &str) -> bool {
    matches!(member, "kind" | "apiVersion") || message.member(member).is_some()
}

#[test]
fn events_round_trip() {
    round_trip("Event", "v1", "events.k8s.io/v1", 6);
    round_trip("Event", "events.k8s.io/v1", "v1", 6);
}

#[test]
fn custom_resource_definitions_round_trip() {
    round_trip("CustomResourceDefinition", "apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1", 5);
}

#[test]
fn policies_round_trip() {
    let (v1, v1beta1) = ("admissionregistration.k8s.io/v1", "admissionregistration.k8s.io/v1beta1");
    round_trip("MutatingAdmissionPolicy", v1, v1beta1, 6);
    round_trip("MutatingAdmissionPolicyBinding", v1, v1beta1, 6);
}

#[test]
fn every_fixture_is_normal_after_one_pass() {
    let mut seen = 0;
    for (name, text) in fixtures("") {
        let Some((api_version, kind)) = type_of(&text) else { continue };
        let Some(message) = schema::builtin::kind(&api_version, &kind) else { continue };
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let mut object = schema::json::decode(message, &text).unwrap().object;
        // Random annotations are no numbers, which is an error and not this test's business.
        if normalise_for_storage(group, &kind, &mut object).is_err() {
            continue;
        }
        let once = object.clone();
        normalise_for_storage(group, &kind, &mut object).unwrap();
        assert_eq!(object, once, "{name}");
        seen += 1;
    }
    assert!(seen > 300, "{seen}");
}

fn type_of(text: &[u8]) -> Option<(String, String)> {
    let object: Object = serde_json::from_slice(text).ok()?;
    let member = |name: &str| object.get(name)?.as_str().map(str::to_owned);
    Some((member("apiVersion")?, member("kind")?))
}

/// The JSON files whose name begins with `prefix`.
fn fixtures(prefix: &str) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for archive in ["fixtures", "generated"] {
        for (path, text) in testdata::files(archive) {
            let name = path.rsplit('/').next().unwrap_or_default();
            if name.starts_with(prefix) && name.ends_with(".json") {
                found.insert(name.to_owned(), text);
            }
        }
    }
    found
}
