//! Properties of all patches, tested on seeded random documents and patches. The fuzz target `patch` checks
//! them on arbitrary bytes.

#![allow(clippy::unwrap_used)]

use jsontree::{Object, Value, json};

use super::json_patch::{COPIED_LENGTH_MAX, JsonPatch};
use super::merge_patch::MergePatch;
use super::*;
use crate::builtin;

/// A small generator, so that a failure can be reproduced from its seed.
pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn pick<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.below(of.len())]
    }
}

const NAMES: [&str; 12] = [
    "spec",
    "containers",
    "name",
    "env",
    "ports",
    "args",
    "metadata",
    "labels",
    "finalizers",
    "a/b",
    "c~d",
    "",
];

const DIRECTIVES: [&str; 8] = [
    "$patch",
    "$retainKeys",
    "$setElementOrder/containers",
    "$setElementOrder/finalizers",
    "$deleteFromPrimitiveList/finalizers",
    "$deleteFromPrimitiveList",
    "$setElementOrder/nope",
    "$setElementOrder/env",
];

fn name(random: &mut Random, directives: bool) -> String {
    if directives && random.below(6) == 0 {
        random.pick(&DIRECTIVES).to_owned()
    } else {
        random.pick(&NAMES).to_owned()
    }
}

fn object(random: &mut Random, depth: usize, directives: bool) -> Object {
    (0..random.below(5)).map(|_| (name(random, directives), any(random, depth, directives))).collect()
}

/// A value; without directives it contains no nulls.
fn any(random: &mut Random, depth: usize, directives: bool) -> Value {
    match random.below(if depth == 0 { 5 } else { 9 }) {
        0 => json!(random.below(3)),
        1 => json!(random.pick(&["a", "b", "delete", "replace", "merge", "name", "<é>"])),
        2 if directives => Value::Null,
        2 => json!(true),
        3 => json!(1.5),
        4 => json!({"name": random.pick(&["a", "b", "c"])}),
        5 | 6 => (0..random.below(4)).map(|_| any(random, depth - 1, directives)).collect(),
        _ => Value::Object(object(random, depth - 1, directives)),
    }
}

fn pointer(random: &mut Random) -> String {
    let step = |random: &mut Random| match random.below(3) {
        0 => random.pick(&["0", "1", "-1", "-", "9", "01"]).to_owned(),
        _ => random.pick(&NAMES).replace('~', "~0").replace('/', "~1"),
    };
    (0..1 + random.below(2)).map(|_| format!("/{}", step(random))).collect()
}

fn operation(random: &mut Random) -> Value {
    let op = random.pick(&["add", "remove", "replace", "move", "copy", "test"]);
    json!({"op": op, "path": pointer(random), "from": pointer(random), "value": any(random, 2, true)})
}

fn merged(document: &Value, patch: &Value) -> Value {
    let document = document.to_string();
    let patch = patch.to_string();
    let (patch, _) = MergePatch::parse(patch.as_bytes(), true).unwrap();
    serde_json::from_slice(&patch.apply(document.as_bytes()).unwrap()).unwrap()
}

/// The merge patch from the first object to the second.
fn difference(from: &Object, to: &Object) -> Value {
    let mut patch = Object::new();
    for name in from.keys().filter(|name| !to.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    for (name, value) in to {
        let change = match (from.get(name), value) {
            (Some(old), new) if old == new => continue,
            (Some(Value::Object(old)), Value::Object(new)) => difference(old, new),
            (_, new) => new.clone(),
        };
        patch.insert(name.clone(), change);
    }
    Value::Object(patch)
}

#[test]
fn an_empty_patch_changes_nothing() {
    let message = builtin::kind("v1", "Pod").unwrap();
    for seed in 0..2_000 {
        let mut patched = object(&mut Random(seed), 4, false);
        let document = Value::Object(patched.clone());
        assert_eq!(merged(&document, &json!({})), document, "seed {seed}");
        let (patch, _) = JsonPatch::parse(b"[]", true).unwrap();
        let text = patch.apply(document.to_string().as_bytes()).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&text).unwrap(), document, "seed {seed}");
        strategic::apply(message, &mut patched, &mut Object::new()).unwrap();
        assert_eq!(Value::Object(patched), document, "seed {seed}");
    }
}

#[test]
fn difference_is_a_merge_patch() {
    for seed in 0..2_000 {
        let mut random = Random(seed);
        let from = object(&mut random, 4, false);
        let to = object(&mut random, 4, false);
        let patch = difference(&from, &to);
        assert_eq!(merged(&Value::Object(from), &patch), Value::Object(to), "seed {seed}: {patch}");
    }
}

#[test]
fn merge_results_pass_json_patch_tests() {
    for seed in 0..2_000 {
        let mut random = Random(seed);
        let document = Value::Object(object(&mut random, 3, false)).to_string();
        let patch = Value::Object(object(&mut random, 3, true)).to_string();
        let (patch, _) = MergePatch::parse(patch.as_bytes(), true).unwrap();
        let merged = patch.apply(document.as_bytes()).unwrap();
        let test = format!(r#"[{{"op":"test","path":"","value":{}}}]"#, String::from_utf8_lossy(&merged));
        let (test, _) = JsonPatch::parse(test.as_bytes(), true).unwrap();
        assert_eq!(test.apply(&merged).as_deref(), Ok(&merged[..]), "seed {seed}: {test:?}");
    }
}

#[test]
fn json_patch_output_is_bounded_json() {
    let mut applied = 0;
    for seed in 0..20_000 {
        let mut random = Random(seed);
        let document = Value::Object(object(&mut random, 3, false)).to_string();
        let patch: Value = (0..1 + random.below(2)).map(|_| operation(&mut random)).collect();
        let patch = patch.to_string();
        let (parsed, _) = JsonPatch::parse(patch.as_bytes(), true).unwrap();
        match parsed.apply(document.as_bytes()) {
            Ok(text) => {
                applied += 1;
                assert!(text.len() <= COPIED_LENGTH_MAX + 6 * (document.len() + patch.len()), "seed {seed}");
                assert!(crate::json::decode_untyped(&text).is_ok(), "seed {seed}: {patch}");
            }
            Err(error) => assert!(matches!(error, Error::DoesNotApply(_)), "seed {seed}: {error}"),
        }
    }
    assert!(applied > 1_000, "the generator makes too little that applies: {applied}");
}

#[test]
fn strategic_patch_is_deterministic() {
    let message = builtin::kind("v1", "Pod").unwrap();
    let mut applied = 0;
    for seed in 0..20_000 {
        let mut random = Random(seed);
        let original = object(&mut random, 4, false);
        let patch = object(&mut random, 4, true);
        let run = || {
            let mut object = original.clone();
            let mut patch = patch.clone();
            let outcome = strategic::apply(message, &mut object, &mut patch);
            outcome.map(|()| (typed::object(message, object.clone()), object))
        };
        let outcome = run();
        assert_eq!(outcome, run(), "seed {seed}");
        applied += usize::from(outcome.is_ok());
    }
    assert!(applied > 1_000, "the generator makes too little that applies: {applied}");
}

#[test]
fn invalid_patches_are_rejected_with_a_reason() {
    let mut refused = 0;
    for seed in 0..20_000 {
        let mut random = Random(seed);
        let operations: Value = (0..2).map(|_| operation(&mut random)).collect();
        let mut text = operations.to_string().into_bytes();
        for _ in 0..=random.below(3) {
            let at = random.below(text.len());
            match random.below(3) {
                0 => text[at] = random.next() as u8,
                1 => text.truncate(at.max(1)),
                _ => text.insert(at, b"[]{},:\"\\0"[random.below(9)]),
            }
        }
        for validates in [false, true] {
            match JsonPatch::parse(&text, validates) {
                Ok((patch, _)) => drop(patch.apply(b"{}")),
                Err(error) => {
                    refused += 1;
                    assert!(!error.to_string().is_empty(), "seed {seed}");
                }
            }
            if let Ok((patch, _)) = MergePatch::parse(&text, validates) {
                assert!(
                    crate::json::decode_untyped(&patch.apply(b"{}").unwrap()).is_ok() || !validates,
                    "seed {seed}"
                );
            }
        }
        let _ = strategic::parse(&text);
    }
    assert!(refused > 1_000, "the generator breaks too little: {refused}");
}
