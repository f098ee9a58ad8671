//! Patches of parts compared with patches of whole objects: generated patches of objects of all kinds.

use jsontree::{Object, Value};
use schema::patch::json_patch::JsonPatch;
use schema::patch::merge_patch::MergePatch;
use schema::patch::{self, Part, strategic, typed};
use schema::table::Message;
use schema::{json, proto};

use crate::archive::pairs;

/// Patches of each type per object.
const PATCHES: u64 = 2;

/// A small generator, so that a failure can be reproduced from its seed.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % n.max(1) as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// A patched object and the strict errors of the result.
type Patched = Option<(Object, Vec<String>)>;

fn decode(message: &'static Message, text: &[u8]) -> Patched {
    let decoded = json::decode(message, text).ok()?;
    Some((decoded.object, decoded.strict.iter().map(ToString::to_string).collect()))
}

/// Patches the part of an object and compares the result with a patch of the whole. Returns false for a patch
/// that has to be applied to the whole.
fn check(
    message: &'static Message,
    object: &Object,
    part: Option<Part>,
    apply: impl Fn(&Object) -> Patched,
    context: &str,
) -> bool {
    let Some(part) = part else { return false };
    let Some((selected, strict)) = apply(&part.select(object)) else { return false };
    if ["kind", "apiVersion"].iter().any(|name| selected.get(*name) != object.get(*name)) {
        return false;
    }
    let (whole, whole_strict) = apply(object).unwrap_or_else(|| panic!("only the part applies: {context}"));
    assert_eq!(strict, whole_strict, "{context}");
    let encoded = |object: &Object| {
        let mut binary = Vec::new();
        proto::encode(message, object, &mut binary).unwrap();
        (String::from_utf8(patch::text(message, object).unwrap()).unwrap(), binary)
    };
    assert_eq!(encoded(&part.replace(object, selected)), encoded(&whole), "{context}");
    true
}

/// Changes, removes and adds some members and items.
fn change(value: &mut Value, random: &mut Random) {
    match value {
        Value::Object(members) => {
            members.retain(|_, _| !random.one_in(12));
            members.values_mut().for_each(|member| change(member, random));
            if random.one_in(12) {
                members.insert("unknown", Value::from(1));
            }
        }
        Value::Array(items) => {
            items.retain(|_| !random.one_in(8));
            items.iter_mut().for_each(|item| change(item, random));
        }
        _ if !random.one_in(6) => {}
        Value::String(text) => *value = Value::from(format!("{text}1")),
        Value::Number(_) => *value = Value::from(random.below(4) as i64),
        Value::Bool(flag) => *flag = !*flag,
        Value::Null | Value::Raw(_) => {}
    }
}

/// The merge patch from one object to another.
fn difference(from: &Object, to: &Object) -> Object {
    let mut patch = Object::new();
    for name in from.keys().filter(|name| !to.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    for (name, value) in to {
        let change = match (from.get(name), value) {
            (Some(old), new) if old == new => continue,
            (Some(Value::Object(old)), Value::Object(new)) => Value::Object(difference(old, new)),
            (_, new) => new.clone(),
        };
        patch.insert(name.clone(), change);
    }
    patch
}

/// Adds directives of strategic merge patches.
fn direct(patch: &mut Object, random: &mut Random) {
    let names: Vec<String> = patch.keys().map(ToString::to_string).collect();
    for name in names {
        match patch.get_mut(&name) {
            Some(Value::Object(inner)) => direct(inner, random),
            Some(Value::Array(items)) if random.one_in(3) => {
                let order = items.clone();
                let directive = ["$setElementOrder", "$deleteFromPrimitiveList"][random.below(2)];
                patch.insert(format!("{directive}/{name}"), Value::Array(order));
            }
            _ => {}
        }
    }
    match random.below(24) {
        0 => drop(patch.insert("$patch", Value::from("replace"))),
        1 => drop(patch.insert("$patch", Value::from("delete"))),
        2 => {
            let names = patch.keys().map(|name| Value::from(name.as_str())).collect();
            patch.insert("$retainKeys", Value::Array(names));
        }
        _ => {}
    }
}

/// A pointer to a place in a value, or close to it.
fn pointer(value: &Value, random: &mut Random) -> String {
    let mut pointer = String::new();
    let mut value = value;
    while pointer.is_empty() || !random.one_in(4) {
        let (step, child) = match value {
            Value::Object(members) if !members.is_empty() => {
                let Some((name, child)) = members.iter().nth(random.below(members.len())) else { break };
                (name.replace('~', "~0").replace('/', "~1"), child)
            }
            Value::Array(items) if !items.is_empty() => {
                let at = random.below(items.len());
                (at.to_string(), &items[at])
            }
            _ => break,
        };
        pointer = format!("{pointer}/{step}");
        value = child;
    }
    if random.one_in(8) { format!("{pointer}/new") } else { pointer }
}

fn operations(document: &Value, random: &mut Random) -> Value {
    let operation = |random: &mut Random| {
        let path = pointer(document, random);
        let from = pointer(document, random);
        let mut value = document.pointer(&from).cloned().unwrap_or_default();
        let op = ["add", "remove", "replace", "move", "copy", "test"][random.below(6)];
        if op == "test" || random.one_in(2) {
            value = document.pointer(&path).cloned().unwrap_or_default();
        }
        Value::Object(Object::from([
            ("op", Value::from(op)),
            ("path", Value::from(path)),
            ("from", Value::from(from)),
            ("value", value),
        ]))
    };
    (0..=random.below(2)).map(|_| operation(random)).collect::<Vec<_>>().into()
}

/// The stored objects of all kinds.
fn objects() -> impl Iterator<Item = (String, &'static Message, Object)> {
    ["fixtures", "generated"].into_iter().flat_map(pairs).filter_map(|pair| {
        let (message, envelope) = pair.open()?;
        let mut object = proto::decode(message, envelope.raw).ok()?;
        object.insert("kind", Value::from(&*envelope.kind));
        object.insert("apiVersion", Value::from(&*envelope.api_version));
        // An object that cannot be written has no JSON to patch.
        patch::text(message, &object).ok()?;
        Some((pair.name, message, object))
    })
}

#[test]
fn merge_patch_of_part_equals_that_of_whole() {
    let mut applied = 0;
    for (name, message, object) in objects() {
        let document = patch::expand(message, &object).unwrap();
        for seed in 0..PATCHES {
            let mut random = Random(seed);
            let mut changed = document.clone();
            change(&mut changed, &mut random);
            let difference = difference(document.as_object().unwrap(), changed.as_object().unwrap());
            let text = Value::Object(difference).to_string();
            let (patch, _) = MergePatch::parse(text.as_bytes(), false).unwrap();
            let apply =
                |object: &Object| decode(message, &patch.apply(&patch::text(message, object).ok()?).ok()?);
            let part = Part::of_merge_patch(message, &patch);
            applied += usize::from(check(message, &object, part, apply, &format!("{name} {text}")));
        }
    }
    assert!(applied > 500, "the generator makes too little that applies: {applied}");
}

#[test]
fn json_patch_of_part_equals_that_of_whole() {
    let mut applied = 0;
    for (name, message, object) in objects() {
        let document = patch::expand(message, &object).unwrap();
        for seed in 0..PATCHES {
            let text = operations(&document, &mut Random(seed)).to_string();
            let (patch, _) = JsonPatch::parse(text.as_bytes(), false).unwrap();
            let apply =
                |object: &Object| decode(message, &patch.apply(&patch::text(message, object).ok()?).ok()?);
            let part = Part::of_json_patch(message, &patch);
            applied += usize::from(check(message, &object, part, apply, &format!("{name} {text}")));
        }
    }
    assert!(applied > 500, "the generator makes too little that applies: {applied}");
}

#[test]
fn strategic_patch_of_part_equals_that_of_whole() {
    let mut applied = 0;
    for (name, message, object) in objects() {
        let document = patch::expand(message, &object).unwrap();
        for seed in 0..PATCHES {
            let mut random = Random(seed);
            let mut changed = document.clone();
            change(&mut changed, &mut random);
            let mut patch = difference(document.as_object().unwrap(), changed.as_object().unwrap());
            direct(&mut patch, &mut random);
            let apply = |object: &Object| {
                let Value::Object(mut value) = patch::expand(message, object).ok()? else { return None };
                strategic::apply(message, &mut value, &mut patch.clone()).ok()?;
                let (mut object, unknown) = typed::object(message, value).ok()?;
                object.insert("kind", document["kind"].clone());
                object.insert("apiVersion", document["apiVersion"].clone());
                Some((object, unknown))
            };
            let part = Part::of_strategic_patch(message, &patch);
            let context = format!("{name} {}", Value::Object(patch.clone()));
            applied += usize::from(check(message, &object, part, apply, &context));
        }
    }
    assert!(applied > 500, "the generator makes too little that applies: {applied}");
}
