//! Cost of field management for each write of a pod: `cargo bench -p mainstay-fieldmanager --bench structured_merge`.
//! `whole_write` is the complete cost: it parses the sets of four managers, compares two objects of 5 KB and
//! encodes the changed sets.
#![allow(clippy::unwrap_used, reason = "a bench may stop where it cannot go on")]

use std::borrow::Cow;

use divan::{Bencher, black_box};
use fieldmanager::structured_merge::Set;
use fieldmanager::structured_merge::model::TypeRef;
use fieldmanager::structured_merge::typed::{Duplicates, compare, field_set, validate};
use fieldmanager::structured_merge::updater::{ConvertError, Converter, Managers, Updater, VersionedSet};
use jsontree::{Value, json};
use schema::builtin::IO_K8S_API_CORE_V1_POD as POD;

fn main() {
    divan::main();
}

struct V1;

impl Converter for V1 {
    fn convert<'v>(&self, value: &'v Value, _from: &str, _to: &str) -> Result<Cow<'v, Value>, ConvertError> {
        Ok(Cow::Borrowed(value))
    }

    fn type_of(&self, _api_version: &str) -> Option<TypeRef<'_>> {
        Some(TypeRef::builtin(&POD))
    }
}

/// The pod without managed fields, before and after a kubelet's status update.
fn objects() -> [Value; 2] {
    let text = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../schema/testdata/pod.json")).unwrap();
    let mut old: Value = serde_json::from_slice(&text).unwrap();
    old["metadata"].as_object_mut().unwrap().remove("managedFields");
    let mut new = old.clone();
    for condition in new["status"]["conditions"].as_array_mut().unwrap() {
        condition["lastTransitionTime"] = json!("2025-06-03T10:00:00Z");
    }
    new["status"]["podIP"] = json!("10.1.2.3");
    new["status"]["qosClass"] = json!("Burstable");
    [old, new]
}

/// The sets of four managers: one owns the metadata and the spec, one all conditions, one the status, one
/// labels.
fn texts() -> Vec<Vec<u8>> {
    let [pod, _] = objects();
    let text_of = |mut part: Value, keep: &[&str]| {
        part.as_object_mut().unwrap().retain(|name, _| keep.contains(&name.as_str()));
        let mut text = Vec::new();
        field_set(&part, TypeRef::builtin(&POD)).unwrap().write(&mut text);
        text
    };
    let labels = json!({"metadata": {"labels": pod["metadata"]["labels"], "annotations": {"a": "b"}}});
    let conditions = json!({"status": {"conditions": pod["status"]["conditions"]}});
    vec![
        text_of(pod.clone(), &["metadata", "spec"]),
        text_of(conditions, &["status"]),
        text_of(pod, &["status"]),
        text_of(labels, &["metadata"]),
    ]
}

fn managers(texts: &[Vec<u8>]) -> Managers {
    let read = |(index, text): (usize, &Vec<u8>)| {
        let set = Set::parse(text).unwrap();
        let managed = VersionedSet { set, api_version: "v1".into(), applied: index == 0, changed: false };
        (format!("manager-{index}"), managed)
    };
    texts.iter().enumerate().map(read).collect()
}

#[divan::bench]
fn parse_four_sets(bencher: Bencher) {
    let texts = texts();
    let bytes: usize = texts.iter().map(Vec::len).sum();
    bencher
        .counter(divan::counter::BytesCount::new(bytes))
        .bench_local(|| texts.iter().map(|text| Set::parse(black_box(text)).unwrap()).collect::<Vec<_>>());
}

#[divan::bench]
fn write_four_sets(bencher: Bencher) {
    let sets: Vec<_> = texts().iter().map(|text| Set::parse(text).unwrap()).collect();
    let mut out = Vec::with_capacity(16_384);
    bencher.bench_local(|| {
        out.clear();
        sets.iter().for_each(|set| set.write(&mut out));
        black_box(out.len())
    });
}

#[divan::bench]
fn compare_two_pods(bencher: Bencher) {
    let [old, new] = objects();
    bencher.bench_local(|| compare(black_box(&old), black_box(&new), TypeRef::builtin(&POD)).unwrap());
}

#[divan::bench]
fn validate_a_pod(bencher: Bencher) {
    let [pod, _] = objects();
    bencher.bench_local(|| validate(black_box(&pod), TypeRef::builtin(&POD), Duplicates::Allow).unwrap());
}

#[divan::bench]
fn fields_of_a_pod(bencher: Bencher) {
    let [pod, _] = objects();
    bencher.bench_local(|| field_set(black_box(&pod), TypeRef::builtin(&POD)).unwrap());
}

#[divan::bench]
fn update(bencher: Bencher) {
    let [old, new] = objects();
    let managers = managers(&texts());
    bencher.with_inputs(|| managers.clone()).bench_local_values(|managers| {
        Updater(&V1).update(black_box(&old), &new, "v1", managers, "current").unwrap()
    });
}

#[divan::bench]
fn apply_that_changes_nothing(bencher: Bencher) {
    let [old, _] = objects();
    let managers = managers(&texts());
    let config = json!({"apiVersion": "v1", "kind": "Pod", "metadata": old["metadata"], "spec": old["spec"]});
    bencher.with_inputs(|| managers.clone()).bench_local_values(|managers| {
        Updater(&V1).apply(black_box(&old), config.clone(), "v1", managers, "manager-0", true).unwrap()
    });
}

#[divan::bench]
fn whole_write(bencher: Bencher) {
    let [old, new] = objects();
    let texts = texts();
    let mut out = Vec::with_capacity(16_384);
    bencher.bench_local(|| {
        out.clear();
        let managers = managers(black_box(&texts));
        let managers = Updater(&V1).update(&old, &new, "v1", managers, "current").unwrap();
        managers.values().filter(|managed| managed.changed).for_each(|managed| managed.set.write(&mut out));
        black_box(out.len())
    });
}
