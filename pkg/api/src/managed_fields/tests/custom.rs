//! Tests of custom resources, whose fields depend on the schema of their CRD.

use std::sync::Arc;

use super::{Story, entry};
use crate::managed_fields::FieldManager;
use crate::resources::custom::{CustomKind, Names};
use crate::resources::{CustomTexts, Handle, Resource};
use jsontree::{Value, json};

/// Returns the story of a kind with versions `v1` (stored) and `v2`, which merge according to `schema`.
fn story(version: &str, schema: &Value) -> Story {
    let version_of =
        |name: &str| json!({"name": name, "served": true, "schema": {"openAPIV3Schema": schema}});
    let spec = json!({"group": "example.com", "versions": [version_of("v1"), version_of("v2")]});
    let kind =
        Arc::new(CustomKind::of_stored(spec.as_object().unwrap(), &|_| None, &Names::default(), false, 36));
    let row = |version: &str| {
        let texts = CustomTexts {
            group: "example.com".to_owned(),
            version: version.to_owned(),
            kind: "Widget".to_owned(),
            kind_group_version: format!("example.com/{version}"),
            definition: Some(Arc::clone(&kind)),
            number: u16::from(version == "v2"),
            ..CustomTexts::default()
        };
        Handle::custom(texts, |row, _| Resource { ..row })
    };
    let other = if version == "v1" { "v2" } else { "v1" };
    let fields = FieldManager::new(row(version), [row(other)], "example.com/v1").unwrap();
    Story { fields, live: None, seconds: 0 }
}

fn widget(version: &str, ports: &[i64]) -> Value {
    let ports: Vec<Value> = ports.iter().map(|port| json!({"port": port, "on": true})).collect();
    json!({
        "apiVersion": format!("example.com/{version}"), "kind": "Widget",
        "metadata": {"name": "w"}, "spec": {"ports": ports},
    })
}

fn keyed() -> Value {
    let port =
        json!({"type": "object", "properties": {"port": {"type": "integer"}, "on": {"type": "boolean"}}});
    let ports = json!({
        "type": "array", "items": port, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port"],
    });
    let meta = json!({"$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"});
    json!({"type": "object", "properties": {
        "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": meta,
        "spec": {"type": "object", "properties": {"ports": ports}},
    }})
}

#[test]
fn list_map_items_have_separate_owners() {
    let keys = |port: i64| {
        format!(
            r#"{{"f:spec":{{"f:ports":{{"k:{{\"port\":{port}}}":{{".":{{}},"f:on":{{}},"f:port":{{}}}}}}}}}}"#
        )
    };
    story("v1", &keyed())
        .apply("one", widget("v1", &[1]))
        .apply("two", widget("v1", &[2]))
        .holds("/spec/ports/1/port", json!(2))
        .owned(json!([
            entry("one", "Apply", "example.com/v1", 1, &keys(1)),
            entry("two", "Apply", "example.com/v1", 2, &keys(2)),
        ]));
}

#[test]
fn without_a_schema_a_list_has_one_owner() {
    // Without a declaration, a map itself is a field.
    let fields = r#"{"f:spec":{".":{},"f:ports":{}}}"#;
    story("v1", &Value::Null)
        .apply("one", widget("v1", &[1]))
        .refused(
            "two",
            widget("v1", &[2]),
            409,
            "Apply failed with 1 conflict: conflict with \"one\": .spec.ports",
        )
        .owned(json!([entry("one", "Apply", "example.com/v1", 1, fields)]));
}

/// Upstream's decoder of custom resources drops an empty list.
#[test]
fn empty_list_keeps_managers() {
    let owned = entry("one", "Apply", "example.com/v1", 1, r#"{"f:spec":{".":{},"f:ports":{}}}"#);
    story("v1", &Value::Null)
        .apply("one", widget("v1", &[1]))
        .edit("two", |widget| widget["metadata"]["managedFields"] = json!([]))
        .owned(json!([owned]));
}

#[test]
fn empty_entry_removes_managers() {
    story("v1", &Value::Null)
        .apply("one", widget("v1", &[1]))
        .edit("two", |widget| widget["metadata"]["managedFields"] = json!([{}]))
        .owned(Value::Null);
}

#[test]
fn apply_in_other_version_stores_storage_version() {
    story("v2", &keyed())
        .apply("one", widget("v2", &[1]))
        .holds("/apiVersion", json!("example.com/v1"))
        .holds("/metadata/managedFields/0/apiVersion", json!("example.com/v2"));
}
