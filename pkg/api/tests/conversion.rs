//! Conversion of whole objects that Kubernetes wrote (the archives in `pkg/schema/testdata`): a round trip
//! through the stored form preserves the object.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../../schema/testdata/files.rs"]
mod testdata;

use api::conversion::{convert, is_registered, normalise_for_storage};
use api::semantic;
use jsontree::Value;
use schema::builtin::KINDS;
use schema::object::Object;
use schema::table::{Cardinality, Message, Shape, Type};
use std::collections::{BTreeMap, BTreeSet};

/// Versions with fields that the other version lacks, so that upstream's round trip changes some objects too,
/// with the lost field.
const LOSSY: [(&str, &str, &str); 13] = [
    ("CertificateSigningRequest", "certificates.k8s.io/v1beta1", "no signer"),
    ("ClusterRoleBinding", "rbac.authorization.k8s.io/v1alpha1", "version of a subject"),
    (
        "CustomResourceDefinition",
        "apiextensions.k8s.io/v1beta1",
        "what all versions agree on in each of them",
    ),
    ("DaemonSet", "apps/v1", "no template generation"),
    ("EndpointSlice", "discovery.k8s.io/v1beta1", "no host name beside a node name"),
    ("HorizontalPodAutoscaler", "autoscaling/v1", "no metric"),
    ("HorizontalPodAutoscaler", "autoscaling/v2", "no metric"),
    ("Ingress", "networking.k8s.io/v1", "port with a name and a number"),
    ("PodCertificateRequest", "certificates.k8s.io/v1beta1", "public key and its proof"),
    ("PriorityLevelConfiguration", "flowcontrol.apiserver.k8s.io/v1", "no shares"),
    (
        "PriorityLevelConfiguration",
        "flowcontrol.apiserver.k8s.io/v1beta3",
        "zero shares without the annotation",
    ),
    ("RoleBinding", "rbac.authorization.k8s.io/v1alpha1", "version of a subject"),
    ("StatefulSet", "apps/v1beta1", "no observed generation"),
];

/// Returns every pair of a kind's stored version and another one: kind, from, to.
fn ways() -> Vec<(&'static str, &'static str, &'static str)> {
    let stored = api::resources::all().filter_map(|row| Some((row.kind, row.storage?.group_version)));
    let stored: BTreeSet<(&str, &str)> = stored.collect();
    let pairs = stored.into_iter().flat_map(|(kind, to)| {
        let versions = KINDS.iter().filter(move |(from, of, _)| *of == kind && *from != to);
        versions.map(move |(from, _, _)| (kind, *from, to))
    });
    // `policy` has another kind of this name.
    let is_policy_eviction = |kind: &str, version: &str| kind == "Eviction" && version.starts_with("policy/");
    let pairs = pairs.filter(|(kind, from, _)| is_registered(from, kind) && !is_policy_eviction(kind, from));
    pairs.flat_map(|(kind, from, to)| [(kind, from, to), (kind, to, from)]).collect()
}

/// Converts an object to the other version and back.
fn round_trip(kind: &str, from: &str, to: &str, object: Object) -> Object {
    convert(convert(object, from, to, kind), to, from, kind)
}

#[test]
fn every_version_round_trips_through_the_other() {
    let fixtures = fixtures("");
    let mut counts = BTreeMap::new();
    let mut lost = BTreeSet::new();
    for (kind, from, to) in ways() {
        let message = schema::builtin::kind(from, kind).unwrap();
        let target = schema::builtin::kind(to, kind).unwrap();
        let group_version = if from == "v1" { "core.v1".to_owned() } else { from.replace('/', ".") };
        let prefix = format!("{group_version}.{kind}.");
        for (name, text) in fixtures.range(prefix.clone()..).take_while(|(name, _)| name.starts_with(&prefix))
        {
            let before = schema::json::decode(message, text).unwrap().object;
            let converted = convert(before.clone(), from, to, kind);
            assert_eq!(converted.get("apiVersion").unwrap(), to, "{name}");
            assert_known(target, &converted, name);
            let after = convert(converted, to, from, kind);
            assert_known(message, &after, name);
            let again = round_trip(kind, from, to, after.clone());
            assert!(semantic::equal(message, &after, &again), "{name}\n{after:#?}\n{again:#?}");
            if !semantic::equal(message, &before, &after) {
                lost.insert((kind, from));
            }
            *counts.entry((kind, from, to)).or_insert(0) += 1;
        }
    }
    assert_eq!(lost, LOSSY.map(|(kind, version, _)| (kind, version)).into());
    let objects: usize = counts.values().sum();
    assert!(counts.len() > 140 && objects > 840, "{} ways, {objects} objects", counts.len());
}

/// Checks that every member is a field of the type.
fn assert_known(message: &Message, object: &Object, name: &str) {
    for (member, value) in object {
        let Some(field) = message.member(member) else {
            assert!(
                message.type_meta && matches!(member.as_str(), "kind" | "apiVersion"),
                "{name}: {member}"
            );
            continue;
        };
        let Type::Message(message) = field.ty else { continue };
        let values: Vec<&Value> = match (field.cardinality, value) {
            (Cardinality::One, value) => vec![value],
            (Cardinality::List, value) => value.as_array().into_iter().flatten().collect(),
            (Cardinality::Map, value) => value.as_object().into_iter().flat_map(Object::values).collect(),
        };
        let objects =
            values.into_iter().filter_map(Value::as_object).filter(|_| message.shape == Shape::Struct);
        objects.for_each(|object| assert_known(message, object, name));
    }
}

#[test]
fn normalization_is_idempotent_for_every_fixture() {
    let mut checked = 0;
    for (name, text) in fixtures("") {
        let Some((api_version, kind)) = type_of(&text) else { continue };
        let Some(message) = schema::builtin::kind(&api_version, &kind) else { continue };
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let mut object = schema::json::decode(message, &text).unwrap().object;
        // Random annotations are not numbers; that error is not the subject of this test.
        if normalise_for_storage(group, &kind, &mut object).is_err() {
            continue;
        }
        let once = object.clone();
        normalise_for_storage(group, &kind, &mut object).unwrap();
        assert_eq!(object, once, "{name}");
        checked += 1;
    }
    assert!(checked > 300, "{checked}");
}

fn type_of(text: &[u8]) -> Option<(String, String)> {
    let object: Object = serde_json::from_slice(text).ok()?;
    let member = |name: &str| object.get(name)?.as_str().map(str::to_owned);
    Some((member("apiVersion")?, member("kind")?))
}

/// Returns the JSON files with this name prefix.
fn fixtures(prefix: &str) -> BTreeMap<String, Vec<u8>> {
    let mut texts = BTreeMap::new();
    for archive in ["fixtures", "generated"] {
        for (path, text) in testdata::files(archive) {
            let name = path.rsplit('/').next().unwrap_or_default();
            if name.starts_with(prefix) && name.ends_with(".json") {
                texts.insert(name.to_owned(), text);
            }
        }
    }
    texts
}
