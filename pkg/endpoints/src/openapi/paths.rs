//! Paths and operations of the built-in API, from its rows.

use api::resources::{self, Builtin, Connect, Resource};
use apimachinery::gvk::split_api_version;

use super::media_types::{ANY_MEDIA_TYPE, LOGS, OBJECTS, PATCHES, STREAMS};
use super::model::{Body, Kind, METHODS, Operation, Parameter, PathItem, Queries, ResponseBody, of_options};
use super::names;

pub(super) const STATUS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";
pub(super) const DELETE_OPTIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
pub(super) const PATCH: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";
const WATCH_EVENT: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent";

pub(super) const OK: &[u16] = &[200];
pub(super) const OK_CREATED: &[u16] = &[200, 201];
pub(super) const OK_ACCEPTED: &[u16] = &[200, 202];
pub(super) const CREATED: &[u16] = &[200, 201, 202];

/// End of the description of a path below `/watch`.
const DEPRECATED: &str = ". deprecated: use the 'watch' parameter with a list operation instead";
const DEPRECATED_FOR_ONE: &str = ", filtered to a single item with the 'fieldSelector' parameter.";

/// Scope of a path, which affects the names of its operations.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// Objects of one namespace.
    Namespace,
    Cluster,
    /// Objects of all namespaces.
    AllNamespaces,
}

/// A row with the words for its operation ids and descriptions.
struct OperationNames<'a> {
    row: &'static Resource<'static>,
    queries: &'a Queries,
    group_version: String,
    tag: String,
    kind: &'static str,
    /// Kind with the subresource: `PodStatus`.
    noun: String,
}

pub(super) fn of_row(row: &'static Resource<'static>, queries: &Queries) -> Vec<PathItem> {
    let words = OperationNames::of(row, queries);
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

fn collection(words: &OperationNames<'_>, scope: Scope) -> Vec<Operation> {
    let serves = |verb| words.row.serves(verb);
    let mut operations = Vec::new();
    operations.extend(serves("list").then(|| words.list(scope)));
    operations.extend(serves("create").then(|| words.create(scope, false)));
    operations.extend(serves("deletecollection").then(|| words.delete_collection(scope)));
    operations
}

fn item(words: &OperationNames<'_>, scope: Scope) -> Vec<Operation> {
    let serves = |verb| words.row.serves(verb);
    let mut operations = Vec::new();
    operations.extend(serves("get").then(|| words.read(scope)));
    operations.extend(serves("update").then(|| words.replace(scope)));
    operations.extend(serves("delete").then(|| words.delete(scope)));
    operations.extend(serves("patch").then(|| words.patch(scope)));
    operations
}

fn subresource(words: &OperationNames<'_>, scope: Scope, path: String) -> Vec<PathItem> {
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

impl<'a> OperationNames<'a> {
    fn of(row: &'static Resource<'static>, queries: &'a Queries) -> Self {
        let (group_version, tag) = names::group_version(row.group, row.version);
        let kind = resources::find(row.group, row.version, row.plural, "").unwrap_or(row).kind;
        let noun = [kind, &names::title(row.subresource)].concat();
        OperationNames { row, queries, group_version, tag, kind, noun }
    }

    /// Creates an operation that reads an object, without parameters.
    fn operation(&self, method: &'static str, action: &'static str, verb: &str, scope: Scope) -> Operation {
        let scope = if scope == Scope::Namespace { "Namespaced" } else { "" };
        let (group, version) = split_api_version(self.row.kind_group_version);
        Operation {
            method,
            id: [verb, &self.group_version, scope, &self.noun].concat(),
            description: String::new(),
            tag: self.tag.clone(),
            action,
            kind: Some(Kind { group: group.into(), version: version.into(), kind: self.row.kind.into() }),
            parameters: Vec::new(),
            body: None,
            codes: OK,
            response: ResponseBody::Object(self.row.message.name.into()),
            consumes: ANY_MEDIA_TYPE,
            produces: OBJECTS,
        }
    }

    /// Describes the operation on the object or its subresource.
    fn describe(&self, verb: &str, article: &str) -> String {
        names::description(verb, self.row.subresource, article, self.kind)
    }

    /// Returns the parameters of an operation and its path, sorted.
    fn parameters(
        &self,
        scope: Scope,
        named: bool,
        others: impl IntoIterator<Item = Parameter>,
    ) -> Vec<Parameter> {
        parameters(scope, named.then_some(self.row.kind), others.into_iter().chain([Parameter::pretty()]))
    }

    fn read(&self, scope: Scope) -> Operation {
        let mut operation = self.operation("get", "get", "read", scope);
        operation.description = self.describe("read", "the specified");
        let options = self.row.get_options.into_iter().flat_map(of_options);
        operation.parameters = self.parameters(scope, true, options);
        if !self.row.produces.is_empty() {
            operation.response = ResponseBody::String;
            operation.produces = LOGS;
        }
        operation
    }

    fn list(&self, scope: Scope) -> Operation {
        let mut operation = self.operation("get", "list", "list", scope);
        if scope == Scope::AllNamespaces {
            operation.id.push_str("ForAllNamespaces");
        }
        let verb = if self.row.serves("watch") { "list or watch" } else { "list" };
        operation.description = self.describe(verb, "objects of kind");
        let list = self.row.list_message.unwrap_or(self.row.message);
        operation.response = ResponseBody::Object(list.name.into());
        operation.parameters = self.parameters(scope, false, self.queries.list.iter().cloned());
        operation.produces = STREAMS;
        operation
    }

    fn watch(&self, scope: Scope, action: &'static str) -> Operation {
        let mut operation = self.operation("get", action, "watch", scope);
        let single = action == "watch";
        let all_namespaces = scope == Scope::AllNamespaces;
        operation.id.push_str(if single { "" } else { "List" });
        operation.id.push_str(if all_namespaces { "ForAllNamespaces" } else { "" });
        let verb = if single { "watch changes to" } else { "watch individual changes to" };
        let article = if single { "an object of kind" } else { "a list of" };
        operation.description = self.describe(verb, article);
        operation.description.push_str(DEPRECATED);
        operation.description.push_str(if single { DEPRECATED_FOR_ONE } else { "." });
        operation.response = ResponseBody::Object(WATCH_EVENT.into());
        operation.parameters = self.parameters(scope, single, self.queries.list.iter().cloned());
        operation.produces = STREAMS;
        operation
    }

    fn create(&self, scope: Scope, named: bool) -> Operation {
        let mut operation = self.operation("post", "post", "create", scope);
        operation.description = self.describe("create", names::article(self.kind));
        operation.parameters = self.parameters(scope, named, self.queries.create.iter().cloned());
        operation.body = Some(Body { definition: self.row.message.name.into(), required: true });
        operation.codes = CREATED;
        operation
    }

    fn replace(&self, scope: Scope) -> Operation {
        let mut operation = self.operation("put", "put", "replace", scope);
        operation.description = self.describe("replace", "the specified");
        operation.parameters = self.parameters(scope, true, self.queries.update.iter().cloned());
        operation.body = Some(Body { definition: self.row.message.name.into(), required: true });
        operation.codes = OK_CREATED;
        operation
    }

    fn patch(&self, scope: Scope) -> Operation {
        let mut operation = self.operation("patch", "patch", "patch", scope);
        operation.description = self.describe("partially update", "the specified");
        operation.parameters = self.parameters(scope, true, self.queries.patch.iter().cloned());
        operation.body = Some(Body { definition: PATCH.into(), required: true });
        operation.consumes = PATCHES;
        operation.codes = OK_CREATED;
        operation
    }

    fn delete(&self, scope: Scope) -> Operation {
        let mut operation = self.operation("delete", "delete", "delete", scope);
        operation.description = self.describe("delete", names::article(self.kind));
        operation.parameters = self.parameters(scope, true, self.queries.delete.iter().cloned());
        operation.body = Some(Body { definition: DELETE_OPTIONS.into(), required: false });
        // Upstream's storage of namespaces does not declare that it returns the deleted object.
        let declares_object = self.row.returns_deleted_object && self.row.builtin != Some(Builtin::Namespace);
        if !declares_object {
            operation.response = ResponseBody::Object(STATUS.into());
        }
        operation.codes = OK_ACCEPTED;
        operation
    }

    fn delete_collection(&self, scope: Scope) -> Operation {
        let mut operation = self.operation("delete", "deletecollection", "delete", scope);
        let scope_word = if scope == Scope::Namespace { "Namespaced" } else { "" };
        operation.id = ["delete", &self.group_version, "Collection", scope_word, &self.noun].concat();
        operation.description = self.describe("delete collection of", "");
        let list = self.queries.list.iter().filter(|p| !matches!(p.name, "allowWatchBookmarks" | "watch"));
        operation.parameters = self.parameters(scope, false, list.chain(&self.queries.delete).cloned());
        operation.body = Some(Body { definition: DELETE_OPTIONS.into(), required: false });
        operation.response = ResponseBody::Object(STATUS.into());
        operation
    }

    fn connect(&self, scope: Scope, connect: &Connect, with_path: bool) -> Vec<Operation> {
        let method = |method: &'static str| {
            let upper = connect.methods.iter().find(|m| m.eq_ignore_ascii_case(method))?;
            let verb = ["connect", &self.group_version, &names::title(method)].concat();
            let scope_word = if scope == Scope::Namespace { "Namespaced" } else { "" };
            let suffix = if with_path { "WithPath" } else { "" };
            let mut operation = self.operation(method, "connect", "", scope);
            operation.id = [&verb, scope_word, &self.noun, suffix].concat();
            operation.description = self.describe(&format!("connect {upper} requests to"), "");
            let path = with_path.then(Parameter::path);
            operation.parameters =
                parameters(scope, Some(self.row.kind), of_options(connect.options).chain(path));
            operation.response = ResponseBody::String;
            operation.produces = ANY_MEDIA_TYPE;
            Some(operation)
        };
        METHODS.into_iter().filter_map(method).collect()
    }
}

/// Returns the parameters of an operation and its path, sorted. `named` is the kind of the object that the
/// path names, if any.
pub(super) fn parameters(
    scope: Scope,
    named: Option<&str>,
    others: impl Iterator<Item = Parameter>,
) -> Vec<Parameter> {
    let namespace = (scope == Scope::Namespace).then(Parameter::namespace);
    let mut all: Vec<Parameter> = others.chain(named.map(Parameter::name_of)).chain(namespace).collect();
    all.sort_unstable();
    all
}

pub(super) struct DocumentPath {
    /// With the trailing slash of upstream's router.
    pub(super) path: String,
    pub(super) id: String,
    pub(super) description: &'static str,
    pub(super) tag: String,
    pub(super) response: ResponseBody,
    pub(super) media_types: &'static [&'static str],
}

impl DocumentPath {
    pub(super) fn discovery(
        path: String,
        id: String,
        description: &'static str,
        tag: String,
        definition: &'static str,
    ) -> Self {
        let response = ResponseBody::Object(definition.into());
        DocumentPath { path, id, description, tag, response, media_types: OBJECTS }
    }

    /// Converts to a path with an operation that reads the document.
    pub(super) fn into_item(self) -> PathItem {
        let consumes: &[&str] = match self.response {
            ResponseBody::Object(_) => self.media_types,
            ResponseBody::String => &[],
        };
        let operation = Operation {
            method: "get",
            id: self.id,
            description: self.description.to_owned(),
            tag: self.tag,
            action: "",
            kind: None,
            parameters: Vec::new(),
            body: None,
            codes: OK,
            response: self.response,
            consumes,
            produces: self.media_types,
        };
        PathItem { path: self.path, operations: vec![operation] }
    }
}
