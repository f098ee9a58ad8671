//! Tests of the spoke table: it is complete and has no unnecessary entries.

use crate::conversion::kinds::{conversion, spoke};
use crate::conversion::{AUDIT, is_registered, versions_of};
use crate::resources::Builtin;
use schema::builtin::KINDS;
use schema::table::{Message, Type};
use std::collections::{BTreeMap, BTreeSet};

/// Never converted: each endpoint has its own version.
const SCALE: &str = "Scale";
/// Has the shape of `policy/v1` but a different meaning.
const OTHER_MEANING: &str = "PodDisruptionBudget";

/// Returns the versions of every kind with several versions, by kind.
fn families() -> BTreeMap<&'static str, Vec<(&'static str, &'static Message)>> {
    let mut families: BTreeMap<&str, Vec<(&str, &Message)>> = BTreeMap::new();
    for (version, kind, message) in KINDS {
        // `lifecycle.k8s.io` and `policy` have different kinds of this name.
        let is_lifecycle_eviction = kind == "Eviction" && version.starts_with("lifecycle.");
        let has_versions = kind != SCALE && !kind.ends_with("List") && !is_lifecycle_eviction;
        if version != "*" && !version.starts_with(AUDIT) && has_versions {
            families.entry(kind).or_default().push((version, message));
        }
    }
    families.retain(|_, versions| versions.len() > 1);
    families
}

/// Returns the difference between the JSON of two types, or `None` if there is none.
fn difference(
    a: &'static Message,
    b: &'static Message,
    seen: &mut BTreeSet<(&'static str, &'static str)>,
) -> Option<String> {
    if a == b || !seen.insert((a.name, b.name)) {
        return None;
    }
    if a.shape != b.shape || a.members.len() != b.members.len() {
        return Some(format!("{} and {}", a.name, b.name));
    }
    a.members.iter().zip(b.members).find_map(|(in_a, in_b)| {
        let x = in_a.field;
        let y = in_b.field;
        let alike = in_a.name == in_b.name && x.cardinality == y.cardinality && x.pointer == y.pointer;
        match (x.ty, y.ty) {
            (Type::Message(x), Type::Message(y)) if alike => difference(x, y, seen),
            (x, y) if alike && std::mem::discriminant(&x) == std::mem::discriminant(&y) => None,
            _ => Some(format!("{}: {} and {}", a.name, in_a.name, in_b.name)),
        }
    })
}

#[test]
fn versions_without_a_spoke_have_one_shape() {
    let families = families();
    assert!(families.len() > 50, "{}", families.len());
    for (kind, versions) in families {
        let mut hubs = versions.iter().filter(|(version, _)| spoke(version, kind).is_none());
        let (hub, shape) = hubs.next().expect(kind);
        for (version, other) in hubs {
            let difference = difference(shape, other, &mut BTreeSet::new());
            assert_eq!(difference, None, "{kind} in {hub} and {version}");
        }
    }
}

#[test]
fn every_spoke_differs_from_the_hub() {
    let families = families();
    let spokes = Builtin::ALL
        .iter()
        .flat_map(|kind| conversion(*kind).spokes.iter().map(|spoke| (kind.name(), spoke)));
    for (kind, spoke) in spokes {
        let versions = families.get(kind).expect(kind);
        let of = |name: &str| versions.iter().find(|(version, _)| *version == name);
        let (_, shape) = of(spoke.version).expect(spoke.version);
        let is_hub = |version: &&str| super::spoke(version, kind).is_none();
        let (_, hub) = versions.iter().find(|(version, _)| is_hub(version)).expect(kind);
        let differs = difference(hub, shape, &mut BTreeSet::new()).is_some();
        assert_eq!(differs, kind != OTHER_MEANING, "{kind} {}", spoke.version);
    }
}

#[test]
fn a_registered_version_need_not_be_served() {
    for (version, kind, registered) in [
        ("apps/v1", "Deployment", true),
        ("apps/v1beta1", "Deployment", true),
        ("extensions/v1beta1", "Ingress", true),
        ("events.k8s.io/v1beta1", "Event", true),
        ("audit.k8s.io/v1", "Event", false),
        ("autoscaling/v2beta2", "HorizontalPodAutoscaler", false),
        ("scheduling.k8s.io/v1alpha2", "PodGroup", false),
        ("apps/v1", "Pod", false),
        ("nope/v1", "Deployment", false),
    ] {
        assert_eq!(is_registered(version, kind), registered, "{version} {kind}");
    }
    for (group, kind, served) in [
        ("apps", "Deployment", &["apps/v1"][..]),
        ("extensions", "Deployment", &[]),
        ("", "Event", &["v1"]),
        ("events.k8s.io", "Event", &["events.k8s.io/v1"]),
        ("autoscaling", "HorizontalPodAutoscaler", &["autoscaling/v1", "autoscaling/v2"]),
        (
            "resource.k8s.io",
            "ResourceSlice",
            &["resource.k8s.io/v1", "resource.k8s.io/v1beta1", "resource.k8s.io/v1beta2"],
        ),
    ] {
        let versions: Vec<&str> = versions_of(group, kind).map(|row| row.group_version).collect();
        assert_eq!(versions, served, "{group} {kind}");
    }
}
