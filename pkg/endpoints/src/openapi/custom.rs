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
use super::model::{Answer, Body, Kind, Operation, Parameter, PathItem, Queries, Text};
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

/// What upstream says of a list's metadata.
const LIST_METADATA: &str = "Standard list metadata. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";

/// What upstream says of these members of an embedded resource.
const EMBEDDED: [(&str, &str); 2] = [
    (
        "apiVersion",
        "apiVersion defines the versioned schema of this representation of an object. More info: \
         https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources",
    ),
    (
        "kind",
        "kind is a string value representing the type of this object. In CamelCase. More info: \
         https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds",
    ),
];

const OBJECTS: &[&str] = &["application/json", "application/yaml"];
/// Strategic merge needs Go types.
const PATCHES: &[&str] =
    &["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"];

/// The document of all custom resources of one group version.
pub fn custom_document(resources: &[CustomResource<'_>]) -> Vec<u8> {
    let queries = Queries::new();
    let paths = resources.iter().flat_map(|resource| resource.paths(&queries)).collect();
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
            add_object_members(schema, ["apiVersion", "kind"].map(|name| (name, of_any_object(name))));
        }
        object["x-kubernetes-group-version-kind"] = self.kinds(self.kind);
        let list = json!({
            "description": format!("{} is a list of {}", self.list_kind, self.kind),
            "type": "object",
            "required": ["items"],
            "properties": {
                "apiVersion": text_member(of_any_object("apiVersion")),
                "items": {
                    "description": format!("List of {}. More info: {CONVENTIONS}", self.plural),
                    "type": "array",
                    "items": reference(&own),
                },
                "kind": text_member(of_any_object("kind")),
                "metadata": {
                    "description": LIST_METADATA,
                    "allOf": [reference(IO_K8S_APIMACHINERY_PKG_APIS_META_V1_LISTMETA.name)],
                },
            },
            "x-kubernetes-group-version-kind": self.kinds(self.list_kind),
        });
        [(own, object), (self.definition_name(self.list_kind), list)]
    }

    fn kinds(&self, kind: &str) -> Value {
        json!([{ "group": self.group, "kind": kind, "version": self.version }])
    }

    fn paths(&self, queries: &Queries) -> Vec<PathItem> {
        let root = format!("/apis/{}/{}", self.group, self.version);
        let within = if self.namespaced { "/namespaces/{namespace}" } else { "" };
        let scope = if self.namespaced { Scope::Namespace } else { Scope::Cluster };
        let collection = format!("{root}{within}/{}", self.plural);
        let own: Text = self.definition_name(self.kind).into();
        let mut items = vec![
            PathItem {
                path: format!("{collection}/{{name}}"),
                operations: vec![
                    self.read(queries, scope, "", &own),
                    self.replace(queries, scope, "", &own),
                    self.delete(queries, scope),
                    self.patch(queries, scope, "", &own),
                ],
            },
            PathItem {
                path: collection.clone(),
                operations: vec![
                    self.list(queries, scope),
                    self.create(queries, scope, own.clone()),
                    self.delete_collection(queries, scope),
                ],
            },
        ];
        if self.namespaced {
            let operations = vec![self.list(queries, Scope::AllNamespaces)];
            items.push(PathItem { path: format!("{root}/{}", self.plural), operations });
        }
        let scale = Text::from(IO_K8S_API_AUTOSCALING_V1_SCALE.name);
        for (served, name, definition) in [(self.status, "status", &own), (self.scale, "scale", &scale)] {
            if served {
                let operations = vec![
                    self.read(queries, scope, name, definition),
                    self.replace(queries, scope, name, definition),
                    self.patch(queries, scope, name, definition),
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
        description: String,
        answer: Text,
    ) -> Operation {
        let [verb, scope, suffix] = id;
        let (words, tag) = names::group_version(self.group, self.version);
        Operation {
            method,
            id: [verb, &words, scope, self.kind, suffix].concat(),
            description,
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

    fn parameters(&self, scope: Scope, named: bool, own: &[Parameter]) -> Vec<Parameter> {
        let others = own.iter().cloned().chain([Parameter::pretty()]);
        parameters(scope, named.then_some(self.kind), others)
    }

    fn read(&self, queries: &Queries, scope: Scope, subresource: &str, definition: &Text) -> Operation {
        let id = ["read", word(scope), &names::title(subresource)];
        let description = names::description("read", subresource, "the specified", self.kind);
        let mut operation = self.operation("get", "get", id, description, definition.clone());
        operation.parameters = self.parameters(scope, true, &queries.get);
        operation
    }

    fn replace(&self, queries: &Queries, scope: Scope, subresource: &str, definition: &Text) -> Operation {
        let id = ["replace", word(scope), &names::title(subresource)];
        let description = names::description("replace", subresource, "the specified", self.kind);
        let mut operation = self.operation("put", "put", id, description, definition.clone());
        operation.body = Some(Body { definition: definition.clone(), required: true });
        operation.codes = OK_CREATED;
        operation.parameters = self.parameters(scope, true, &queries.update);
        operation
    }

    fn patch(&self, queries: &Queries, scope: Scope, subresource: &str, definition: &Text) -> Operation {
        let id = ["patch", word(scope), &names::title(subresource)];
        let description = names::description("partially update", subresource, "the specified", self.kind);
        let mut operation = self.operation("patch", "patch", id, description, definition.clone());
        operation.body = Some(Body { definition: PATCH.into(), required: true });
        operation.consumes = PATCHES;
        operation.parameters = self.parameters(scope, true, &queries.patch);
        operation
    }

    fn delete(&self, queries: &Queries, scope: Scope) -> Operation {
        let id = ["delete", word(scope), ""];
        let description = names::description("delete", "", names::article(self.kind), self.kind);
        let mut operation = self.operation("delete", "delete", id, description, STATUS.into());
        operation.body = Some(Body { definition: DELETE_OPTIONS.into(), required: false });
        operation.codes = OK_ACCEPTED;
        operation.parameters = self.parameters(scope, true, &queries.delete);
        operation
    }

    fn list(&self, queries: &Queries, scope: Scope) -> Operation {
        let suffix = if scope == Scope::AllNamespaces { "ForAllNamespaces" } else { "" };
        let list = self.definition_name(self.list_kind).into();
        let description = names::description("list", "", "objects of kind", self.kind);
        let mut operation = self.operation("get", "list", ["list", word(scope), suffix], description, list);
        operation.parameters = self.parameters(scope, false, &queries.list);
        operation
    }

    fn create(&self, queries: &Queries, scope: Scope, definition: Text) -> Operation {
        let id = ["create", word(scope), ""];
        let description = names::description("create", "", names::article(self.kind), self.kind);
        let mut operation = self.operation("post", "post", id, description, definition.clone());
        operation.body = Some(Body { definition, required: true });
        operation.codes = CREATED;
        operation.parameters = self.parameters(scope, false, &queries.create);
        operation
    }

    /// Upstream lists the options of a list here, those of a watch included, and no body.
    fn delete_collection(&self, queries: &Queries, scope: Scope) -> Operation {
        let word = if scope == Scope::Namespace { "CollectionNamespaced" } else { "Collection" };
        let description = names::description("delete collection of", "", "", self.kind);
        let id = ["delete", word, ""];
        let mut operation = self.operation("delete", "deletecollection", id, description, STATUS.into());
        operation.parameters = self.parameters(scope, false, &queries.list);
        operation
    }
}

fn word(scope: Scope) -> &'static str {
    if scope == Scope::Namespace { "Namespaced" } else { "" }
}

fn reference(name: &str) -> Value {
    let target = [Dialect::V3.reference_prefix(), name].concat();
    json!({ "$ref": target })
}

/// What every object has, whatever its schema says of it; with the texts of `apiVersion` and `kind`.
fn add_object_members(schema: &mut Map<String, Value>, type_meta: [(&str, &str); 2]) {
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        for (name, description) in type_meta {
            properties.insert(name.to_owned(), text_member(description));
        }
        let metadata = json!({
            "description": of_any_object("metadata"),
            "allOf": [reference(IO_K8S_APIMACHINERY_PKG_APIS_META_V1_OBJECTMETA.name)],
        });
        properties.insert("metadata".to_owned(), metadata);
    }
}

/// `apiVersion` or `kind`.
fn text_member(description: &str) -> Value {
    json!({ "description": description, "type": "string" })
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
        add_object_members(&mut out, EMBEDDED);
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
