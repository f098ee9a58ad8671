//! Comparison of API groups, resource rows and Table columns with upstream's (`testdata/resources.jsonl`).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

use std::collections::{BTreeMap, BTreeSet};

use api::resources::{self, DefaultGc, Encoding, Group, Resource};
use component_base::features::Release;
use kinds::printers::Printer;
use serde_json::{Map, Value, json};

/// One line per API group, and one per resource and subresource (`cargo xtask release`).
const UPSTREAM: &str = include_str!("../testdata/resources.jsonl");

/// Facts that upstream does not state for every resource, and that then have no effect.
const OPTIONAL: [&str; 9] = [
    "allowCreateOnUpdate",
    "allowUnconditionalUpdate",
    "columns",
    "fieldSelectors",
    "generation",
    "getOptions",
    "gracefulDelete",
    "resetFields",
    "returnDeletedObject",
];

/// Facts about a resource.
type Facts = Map<String, Value>;

/// Returns upstream's lines for groups (`key` is `group`) or resources (`gv`).
fn upstream(key: &str) -> Vec<Facts> {
    let lines = UPSTREAM.lines().map(|line| serde_json::from_str::<Facts>(line).unwrap());
    lines.filter(|facts| facts.contains_key(key)).collect()
}

/// Returns a row in the form of upstream's facts.
fn facts(row: &Resource) -> Facts {
    let mut facts = json!({
        "gv": row.group_version,
        "resource": row.path(),
        "kind": row.kind,
        "singular": row.singular,
        "shortNames": row.short_names,
        "categories": row.categories,
        "namespaced": row.namespaced,
        "verbs": row.verbs,
        "offByDefault": row.off_by_default,
        "storageVersionHash": row.storage_version_hash,
        "allowCreateOnUpdate": row.allow_create_on_update,
        "allowUnconditionalUpdate": row.allow_unconditional_update,
        "generation": row.sets_generation,
        "gracefulDelete": row.graceful_delete,
        "returnDeletedObject": row.returns_deleted_object,
        "ttlSeconds": row.ttl_seconds,
        "fieldSelectors": field_selectors(row),
        "indexFields": row.index_fields,
        "resetFields": row.reset_fields.iter().collect::<BTreeSet<_>>(),
        "watchCache": row.watch_cache,
        "connectMethods": row.connect.map(|connect| connect.methods),
        "columns": columns(row),
    });
    let facts = facts.as_object_mut().unwrap();
    facts.extend(rare(row));
    std::mem::take(facts)
}

/// Returns stored fields by label. A label without a field is accepted, but no object has a value for it.
fn field_selectors<'a>(row: &Resource<'a>) -> BTreeMap<&'a str, &'a str> {
    let labels = row.field_selectors.iter().copied();
    labels.map(|(label, path)| (label, if path.is_empty() { label } else { path })).collect()
}

fn columns(row: &Resource) -> Vec<Value> {
    let printer = Printer::of(row);
    let declared = printer.columns().filter(|column| column.is_declared);
    declared.map(|column| json!([column.name, column.kind, column.format, column.priority])).collect()
}

fn rare(row: &Resource) -> Facts {
    let minor = |minor: Option<u32>| minor.map(|minor| Value::from(format!("1.{minor}")));
    let mut facts = Facts::new();
    let mut add =
        |key: &str, value: Option<Value>| drop(value.map(|value| facts.insert(key.to_owned(), value)));
    add("introduced", minor(row.lifecycle.introduced));
    add("deprecated", minor(row.lifecycle.deprecated));
    add("removed", minor(row.lifecycle.removed));
    add("replacement", Some(row.lifecycle.replacement.into()));
    let of_other_group = row.kind_group_version != row.group_version;
    add("kindGV", of_other_group.then(|| row.kind_group_version.into()));
    add(
        "gcPolicy",
        match row.default_gc {
            DefaultGc::DeleteDependents => None,
            DefaultGc::OrphanDependents => Some("OrphanDependents".into()),
            DefaultGc::Unsupported => Some("Unsupported".into()),
        },
    );
    if let Some(storage) = row.storage {
        let encoding = if storage.encoding == Encoding::Json { "json" } else { "protobuf" };
        add("storageEncoding", Some(encoding.into()));
        add("storageVersion", Some(format!("{} {}", storage.group_version, storage.kind).into()));
        add("etcd", Some(format!("/registry/{}/", storage.prefix).into()));
    }
    facts
}

/// Returns upstream's facts without those that no row states.
fn comparable(mut facts: Facts) -> Facts {
    for key in ["gc", "connectOptions", "getOptions", "produces"] {
        facts.remove(key);
    }
    if let Some(Value::Object(by_version)) = facts.get("resetFields") {
        let gv = facts.get("gv").and_then(Value::as_str).unwrap();
        let own = by_version.get(gv).cloned().unwrap_or_default();
        facts.insert("resetFields".to_owned(), own);
    }
    if facts.get("gcPolicy").is_some_and(|policy| policy == "DeleteDependents") {
        facts.remove("gcPolicy");
    }
    facts
}

/// True if a fact can be left out.
fn is_default(key: &str, value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::Bool(value)) => *value == (key == "watchCache"),
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Array(list)) => list.is_empty(),
        Some(Value::Object(map)) => map.is_empty(),
        Some(Value::Number(_)) => false,
    }
}

fn differences(row: &Facts, upstream: &Facts) -> Vec<String> {
    let keys: BTreeSet<&String> = row.keys().chain(upstream.keys()).collect();
    let compared = keys.into_iter().filter(|key| {
        let own = row.get(*key);
        let wanted = upstream.get(*key);
        let both_default = is_default(key, own) && is_default(key, wanted);
        let not_stated = wanted.is_none() && OPTIONAL.contains(&key.as_str());
        own != wanted && !both_default && !not_stated
    });
    compared.map(|key| format!("{key}: {:?}, upstream {:?}", row.get(key), upstream.get(key))).collect()
}

fn name(facts: &Facts) -> String {
    format!("{} {}", facts["gv"].as_str().unwrap(), facts["resource"].as_str().unwrap())
}

fn is_removed(row: &Resource) -> bool {
    row.lifecycle.removed.is_some_and(|minor| Release::minor_of_1(minor) <= Release::THIS)
}

#[test]
fn rows_and_columns_equal_upstreams() {
    let mut rows: BTreeMap<String, Facts> =
        resources::all().filter(|row| !is_removed(row)).map(facts).map(|row| (name(&row), row)).collect();
    let mut found = Vec::new();
    for upstream in upstream("gv").into_iter().map(comparable) {
        let name = name(&upstream);
        match rows.remove(&name) {
            None => found.push(format!("{name}: no row")),
            Some(row) => {
                found.extend(differences(&row, &upstream).into_iter().map(|text| format!("{name} {text}")));
            }
        }
    }
    found.extend(rows.keys().map(|name| format!("{name}: unknown to upstream")));
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn groups_and_versions_equal_upstreams() {
    let group = |group: &Group| {
        let served = |version: &str| !group.resources_of(version).iter().all(is_removed);
        let versions = group.versions.iter().filter(|version| served(version.version)).map(|version| {
            let priority = group.priority.map(|_| version.priority);
            json!({"gv": version.group_version, "priority": priority, "enabled": version.on_by_default})
        });
        json!({"group": group.name, "groupPriority": group.priority, "versions": versions.collect::<Vec<_>>()})
    };
    let groups: Vec<Value> = resources::groups().iter().map(group).collect();
    let upstream: Vec<Value> = upstream("group").into_iter().map(Value::from).collect();
    assert_eq!(groups, upstream);
}
