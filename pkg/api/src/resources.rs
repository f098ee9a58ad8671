//! The built-in resources as rows: names, verbs, storage, selectable fields, columns. One file per
//! API group below `resources/`; everything is `static`, nothing is computed at start-up.

mod admissionregistration;
mod apiextensions;
mod apiregistration;
mod apps;
mod authentication;
mod authorization;
mod autoscaling;
mod batch;
mod builtin;
mod certificates;
mod columns;
mod coordination;
mod core;
pub mod custom;
mod discovery;
mod events;
mod flowcontrol;
mod groups;
mod handle;
mod internal;
mod lifecycle;
mod merge_schema;
mod networking;
mod node;
mod policy;
mod rbac;
mod resource;
mod scheduling;
mod schema_text;
mod storage;
mod storagemigration;
#[cfg(test)]
mod tests;

pub use builtin::{Backend, Builtin, EndpointOperation, Review, Stream};
pub use groups::{Group, GroupVersion};
pub use handle::{CustomRow, CustomTexts, Handle};
pub use lifecycle::{Lifecycle, gate, storage_version};

use custom::{Custom, CustomKind};
use lifecycle::{UNVERSIONED, since};
use schema::builtin::IO_K8S_APIMACHINERY_PKG_APIS_META_V1_STATUS;
use schema::table::Message;

/// A resource or subresource in one served version.
#[derive(Debug)]
pub struct Resource<'a> {
    /// API group; empty for the core group.
    pub group: &'a str,
    /// Served version, for example `v1`.
    pub version: &'a str,
    /// `apiVersion` of the endpoint: `v1` or `apps/v1`.
    pub group_version: &'a str,
    /// Plural name, without the subresource.
    pub plural: &'a str,
    /// `status`, `scale`, …; empty for the resource itself.
    pub subresource: &'a str,
    /// The kind of the resource itself, also for its subresources; `None` for custom resources.
    pub builtin: Option<Builtin>,
    /// What requests do.
    pub act: EndpointOperation,
    /// Kind of the body; for connect subresources the kind of their options.
    pub kind: &'a str,
    /// `apiVersion` of `kind`. Differs from `group_version` where a subresource speaks a kind of
    /// another group, such as `autoscaling/v1` Scale.
    pub kind_group_version: &'a str,
    /// Singular name; empty for subresources.
    pub singular: &'a str,
    /// Abbreviations that `kubectl` accepts.
    pub short_names: &'a [&'a str],
    /// Groups of resources (`all`, `api-extensions`) that `kubectl` expands.
    pub categories: &'a [&'a str],
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// Kubernetes verbs, sorted.
    pub verbs: &'static [&'static str],
    /// Shape of the body. All custom resources have the same, whose members besides the metadata are open;
    /// `schema` says more about those.
    pub message: &'static Message,
    /// What the definition of a custom resource says. `None` for built-in resources, whose shape says it.
    pub custom: Option<Custom<'a>>,
    /// Tells the versions of one custom resource apart, whose names may be anything; 0 in built-in rows.
    pub custom_version: u16,
    /// Shape of a list; none where there is no `list` verb.
    pub list_message: Option<&'static Message>,
    /// Where and how objects are kept; none for subresources and for what is never stored.
    pub storage: Option<StorageSpec<'a>>,
    /// Opaque name of the storage version in discovery; equal in all versions that share a storage.
    pub storage_version_hash: &'a str,
    /// PUT of a missing object creates it.
    pub allow_create_on_update: bool,
    /// PUT without `resourceVersion` overwrites whatever there is; otherwise it is invalid.
    pub allow_unconditional_update: bool,
    /// `metadata.generation` is set to 1 on create and counts changes of the desired state.
    pub sets_generation: bool,
    /// Deletion may wait for a grace period.
    pub graceful_delete: bool,
    /// What happens to dependents when the client names no propagation policy.
    pub default_gc: DefaultGc,
    /// DELETE answers with the object, otherwise with a `Status`.
    pub returns_deleted_object: bool,
    /// Seconds until an object expires, where objects do.
    pub ttl_seconds: Option<u32>,
    /// Accepted field selector labels, each with the path it selects on in the internal object. The
    /// path may not exist in the served version (`source` of an Event); the registry knows how to read
    /// it. A label without a path is taken, but no object has a value for it.
    pub field_selectors: &'a [(&'a str, &'a str)],
    /// Selectable paths that deserve an index in the watch cache.
    pub index_fields: &'a [&'a str],
    /// Paths that updates through this endpoint leave alone, so that no manager owns them.
    pub reset_fields: &'static [&'static str],
    /// Columns of the Table answer; empty for subresources, and for custom resources, whose definitions say them.
    pub columns: &'a [Column<'a>],
    /// Lists and watches go through the watch cache.
    pub watch_cache: bool,
    /// Not served unless `--runtime-config` asks for it.
    pub off_by_default: bool,
    /// How a connect subresource (`exec`, `proxy`, …) is called.
    pub connect: Option<Connect>,
    /// Shape of the query options of GET, where it is not `GetOptions`.
    pub get_options: Option<&'static Message>,
    /// Media types of GET answers where they are not the negotiated object formats.
    pub produces: &'static [&'static str],
    /// When the version came and when it goes.
    pub lifecycle: Lifecycle,
}

/// How objects of a resource are kept.
#[derive(Debug, Clone, Copy)]
pub struct StorageSpec<'a> {
    /// `apiVersion` of the stored form.
    pub group_version: &'a str,
    /// Kind of the stored form.
    pub kind: &'a str,
    /// Shape of the stored form.
    pub message: &'static Message,
    /// Path below the storage prefix, without slashes at its ends: keys are
    /// `/registry/<prefix>/[<namespace>/]<name>`.
    pub prefix: &'a str,
    /// Encoding of the stored form.
    pub encoding: Encoding,
    /// The definition of a custom resource.
    pub custom: Option<&'a CustomKind>,
}

/// How stored objects are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Protobuf in the `k8s\0` envelope.
    Protobuf,
    /// JSON.
    Json,
}

/// What deletion does with dependents when neither options nor finalizers say so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultGc {
    /// The garbage collector deletes them.
    DeleteDependents,
    /// They are orphaned.
    OrphanDependents,
    /// The resource takes no part in garbage collection.
    Unsupported,
}

/// A column of a Table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column<'a> {
    /// Heading.
    pub name: &'a str,
    /// OpenAPI type of the cells.
    pub kind: &'a str,
    /// OpenAPI format; `name` marks the column that identifies the object.
    pub format: &'a str,
    /// 0 is always shown, 1 on request (`-o wide`).
    pub priority: i32,
}

/// How a connect subresource is called.
#[derive(Debug, Clone, Copy)]
pub struct Connect {
    /// HTTP methods that connect.
    pub methods: &'static [&'static str],
    /// Shape of the query options.
    pub options: &'static Message,
    /// Whether a path may follow the subresource.
    pub subpath: bool,
}

const STANDARD_VERBS: &[&str] =
    &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const SUBRESOURCE_VERBS: &[&str] = &["get", "patch", "update"];
const CREATE_ONLY: &[&str] = &["create"];

const GET_AND_POST: &[&str] = &["GET", "POST"];
const EVERY_METHOD: &[&str] = &["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

const STATUS: &[&str] = &[".status"];
const SPEC: &[&str] = &[".spec"];
const METADATA_AND_SPEC: &[&str] = &[".metadata", ".spec"];

/// What most resources have in common; the names are filled in by the rows.
const RESOURCE: Resource<'static> = Resource {
    group: "",
    version: "",
    group_version: "",
    plural: "",
    subresource: "",
    builtin: None,
    act: EndpointOperation::Store,
    kind: "",
    kind_group_version: "",
    singular: "",
    short_names: &[],
    categories: &[],
    namespaced: true,
    verbs: STANDARD_VERBS,
    message: &IO_K8S_APIMACHINERY_PKG_APIS_META_V1_STATUS,
    custom: None,
    custom_version: 0,
    list_message: None,
    storage: None,
    storage_version_hash: "",
    allow_create_on_update: false,
    allow_unconditional_update: true,
    sets_generation: false,
    graceful_delete: false,
    default_gc: DefaultGc::DeleteDependents,
    returns_deleted_object: false,
    ttl_seconds: None,
    field_selectors: &[same("metadata.name"), same("metadata.namespace")],
    index_fields: &[],
    reset_fields: &[],
    columns: &[],
    watch_cache: true,
    off_by_default: false,
    connect: None,
    get_options: None,
    produces: &[],
    lifecycle: UNVERSIONED,
};

/// What the subresources of a group version have in common.
const fn subresource_of(base: Resource<'static>) -> Resource<'static> {
    Resource { verbs: SUBRESOURCE_VERBS, field_selectors: &[], ..base }
}

/// A field selector label that is spelled like the path it selects on.
const fn same(label: &'static str) -> (&'static str, &'static str) {
    (label, label)
}

const fn protobuf(
    group_version: &'static str,
    kind: &'static str,
    message: &'static Message,
    prefix: &'static str,
) -> Option<StorageSpec<'static>> {
    Some(StorageSpec { group_version, kind, message, prefix, encoding: Encoding::Protobuf, custom: None })
}

const fn json(
    group_version: &'static str,
    kind: &'static str,
    message: &'static Message,
    prefix: &'static str,
) -> Option<StorageSpec<'static>> {
    Some(StorageSpec { group_version, kind, message, prefix, encoding: Encoding::Json, custom: None })
}

/// The groups in discovery order, those included that have no version served by default.
pub fn groups() -> &'static [Group] {
    groups::GROUPS
}

/// Every row, group by group in discovery order.
pub fn all() -> impl Iterator<Item = &'static Resource<'static>> {
    groups().iter().flat_map(|group| group.resources)
}

/// Finds the row of a resource (`subresource` empty) or subresource.
pub fn find(
    group: &str,
    version: &str,
    plural: &str,
    subresource: &str,
) -> Option<&'static Resource<'static>> {
    let rows = groups().iter().find(|g| g.name == group)?.resources;
    let wanted = (version, plural, subresource);
    let at = rows.binary_search_by(|r| (r.version, r.plural, r.subresource).cmp(&wanted)).ok()?;
    rows.get(at)
}

/// What is not stored, as a form that holds nothing.
static EMPTY_STORAGE: StorageSpec<'static> = StorageSpec {
    group_version: "",
    kind: "",
    message: &IO_K8S_APIMACHINERY_PKG_APIS_META_V1_STATUS,
    prefix: "",
    encoding: Encoding::Json,
    custom: None,
};

impl<'a> Resource<'a> {
    /// How objects are stored. For what is not stored, a form that nothing can be read from.
    pub fn stored_form(&self) -> &StorageSpec<'a> {
        self.storage.as_ref().unwrap_or(&EMPTY_STORAGE)
    }

    /// Whether the verb is served.
    pub fn serves(&self, verb: &str) -> bool {
        self.verbs.contains(&verb)
    }

    /// The columns of a Table of what the endpoint answers with, and the name by which its printer and
    /// its columns' descriptions go. A subresource that answers with the object itself (`status`) has the
    /// object's table, a Scale has one of its own.
    pub fn table(&self) -> (&[Column<'_>], &str) {
        match self.subresource {
            "" => (self.columns, self.plural),
            "scale" => (columns::SCALE, "scale"),
            _ => {
                let main = find(self.group, self.version, self.plural, "");
                let same = main.filter(|main| main.kind == self.kind);
                (same.map_or(self.columns, |main| main.columns), self.plural)
            }
        }
    }

    /// `pods` or `pods/status`, as discovery names it.
    pub fn path(&self) -> String {
        match self.subresource {
            "" => self.plural.to_owned(),
            subresource => format!("{}/{subresource}", self.plural),
        }
    }

    /// The text of the `Warning` header that every answer of the endpoint carries, errors included,
    /// once its kind is deprecated.
    pub fn deprecation_warning(&self) -> Option<String> {
        if let Some(custom) = self.custom {
            return custom.version.deprecated.clone();
        }
        self.lifecycle.warning(self.kind_group_version, self.kind)
    }
}
