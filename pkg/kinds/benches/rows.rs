//! Cost of a table row of pods: `cargo bench -p mainstay-kinds`. The pods are those of the codecs' benches:
//! `pod` is 8 KB of JSON with all that a kubelet and managed fields add, `pod-small` half as much.
#![allow(clippy::unwrap_used, reason = "a bench may stop where it cannot go on")]

use apimachinery::time::UnixTime;
use divan::{Bencher, black_box};
use kinds::printers::{Printer, Subject};
use schema::builtin::{
    IO_K8S_API_CORE_V1_POD as POD, IO_K8S_APIMACHINERY_PKG_APIS_META_V1_PARTIALOBJECTMETADATA as PARTIAL,
};
use schema::proto::{self, TypeMetaHead};
use schema::{json, transcode};

const PODS: [&str; 2] = ["pod-small", "pod"];
const NOW: UnixTime = UnixTime::from_seconds(1_800_000_000);
const HEAD: TypeMetaHead = TypeMetaHead { api_version: "meta.k8s.io/v1", kind: "PartialObjectMetadata" };

fn main() {
    divan::main();
}

fn raw(name: &str) -> Vec<u8> {
    let path = format!("{}/../schema/testdata/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let tree = json::decode(&POD, &std::fs::read(path).unwrap()).unwrap().object;
    let mut raw = Vec::new();
    proto::encode(&POD, &tree, &mut raw).unwrap();
    raw
}

fn printer() -> Printer {
    Printer::of(api::resources::find("", "v1", "pods", "").unwrap())
}

fn write(printer: Printer, subject: &Subject<'_>, out: &mut Vec<u8>) {
    for cell in printer.row(subject, NOW).unwrap().cells {
        cell.write(out);
    }
}

/// Cells from a decoded tree, for pods that cannot be read in place.
#[divan::bench(args = PODS)]
fn cells_of_tree(bencher: Bencher, name: &str) {
    let raw = raw(name);
    let printer = printer();
    let mut out = Vec::new();
    bencher.bench_local(|| {
        out.clear();
        let tree = proto::decode(&POD, black_box(&raw)).unwrap();
        write(printer, &Subject::tree(&tree), &mut out);
        out.len()
    });
}

#[divan::bench(args = PODS)]
fn cells_in_place(bencher: Bencher, name: &str) {
    let raw = raw(name);
    let printer = printer();
    let mut out = Vec::new();
    bencher.bench_local(|| {
        out.clear();
        write(printer, &Subject::message(&POD, black_box(&raw)), &mut out);
        out.len()
    });
}

/// The metadata that a row contains by default.
#[divan::bench(args = PODS)]
fn carried_metadata(bencher: Bencher, name: &str) {
    let raw = raw(name);
    let mut out = Vec::new();
    bencher.bench_local(|| {
        out.clear();
        let raw = proto::partial_metadata(black_box(&raw)).unwrap();
        transcode::to_json(&PARTIAL, raw, Some(HEAD), Some("81234568"), &mut out).unwrap();
        out.len()
    });
}
