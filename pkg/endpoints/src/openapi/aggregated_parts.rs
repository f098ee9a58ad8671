//! Merges the OpenAPI 2.0 documents of aggregated API servers with this server's (upstream's
//! `kube-openapi/pkg/aggregator`).

use std::collections::{BTreeMap, BTreeSet};

use api::catalog::{Catalog, Owner};
use bytes::Bytes;
use jsontree::{Object, Value, json};

const DEFINITION: &str = "#/definitions/";
const PARAMETER: &str = "#/parameters/";
const KINDS: &str = "x-kubernetes-group-version-kind";

type NamedSchemas = BTreeMap<String, Value>;

/// Error of an aggregated server's OpenAPI document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    #[error(transparent)]
    Json(#[from] schema::json::Error),
    #[error("the document has no paths")]
    NoPaths,
}

/// Extracts the part of an aggregated server's document for one version: its paths and everything that they
/// refer to.
///
/// # Errors
/// The document is invalid.
pub fn part_of_version(document: &[u8], group: &str, version: &str) -> Result<Bytes, DocumentError> {
    let document = schema::json::decode_untyped(document)?.value;
    let member = |name: &str| document.get(name).and_then(Value::as_object);
    let prefix = format!("/apis/{group}/{version}/");
    let paths = member("paths").ok_or(DocumentError::NoPaths)?;
    let paths: Object = paths
        .iter()
        .filter(|(path, _)| path.starts_with(&prefix))
        .map(|(path, item)| (path.clone(), item.clone()))
        .collect();
    let mut part = json!({ "paths": paths, "definitions": {}, "parameters": {} });
    let mut pending = Vec::new();
    references(&part, &mut pending);
    let mut seen = BTreeSet::new();
    while let Some(reference) = pending.pop() {
        if !seen.insert(reference.clone()) {
            continue;
        }
        let target =
            [("definitions", DEFINITION), ("parameters", PARAMETER)].into_iter().find_map(|(kind, at)| {
                let name = reference.strip_prefix(at)?;
                Some((kind, name, member(kind)?.get(name)?))
            });
        if let Some((kind, name, value)) = target {
            references(value, &mut pending);
            if let Some(Value::Object(members)) = part.get_mut(kind) {
                members.insert(name.to_owned(), value.clone());
            }
        }
    }
    Ok(part.to_string().into())
}

fn references(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get("$ref") {
                names.push(reference.to_string());
            }
            members.values().for_each(|value| references(value, names));
        }
        Value::Array(values) => values.iter().for_each(|value| references(value, names)),
        _ => {}
    }
}

/// Parts of `/openapi/v2` from aggregated servers.
#[derive(Debug, Default)]
pub(super) struct AggregatedParts {
    /// By path.
    pub(super) paths: NamedSchemas,
    /// By name; distinct from this server's names.
    pub(super) definitions: NamedSchemas,
    /// By name.
    pub(super) parameters: NamedSchemas,
    /// Additional kinds of this server's definitions in other servers: group, version and kind, by name.
    pub(super) kinds: BTreeMap<String, Vec<[String; 3]>>,
}

impl AggregatedParts {
    /// Merges all documents in a catalog. `own` returns this server's definition of a name.
    pub(super) fn of(catalog: &Catalog, local_definition: impl Fn(&str) -> Option<Value>) -> Self {
        let mut foreign = AggregatedParts::default();
        let versions = catalog.groups().filter(|_| catalog.has_proxied()).flat_map(|group| &group.versions);
        for version in versions {
            if let Owner::Proxied(proxied) = &version.owner
                && let Some(part) = &proxied.swagger
                && let Ok(part) = serde_json::from_slice(part)
            {
                foreign.add(part, &local_definition);
            }
        }
        foreign
    }

    /// Adds a part. A definition that differs from an existing one with the same name is renamed.
    fn add(&mut self, mut part: Value, local_definition: &impl Fn(&str) -> Option<Value>) {
        let mut renamed = BTreeMap::new();
        let mut added = Vec::new();
        for (name, definition) in take_object(&mut part, "definitions") {
            let existing =
                |name: &str| self.definitions.get(name).cloned().or_else(|| local_definition(name));
            match free_name(&name, &definition, existing) {
                Name::Existing(existing_name) => {
                    self.kinds.entry(existing_name.clone()).or_default().extend(kinds_of(&definition));
                    if existing_name != name {
                        renamed.insert(name.into(), existing_name);
                    }
                }
                Name::Free(free) => {
                    if free != name {
                        renamed.insert(name.into(), free.clone());
                    }
                    added.push(free.clone());
                    self.definitions.insert(free, definition);
                }
            }
        }
        for name in &added {
            self.definitions.get_mut(name).into_iter().for_each(|definition| rename(definition, &renamed));
        }
        for (path, mut item) in take_object(&mut part, "paths") {
            rename(&mut item, &renamed);
            self.paths.entry(path.into()).or_insert(item);
        }
        for (name, mut parameter) in take_object(&mut part, "parameters") {
            rename(&mut parameter, &renamed);
            self.parameters.entry(name.into()).or_insert(parameter);
        }
    }
}

fn kinds_of(definition: &Value) -> impl Iterator<Item = [String; 3]> {
    let kinds = definition.get(KINDS).and_then(Value::as_array).into_iter().flatten();
    kinds.map(|kind| {
        ["group", "version", "kind"]
            .map(|name| kind.get(name).and_then(Value::as_str).unwrap_or_default().to_owned())
    })
}

fn take_object(part: &mut Value, name: &str) -> Object {
    match part.get_mut(name).map(Value::take) {
        Some(Value::Object(members)) => members,
        _ => Object::new(),
    }
}

enum Name {
    /// An equal definition exists under this name.
    Existing(String),
    /// The name is not used.
    Free(String),
}

fn free_name(name: &str, definition: &Value, existing: impl Fn(&str) -> Option<Value>) -> Name {
    let names = (2u32..).map(|number| format!("{name}_v{number}"));
    for candidate in std::iter::once(name.to_owned()).chain(names) {
        match existing(&candidate) {
            None => return Name::Free(candidate),
            Some(conflicting) if is_same(&conflicting, definition) => return Name::Existing(candidate),
            Some(_) => {}
        }
    }
    Name::Free(name.to_owned())
}

/// True if two definitions are equal. Their kinds are ignored, because they depend on the server.
fn is_same(a: &Value, b: &Value) -> bool {
    let without_kinds = |value: &Value| {
        let mut value = value.clone();
        value.as_object_mut().map(|members| members.remove(KINDS));
        value
    };
    without_kinds(a) == without_kinds(b)
}

fn rename(value: &mut Value, renamed: &BTreeMap<String, String>) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get_mut("$ref")
                && let Some(new) = reference.strip_prefix(DEFINITION).and_then(|name| renamed.get(name))
            {
                *reference = format!("{DEFINITION}{new}").into();
            }
            members.values_mut().for_each(|value| rename(value, renamed));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| rename(value, renamed)),
        _ => {}
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn document() -> Value {
        let operation = |definition: &str| {
            json!({"get": {
                "parameters": [{"$ref": "#/parameters/pretty"}],
                "responses": {"200": {"schema": {"$ref": format!("{DEFINITION}{definition}")}}},
            }})
        };
        json!({
            "swagger": "2.0",
            "paths": {
                "/apis/": operation("Unrelated"),
                "/apis/example.com/v1/things": operation("Thing"),
                "/apis/example.com/v10/things": operation("Unrelated"),
            },
            "definitions": {
                "Thing": {"properties": {"spec": {"$ref": "#/definitions/Spec"}}},
                "Spec": {"properties": {"again": {"$ref": "#/definitions/Spec"}}},
                "Unrelated": {},
            },
            "parameters": {"pretty": {"name": "pretty"}, "other": {}},
        })
    }

    fn names(value: &Value) -> Vec<&str> {
        value.as_object().unwrap().keys().map(jsontree::Key::as_str).collect()
    }

    #[test]
    fn part_contains_only_needed_definitions() {
        let part = part_of_version(document().to_string().as_bytes(), "example.com", "v1").unwrap();
        let part: Value = serde_json::from_slice(&part).unwrap();
        assert_eq!(names(&part["paths"]), ["/apis/example.com/v1/things"]);
        assert_eq!(names(&part["definitions"]), ["Spec", "Thing"]);
        assert_eq!(names(&part["parameters"]), ["pretty"]);
        assert!(part_of_version(b"[]", "example.com", "v1").is_err());
        assert!(part_of_version(b"{", "example.com", "v1").is_err());
    }

    #[test]
    fn conflicting_definition_is_renamed() {
        let local_definition = |name: &str| (name == "Spec").then(|| json!({"type": "string"}));
        let mut foreign = AggregatedParts::default();
        foreign.add(document(), &local_definition);
        let definitions: Vec<&str> = foreign.definitions.keys().map(String::as_str).collect();
        assert_eq!(definitions, ["Spec_v2", "Thing", "Unrelated"]);
        let refers = &foreign.definitions["Thing"]["properties"]["spec"]["$ref"];
        assert_eq!(refers, "#/definitions/Spec_v2");
    }

    #[test]
    fn equal_definition_is_shared() {
        let local_definition = |name: &str| (name == "Unrelated").then(|| json!({KINDS: [{"kind": "A"}]}));
        let mut foreign = AggregatedParts::default();
        let mut document = document();
        document["definitions"]["Unrelated"] =
            json!({KINDS: [{"group": "example.com", "version": "v1", "kind": "B"}]});
        foreign.add(document, &local_definition);
        let definitions: Vec<&str> = foreign.definitions.keys().map(String::as_str).collect();
        assert_eq!(definitions, ["Spec", "Thing"]);
        assert_eq!(foreign.kinds["Unrelated"], [["example.com", "v1", "B"].map(str::to_owned)]);
        assert_eq!(foreign.paths.len(), 3);
    }
}
