//! Comparison of Table rows with those of Kubernetes v1.37.2 (`testdata/tables.json.gz`). Each kind has the
//! objects from the archives in `pkg/schema/testdata`: one with every field set, at most three random ones, and one
//! with every field present and empty.
//!
//! The recording server served every version and read the objects from etcd, where they were written as JSON of the
//! listed version. It sets defaults and normalizes on decode, so the objects are prepared in the same way. `now` is its
//! clock in Unix seconds.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may say what must hold"
)]

#[path = "../../schema/testdata/files.rs"]
mod testdata;

use component_base::features::Gates;
use std::collections::BTreeMap;
use std::io::Read;

use api::conversion::normalise_for_storage;
use api::resources::{self, Resource};
use apimachinery::time::UnixTime;
use jsontree::{Value, json};
use kinds::printers::{Printer, Row, Subject};
use schema::object::Object;

/// Suffix of a row's object name after `tbl-`, and the file of its kind in the archive.
const VARIANTS: [(&str, &str); 5] =
    [("head", "HEAD/"), ("r1", "r1"), ("r2", "r2"), ("r3", "r3"), ("shallow", "shallow")];

fn recorded() -> Object {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/tables.json.gz");
    let mut text = String::new();
    flate2::read::GzDecoder::new(&std::fs::read(path).unwrap()[..]).read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Returns the recording server's object after decoding.
fn object(files: &BTreeMap<String, Vec<u8>>, row: &Resource, variant: (&str, &str), now: UnixTime) -> Object {
    let group = if row.group.is_empty() { "core" } else { row.group };
    let kind = format!("{group}.{}.{}", row.version, row.kind);
    let path = match variant {
        (_, folder @ "HEAD/") => format!("{folder}{kind}.json"),
        (_, suffix) => format!("generated/{kind}.{suffix}.json"),
    };
    let text = files.get(&path).unwrap_or_else(|| panic!("no {path}"));
    let mut object = schema::json::decode(row.message, text).unwrap().object;
    kinds::defaults::apply(row.group_version, row.kind, &mut object, &Gates::default());
    kinds::defaults::stamp_taints(row.group_version, row.kind, &mut object, now);
    // Random annotations may not be numbers; they are then unchanged.
    let _ = normalise_for_storage(row.group, row.kind, &mut object);
    let metadata = object.entry("metadata").or_insert_with(|| json!({})).as_object_mut().unwrap();
    metadata.insert("name", format!("tbl-{}", variant.0).into());
    object
}

fn json_of(row: &Row<'_>) -> Value {
    let cells = row.cells.iter().map(|cell| {
        let mut out = Vec::new();
        cell.write(&mut out);
        serde_json::from_slice::<Value>(&out).unwrap()
    });
    let mut json_row = json!({ "cells": cells.collect::<Vec<_>>() });
    if let Some(condition) = row.condition {
        json_row["conditions"] = json!([{
            "type": condition.condition_type, "status": condition.status,
            "reason": condition.reason, "message": condition.message,
        }]);
    }
    json_row
}

/// Returns the row printed from a tree, and from bytes if they can be read in place.
fn rows(row: &Resource, object: &Object, now: UnixTime) -> Vec<Value> {
    let printer = Printer::of(row);
    let mut raw = Vec::new();
    schema::proto::encode(row.message, object, &mut raw).unwrap();
    let subjects = [Subject::tree(object), Subject::message(row.message, &raw)];
    subjects.iter().filter_map(|subject| printer.row(subject, now).ok()).map(|row| json_of(&row)).collect()
}

#[test]
fn cells_match_upstream_for_every_kind() {
    let mut files = testdata::files("fixtures");
    files.extend(testdata::files("generated"));
    let mut cells = 0;
    let mut wrong = Vec::new();
    for (table, recorded) in recorded() {
        let (group_version, plural) = table.split_once(' ').unwrap();
        let named = |row: &&Resource| {
            row.subresource.is_empty() && (row.group_version, row.plural) == (group_version, plural)
        };
        let row = resources::all().find(named).unwrap_or_else(|| panic!("no row for {table}"));
        let now = UnixTime::from_seconds(recorded["now"].as_i64().unwrap());
        for variant in VARIANTS {
            let Some(want) = recorded["rows"].get(variant.0) else { continue };
            cells += want["cells"].as_array().unwrap().len();
            let got = rows(row, &object(&files, row, variant, now), now);
            wrong.extend(
                got.iter().filter(|got| *got != want).map(|got| format!("{table}: {got} for {want}")),
            );
        }
    }
    assert!(cells > 1_500, "only {cells}");
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// Component statuses are not stored. Definitions and API services are stored as JSON, and parts of the
/// recording server act on every such object, so it could not store random ones. The other versions are
/// served only by a server that emulates an earlier release, with the columns of the newest version.
#[test]
fn all_other_kinds_are_recorded() {
    let recorded = recorded();
    let mut missing: Vec<String> = resources::all()
        .filter(|row| row.subresource.is_empty() && row.serves("list"))
        .map(|row| format!("{} {}", row.group_version, row.plural))
        .filter(|table| !recorded.contains_key(table))
        .collect();
    missing.sort();
    let strange = [
        "admissionregistration.k8s.io/v1beta1 validatingadmissionpolicies",
        "admissionregistration.k8s.io/v1beta1 validatingadmissionpolicybindings",
        "apiextensions.k8s.io/v1 customresourcedefinitions",
        "apiregistration.k8s.io/v1 apiservices",
        "certificates.k8s.io/v1alpha1 clustertrustbundles",
        "networking.k8s.io/v1beta1 ipaddresses",
        "networking.k8s.io/v1beta1 servicecidrs",
        "storage.k8s.io/v1beta1 volumeattributesclasses",
        "v1 componentstatuses",
    ];
    assert_eq!(missing, strange);
}
