//! Input of a document, and the parts that both OpenAPI versions share.

use std::collections::BTreeMap;

use api::catalog::{Catalog, Version};
use api::descriptions::description;
use apimachinery::gvk::split_api_version;
use jsontree::Value;
use schema::builtin::{
    IO_K8S_APIMACHINERY_PKG_APIS_META_V1_LISTMETA, IO_K8S_APIMACHINERY_PKG_APIS_META_V1_OBJECTMETA,
};
use schema::openapi::{Dialect, Gvk, Writer, closure, definition};
use schema::table::Message;

use super::aggregated_parts::AggregatedParts;
use super::custom::{self, Definition};
use super::model::{Operation, PathItem, Queries, ResponseBody};
use super::subject::Subject;
use super::{media_types, paths};
use crate::negotiation::Formats;

/// Kinds that every group returns but that belong to `v1` only.
const UNVERSIONED: [&str; 5] = ["APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "Status"];

/// Paths with the types that they refer to.
#[derive(Debug)]
pub(super) struct Content<'a> {
    pub(super) paths: Vec<PathItem>,
    /// Built-in types by name.
    pub(super) definitions: BTreeMap<&'static str, &'static Message>,
    pub(super) custom: BTreeMap<String, Definition<'a>>,
    /// Definitions of aggregated servers.
    pub(super) aggregated_parts: AggregatedParts,
    pub(super) info: Info,
    /// True if the document describes authentication.
    pub(super) security: bool,
    /// True if the document contains enumerations.
    enums: bool,
    /// Listing of the kinds that all groups have (`DeleteOptions`, `WatchEvent`).
    listed: SharedKindVersions,
}

/// Group versions that are listed for a kind that every group has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SharedKindVersions {
    AllGroups,
    /// Group versions in the scheme of client-go, which upstream uses for custom resources.
    ClientGroups,
    /// `v1` and this group version.
    SingleGroup(&'static str),
}

/// Groups that are not in the scheme of client-go.
const NOT_IN_CLIENTS: [&str; 4] =
    ["admission.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "imagepolicy.k8s.io"];

impl<'a> Content<'a> {
    /// Content of one OpenAPI 3.0 document.
    pub(super) fn of_subject(subject: Subject, catalog: &Catalog, formats: Formats) -> Self {
        let group_version = match subject {
            Subject::GroupVersion(group, version) => {
                group.versions.iter().find(|v| v.version == version).map(|v| v.group_version)
            }
            _ => None,
        };
        Content::new(
            &[subject],
            catalog,
            formats,
            SharedKindVersions::SingleGroup(group_version.unwrap_or("v1")),
        )
    }

    /// Content of the Swagger 2.0 document. Built-in definitions win over CRDs that use the same name.
    pub(super) fn of_everything(catalog: &'a Catalog, formats: Formats) -> Self {
        let mut content =
            Content::new(&Subject::all(catalog), catalog, formats, SharedKindVersions::AllGroups);
        let (paths, custom) = of_versions(custom::versions(catalog).map(|(_, version)| version));
        content.definitions.extend(definitions_of(&paths));
        content.paths.extend(paths);
        content.paths.sort_by(|a, b| a.path.cmp(&b.path));
        content.paths.dedup_by(|later, first| later.path == first.path);
        content.custom = custom;
        content.aggregated_parts = AggregatedParts::of(catalog, |name| content.own_definition(name));
        content
            .aggregated_parts
            .paths
            .retain(|path, _| content.paths.binary_search_by(|item| item.path.as_str().cmp(path)).is_err());
        content
    }

    fn new(subjects: &[Subject], catalog: &Catalog, formats: Formats, listed: SharedKindVersions) -> Self {
        let mut paths = Vec::new();
        let queries = Queries::new();
        for subject in subjects {
            paths.push(subject.document().into_item());
            if let Subject::GroupVersion(group, version) = subject {
                let rows = group.resources_of(version).iter().filter(|row| catalog.serves(row));
                paths.extend(rows.flat_map(|row| paths::of_row(row, &queries)));
            }
        }
        if formats.cbor {
            paths.iter_mut().for_each(media_types::add_cbor);
        }
        paths.sort_by(|a, b| a.path.cmp(&b.path));
        Content {
            definitions: definitions_of(&paths),
            custom: BTreeMap::new(),
            aggregated_parts: AggregatedParts::default(),
            info: Info { title: "Kubernetes", version: catalog.release().to_string() },
            security: true,
            enums: catalog.publishes_enums(),
            paths,
            listed,
        }
    }

    /// Content of the document for a version of custom resources.
    pub(super) fn of_custom(version: &'a Version) -> Self {
        let (mut paths, custom) = of_versions(std::iter::once(version));
        paths.sort_by(|a, b| a.path.cmp(&b.path));
        let mut definitions = definitions_of(&paths);
        // The schemas of custom resources refer to these types, even if no operation does.
        definitions.extend(closure([
            &IO_K8S_APIMACHINERY_PKG_APIS_META_V1_OBJECTMETA,
            &IO_K8S_APIMACHINERY_PKG_APIS_META_V1_LISTMETA,
        ]));
        Content {
            definitions,
            custom,
            aggregated_parts: AggregatedParts::default(),
            info: Info { title: "Kubernetes CRD Swagger", version: "v0.1.0".to_owned() },
            security: false,
            enums: true,
            paths,
            listed: SharedKindVersions::ClientGroups,
        }
    }

    pub(super) fn definitions(&self, dialect: Dialect, w: &mut Writer) {
        let builtin = self.definitions.iter().map(|(name, message)| (*name, AnyDefinition::Builtin(message)));
        let custom = self.custom.iter().map(|(name, custom)| (name.as_str(), AnyDefinition::Custom(custom)));
        let foreign = self
            .aggregated_parts
            .definitions
            .iter()
            .map(|(name, value)| (name.as_str(), AnyDefinition::Foreign(value)));
        let all: BTreeMap<&str, AnyDefinition<'_>> = foreign.chain(custom).chain(builtin).collect();
        w.object(|w| {
            for (name, item) in all {
                w.key(name);
                self.definition(&item, dialect, w);
            }
        });
    }

    fn definition(&self, item: &AnyDefinition<'_>, dialect: Dialect, w: &mut Writer) {
        match item {
            AnyDefinition::Builtin(message) => {
                definition(message, dialect, &self.kinds(message), description, w)
            }
            AnyDefinition::Custom(custom) => custom.write(dialect, w),
            AnyDefinition::Foreign(value) => w.raw(&value.to_string()),
        }
    }

    /// Creates the writer of the document.
    pub(super) fn writer(&self) -> Writer {
        if self.enums { Writer::new() } else { Writer::new().without_enums() }
    }

    /// Returns the Swagger 2.0 definition of a built-in or custom type.
    fn own_definition(&self, name: &str) -> Option<Value> {
        let builtin = self.definitions.get(name).map(|message| AnyDefinition::Builtin(message));
        let item = builtin.or_else(|| self.custom.get(name).map(AnyDefinition::Custom))?;
        let mut w = self.writer();
        self.definition(&item, Dialect::V2, &mut w);
        serde_json::from_slice(&w.into_bytes()).ok()
    }

    /// Returns the kinds of a type for this document.
    fn kinds(&self, message: &'static Message) -> Vec<Gvk<'_>> {
        let mut kinds: Vec<Gvk<'_>> = Vec::new();
        for full in message.info.kinds {
            let Some((version, kind)) = full.rsplit_once('/') else { continue };
            match (version, self.listed) {
                ("*", _) if UNVERSIONED.contains(&kind) => kinds.push(gvk("v1", kind)),
                ("*", SharedKindVersions::SingleGroup(version)) => {
                    kinds.extend(["v1", version].map(|version| gvk(version, kind)))
                }
                ("*", listed) => {
                    let all = group_versions().map(|version| gvk(version, kind));
                    let registered = |gvk: &Gvk<'_>| {
                        listed == SharedKindVersions::AllGroups || !NOT_IN_CLIENTS.contains(&gvk.group)
                    };
                    kinds.extend(all.filter(registered));
                }
                (version, _) => kinds.push(gvk(version, kind)),
            }
        }
        let elsewhere = self.aggregated_parts.kinds.get(message.name).into_iter().flatten();
        kinds.extend(elsewhere.map(|[group, version, kind]| Gvk { group, version, kind }));
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }
}

/// Definition of a built-in or custom type.
enum AnyDefinition<'a> {
    Builtin(&'static Message),
    Custom(&'a Definition<'a>),
    Foreign(&'a Value),
}

/// Paths and definitions of versions of custom resources.
fn of_versions<'a>(
    versions: impl Iterator<Item = &'a Version>,
) -> (Vec<PathItem>, BTreeMap<String, Definition<'a>>) {
    let queries = Queries::new();
    let mut paths = Vec::new();
    let mut definitions = BTreeMap::new();
    for resource in versions.flat_map(custom::resources) {
        paths.extend(resource.paths(&queries));
        definitions.extend(resource.definitions());
    }
    (paths, definitions)
}

fn gvk(api_version: &'static str, kind: &'static str) -> Gvk<'static> {
    let (group, version) = split_api_version(api_version);
    Gvk { group, version, kind }
}

/// All group versions of the API and of webhook messages. Audit events and the aggregated discovery document
/// are not included, although they have tables.
fn group_versions() -> impl Iterator<Item = &'static str> {
    let registered = schema::builtin::ALL.iter().filter(|message| !message.info.unregistered);
    let kinds = registered.flat_map(|message| message.info.kinds);
    let versions = kinds.filter_map(|full| full.rsplit_once('/')).map(|(version, _)| version);
    versions.filter(|version| {
        let (group, _) = split_api_version(version);
        *version != "*" && group != "audit.k8s.io" && group != "apidiscovery.k8s.io"
    })
}

/// Types that the operations refer to, and transitively all types in them.
fn definitions_of(paths: &[PathItem]) -> BTreeMap<&'static str, &'static Message> {
    closure(paths.iter().flat_map(named_definitions).collect::<Vec<_>>())
}

/// Types that the operations of a path refer to.
fn named_definitions(item: &PathItem) -> impl Iterator<Item = &'static Message> {
    let names = item.operations.iter().flat_map(|operation| {
        let body = operation.body.as_ref().map(|body| &body.definition);
        let response_body = match &operation.response {
            ResponseBody::Object(name) => Some(name),
            ResponseBody::String => None,
        };
        body.into_iter().chain(response_body)
    });
    names.filter_map(|name| schema::builtin::message(name))
}

/// Title and version of a document.
#[derive(Debug)]
pub(super) struct Info {
    title: &'static str,
    version: String,
}

pub(super) fn info(info: &Info, w: &mut Writer) {
    w.object(|w| {
        w.text("title", info.title);
        w.text("version", &info.version);
    });
}

pub(super) fn security_schemes(w: &mut Writer) {
    w.object(|w| {
        w.key("BearerToken");
        w.object(|w| {
            w.text("type", "apiKey");
            w.text("description", "Bearer Token authentication");
            w.text("name", "authorization");
            w.text("in", "header");
        });
    });
}

/// `x-kubernetes-action` and `x-kubernetes-group-version-kind` of an operation.
pub(super) fn kubernetes_extensions(operation: &Operation, w: &mut Writer) {
    w.text_if_any("x-kubernetes-action", operation.action);
    if let Some(kind) = &operation.kind {
        w.key("x-kubernetes-group-version-kind");
        kind.gvk().write(w);
    }
}

/// Description of a status code.
pub(super) fn reason(code: u16) -> &'static str {
    match code {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        _ => "Unauthorized",
    }
}
