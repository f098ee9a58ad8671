//! OpenAPI content for custom resources.

mod schema;

use ::schema::builtin::{
    IO_K8S_API_AUTOSCALING_V1_SCALE, IO_K8S_APIMACHINERY_PKG_APIS_META_V1_LISTMETA as LIST_META,
};
use ::schema::json_write;
use ::schema::openapi::{Dialect, Writer};
use api::catalog::{Catalog, Owner, Version};
use api::descriptions::of_any_object;
use api::resources::Resource;
use api::resources::custom::CustomVersion;
use jsontree::{Object, Value, json};

use self::schema::{published, reference, referring_member, text_member};
use super::model::{Body, Kind, Operation, Parameter, PathItem, Queries, ResponseBody, Text};
use super::names;
use super::paths::{CREATED, DELETE_OPTIONS, OK, OK_ACCEPTED, OK_CREATED, PATCH, STATUS, Scope, parameters};

#[derive(Debug, Clone, Copy)]
pub(super) struct CustomResource<'a> {
    pub(super) group: &'a str,
    pub(super) version: &'a str,
    pub(super) plural: &'a str,
    pub(super) kind: &'a str,
    pub(super) list_kind: &'a str,
    pub(super) namespaced: bool,
    /// True if it has a `status` subresource.
    pub(super) status: bool,
    /// True if it has a `scale` subresource.
    pub(super) scale: bool,
    /// The version with its structural schema.
    custom_version: &'a CustomVersion,
    /// `spec.preserveUnknownFields`: fields without a schema are not pruned.
    pub(super) preserve_unknown_fields: bool,
    /// Selectable fields, without the leading dot.
    pub(super) selectable: &'a [String],
}

/// Definition of a custom resource or of its list. The schema is parsed when it is written, because
/// `/openapi/v2` may contain thousands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Definition<'a> {
    resource: CustomResource<'a>,
    list: bool,
}

/// Link in the description of a list.
const CONVENTIONS: &str =
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";

/// Description of a list's metadata.
const LIST_METADATA: &str = "Standard list metadata. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";

const OBJECTS: &[&str] = &["application/json", "application/yaml"];
/// Without strategic merge patch, which needs Go types.
const PATCHES: &[&str] =
    &["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"];

/// Versions of groups with CRDs, with their group names.
pub(super) fn versions(catalog: &Catalog) -> impl Iterator<Item = (&str, &Version)> {
    let versions = catalog.groups().flat_map(|group| group.versions.iter().map(|v| (group.name.as_str(), v)));
    versions.filter(|(_, version)| version.owner == Owner::Custom)
}

pub(super) fn resources(version: &Version) -> impl Iterator<Item = CustomResource<'_>> {
    version.endpoints.iter().filter_map(|endpoint| CustomResource::of(endpoint.row.row()))
}

impl<'a> CustomResource<'a> {
    /// Returns the custom resource of a row; `None` for a subresource.
    fn of(row: &'a Resource<'a>) -> Option<Self> {
        let custom = row.custom.filter(|_| row.subresource.is_empty())?;
        Some(CustomResource {
            group: row.group,
            version: row.version,
            plural: row.plural,
            kind: row.kind,
            list_kind: &custom.kind.list_kind,
            namespaced: row.namespaced,
            status: custom.version.status,
            scale: custom.version.scale.is_some(),
            custom_version: custom.version,
            preserve_unknown_fields: custom.kind.preserve_unknown_fields,
            selectable: &custom.version.selectable,
        })
    }

    pub(super) fn definitions(self) -> [(String, Definition<'a>); 2] {
        let definition = |list| Definition { resource: self, list };
        [
            (self.definition_name(self.kind), definition(false)),
            (self.definition_name(self.list_kind), definition(true)),
        ]
    }
}

impl Definition<'_> {
    pub(super) fn write(&self, dialect: Dialect, w: &mut Writer) {
        let resource = &self.resource;
        let mut schema = if self.list { resource.list_schema(dialect) } else { resource.schema(dialect) };
        let kind = if self.list { resource.list_kind } else { resource.kind };
        let kinds = json!([{ "group": resource.group, "kind": kind, "version": resource.version }]);
        schema.insert("x-kubernetes-group-version-kind", kinds);
        if !resource.selectable.is_empty() {
            let fields = resource.selectable.iter().map(|path| json!({ "fieldPath": path }));
            schema.insert("x-kubernetes-selectable-fields", fields.collect());
        }
        let mut text = Vec::new();
        // Neither call fails, because decoders reject values that JSON cannot represent.
        let result = json_write::untyped(&Value::Object(schema), &mut text);
        let text = result.ok().and_then(|()| String::from_utf8(text).ok());
        w.raw(text.as_deref().unwrap_or("{}"));
    }
}

impl CustomResource<'_> {
    /// Reversed group name, version and kind.
    fn definition_name(&self, kind: &str) -> String {
        let mut words: Vec<&str> = self.group.split('.').rev().collect();
        words.extend([self.version, kind]);
        words.join(".")
    }

    fn schema(&self, dialect: Dialect) -> Object {
        published(self.custom_version.schema(), self.preserve_unknown_fields, dialect)
    }

    fn list_schema(&self, dialect: Dialect) -> Object {
        let properties = json!({
            "apiVersion": text_member(of_any_object("apiVersion")),
            "items": {
                "description": format!("List of {}. More info: {CONVENTIONS}", self.plural),
                "type": "array",
                "items": reference(&self.definition_name(self.kind), dialect),
            },
            "kind": text_member(of_any_object("kind")),
            "metadata": referring_member(LIST_META.name, LIST_METADATA, dialect),
        });
        let description = format!("{} is a list of {}", self.list_kind, self.kind);
        Object::from_iter([
            ("description".to_owned(), description.into()),
            ("type".to_owned(), "object".into()),
            ("required".to_owned(), json!(["items"])),
            ("properties".to_owned(), properties),
        ])
    }

    pub(super) fn paths(&self, queries: &Queries) -> Vec<PathItem> {
        let root = format!("/apis/{}/{}", self.group, self.version);
        let within = if self.namespaced { "/namespaces/{namespace}" } else { "" };
        let scope = if self.namespaced { Scope::Namespace } else { Scope::Cluster };
        let collection = format!("{root}{within}/{}", self.plural);
        let kind_definition: Text = self.definition_name(self.kind).into();
        let mut items = vec![
            PathItem {
                path: format!("{collection}/{{name}}"),
                operations: vec![
                    self.read(queries, scope, "", &kind_definition),
                    self.replace(queries, scope, "", &kind_definition),
                    self.delete(queries, scope),
                    self.patch(queries, scope, "", &kind_definition),
                ],
            },
            PathItem {
                path: collection.clone(),
                operations: vec![
                    self.list(queries, scope),
                    self.create(queries, scope, kind_definition.clone()),
                    self.delete_collection(queries, scope),
                ],
            },
        ];
        if self.namespaced {
            let operations = vec![self.list(queries, Scope::AllNamespaces)];
            items.push(PathItem { path: format!("{root}/{}", self.plural), operations });
        }
        let scale = Text::from(IO_K8S_API_AUTOSCALING_V1_SCALE.name);
        for (served, name, definition) in
            [(self.status, "status", &kind_definition), (self.scale, "scale", &scale)]
        {
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
        response: Text,
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
            response: ResponseBody::Object(response),
            consumes: OBJECTS,
            produces: OBJECTS,
        }
    }

    fn parameters(&self, scope: Scope, named: bool, specific: &[Parameter]) -> Vec<Parameter> {
        let query_parameters = specific.iter().cloned().chain([Parameter::pretty()]);
        parameters(scope, named.then_some(self.kind), query_parameters)
    }

    fn read(&self, queries: &Queries, scope: Scope, subresource: &str, definition: &Text) -> Operation {
        let id = ["read", scope_infix(scope), &names::title(subresource)];
        let description = names::description("read", subresource, "the specified", self.kind);
        let mut operation = self.operation("get", "get", id, description, definition.clone());
        operation.parameters = self.parameters(scope, true, &queries.get);
        operation
    }

    fn replace(&self, queries: &Queries, scope: Scope, subresource: &str, definition: &Text) -> Operation {
        let id = ["replace", scope_infix(scope), &names::title(subresource)];
        let description = names::description("replace", subresource, "the specified", self.kind);
        let mut operation = self.operation("put", "put", id, description, definition.clone());
        operation.body = Some(Body { definition: definition.clone(), required: true });
        operation.codes = OK_CREATED;
        operation.parameters = self.parameters(scope, true, &queries.update);
        operation
    }

    fn patch(&self, queries: &Queries, scope: Scope, subresource: &str, definition: &Text) -> Operation {
        let id = ["patch", scope_infix(scope), &names::title(subresource)];
        let description = names::description("partially update", subresource, "the specified", self.kind);
        let mut operation = self.operation("patch", "patch", id, description, definition.clone());
        operation.body = Some(Body { definition: PATCH.into(), required: true });
        operation.consumes = PATCHES;
        operation.parameters = self.parameters(scope, true, &queries.patch);
        operation
    }

    fn delete(&self, queries: &Queries, scope: Scope) -> Operation {
        let id = ["delete", scope_infix(scope), ""];
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
        let mut operation =
            self.operation("get", "list", ["list", scope_infix(scope), suffix], description, list);
        operation.parameters = self.parameters(scope, false, &queries.list);
        operation
    }

    fn create(&self, queries: &Queries, scope: Scope, definition: Text) -> Operation {
        let id = ["create", scope_infix(scope), ""];
        let description = names::description("create", "", names::article(self.kind), self.kind);
        let mut operation = self.operation("post", "post", id, description, definition.clone());
        operation.body = Some(Body { definition, required: true });
        operation.codes = CREATED;
        operation.parameters = self.parameters(scope, false, &queries.create);
        operation
    }

    /// As in upstream, this operation has the options of a list and a watch, and no body.
    fn delete_collection(&self, queries: &Queries, scope: Scope) -> Operation {
        let word = if scope == Scope::Namespace { "CollectionNamespaced" } else { "Collection" };
        let description = names::description("delete collection of", "", "", self.kind);
        let id = ["delete", word, ""];
        let mut operation = self.operation("delete", "deletecollection", id, description, STATUS.into());
        operation.parameters = self.parameters(scope, false, &queries.list);
        operation
    }
}

fn scope_infix(scope: Scope) -> &'static str {
    if scope == Scope::Namespace { "Namespaced" } else { "" }
}
