//! The paths and operations of the built-in API, from its rows.

use api::resources::{self, Connect, Resource};
use apimachinery::gvk::split_api_version;

use super::model::{
    Answer, Body, DELETE, FORCE, Kind, LIST, METHODS, Operation, PRETTY, Parameter, PathItem, WRITE, in_path,
    of_options,
};
use super::names;

const OBJECTS: &[&str] = &["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
const STREAMS: &[&str] = &[
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf;stream=watch",
];
const LOGS: &[&str] =
    &["text/plain", "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
const ANYTHING: &[&str] = &["*/*"];
const PATCHES: &[&str] = &[
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];

const CBOR: &str = "application/cbor";

/// What the gate `CBORServingAndStorage` makes of the lists above.
const WITH_CBOR: [(&[&str], &[&str]); 4] = [
    (OBJECTS, &["application/json", "application/yaml", "application/vnd.kubernetes.protobuf", CBOR]),
    (
        STREAMS,
        &[
            "application/json",
            "application/yaml",
            "application/vnd.kubernetes.protobuf",
            CBOR,
            "application/json;stream=watch",
            "application/vnd.kubernetes.protobuf;stream=watch",
            "application/cbor-seq",
        ],
    ),
    (
        LOGS,
        &["text/plain", "application/json", "application/yaml", "application/vnd.kubernetes.protobuf", CBOR],
    ),
    (
        PATCHES,
        &[
            "application/json-patch+json",
            "application/merge-patch+json",
            "application/strategic-merge-patch+json",
            "application/apply-patch+yaml",
            "application/apply-patch+cbor",
        ],
    ),
];

pub(super) const STATUS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";
pub(super) const DELETE_OPTIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
pub(super) const PATCH: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";
const WATCH_EVENT: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent";

pub(super) const OK: &[u16] = &[200];
pub(super) const OK_CREATED: &[u16] = &[200, 201];
pub(super) const OK_ACCEPTED: &[u16] = &[200, 202];
pub(super) const CREATED: &[u16] = &[200, 201, 202];

/// Where a path of a resource points, and how its operations are called.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// The objects of one namespace.
    Namespace,
    /// The objects of the cluster, for resources without namespaces.
    Cluster,
    /// The objects of all namespaces.
    AllNamespaces,
}

/// A row and the words that go into its operation ids.
struct Words {
    row: &'static Resource<'static>,
    group_version: String,
    tag: String,
    /// Kind of the resource, and the subresource: `PodStatus`.
    noun: String,
}

/// Adds CBOR to the media types of a path.
pub(super) fn add_cbor(item: &mut PathItem) {
    for operation in &mut item.operations {
        for media_types in [&mut operation.consumes, &mut operation.produces] {
            if let Some((_, with)) = WITH_CBOR.iter().find(|(without, _)| without == media_types) {
                *media_types = with;
            }
        }
    }
}

/// The paths of one row.
pub(super) fn of_row(row: &'static Resource<'static>) -> Vec<PathItem> {
    let words = Words::of(row);
    let root = if row.group.is_empty() {
        format!("/api/{}", row.version)
    } else {
        format!("/apis/{}", row.group_version)
    };
    let scope = if row.namespaced { Scope::Namespace } else { Scope::Cluster };
    let within = if row.namespaced { "/namespaces/{namespace}" } else { "" };
    let plural = row.plural;
    if !row.subresource.is_empty() {
        let path = format!("{root}{within}/{plural}/{{name}}/{}", row.subresource);
        return subresource(&words, scope, path);
    }
    let mut items = vec![
        PathItem { path: format!("{root}{within}/{plural}"), operations: collection(&words, scope) },
        PathItem { path: format!("{root}{within}/{plural}/{{name}}"), operations: item(&words, scope) },
    ];
    let mut watch = |path: String, scope, action| {
        let operations = vec![words.watch(scope, action)];
        items.push(PathItem { path, operations });
    };
    if row.serves("watch") {
        watch(format!("{root}/watch{within}/{plural}"), scope, "watchlist");
        watch(format!("{root}/watch{within}/{plural}/{{name}}"), scope, "watch");
        if row.namespaced {
            watch(format!("{root}/watch/{plural}"), Scope::AllNamespaces, "watchlist");
        }
    }
    if row.namespaced && row.serves("list") {
        let operations = vec![words.list(Scope::AllNamespaces)];
        items.push(PathItem { path: format!("{root}/{plural}"), operations });
    }
    items.retain(|item| !item.operations.is_empty());
    items
}

fn collection(words: &Words, scope: Scope) -> Vec<Operation> {
    let serves = |verb| words.row.serves(verb);
    let mut operations = Vec::new();
    operations.extend(serves("list").then(|| words.list(scope)));
    operations.extend(serves("create").then(|| words.create(scope, false)));
    operations.extend(serves("deletecollection").then(|| words.delete_collection(scope)));
    operations
}

fn item(words: &Words, scope: Scope) -> Vec<Operation> {
    let serves = |verb| words.row.serves(verb);
    let mut operations = Vec::new();
    operations.extend(serves("get").then(|| words.read(scope)));
    operations.extend(serves("update").then(|| words.replace(scope)));
    operations.extend(serves("delete").then(|| words.delete(scope)));
    operations.extend(serves("patch").then(|| words.patch(scope)));
    operations
}

fn subresource(words: &Words, scope: Scope, path: String) -> Vec<PathItem> {
    let Some(connect) = &words.row.connect else {
        let mut operations = item(words, scope);
        if words.row.serves("create") {
            operations.push(words.create(scope, true));
        }
        return vec![PathItem { path, operations }];
    };
    let mut items = Vec::new();
    if connect.subpath {
        let operations = words.connect(scope, connect, true);
        items.push(PathItem { path: format!("{path}/{{path}}"), operations });
    }
    items.push(PathItem { path, operations: words.connect(scope, connect, false) });
    items
}

impl Words {
    fn of(row: &'static Resource<'static>) -> Words {
        let (group_version, tag) = names::group_version(row.group, row.version);
        let parent = resources::find(row.group, row.version, row.plural, "").unwrap_or(row);
        let noun = [parent.kind, &names::title(row.subresource)].concat();
        Words { row, group_version, tag, noun }
    }

    /// An operation that reads an object and has no parameters yet.
    fn operation(&self, method: &'static str, action: &'static str, verb: &str, scope: Scope) -> Operation {
        let scope = if scope == Scope::Namespace { "Namespaced" } else { "" };
        let (group, version) = split_api_version(self.row.kind_group_version);
        Operation {
            method,
            id: [verb, &self.group_version, scope, &self.noun].concat(),
            tag: self.tag.clone(),
            action,
            kind: Some(Kind { group: group.into(), version: version.into(), kind: self.row.kind.into() }),
            parameters: Vec::new(),
            body: None,
            codes: OK,
            answer: Answer::Object(self.row.message.name.into()),
            consumes: ANYTHING,
            produces: OBJECTS,
        }
    }

    fn read(&self, scope: Scope) -> Operation {
        let mut operation = self.operation("get", "get", "read", scope);
        let options = self.row.get_options.into_iter().flat_map(of_options);
        operation.parameters = parameters(scope, true, options.chain([PRETTY]));
        if !self.row.produces.is_empty() {
            operation.answer = Answer::String;
            operation.produces = LOGS;
        }
        operation
    }

    fn list(&self, scope: Scope) -> Operation {
        let mut operation = self.operation("get", "list", "list", scope);
        if scope == Scope::AllNamespaces {
            operation.id.push_str("ForAllNamespaces");
        }
        let list = self.row.list_message.unwrap_or(self.row.message);
        operation.answer = Answer::Object(list.name.into());
        operation.parameters = parameters(scope, false, LIST.into_iter().chain([PRETTY]));
        operation.produces = STREAMS;
        operation
    }

    fn watch(&self, scope: Scope, action: &'static str) -> Operation {
        let mut operation = self.operation("get", action, "watch", scope);
        let all = scope == Scope::AllNamespaces;
        operation.id.push_str(if action == "watchlist" { "List" } else { "" });
        operation.id.push_str(if all { "ForAllNamespaces" } else { "" });
        operation.answer = Answer::Object(WATCH_EVENT.into());
        operation.parameters = parameters(scope, action == "watch", LIST.into_iter().chain([PRETTY]));
        operation.produces = STREAMS;
        operation
    }

    fn create(&self, scope: Scope, named: bool) -> Operation {
        let mut operation = self.operation("post", "post", "create", scope);
        operation.parameters = parameters(scope, named, WRITE.into_iter().chain([PRETTY]));
        operation.body = Some(Body { definition: self.row.message.name.into(), required: true });
        operation.codes = CREATED;
        operation
    }

    fn replace(&self, scope: Scope) -> Operation {
        let mut operation = self.operation("put", "put", "replace", scope);
        operation.parameters = parameters(scope, true, WRITE.into_iter().chain([PRETTY]));
        operation.body = Some(Body { definition: self.row.message.name.into(), required: true });
        operation.codes = OK_CREATED;
        operation
    }

    fn patch(&self, scope: Scope) -> Operation {
        let mut operation = self.operation("patch", "patch", "patch", scope);
        operation.parameters = parameters(scope, true, WRITE.into_iter().chain([FORCE, PRETTY]));
        operation.body = Some(Body { definition: PATCH.into(), required: true });
        operation.consumes = PATCHES;
        operation.codes = OK_CREATED;
        operation
    }

    fn delete(&self, scope: Scope) -> Operation {
        let mut operation = self.operation("delete", "delete", "delete", scope);
        operation.parameters = parameters(scope, true, DELETE.into_iter().chain([PRETTY]));
        operation.body = Some(Body { definition: DELETE_OPTIONS.into(), required: false });
        if !self.row.returns_deleted_object {
            operation.answer = Answer::Object(STATUS.into());
        }
        operation.codes = OK_ACCEPTED;
        operation
    }

    fn delete_collection(&self, scope: Scope) -> Operation {
        let mut operation = self.operation("delete", "deletecollection", "delete", scope);
        let scope_word = if scope == Scope::Namespace { "Namespaced" } else { "" };
        operation.id = ["delete", &self.group_version, "Collection", scope_word, &self.noun].concat();
        let list = LIST.into_iter().filter(|p| !matches!(p.name, "allowWatchBookmarks" | "watch"));
        operation.parameters = parameters(scope, false, list.chain(DELETE).chain([PRETTY]));
        operation.body = Some(Body { definition: DELETE_OPTIONS.into(), required: false });
        operation.answer = Answer::Object(STATUS.into());
        operation
    }

    /// One operation per method that connects.
    fn connect(&self, scope: Scope, connect: &Connect, with_path: bool) -> Vec<Operation> {
        let method = |method: &'static str| {
            connect.methods.iter().find(|m| m.eq_ignore_ascii_case(method))?;
            let verb = ["connect", &self.group_version, &names::title(method)].concat();
            let scope_word = if scope == Scope::Namespace { "Namespaced" } else { "" };
            let suffix = if with_path { "WithPath" } else { "" };
            let mut operation = self.operation(method, "connect", "", scope);
            operation.id = [&verb, scope_word, &self.noun, suffix].concat();
            let path = with_path.then_some(in_path("path"));
            operation.parameters = parameters(scope, true, of_options(connect.options).chain(path));
            operation.answer = Answer::String;
            operation.produces = ANYTHING;
            Some(operation)
        };
        METHODS.into_iter().filter_map(method).collect()
    }
}

/// The parameters of an operation with those of its path, sorted.
pub(super) fn parameters(
    scope: Scope,
    named: bool,
    others: impl Iterator<Item = Parameter>,
) -> Vec<Parameter> {
    let namespace = (scope == Scope::Namespace).then_some(in_path("namespace"));
    let mut all: Vec<Parameter> = others.chain(named.then_some(in_path("name"))).chain(namespace).collect();
    all.sort_unstable();
    all
}

/// What a document that is no resource is about.
pub(super) struct DocumentPath {
    /// With the final slash that upstream's router gives it.
    pub(super) path: String,
    pub(super) id: String,
    pub(super) tag: String,
    pub(super) answer: Answer,
    pub(super) media_types: &'static [&'static str],
}

impl DocumentPath {
    /// A discovery document.
    pub(super) fn discovery(path: String, id: String, tag: String, definition: &'static str) -> Self {
        DocumentPath { path, id, tag, answer: Answer::Object(definition.into()), media_types: OBJECTS }
    }

    /// A path where the document can be read.
    pub(super) fn into_item(self) -> PathItem {
        let operation = Operation {
            method: "get",
            id: self.id,
            tag: self.tag,
            action: "",
            kind: None,
            parameters: Vec::new(),
            body: None,
            codes: OK,
            answer: self.answer,
            consumes: self.media_types,
            produces: self.media_types,
        };
        PathItem { path: self.path, operations: vec![operation] }
    }
}
