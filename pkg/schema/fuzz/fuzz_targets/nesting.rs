//! Applies sequences of operations that nest a document, four bytes each: no sequence builds a document that is
//! deeper than the limit and the deepest value together.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schema::json::{TREE_DEPTH_MAX, decode_untyped};
use schema::patch::json_patch::JsonPatch;
use schema::patch::merge_patch::MergePatch;

/// Maximum number of levels of an added value.
const VALUE_DEPTH_MAX: usize = 127;
/// Maximum length of a document in bytes: copies would double it again and again.
const DOCUMENT_BYTES_MAX: usize = 64 << 10;

fn nested(levels: usize, list: bool) -> String {
    let (open, close) = if list { ("[", "]") } else { (r#"{"a":"#, "}") };
    open.repeat(levels) + "{}" + &close.repeat(levels)
}

/// A pointer through `levels` members or items, of which the last is a new one.
fn pointer(levels: u8, list: bool) -> String {
    let step = if list { "/0" } else { "/a" };
    step.repeat(usize::from(levels)) + if list { "/-" } else { "/b" }
}

fn operation(bytes: &[u8; 4]) -> String {
    let [kind, from, to, value] = *bytes;
    let list = kind & 0x80 != 0;
    let from = pointer(from, list);
    let to = pointer(to, kind & 0x40 != 0);
    let value = nested(usize::from(value).min(VALUE_DEPTH_MAX), list);
    match kind & 7 {
        0 => format!(r#"{{"op":"move","from":"{from}","path":"{to}"}}"#),
        1 => format!(r#"{{"op":"copy","from":"{from}","path":"{to}"}}"#),
        2 => format!(r#"{{"op":"move","from":"/a","path":"{to}"}}"#),
        3 => format!(r#"{{"op":"move","from":"{from}","path":"/a"}}"#),
        4 => format!(r#"{{"op":"replace","path":"{to}","value":{value}}}"#),
        5 => format!(r#"{{"op":"test","path":"{from}","value":{value}}}"#),
        6 => format!(r#"{{"op":"add","path":"/a","value":{value}}}"#),
        _ => format!(r#"{{"op":"add","path":"{to}","value":{value}}}"#),
    }
}

fn depth(text: &[u8]) -> usize {
    let mut open = 0_usize;
    text.iter().fold(0, |most, byte| {
        match byte {
            b'{' | b'[' => open += 1,
            b'}' | b']' => open -= 1,
            _ => {}
        }
        most.max(open)
    })
}

fuzz_target!(|data: &[u8]| {
    let (operations, _) = data.as_chunks();
    let mut document = b"{}".to_vec();
    // One patch per operation, so that a failed one does not end the sequence. The server decodes each result.
    for bytes in operations {
        let text = format!("[{}]", operation(bytes));
        let (patch, _) = JsonPatch::parse(text.as_bytes(), false).expect("a list of operations");
        if let Ok(patched) = patch.apply(&document)
            && patched.len() <= DOCUMENT_BYTES_MAX
            && decode_untyped(&patched).is_ok()
        {
            document = patched;
        }
    }
    let all: Vec<String> = operations.iter().map(operation).collect();
    let all = format!("[{}]", all.join(","));
    let (patch, _) = JsonPatch::parse(all.as_bytes(), false).expect("a list of operations");
    let at_once = patch.apply(b"{}").unwrap_or_default();
    let (merge, _) = MergePatch::parse(&document, false).expect("an object");
    let merged = merge.apply(&at_once).unwrap_or_default();
    // Added values that were not parsed are text below the deepest level.
    for text in [&document, &at_once, &merged] {
        assert!(depth(text) <= TREE_DEPTH_MAX + VALUE_DEPTH_MAX + 1);
    }
});
