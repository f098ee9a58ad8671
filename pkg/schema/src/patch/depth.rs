//! Depth of patched documents: no sequence of operations builds a document that overflows the stack.

#![allow(clippy::unwrap_used)]

use super::json_patch::JsonPatch;
use super::merge_patch::MergePatch;
use super::properties::Random;
use super::*;
use crate::json::{TREE_DEPTH_MAX, decode_untyped};

/// Stack limit for a document of the maximum depth, in bytes; debug frames are the largest.
const STACK_BYTES: usize = 1 << 20;

fn on_small_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(work).unwrap().join().unwrap()
}

fn nested(levels: usize, inner: &str) -> String {
    r#"{"a":"#.repeat(levels) + inner + &"}".repeat(levels)
}

fn pointer(levels: usize) -> String {
    "/a".repeat(levels)
}

fn apply(operations: &[String], document: &str) -> Result<Vec<u8>, Error> {
    let patch = format!("[{}]", operations.join(","));
    JsonPatch::parse(patch.as_bytes(), false).unwrap().0.apply(document.as_bytes())
}

fn add(path: &str, value: &str) -> String {
    format!(r#"{{"op":"add","path":"{path}","value":{value}}}"#)
}

fn from_to(op: &str, from: &str, path: &str) -> String {
    format!(r#"{{"op":"{op}","from":"{from}","path":"{path}"}}"#)
}

/// The largest number of open brackets in a text without brackets in strings.
fn depth_of(text: &[u8]) -> usize {
    let mut open = 0;
    let step = |most: usize, byte: &u8| {
        match byte {
            b'{' => open += 1,
            b'}' => open -= 1,
            _ => {}
        }
        most.max(open)
    };
    text.iter().fold(0, step)
}

fn too_deep<T>() -> Result<T, Error> {
    Err(Error::DoesNotApply("the document is nested deeper than 400 levels".to_owned()))
}

#[test]
fn moves_cannot_nest_beyond_the_limit() {
    on_small_stack(|| {
        let bottom = |root: &str| format!("{root}{}", pointer(100));
        let mut operations = vec![add("/x", "{}")];
        for _ in 0..550 {
            operations.push(add("/y", &nested(100, "{}")));
            operations.push(from_to("move", "/x", &format!("{}/a", bottom("/y"))));
            operations.push(from_to("move", "/y", "/x"));
        }
        assert_eq!(apply(&operations, "{}"), too_deep());
    });
}

#[test]
fn copies_cannot_nest_beyond_the_limit() {
    on_small_stack(|| {
        let mut operations = vec![add("", "{}")];
        let mut levels = 1;
        while levels < TREE_DEPTH_MAX {
            operations.push(from_to("copy", "/a", &pointer(levels + 1)));
            levels *= 2;
        }
        operations[0] = add("/a", &nested(1, "1"));
        assert_eq!(apply(&operations, "{}"), too_deep());
    });
}

#[test]
fn long_pointers_cannot_nest_beyond_the_limit() {
    on_small_stack(|| {
        let operations: Vec<String> =
            (1..=TREE_DEPTH_MAX + 1).map(|levels| add(&pointer(levels), "{}")).collect();
        let deepest = &operations[..TREE_DEPTH_MAX - 1];
        let text = apply(deepest, "{}").unwrap();
        assert_eq!(text, nested(TREE_DEPTH_MAX - 1, "{}").as_bytes());
        assert!(decode_untyped(&text).is_ok());
        assert_eq!(apply(&operations, "{}"), too_deep());
    });
}

#[test]
fn comparisons_parse_up_to_the_limit() {
    on_small_stack(|| {
        let value = nested(9_000, "1");
        let test = |path: &str, value: &str| format!(r#"{{"op":"test","path":"{path}","value":{value}}}"#);
        let document = nested(300, &value);
        let at_bottom = [test(&pointer(300), &value)];
        assert_eq!(apply(&at_bottom, &document).unwrap(), document.as_bytes());
        let then_moved = [
            test(&pointer(300), &value),
            add("/b", &nested(20, "1")),
            from_to("move", "/a", &format!("/b{}", pointer(20))),
        ];
        assert_eq!(apply(&then_moved, &document), too_deep());
        let other = [test(&pointer(300), &nested(9_000, "2"))];
        assert!(apply(&other, &document).is_err_and(|error| error.to_string().contains("test failed")));
    });
}

/// Moves, copies and adds below two members, each time to the bottom of one of them.
fn nesting_operations(random: &mut Random, value_depth_max: usize) -> Vec<String> {
    const MEMBERS: [&str; 2] = ["/x", "/y"];
    let mut operations = vec![add("/x", "{}"), add("/y", "{}")];
    let mut levels = [0, 0];
    for _ in 0..random.below(30) {
        let to = random.below(2);
        let from = 1 - to;
        let bottom = format!("{}{}/a", MEMBERS[to], pointer(levels[to]));
        let value = random.below(value_depth_max);
        match random.below(3) {
            0 => {
                operations.push(add(&bottom, &nested(value, "{}")));
                levels[to] += 1 + value;
            }
            1 => {
                operations.push(from_to("copy", MEMBERS[from], &bottom));
                levels[to] += 1 + levels[from];
            }
            _ => {
                operations.push(from_to("move", MEMBERS[from], &bottom));
                operations.push(add(MEMBERS[from], &nested(value, "{}")));
                levels[to] += 1 + levels[from];
                levels[from] = value;
            }
        }
    }
    operations
}

/// The fuzz target `nesting` does the same with arbitrary bytes.
#[test]
fn random_operations_cannot_nest_beyond_the_limit() {
    const VALUE_DEPTH_MAX: usize = 100;
    on_small_stack(|| {
        let mut deepest = 0;
        let mut refused = 0;
        for seed in 0..500 {
            match apply(&nesting_operations(&mut Random(seed), VALUE_DEPTH_MAX), "{}") {
                Ok(text) => deepest = deepest.max(depth_of(&text)),
                Err(error) => {
                    assert_eq!(Err(error), too_deep::<()>(), "seed {seed}");
                    refused += 1;
                }
            }
        }
        assert!(refused > 100, "the generator rarely reaches the limit: {refused}");
        // Added values that were not parsed are text below the deepest level.
        assert!((TREE_DEPTH_MAX / 2..=TREE_DEPTH_MAX + VALUE_DEPTH_MAX).contains(&deepest), "{deepest}");
    });
}

#[test]
fn shallow_moves_do_not_add_up() {
    let mut operations = Vec::new();
    for _ in 0..1_000 {
        operations.push(from_to("move", "/x", "/a/a/a/x"));
        operations.push(from_to("move", "/a/a/a/x", "/x"));
        operations.push(r#"{"op":"test","path":"/a/a","value":{"a":{}}}"#.to_owned());
    }
    let document = r#"{"a":{"a":{"a":{}}},"x":{"y":[1]}}"#;
    assert_eq!(apply(&operations, document).unwrap(), document.as_bytes());
}

#[test]
fn merge_patch_parses_up_to_the_limit() {
    on_small_stack(|| {
        let merge = |patch: String, document: String| {
            MergePatch::parse(patch.as_bytes(), false).unwrap().0.apply(document.as_bytes())
        };
        let fits = TREE_DEPTH_MAX - 1;
        assert_eq!(merge(nested(fits, "{}"), "{}".to_owned()).unwrap(), nested(fits, "{}").as_bytes());
        assert_eq!(merge(nested(fits, "{}"), nested(fits, "{}")).unwrap(), nested(fits, "{}").as_bytes());
        for document in ["{}".to_owned(), nested(9_000, "{}")] {
            assert_eq!(merge(nested(TREE_DEPTH_MAX, "{}"), document), too_deep());
        }
        let list = "[".repeat(9_000) + &"]".repeat(9_000);
        assert_eq!(merge(list, "{}".to_owned()), too_deep());
    });
}

#[test]
fn verbatim_json_counts_where_it_is() {
    on_small_stack(|| {
        let message = crate::builtin::kind("apps/v1", "ControllerRevision").unwrap();
        let expanded = |levels: usize| {
            let body = format!(r#"{{"data":{}}}"#, nested(levels, "1"));
            let object = crate::json::decode(message, body.as_bytes()).unwrap().object;
            expand(message, &object).map(drop)
        };
        assert_eq!(expanded(TREE_DEPTH_MAX - 1), Ok(()));
        for levels in [TREE_DEPTH_MAX, 9_000] {
            let error = expanded(levels).unwrap_err();
            assert_eq!(error, Error::DoesNotApply("json: values nest deeper than 400 levels".to_owned()));
        }
    });
}

#[test]
fn managed_fields_of_many_keys_expand() {
    let message = crate::builtin::kind("v1", "ConfigMap").unwrap();
    let fields: Vec<String> = (0..50_000).map(|key| format!(r#""f:k{key}":{{}}"#)).collect();
    let entry = format!(r#"{{"fieldsType":"FieldsV1","fieldsV1":{{"f:data":{{{}}}}}}}"#, fields.join(","));
    let body = format!(r#"{{"metadata":{{"managedFields":[{entry}]}}}}"#);
    let object = crate::json::decode(message, body.as_bytes()).unwrap().object;
    let value = expand(message, &object).unwrap();
    let keys = value.pointer("/metadata/managedFields/0/fieldsV1/f:data").and_then(Value::as_object);
    assert_eq!(keys.map(Object::len), Some(50_000));
}
