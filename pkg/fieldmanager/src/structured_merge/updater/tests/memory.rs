//! Memory of an apply with a long list.

use super::*;
use crate::testing::allocated;

const ITEMS: u64 = 10_000;

/// Configuration whose set has this many items.
fn config() -> Value {
    let finalizers: Value = (0..ITEMS).map(|number| json!(format!("n{number}"))).collect();
    json!({"metadata": {"name": "a", "finalizers": finalizers}})
}

#[test]
fn apply_to_absent_object_builds_one_set() {
    let versions = Versions::of("io.k8s.api.core.v1.PodTemplate");
    let config = config();
    let apply = || {
        let live = json!({});
        Updater(&versions).apply(&live, config, "v1", Managers::new(), "a", false).unwrap()
    };
    let bytes = allocated(apply) / ITEMS;
    // The set takes 64 bytes for each item, and two sorted lists 8 bytes.
    assert!(bytes < 110, "{bytes}");
}

#[test]
fn duplicates_are_found_in_little_memory() {
    let ty = Versions::of("io.k8s.api.core.v1.PodTemplate").ty;
    let config = config();
    let bytes = allocated(|| typed::validate(&config, ty, typed::Duplicates::Reject)) / ITEMS;
    assert!(bytes < 40, "{bytes}");
}
