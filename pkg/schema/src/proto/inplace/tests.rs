//! Members of small messages. The tests of table rows compare whole objects with their trees.

use super::*;
use crate::builtin;
use crate::proto::encode;
use jsontree::{Value, json};

/// An object's member at a path, as JSON.
fn at(message: &'static Message, raw: &[u8], path: &[&str]) -> Result<Value, NotInPlace> {
    let mut member = MemberRef::Message(MessageRef::new(message, raw));
    for name in path {
        member = match member {
            MemberRef::Message(inner) => inner.get(name)?,
            MemberRef::Map(map) => map.get(name)?,
            _ => MemberRef::Absent,
        };
    }
    Ok(match member {
        MemberRef::Absent => Value::Null,
        MemberRef::Text(text) | MemberRef::Quantity(text) => text.into(),
        MemberRef::Bytes(bytes) => bytes.into(),
        MemberRef::Bool(flag) => flag.into(),
        MemberRef::Int(number) => number.into(),
        MemberRef::Time(time) | MemberRef::MicroTime(time) => time.rfc3339().to_string().into(),
        MemberRef::Message(inner) => inner.is_set()?.into(),
        MemberRef::List(list) => list.len().into(),
        MemberRef::Map(map) => map.iter().map(|entry| entry.map(|(k, _)| k)).collect::<Result<_, _>>()?,
    })
}

#[test]
fn members_are_found_in_inlined_structs_too() {
    let volume = json!({
        "metadata": {"name": "v", "labels": {"a": "1", "b": ""}, "creationTimestamp": "2024-01-02T03:04:05Z"},
        "spec": {"capacity": {"storage": "1024Mi"}, "hostPath": {"path": "/p"}, "accessModes": ["A", "B"]},
    });
    let message = builtin::kind("v1", "PersistentVolume").unwrap();
    let mut raw = Vec::new();
    encode(message, volume.as_object().unwrap(), &mut raw).unwrap();
    let check =
        |path: &[&str], expected: Value| assert_eq!(at(message, &raw, path), Ok(expected), "{path:?}");
    check(&["metadata", "name"], json!("v"));
    check(&["metadata", "labels"], json!(["a", "b"]));
    check(&["metadata", "labels", "b"], json!(""));
    check(&["metadata", "labels", "c"], Value::Null);
    check(&["metadata", "creationTimestamp"], json!("2024-01-02T03:04:05Z"));
    check(&["metadata", "deletionTimestamp"], Value::Null);
    check(&["metadata", "generation"], Value::Null);
    check(&["spec", "hostPath", "path"], json!("/p"));
    check(&["spec", "nfs"], Value::Null);
    check(&["spec", "capacity", "storage"], json!("1Gi"));
    check(&["spec", "accessModes"], json!(2));
    check(&["spec"], json!(true));
    check(&["status"], json!(false));
    check(&["nothing"], Value::Null);
}

#[test]
fn unsorted_maps_and_wrong_wire_types_are_irregular() {
    let message = builtin::kind("v1", "ConfigMap").unwrap();
    let check = |raw: &[u8], path: &[&str]| assert_eq!(at(message, raw, path), Err(NotInPlace), "{raw:?}");
    check(b"\x12\x03\x0a\x01b\x12\x03\x0a\x01a", &["data"]);
    check(b"\x12\x03\x0a\x01a\x12\x03\x0a\x01a", &["data", "b"]);
    check(b"\x10\x01", &["data"]);
    check(b"\x12\x05\x0a", &["data"]);
}

#[test]
fn structs_that_are_set_are_shown() {
    let check = |spec: Value, expected: &[&str]| {
        let volume = json!({"spec": spec});
        let message = builtin::kind("v1", "PersistentVolume").unwrap();
        let mut raw = Vec::new();
        encode(message, volume.as_object().unwrap(), &mut raw).unwrap();
        let Ok(MemberRef::Message(spec)) = MessageRef::new(message, &raw).get("spec") else {
            panic!("a spec is always written")
        };
        let mut names = Vec::new();
        spec.each_struct(&mut |name, _| names.push(name)).unwrap();
        names.sort_unstable();
        assert_eq!(names, expected, "{volume}");
    };
    check(json!({}), &[]);
    check(json!({"capacity": {"storage": "1Gi"}, "accessModes": ["A"]}), &[]);
    check(json!({"hostPath": {"path": "/p"}, "claimRef": {}}), &["claimRef", "hostPath"]);
    check(json!({"hostPath": {}}), &["hostPath"]);
    let broken = MessageRef::new(builtin::kind("v1", "PersistentVolume").unwrap(), b"\x10\x01");
    assert_eq!(broken.each_struct(&mut |_, _| {}), Err(NotInPlace));
}
