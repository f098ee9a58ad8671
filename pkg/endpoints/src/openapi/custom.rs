//! The OpenAPI 3.0 document of a version of custom resources.

use std::collections::BTreeMap;

use api::descriptions::of_any_object;
use schema::builtin::{
    IO_K8S_API_AUTOSCALING_V1_SCALE, IO_K8S_APIMACHINERY_PKG_APIS_META_V1_LISTMETA,
    IO_K8S_APIMACHINERY_PKG_APIS_META_V1_OBJECTMETA,
};
use schema::openapi::Dialect;
use serde_json::{Map, Value, json};

use super::content::Content;
use super::model::{
    Answer, Body, DELETE, FORCE, GET, Kind, LIST, Operation, PRETTY, Parameter, PathItem, Text, WRITE,
};
use super::names;
use super::paths::{CREATED, DELETE_OPTIONS, OK, OK_ACCEPTED, OK_CREATED, PATCH, STATUS, Scope, parameters};

/// A custom resource in one version.
#[derive(Debug, Clone, Copy)]
pub struct CustomResource<'a> {
    /// API group.
    pub group: &'a str,
    /// Version.
    pub version: &'a str,
    /// Plural name.
    pub plural: &'a str,
    /// Kind.
    pub kind: &'a str,
    /// Kind of a list.
    pub list_kind: &'a str,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// Whether there is a `status` subresource.
    pub status: bool,
    /// Whether there is a `scale` subresource.
    pub scale: bool,
    /// The structural schema of the version; none where there is none or it is not structural.
    pub schema: Option<&'a Value>,
}

/// Where upstream sends readers of a list's description.
const CONVENTIONS: &str =
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";

const OBJECTS: &[&str] = &["application/json", "application/yaml"];
/// Strategic merge needs Go types.
const PATCHES: &[&str] =
    &["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"];

/// The document of all custom resources of one group version.
pub fn custom_document(resources: &[CustomResource<'_>]) -> Vec<u8> {
    let paths = resources.iter().flat_map(CustomResource::paths).collect();
    let definitions: BTreeMap<String, Value> =
        resources.iter().flat_map(CustomResource::definitions).collect();
    super::v3::document(&Content::of_custom(paths, definitions))
}

impl CustomResource<'_> {
    /// The group backwards, the version and a kind.
    fn definition_name(&self, kind: &str) -> String {
        let mut words: Vec<&str> = self.group.split('.').rev().collect();
        words.extend([self.version, kind]);
        words.join(".")
    }

    fn definitions(&self) -> [(String, Value); 2] {
        let own = self.definition_name(self.kind);
        let mut object = self.schema.map_or_else(|| json!({ "type": "object" }), with_embedded_resources);
        if let (Some(_), Some(schema)) = (self.schema, object.as_object_mut()) {
            add_object_members(schema);
        }
        object["x-kubernetes-group-version-kind"] = self.kinds(self.kind);
        let list = json!({
            "description": format!("{} is a list of {}", self.list_kind, self.kind),
            "type": "object",
            "required": ["items"],
            "properties": {
                "apiVersion": text_member("apiVersion"),
                "items": {
                    "description": format!("List of {}. More info: {CONVENTIONS}", self.plural),
                    "type": "array",
                    "items": reference(&own),
                },
                "kind": text_member("kind"),
                "metadata": { "allOf": [reference(IO_K8S_APIMACHINERY_PKG_APIS_META_V1_LISTMETA.name)] },
            },
            "x-kubernetes-group-version-kind": self.kinds(self.list_kind),
        });
        [(own, object), (self.definition_name(self.list_kind), list)]
    }

    fn kinds(&self, kind: &str) -> Value {
        json!([{ "group": self.group, "kind": kind, "version": self.version }])
    }

    fn paths(&self) -> Vec<PathItem> {
        let root = format!("/apis/{}/{}", self.group, self.version);
        let within = if self.namespaced { "/namespaces/{namespace}" } else { "" };
        let scope = if self.namespaced { Scope::Namespace } else { Scope::Cluster };
        let collection = format!("{root}{within}/{}", self.plural);
        let own: Text = self.definition_name(self.kind).into();
        let mut items = vec![
            PathItem {
                path: format!("{collection}/{{name}}"),
                operations: vec![
                    self.read(scope, "", &own),
                    self.replace(scope, "", &own),
                    self.delete(scope),
                    self.patch(scope, "", &own),
                ],
            },
            PathItem {
                path: collection.clone(),
                operations: vec![
                    self.list(scope),
                    self.create(scope, own.clone()),
                    self.delete_collection(scope),
                ],
            },
        ];
        if self.namespaced {
            let operations = vec![self.list(Scope::AllNamespaces)];
            items.push(PathItem { path: format!("{root}/{}", self.plural), operations });
        }
        let scale = Text::from(IO_K8S_API_AUTOSCALING_V1_SCALE.name);
        for (served, name, definition) in [(self.status, "status", &own), (self.scale, "scale", &scale)] {
            if served {
                let operations = vec![
                    self.read(scope, name, definition),
                    self.replace(scope, name, definition),
                    self.patch(scope, name, definition),
                ];
                items.push(PathItem { path: format!("{collection}/{{name}}/{name}"), operations });
            }
        }
        items
    }

    fn operation(
        &self,
        method: &'static str,
        action: &'static str,
        id: [&str; 3],
        answer: Text,
    ) -> Operation {
        let [verb, scope, suffix] = id;
        let (words, tag) = names::group_version(self.group, self.version);
        Operation {
            method,
            id: [verb, &words, scope, self.kind, suffix].concat(),
            tag,
            action,
            kind: Some(Kind {
                group: self.group.to_owned().into(),
                version: self.version.to_owned().into(),
                kind: self.kind.to_owned().into(),
            }),
            parameters: Vec::new(),
            body: None,
            codes: OK,
            answer: Answer::Object(answer),
            consumes: OBJECTS,
            produces: OBJECTS,
        }
    }

    fn read(&self, scope: Scope, subresource: &str, definition: &Text) -> Operation {
        let id = ["read", word(scope), &names::title(subresource)];
        let operation = self.operation("get", "get", id, definition.clone());
        with(operation, scope, true, &[GET])
    }

    fn replace(&self, scope: Scope, subresource: &str, definition: &Text) -> Operation {
        let id = ["replace", word(scope), &names::title(subresource)];
        let mut operation = self.operation("put", "put", id, definition.clone());
        operation.body = Some(Body { definition: definition.clone(), required: true });
        operation.codes = OK_CREATED;
        with(operation, scope, true, &WRITE)
    }

    fn patch(&self, scope: Scope, subresource: &str, definition: &Text) -> Operation {
        let id = ["patch", word(scope), &names::title(subresource)];
        let mut operation = self.operation("patch", "patch", id, definition.clone());
        operation.body = Some(Body { definition: PATCH.into(), required: true });
        operation.consumes = PATCHES;
        let [a, b, c] = WRITE;
        with(operation, scope, true, &[a, b, c, FORCE])
    }

    fn delete(&self, scope: Scope) -> Operation {
        let mut operation = self.operation("delete", "delete", ["delete", word(scope), ""], STATUS.into());
        operation.body = Some(Body { definition: DELETE_OPTIONS.into(), required: false });
        operation.codes = OK_ACCEPTED;
        with(operation, scope, true, &DELETE)
    }

    fn list(&self, scope: Scope) -> Operation {
        let suffix = if scope == Scope::AllNamespaces { "ForAllNamespaces" } else { "" };
        let list = self.definition_name(self.list_kind).into();
        with(self.operation("get", "list", ["list", word(scope), suffix], list), scope, false, &LIST)
    }

    fn create(&self, scope: Scope, definition: Text) -> Operation {
        let mut operation = self.operation("post", "post", ["create", word(scope), ""], definition.clone());
        operation.body = Some(Body { definition, required: true });
        operation.codes = CREATED;
        with(operation, scope, false, &WRITE)
    }

    /// Upstream lists the options of a list here, those of a watch included, and no body.
    fn delete_collection(&self, scope: Scope) -> Operation {
        let word = if scope == Scope::Namespace { "CollectionNamespaced" } else { "Collection" };
        let operation = self.operation("delete", "deletecollection", ["delete", word, ""], STATUS.into());
        with(operation, scope, false, &LIST)
    }
}

fn word(scope: Scope) -> &'static str {
    if scope == Scope::Namespace { "Namespaced" } else { "" }
}

fn with(mut operation: Operation, scope: Scope, named: bool, own: &[Parameter]) -> Operation {
    operation.parameters = parameters(scope, named, own.iter().copied().chain([PRETTY]));
    operation
}

fn reference(name: &str) -> Value {
    let target = [Dialect::V3.reference_prefix(), name].concat();
    json!({ "$ref": target })
}

/// What every object has, whatever its schema says of it.
fn add_object_members(schema: &mut Map<String, Value>) {
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        for name in ["apiVersion", "kind"] {
            properties.insert(name.to_owned(), text_member(name));
        }
        let metadata = json!({
            "description": of_any_object("metadata"),
            "allOf": [reference(IO_K8S_APIMACHINERY_PKG_APIS_META_V1_OBJECTMETA.name)],
        });
        properties.insert("metadata".to_owned(), metadata);
    }
}

/// `apiVersion` or `kind`.
fn text_member(name: &str) -> Value {
    json!({ "description": of_any_object(name), "type": "string" })
}

/// A copy of a schema in which embedded resources have the members of objects. The depth is bounded
/// by that of the CustomResourceDefinition, which was decoded under a limit.
fn with_embedded_resources(schema: &Value) -> Value {
    let Some(members) = schema.as_object() else { return schema.clone() };
    let mut out = Map::new();
    for (name, value) in members {
        let value = match (name.as_str(), value.as_object()) {
            ("properties", Some(properties)) => properties
                .iter()
                .map(|(name, value)| (name.clone(), with_embedded_resources(value)))
                .collect(),
            ("items" | "additionalProperties", _) => with_embedded_resources(value),
            _ => value.clone(),
        };
        out.insert(name.clone(), value);
    }
    if out.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true)) {
        add_object_members(&mut out);
        let required = out.entry("required").or_insert_with(|| json!([]));
        if let Some(required) = required.as_array_mut() {
            for name in ["kind", "apiVersion"].map(Value::from) {
                if !required.contains(&name) {
                    required.push(name);
                }
            }
        }
    }
    Value::Object(out)
}
