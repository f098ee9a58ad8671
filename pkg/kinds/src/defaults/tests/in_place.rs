//! The rules over bytes agree with the rules over trees. Checked on every fixture, and on every fixture with
//! any one of its members removed, at every depth.

use super::*;
use api::resources;
use schema::proto;

/// Checks that an object's bytes report missing defaults exactly if defaulting changes the object. Returns
/// true if defaults are missing.
pub(super) fn says_what_filling_in_does(api_version: &str, kind: &str, object: &Object, name: &str) -> bool {
    let Some(defaults) = Defaults::of(api_version, kind) else { return false };
    let message = schema::builtin::kind(api_version, kind).unwrap();
    let mut raw = Vec::new();
    let gates = Gates::default();
    proto::encode(message, object, &mut raw).unwrap();
    let before = proto::decode(message, &raw).unwrap();
    let mut after = before.clone();
    defaults.fill(&mut after, &gates).unwrap();
    let missing = defaults.are_missing(MessageRef::new(message, &raw), &gates);
    assert_eq!(missing, after != before, "{api_version} {kind} {name}: {:#}", Value::Object(before));
    missing
}

/// Lists with the same items as `containers` and `containerStatuses`.
const LIKE_ANOTHER: [&str; 4] =
    ["initContainers", "ephemeralContainers", "initContainerStatuses", "ephemeralContainerStatuses"];

/// Calls `see` for each member or list item, with an object that lacks it. To limit the number, it skips pod
/// specs inside other kinds than pods, and lists that are like another one.
fn with_one_less(kind: &str, object: &mut Object, check: &mut dyn FnMut(&Object, &str)) {
    let mut paths = Vec::new();
    collect(kind, &Value::Object(object.clone()), &mut Vec::new(), &mut paths);
    for path in paths {
        let (last, parents) = path.split_last().unwrap();
        let removed = take(object, parents, last);
        check(object, &path.join("."));
        put_back(object, parents, last, removed);
    }
}

fn collect(kind: &str, value: &Value, path: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    let members: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(name, value)| (name.to_string(), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect(),
        _ => return,
    };
    let is_template = path.len() > 1 && path.ends_with(&["template".to_owned(), "spec".to_owned()]);
    for (name, value) in members {
        path.push(name);
        paths.push(path.clone());
        let is_alike = LIKE_ANOTHER.contains(&path[path.len() - 1].as_str());
        if !is_alike && (kind == "Pod" || !is_template) {
            collect(kind, value, path, paths);
        }
        path.pop();
    }
}

/// Returns the value at a path of at least one step.
fn at<'o>(object: &'o mut Object, path: &[String]) -> &'o mut Value {
    let (first, rest) = path.split_first().unwrap();
    rest.iter().fold(object.get_mut(first).unwrap(), |at, step| match at {
        Value::Array(items) => &mut items[step.parse::<usize>().unwrap()],
        value => value.get_mut(step).unwrap(),
    })
}

fn take(object: &mut Object, parents: &[String], last: &str) -> Value {
    if parents.is_empty() {
        return object.remove(last).unwrap();
    }
    match at(object, parents) {
        Value::Array(items) => items.remove(last.parse().unwrap()),
        value => value.as_object_mut().unwrap().remove(last).unwrap(),
    }
}

fn put_back(object: &mut Object, parents: &[String], last: &str, removed: Value) {
    if parents.is_empty() {
        _ = object.insert(last.to_owned(), removed);
        return;
    }
    match at(object, parents) {
        Value::Array(items) => items.insert(last.parse().unwrap(), removed),
        value => _ = value.as_object_mut().unwrap().insert(last.to_owned(), removed),
    }
}

/// True if objects of a kind are stored in this version.
fn is_stored(api_version: &str, kind: &str) -> bool {
    let stored = resources::all().filter_map(|row| row.storage.as_ref());
    stored.into_iter().any(|storage| storage.group_version == api_version && storage.kind == kind)
}

#[test]
fn defaulted_objects_lack_no_defaults() {
    let mut seen = 0;
    for (name, api_version, kind, mut object) in fixtures() {
        says_what_filling_in_does(&api_version, &kind, &object, &name);
        apply(&api_version, &kind, &mut object, &Gates::default());
        assert!(!says_what_filling_in_does(&api_version, &kind, &object, &name), "{name}");
        seen += usize::from(Defaults::of(&api_version, &kind).is_some());
    }
    assert!(seen > 400, "{seen}");
}

#[test]
fn any_missing_default_is_detected() {
    let mut checked = 0;
    let mut missed = 0;
    for (name, api_version, kind, mut object) in fixtures() {
        // All members of one pod fixture; for other kinds, random halves too.
        let selected = name.starts_with("HEAD/") || kind != "Pod" && name.ends_with(".r1.json");
        if !selected || Defaults::of(&api_version, &kind).is_none() || !is_stored(&api_version, &kind) {
            continue;
        }
        apply(&api_version, &kind, &mut object, &Gates::default());
        object.insert("metadata".to_owned(), json!({"name": "a"}));
        apply(&api_version, &kind, &mut object, &Gates::default());
        with_one_less(&kind, &mut object, &mut |less, path| {
            let label = format!("{name} without {path}");
            missed += usize::from(says_what_filling_in_does(&api_version, &kind, less, &label));
            checked += 1;
        });
    }
    assert!(checked > 3_000 && missed > 300, "{missed} of {checked}");
}

#[test]
fn unreadable_objects_may_lack_defaults() {
    let check = |kind: &str, raw: &[u8], expected: bool| {
        let message = schema::builtin::kind("v1", kind).unwrap();
        let missing =
            Defaults::of("v1", kind).unwrap().are_missing(MessageRef::new(message, raw), &Gates::default());
        assert_eq!(missing, expected, "{kind} {raw:?}");
    };
    // Field 3 is the type of a secret.
    check("Secret", b"\x1a\x01x", false);
    check("Secret", b"\x1a\x00", true);
    check("Secret", b"\x1a\x02x", true);
    check("Secret", b"\x18\x01", true);
    check("Secret", b"\x1a\x01\xff", true);
    check("Pod", b"\x12\xff", true);
}

#[test]
fn missing_map_keys_are_detected_at_any_position() {
    let names = ["a", "b", "c", "d"];
    let of = |lacking: Option<&str>| {
        let present = names.into_iter().filter(|name| Some(*name) != lacking);
        Value::Object(present.map(|name| (format!("example.com/{name}"), json!("1"))).collect())
    };
    let range = |default: Value, request: Value| {
        let limit =
            json!({"type": "Container", "max": of(None), "default": default, "defaultRequest": request});
        let range = json!({"metadata": {"name": "r"}, "spec": {"limits": [limit]}});
        let Value::Object(range) = range else { unreachable!() };
        says_what_filling_in_does("v1", "LimitRange", &range, "a range")
    };
    assert!(!range(of(None), of(None)));
    for name in names {
        assert!(range(of(Some(name)), of(None)), "{name} as a default");
        assert!(range(of(None), of(Some(name))), "{name} as a request");
    }
}
