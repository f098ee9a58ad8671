//! Trees of the maximum depth: every walk over one fits on a small stack, in a debug build.

use std::hash::{DefaultHasher, Hash};

use jsontree::Value;
use schema::builtin::IO_K8S_APIEXTENSIONS_APISERVER_PKG_APIS_APIEXTENSIONS_V1_JSONSCHEMAPROPS as SCHEMA;
use schema::json::{self, TREE_DEPTH_MAX};
use schema::object::Object;
use schema::patch::{self, strategic, typed};
use schema::{cbor, json_write, proto, transcode};

/// An eighth of a worker's stack, in bytes.
const STACK_BYTES: usize = 1 << 20;

/// Ways to nest a schema in a schema: the text before and after the inner one, and the levels between them.
const NESTS: [(&str, &str, usize); 5] = [
    (r#"{"not":"#, "}", 1),
    (r#"{"items":"#, "}", 1),
    (r#"{"items":["#, "]}", 2),
    (r#"{"additionalProperties":"#, "}", 1),
    (r#"{"properties":{"a":"#, "}}", 2),
];

fn walk(text: &[u8]) {
    let tree = json::decode(&SCHEMA, text).unwrap().object;
    let copy = tree.clone();
    assert_eq!(tree, copy);
    copy.hash(&mut DefaultHasher::new());
    assert!(format!("{copy:?}").len() > TREE_DEPTH_MAX);
    drop(copy);
    let mut encoded = Vec::new();
    json_write::encode(&SCHEMA, &tree, &mut encoded).unwrap();
    assert_eq!(encoded, text);
    let value = patch::expand(&SCHEMA, &tree).unwrap();
    assert_eq!(value.to_string().as_bytes(), text);
    assert_eq!(patch::collapse(&SCHEMA, &value).unwrap().object, tree);
    let Value::Object(value) = value else { unreachable!() };
    strategic::apply(&SCHEMA, &mut Object::new(), &mut value.clone()).unwrap();
    assert!(!strategic::quoted(&value).is_empty());
    assert_eq!(typed::object(&SCHEMA, value).unwrap().0, tree);
    let mut binary = Vec::new();
    cbor::encode(&SCHEMA, &tree, &mut binary).unwrap();
    // CBOR counts a schema that may be a list or a boolean as two levels.
    assert!(
        cbor::decode(&SCHEMA, &binary).is_err() || cbor::decode(&SCHEMA, &binary).unwrap().object == tree
    );
    let mut message = Vec::new();
    // Messages may nest less deeply than trees.
    if proto::encode(&SCHEMA, &tree, &mut message).is_ok() {
        assert_eq!(proto::decode(&SCHEMA, &message).unwrap(), tree);
        assert!(proto::is_canonical(&SCHEMA, &message));
        encoded.clear();
        transcode::to_json(&SCHEMA, &message, None, None, &mut encoded).unwrap();
        assert_eq!(encoded, text);
    }
}

#[test]
fn deepest_tree_fits_on_a_small_stack() {
    for (open, close, levels) in NESTS {
        let count = (TREE_DEPTH_MAX - 1) / levels;
        let text = format!("{}{{}}{}", open.repeat(count), close.repeat(count));
        let worker = std::thread::Builder::new().stack_size(STACK_BYTES);
        worker.spawn(move || walk(text.as_bytes())).unwrap().join().unwrap();
    }
}
