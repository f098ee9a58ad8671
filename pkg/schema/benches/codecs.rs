//! Codec costs per object of a list or watch: `cargo bench -p mainstay-schema`. Rates are in bytes written.
#![allow(clippy::unwrap_used, reason = "a bench may stop where it cannot go on")]

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use schema::builtin::{
    IO_K8S_API_CORE_V1_POD as POD,
    IO_K8S_APIEXTENSIONS_APISERVER_PKG_APIS_APIEXTENSIONS_V1_JSONSCHEMAPROPS as SCHEMA,
};
use schema::object::Object;
use schema::proto::{self, TypeMetaHead, field_at, is_canonical, meta::Header};
use schema::transcode::to_json;
use schema::{json, json_write, patch};

/// The server's allocator.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const PODS: [&str; 2] = ["pod-small", "pod"];
const HEAD: TypeMetaHead = TypeMetaHead { api_version: "v1", kind: "Pod" };

fn main() {
    divan::main();
}

fn text(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/testdata/{name}.json", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn tree(name: &str) -> Object {
    json::decode(&POD, &text(name)).unwrap().object
}

fn raw(name: &str) -> Vec<u8> {
    let mut raw = Vec::new();
    proto::encode(&POD, &tree(name), &mut raw).unwrap();
    raw
}

/// Benchmarks `write` with a reused buffer and counts the written bytes.
fn bench_write(bencher: Bencher, write: impl Fn(&mut Vec<u8>)) {
    let mut out = Vec::new();
    write(&mut out);
    bencher.counter(BytesCount::new(out.len())).bench_local(|| {
        out.clear();
        write(&mut out);
        black_box(out.len())
    });
}

#[divan::bench(args = PODS)]
fn transcode(bencher: Bencher, name: &str) {
    let raw = raw(name);
    bench_write(bencher, |out| to_json(&POD, &raw, Some(HEAD), Some("81234568"), out).unwrap());
}

#[divan::bench(args = PODS)]
fn served_protobuf(bencher: Bencher, name: &str) {
    let raw = raw(name);
    bench_write(bencher, |out| proto::served(HEAD, &raw, "81234568", out).unwrap());
}

#[divan::bench(args = PODS)]
fn encode(bencher: Bencher, name: &str) {
    let tree = tree(name);
    bench_write(bencher, |out| proto::encode(&POD, &tree, out).unwrap());
}

#[divan::bench(args = PODS)]
fn decode(bencher: Bencher, name: &str) {
    let raw = raw(name);
    bencher.counter(BytesCount::of_slice(&raw)).bench_local(|| proto::decode(&POD, black_box(&raw)).unwrap());
}

#[divan::bench(args = PODS)]
fn decode_json(bencher: Bencher, name: &str) {
    let text = text(name);
    bencher
        .counter(BytesCount::of_slice(&text))
        .bench_local(|| json::decode(&POD, black_box(&text)).unwrap());
}

#[divan::bench(args = PODS)]
fn write_json(bencher: Bencher, name: &str) {
    let tree = tree(name);
    bench_write(bencher, |out| json_write::encode(&POD, &tree, out).unwrap());
}

#[divan::bench(args = PODS)]
fn expand(bencher: Bencher, name: &str) {
    let tree = tree(name);
    bencher.bench_local(|| patch::expand(&POD, black_box(&tree)).unwrap());
}

#[divan::bench(args = PODS)]
fn expand_through_text(bencher: Bencher, name: &str) {
    let tree = tree(name);
    bencher.bench_local(|| {
        let mut text = Vec::new();
        json_write::encode(&POD, black_box(&tree), &mut text).unwrap();
        json::decode_untyped(&text).unwrap().value
    });
}

#[divan::bench(args = PODS)]
fn canonical(bencher: Bencher, name: &str) {
    let raw = raw(name);
    bencher.counter(BytesCount::of_slice(&raw)).bench_local(|| is_canonical(&POD, black_box(&raw)));
}

/// The schema of a CRD with nested members.
fn schema_text(members: usize) -> Vec<u8> {
    let member = |number: usize, inner: &str| format!(r#""field{number:03}":{inner}"#);
    let leaf = r#"{"description":"What a member is for, in a sentence.\nAnother one.","type":"integer","minimum":0}"#;
    let object = |inner: &str| {
        let members: Vec<String> = (0..members).map(|number| member(number, inner)).collect();
        format!(r#"{{"type":"object","properties":{{{}}}}}"#, members.join(","))
    };
    object(&object(leaf)).into_bytes()
}

#[divan::bench(args = [5, 20])]
fn canonical_schema(bencher: Bencher, members: usize) {
    let text = schema_text(members);
    assert!(json::is_canonical(&SCHEMA, &text));
    bencher
        .counter(BytesCount::of_slice(&text))
        .bench_local(|| json::is_canonical(&SCHEMA, black_box(&text)));
}

#[divan::bench(args = [5, 20])]
fn decode_schema(bencher: Bencher, members: usize) {
    let text = schema_text(members);
    bencher
        .counter(BytesCount::of_slice(&text))
        .bench_local(|| json::decode(&SCHEMA, black_box(&text)).unwrap());
}

#[divan::bench(args = [5, 20])]
fn without_schema(bencher: Bencher, members: usize) {
    let schema = String::from_utf8(schema_text(members)).unwrap();
    let text = format!(r#"{{"openAPIV3Schema":{schema}}}"#);
    bencher
        .counter(BytesCount::new(text.len()))
        .bench_local(|| json::decode_outline(black_box(text.as_bytes()), &["openAPIV3Schema"]).unwrap());
}

#[divan::bench(args = PODS)]
fn header(bencher: Bencher, name: &str) {
    let raw = raw(name);
    bencher.bench_local(|| Header::parse(black_box(&raw)).unwrap().name.len());
}

#[divan::bench(args = PODS)]
fn node_name(bencher: Bencher, name: &str) {
    let raw = raw(name);
    bencher.bench_local(|| field_at(black_box(&raw), &POD, &["spec", "nodeName"]));
}

#[divan::bench(args = PODS)]
fn decode_untyped(bencher: Bencher, name: &str) {
    let text = text(name);
    bencher
        .counter(BytesCount::of_slice(&text))
        .bench_local(|| json::decode_untyped(black_box(&text)).unwrap());
}
