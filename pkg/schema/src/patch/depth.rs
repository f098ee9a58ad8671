//! Depth of patched documents: no sequence of operations builds a document that overflows the stack.

#![allow(clippy::unwrap_used)]

use super::json_patch::JsonPatch;
use super::merge_patch::MergePatch;
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
