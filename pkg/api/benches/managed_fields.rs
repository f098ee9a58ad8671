//! Benchmark of the cost of managed fields in a pod write: `cargo bench -p mainstay-api --bench managed_fields`. The
//! pods are those of the codec benchmarks. `pod` is 8 KB of JSON, including the entries of four managers.
#![allow(clippy::unwrap_used, reason = "a bench may stop where it cannot go on")]

use api::managed_fields::FieldManager;
use api::resources;
use apimachinery::time::UnixTime;
use divan::{Bencher, black_box};
use fieldmanager::ApplyOptions;
use jsontree::json;
use schema::builtin::IO_K8S_API_CORE_V1_POD as POD;
use schema::json;
use schema::object::{self, Object};

const PODS: [&str; 2] = ["pod-small", "pod"];
const NOW: UnixTime = UnixTime::from_seconds(1_800_000_000);

fn main() {
    divan::main();
}

fn pod(name: &str) -> Object {
    let path = format!("{}/../schema/testdata/{name}.json", env!("CARGO_MANIFEST_DIR"));
    json::decode(&POD, &std::fs::read(path).unwrap()).unwrap().object
}

fn field_manager(subresource: &str) -> FieldManager {
    api::managed_fields::field_manager(resources::find("", "v1", "pods", subresource).unwrap(), |_| true)
        .unwrap()
}

/// A kubelet updates a phase.
#[divan::bench(args = PODS)]
fn update_of_status(bencher: Bencher, name: &str) {
    let live = pod(name);
    let fields = field_manager("status");
    let mut new = live.clone();
    object::set(&mut new, &["status", "message"], "changed");
    bencher.with_inputs(|| new.clone()).bench_local_values(|mut new| {
        fields.update(Some(&live), black_box(&mut new), "kubelet", NOW).unwrap();
        new
    });
}

/// A controller writes back the unchanged object.
#[divan::bench(args = PODS)]
fn update_of_nothing(bencher: Bencher, name: &str) {
    let live = pod(name);
    let fields = field_manager("");
    bencher.with_inputs(|| live.clone()).bench_local_values(|mut new| {
        fields.update(Some(&live), black_box(&mut new), "controller", NOW).unwrap();
        new
    });
}

#[divan::bench(args = PODS)]
fn create(bencher: Bencher, name: &str) {
    let mut new = pod(name);
    let fields = field_manager("");
    fieldmanager::remove(&mut new);
    bencher.with_inputs(|| new.clone()).bench_local_values(|mut new| {
        fields.update(None, black_box(&mut new), "controller", NOW).unwrap();
        new
    });
}

#[divan::bench(args = PODS)]
fn apply_of_a_label(bencher: Bencher, name: &str) {
    let live = pod(name);
    let fields = field_manager("");
    let pod_name = object::get_str(&live, &["metadata", "name"]).unwrap();
    let patch = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": pod_name, "labels": {"applied": "1"}},
    });
    let options = ApplyOptions { manager: "applier", force: false, now: NOW, outside: None };
    bencher.with_inputs(|| patch.clone()).bench_local_values(|patch| {
        fields.apply(Some(black_box(&live)), patch, options, |_| Ok(())).unwrap()
    });
}

/// Cost of the input that the other benchmarks clone.
#[divan::bench(args = PODS)]
fn clone_of_the_tree(bencher: Bencher, name: &str) {
    let live = pod(name);
    bencher.bench_local(|| black_box(&live).clone());
}
