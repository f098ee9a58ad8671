//! Stack use of recursive walks over deep trees. Decoders limit the depth, and only schemas of custom
//! resources can nest arbitrarily. These tests show that every walk over a schema fits on a worker thread's
//! stack, in a debug build, with the deepest schema that a body can have.
#![allow(clippy::unwrap_used, reason = "a test may say what must hold")]

use apimachinery::time::UnixTime;
use component_base::features::Gates;
use jsontree::Value;
use schema::object::Object;
use schema::{json, json_write, proto};

use crate::printers::{Printer, Subject};
use crate::{defaults, validation, warnings};
use api::managed_fields::field_manager;
use api::{conversion, resources, semantic};
use fieldmanager::ApplyOptions;

/// Stack size of the server's threads in bytes. Decoders need a part of it.
const WORKER_STACK_BYTES: usize = 8 << 20;

/// Stack limit for walks over trees, in bytes.
const STACK_BYTES: usize = 1 << 20;

const KIND: &str = "CustomResourceDefinition";

/// Ways to nest a schema in a schema: the text before and after the inner one.
const NESTS: [(&str, &str); 8] = [
    (r#"{"type":"array","items":"#, "}"),
    (r#"{"type":"array","items":["#, "]}"),
    (r#"{"type":"object","properties":{"a":"#, "}}"),
    (r#"{"type":"object","additionalProperties":"#, "}"),
    (r#"{"not":"#, "}"),
    (r#"{"allOf":["#, "]}"),
    (r#"{"type":"object","anyOf":[{}],"oneOf":["#, "]}"),
    (r#"{"dependencies":{"a":"#, "}}"),
];

fn text(version: &str, open: &str, close: &str, depth: usize) -> String {
    let schema = format!("{}{{\"type\":\"x\"}}{}", open.repeat(depth), close.repeat(depth));
    let names = r#"{"plural":"as","kind":"A"}"#;
    let schema = format!(r#"{{"openAPIV3Schema":{{"type":"object","properties":{{"p":{schema}}}}}}}"#);
    match version {
        "v1" => format!(
            r#"{{"metadata":{{"name":"as.g.io"}},"spec":{{"group":"g.io","scope":"Cluster","names":{names},"versions":[{{"name":"v1","served":true,"storage":true,"schema":{schema}}}]}}}}"#
        ),
        _ => format!(
            r#"{{"metadata":{{"name":"as.g.io"}},"spec":{{"group":"g.io","version":"v1","names":{names},"validation":{schema}}}}}"#
        ),
    }
}

fn deepest(version: &str, open: &str, close: &str) -> Object {
    let message = schema::builtin::kind(&format!("apiextensions.k8s.io/{version}"), KIND).unwrap();
    let accepted = |depth| json::decode(message, text(version, open, close, depth).as_bytes()).ok();
    let mut fits = 20;
    let mut too_deep = 1000;
    assert!(accepted(too_deep).is_none(), "there is a bound");
    while too_deep - fits > 1 {
        let middle = (fits + too_deep) / 2;
        match accepted(middle) {
            Some(_) => fits = middle,
            None => too_deep = middle,
        }
    }
    accepted(fits).unwrap().object
}

/// Runs everything that this crate does with a definition between decoding and encoding.
fn journey(version: &str, mut new: Object) {
    let from = format!("apiextensions.k8s.io/{version}");
    let to = "apiextensions.k8s.io/v1";
    let row = resources::find("apiextensions.k8s.io", "v1", "customresourcedefinitions", "").unwrap();
    let gates = Gates::default();
    defaults::apply(&from, KIND, &mut new, &gates);
    let mut new = conversion::convert(new, &from, to, KIND);
    conversion::normalise_for_storage("apiextensions.k8s.io", KIND, &mut new).unwrap();
    let old = new.clone();
    let changed = |object: &mut Object| {
        object.insert("metadata", jsontree::json!({"name": "as.g.io", "labels": {"a": "b"}}));
    };
    changed(&mut new);
    assert!(!validation::kinds::validate(row, &new, &Default::default()).is_empty());
    validation::kinds::validate_update(row, "", &new, &old, &Default::default(), &mut Vec::new());
    warnings::before_create(row, &new, &gates);
    warnings::on_create(row, &new, &gates);
    warnings::on_update(row, "", &new, &old, &gates);
    assert!(!semantic::equal(row.message, &new, &old) && semantic::equal(row.message, &new, &new.clone()));
    let fields = field_manager(row, |_| true).unwrap();
    let now = UnixTime::from_seconds(0);
    // The field manager may refuse this depth.
    _ = fields.update(None, &mut new.clone(), "a", now);
    _ = fields.update(Some(&old), &mut new.clone(), "a", now);
    let options = ApplyOptions { manager: "kubectl", force: true, now, outside: None };
    let mut patch = new.clone();
    patch.extend([("apiVersion".to_owned(), to.into()), ("kind".to_owned(), KIND.into())]);
    _ = fields.apply(Some(&old), Value::Object(patch), options, |object| {
        defaults::apply(to, KIND, object, &gates);
        Ok(())
    });
    let subject = Subject::tree(&new);
    _ = Printer::of(row).row(&subject, now);
    let mut json = Vec::new();
    let mut raw = Vec::new();
    _ = json_write::encode(row.message, &new, &mut json);
    _ = proto::encode(row.message, &new, &mut raw);
    conversion::convert(new, to, &from, KIND);
}

#[test]
fn deepest_schema_fits_on_a_stack() {
    for version in ["v1", "v1beta1"] {
        for (open, close) in NESTS {
            let deepest = on_stack(WORKER_STACK_BYTES, move || deepest(version, open, close));
            on_stack(STACK_BYTES, move || journey(version, deepest));
        }
    }
}

fn on_stack<T: Send + 'static>(bytes: usize, work: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new().stack_size(bytes).spawn(work).unwrap().join().unwrap()
}
