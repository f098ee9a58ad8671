//! Cost of finding that an object in the store lacks no defaults, and that it lacks one:
//! `cargo bench -p mainstay-kinds --bench defaults`. For comparison, the check that precedes it on the way into the
//! cache. The pods are those of the codecs' benches.
#![allow(clippy::unwrap_used, reason = "a bench may stop where it cannot go on")]

use component_base::features::Gates;
use divan::{Bencher, black_box};
use jsontree::json;
use kinds::defaults::Defaults;
use schema::object::Object;
use schema::proto::inplace::MessageRef;
use schema::table::Message;
use schema::{json, proto};

const OBJECTS: [&str; 4] = ["ConfigMap", "Secret", "pod-small", "pod"];

fn main() {
    divan::main();
}

/// Returns an object's kind and message, its bytes with defaults, and its bytes without defaults.
fn object(name: &str) -> (&str, &'static Message, [Vec<u8>; 2]) {
    let kind = if name.starts_with("pod") { "Pod" } else { name };
    let message = schema::builtin::kind("v1", kind).unwrap();
    let mut tree = match kind {
        "Pod" => {
            let path = format!("{}/../schema/testdata/{name}.json", env!("CARGO_MANIFEST_DIR"));
            json::decode(message, &std::fs::read(path).unwrap()).unwrap().object
        }
        _ => {
            let data: Object = (0..10).map(|n| (format!("key-{n}"), json!("value".repeat(8)))).collect();
            let data = if kind == "Secret" { json!({}) } else { json!(data) };
            json!({"metadata": {"name": "a"}, "data": data}).as_object().unwrap().clone()
        }
    };
    let encode = |tree: &Object| {
        let mut raw = Vec::new();
        proto::encode(message, tree, &mut raw).unwrap();
        raw
    };
    let mut bare = tree.clone();
    if let Some(spec) = bare.get_mut("spec").and_then(|spec| spec.as_object_mut()) {
        spec.remove("dnsPolicy");
    }
    kinds::defaults::apply("v1", kind, &mut tree, &Gates::default());
    (kind, message, [encode(&tree), encode(&bare)])
}

#[divan::bench(args = OBJECTS)]
fn nothing_is_missing(bencher: Bencher, name: &str) {
    let (kind, message, [raw, _]) = object(name);
    let gates = Gates::default();
    let missing = |raw: &[u8]| {
        Defaults::of("v1", kind)
            .is_some_and(|defaults| defaults.are_missing(MessageRef::new(message, raw), &gates))
    };
    assert!(!missing(&raw));
    bencher.counter(divan::counter::BytesCount::new(raw.len())).bench_local(|| missing(black_box(&raw)));
}

/// Full cost if a default is missing: check, decode, fill in, encode.
#[divan::bench(args = ["Secret", "pod-small", "pod"])]
fn something_is_missing(bencher: Bencher, name: &str) {
    let (kind, message, [_, raw]) = object(name);
    let defaults = Defaults::of("v1", kind).unwrap();
    let mut out = Vec::new();
    let gates = Gates::default();
    bencher.bench_local(|| {
        assert!(defaults.are_missing(MessageRef::new(message, black_box(&raw)), &gates));
        let mut tree = proto::decode(message, &raw).unwrap();
        defaults.fill(&mut tree, &gates).unwrap();
        out.clear();
        proto::encode(message, &tree, &mut out).unwrap();
        out.len()
    });
}

#[divan::bench(args = OBJECTS)]
fn is_canonical(bencher: Bencher, name: &str) {
    let (_, message, [raw, _]) = object(name);
    bencher.bench_local(|| proto::is_canonical(message, black_box(&raw)));
}
