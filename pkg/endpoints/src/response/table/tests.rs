//! Compares streamed tables with the same tables built as trees, for all objects that Kubernetes itself wrote
//! (`pkg/schema/testdata`).
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may say what must hold")]

use super::*;
use crate::negotiation::Offer;
use api::resources::Resource;
use jsontree::{Value, json};
use kinds::printers::{Printer, Subject};
use schema::proto::{self, Envelope};
use schema::{builtin, json_write};

/// 2024-01-02T03:04:05Z
const NOW: UnixTime = UnixTime::from_seconds(1_704_164_645);

fn request(include: IncludeObject) -> TableRequest {
    TableRequest { version: "v1", include, now: NOW }
}

/// Builds the table of a list as a tree of the Table type and encodes it.
fn whole(
    endpoint: &'static Resource<'static>,
    trees: &[Object],
    metadata: &Object,
    request: TableRequest,
) -> String {
    let printer = Printer::of(endpoint);
    let rows: Vec<Value> = trees.iter().map(|tree| whole_row(endpoint, printer, tree, request)).collect();
    let columns = printer.columns().map(|column| {
        json!({
            "name": column.name, "type": column.kind, "format": column.format,
            "description": column.description(), "priority": column.priority,
        })
    });
    let nil = rows.is_empty() && printer.has_null_rows();
    let table = json!({
        "kind": "Table", "apiVersion": format!("meta.k8s.io/{}", request.version), "metadata": metadata,
        "columnDefinitions": columns.collect::<Vec<_>>(), "rows": if nil { Value::Null } else { rows.into() },
    });
    written(&builtin::IO_K8S_APIMACHINERY_PKG_APIS_META_V1_TABLE, table.as_object().unwrap())
}

fn whole_row(endpoint: &Resource, printer: Printer, tree: &Object, request: TableRequest) -> Value {
    let subject = Subject::tree(tree);
    let row = printer.row(&subject, NOW).unwrap();
    let cells = row.cells.iter().map(|cell| {
        let mut out = Vec::new();
        cell.write(&mut out);
        serde_json::from_slice::<Value>(&out).unwrap()
    });
    let mut object = json!({"cells": cells.collect::<Vec<_>>()});
    if let Some(condition) = row.condition {
        object["conditions"] = json!([{
            "type": condition.condition_type, "status": condition.status,
            "reason": condition.reason, "message": condition.message,
        }]);
    }
    let partial = crate::response::encode::partial(tree.clone(), request.version);
    match request.include {
        IncludeObject::None => {}
        IncludeObject::Object => object["object"] = written(endpoint.message, tree).into(),
        IncludeObject::Metadata => {
            object["object"] =
                written(&builtin::IO_K8S_APIMACHINERY_PKG_APIS_META_V1_PARTIALOBJECTMETADATA, &partial)
                    .into();
        }
    }
    object
}

fn written(message: &'static schema::table::Message, tree: &Object) -> String {
    let mut out = Vec::new();
    json_write::encode(message, tree, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn streamed(
    endpoint: &'static Resource<'static>,
    items: &[Item<'_>],
    metadata: &Object,
    request: TableRequest,
) -> String {
    let mut out = Vec::new();
    let mut part = Vec::new();
    let mut table = Writer::new(&endpoint.into(), request);
    table.begin(metadata, true, &mut part).unwrap();
    for item in items {
        // Like a streamed body: the writer never reads its earlier output.
        out.append(&mut part);
        table.row(item, &mut part).unwrap();
    }
    table.end(&mut part);
    out.append(&mut part);
    String::from_utf8(out).unwrap()
}

/// Objects of the archives: type and message.
fn objects() -> Vec<(String, String, Vec<u8>)> {
    let mut objects = Vec::new();
    for archive in ["fixtures", "generated"] {
        for (name, bytes) in crate::testdata::files(archive) {
            if name.ends_with(".pb") && !name.contains("after_roundtrip") {
                let envelope = Envelope::parse(&bytes).unwrap();
                let head = (envelope.api_version.into_owned(), envelope.kind.into_owned());
                objects.push((head.0, head.1, envelope.raw.to_vec()));
            }
        }
    }
    objects
}

fn metadata() -> Object {
    json!({"resourceVersion": "7", "continue": "x", "remainingItemCount": 3}).as_object().unwrap().clone()
}

/// Tree of a message as the registry returns it: with type metadata and a resource version.
fn tree(endpoint: &Resource, raw: &[u8], version: &str) -> Object {
    let mut tree = proto::decode(endpoint.message, raw).unwrap();
    tree.insert("kind", endpoint.kind.into());
    tree.insert("apiVersion", endpoint.kind_group_version.into());
    let metadata = tree.entry("metadata").or_insert_with(|| json!({}));
    metadata["resourceVersion"] = version.into();
    tree
}

#[test]
fn a_streamed_table_is_the_whole_tree_written() {
    let objects = objects();
    let mut tables = 0;
    for endpoint in api::resources::all().filter(|row| row.serves("list")) {
        let of_kind =
            objects.iter().filter(|(v, k, _)| v == endpoint.kind_group_version && k == endpoint.kind);
        let raws: Vec<&[u8]> = of_kind.map(|(_, _, raw)| &raw[..]).collect();
        let trees: Vec<Object> = raws.iter().map(|raw| tree(endpoint, raw, "42")).collect();
        for include in [IncludeObject::None, IncludeObject::Metadata, IncludeObject::Object] {
            let expected = whole(endpoint, &trees, &metadata(), request(include));
            let messages: Vec<Item<'_>> =
                raws.iter().map(|raw| Item::Message { raw, version: "42", outgoing: None }).collect();
            let plain: Vec<Item<'_>> = trees.iter().cloned().map(Item::Tree).collect();
            for items in [messages, plain] {
                let actual = streamed(endpoint, &items, &metadata(), request(include));
                assert_eq!(actual, expected, "{} {include:?}", endpoint.plural);
                tables += usize::from(!items.is_empty());
            }
        }
    }
    assert!(tables > 400, "{tables}");
}

#[test]
fn an_empty_table_has_empty_rows_or_none() {
    let check = |plural: &str, end: &str| {
        let endpoint = api::resources::find("", "v1", plural, "").unwrap();
        let request = request(IncludeObject::Metadata);
        let actual = streamed(endpoint, &[], &Object::new(), request);
        assert_eq!(actual, whole(endpoint, &[], &Object::new(), request));
        assert!(actual.ends_with(end), "{actual}");
    };
    check("pods", ",\"rows\":[]}");
    check("limitranges", ",\"rows\":null}");
}

#[test]
fn failed_row_leaves_table_unchanged() {
    let endpoint = api::resources::find("", "v1", "pods", "").unwrap();
    let mut table = Writer::new(&endpoint.into(), request(IncludeObject::Object));
    let mut out = Vec::new();
    assert!(
        table.row(&Item::Message { raw: b"\x0a\x05broken", version: "1", outgoing: None }, &mut out).is_err()
    );
    assert!(out.is_empty());
    // Invalid JSON in managed fields: the cells can be computed, the object cannot be encoded.
    let metadata = b"\x8a\x01\x06\x3a\x04\x0a\x02{]";
    let raw = [&[0x0a, metadata.len() as u8], &metadata[..]].concat();
    assert!(table.row(&Item::Message { raw: &raw, version: "1", outgoing: None }, &mut out).is_err());
    assert!(out.is_empty());
    table.end(&mut out);
    assert_eq!(out, b"[]}");
}

#[test]
fn noncanonical_object_has_a_row() {
    let endpoint = api::resources::find("", "v1", "serviceaccounts", "").unwrap();
    let raw = b"\x0a\x04\x0a\x02\xffa";
    let mut table = Writer::new(&endpoint.into(), request(IncludeObject::None));
    let mut out = Vec::new();
    table.row(&Item::Message { raw, version: "1", outgoing: None }, &mut out).unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "[{\"cells\":[\"\u{fffd}a\",\"\\u003cunknown\\u003e\"],\"object\":null}"
    );
}

#[test]
fn status_and_scale_have_tables() {
    let endpoint = |subresource| api::resources::find("apps", "v1", "deployments", subresource).unwrap();
    let empty =
        |subresource| streamed(endpoint(subresource), &[], &Object::new(), request(IncludeObject::None));
    assert_eq!(empty("status"), empty(""));
    let scale = json!({"metadata": {"name": "web", "resourceVersion": "5"}, "spec": {"replicas": 3}, "status": {"replicas": 2}});
    let mut out = Vec::new();
    write_tree(&endpoint("scale").into(), scale.as_object().unwrap(), request(IncludeObject::None), &mut out)
        .unwrap();
    let table: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(table["metadata"], json!({"resourceVersion": "5"}));
    assert_eq!(table["rows"], json!([{"cells": ["web", 3, 2, "<unknown>"], "object": null}]));
    let names: Vec<&Value> =
        table["columnDefinitions"].as_array().unwrap().iter().map(|column| &column["name"]).collect();
    assert_eq!(names, ["Name", "Desired", "Available", "Age"]);
}

/// Rows of a custom resource in one version: itself, `scale` and `status`.
fn custom_rows() -> Vec<Handle> {
    let spec = json!({
        "group": "example.com", "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
        "versions": [{
            "name": "v1", "served": true, "storage": true,
            "subresources": {
                "status": {},
                "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
            },
            "additionalPrinterColumns": [
                {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1},
                {"name": "Note", "type": "string", "jsonPath": ".spec.note", "description": "Its note."},
            ],
        }],
    });
    let group = crate::testing::custom_group(&[spec]);
    let endpoints = group.versions[0].endpoints.iter();
    let mut rows: Vec<Handle> = endpoints.map(|endpoint| endpoint.row.clone()).collect();
    rows.sort_by_key(|handle| handle.row().subresource.to_owned());
    rows
}

fn table_of(endpoint: &Handle, object: &Value, include: IncludeObject) -> Value {
    let mut out = Vec::new();
    write_tree(endpoint, object.as_object().unwrap(), request(include), &mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

#[test]
fn custom_columns_apply_to_status() {
    let rows = custom_rows();
    let widget = json!({
        "apiVersion": "example.com/v1", "kind": "Widget",
        "metadata": {"name": "w", "resourceVersion": "5"}, "spec": {"size": 3, "note": "<n>"},
    });
    let table = table_of(&rows[0], &widget, IncludeObject::Object);
    assert_eq!(table["rows"], json!([{"cells": ["w", 3, "<n>"], "object": widget}]));
    let described = "Custom resource definition column (in JSONPath format): .spec.size";
    assert_eq!(
        table["columnDefinitions"][1],
        json!({"name": "Size", "type": "integer", "format": "", "description": described, "priority": 1})
    );
    assert_eq!(table["columnDefinitions"][2]["description"], "Its note.");
    assert_eq!(table_of(&rows[2], &widget, IncludeObject::Object), table);
    let partial = table_of(&rows[0], &widget, IncludeObject::Metadata);
    assert_eq!(partial["rows"][0]["object"]["kind"], "PartialObjectMetadata");
}

#[test]
fn empty_custom_table_has_empty_rows() {
    let mut table = Writer::new(&custom_rows()[0], request(IncludeObject::None));
    let mut out = Vec::new();
    table.begin(&Object::new(), true, &mut out).unwrap();
    table.end(&mut out);
    assert!(out.ends_with(b",\"rows\":[]}"));
}

#[test]
fn custom_scale_prints_raw_counts() {
    let rows = custom_rows();
    let scale = json!({
        "apiVersion": "autoscaling/v1", "kind": "Scale",
        "metadata": {"name": "w", "resourceVersion": "5", "creationTimestamp": "2024-01-02T02:04:05Z"},
        "spec": {"replicas": 0}, "status": {"replicas": 0},
    });
    let table = table_of(&rows[1], &scale, IncludeObject::None);
    assert_eq!(table["rows"], json!([{"cells": ["w", null, 0, "60m"], "object": null}]));
    let columns = table["columnDefinitions"].as_array().unwrap();
    let columns: Vec<_> = columns.iter().map(|column| [&column["name"], &column["format"]]).collect();
    assert_eq!(columns, [["Name", "name"], ["Desired", ""], ["Available", ""], ["Age", ""]]);
}

#[test]
fn custom_resources_and_their_subresources_offer_tables() {
    assert!(custom_rows().iter().all(|handle| crate::routing::router::offer(handle.row()) == Offer::Tables));
}

#[test]
fn some_kinds_have_no_table_of_their_status() {
    let offer = |group: &str, version: &str, plural: &str| {
        crate::routing::router::offer(api::resources::find(group, version, plural, "status").unwrap())
    };
    assert_eq!(offer("apps", "v1", "deployments"), Offer::Tables);
    assert_eq!(offer("apiextensions.k8s.io", "v1", "customresourcedefinitions"), Offer::Metadata);
    assert_eq!(offer("resource.k8s.io", "v1", "resourceclaims"), Offer::Metadata);
}
