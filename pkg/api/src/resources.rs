//! The built-in resources as rows: names, verbs, storage, selectable fields. One file per
//! API group below `resources/`; everything is `static`, nothing is computed at start-up.

/// Declares the kinds of an API group: `Name: folder::file, conversion;`. The file is below `pkg/kinds/src` and
/// has the kind's descriptor; the conversion is below `src/conversion`. `build/kinds.rs` collects the
/// declarations of all groups into [`Builtin`].
macro_rules! kinds {
    (in $group:literal: $($kind:ident: $folder:ident::$file:ident, $conversion:path;)+) => {};
}

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
mod coordination;
mod core;
pub mod custom;
mod discovery;
mod events;
mod evictions;
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
pub use lifecycle::{Lifecycle, hash_of_version, storage_version, storage_version_hash};

use component_base::features::Gate;
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
    /// Built-in kind of the main resource, also for its subresources; `None` for custom resources.
    pub builtin: Option<Builtin>,
    /// Operation behind the endpoint.
    pub operation: EndpointOperation,
    /// Kind of the body; for connect subresources the kind of their options.
    pub kind: &'a str,
    /// `apiVersion` of `kind`. Differs from `group_version` for a subresource with a kind of another group,
    /// such as `autoscaling/v1` Scale.
    pub kind_group_version: &'a str,
    /// Singular name; empty for subresources.
    pub singular: &'a str,
    /// Abbreviations that `kubectl` accepts.
    pub short_names: &'a [&'a str],
    /// Categories (`all`, `api-extensions`) that `kubectl` expands.
    pub categories: &'a [&'a str],
    pub namespaced: bool,
    /// Kubernetes verbs, sorted.
    pub verbs: &'static [&'static str],
    /// Shape of the body. All custom resources share one shape, which is open except for the metadata;
    /// `schema` has the details.
    pub message: &'static Message,
    /// Details from a custom resource's definition. `None` for built-in resources, which have them in their
    /// shape.
    pub custom: Option<Custom<'a>>,
    /// Number of the version of a custom resource, because version names are arbitrary; 0 for built-in
    /// resources.
    pub custom_version: u16,
    /// Shape of a list; `None` without the `list` verb.
    pub list_message: Option<&'static Message>,
    /// Storage of the objects; `None` for subresources and for objects that are never stored.
    pub storage: Option<StorageSpec<'a>>,
    /// Opaque name of the storage version in discovery; equal in all versions that share a storage.
    pub storage_version_hash: &'a str,
    /// True if PUT of a missing object creates it.
    pub allow_create_on_update: bool,
    /// True if PUT without `resourceVersion` overwrites the object; otherwise it is invalid.
    pub allow_unconditional_update: bool,
    /// True if `metadata.generation` is 1 on create and counts changes of the desired state.
    pub sets_generation: bool,
    /// Deletion may wait for a grace period.
    pub graceful_delete: bool,
    /// Effect on dependents if the client sets no propagation policy.
    pub default_gc: DefaultGc,
    /// DELETE returns the object; otherwise a `Status`.
    pub returns_deleted_object: bool,
    /// Seconds until an object expires, for resources with expiry.
    pub ttl_seconds: Option<u32>,
    /// Accepted field selector labels with their paths in the internal object. A path may not exist in the
    /// served version (`source` of an Event); the registry can read it. A label without a path is accepted,
    /// but no object has a value for it.
    pub field_selectors: &'a [(&'a str, &'a str)],
    /// Selectable paths that are indexed in the watch cache.
    pub index_fields: &'a [&'a str],
    /// Paths that updates through this endpoint do not change, so no manager owns them.
    pub reset_fields: &'static [&'static str],
    /// Feature gate without which the endpoint has no reset fields.
    pub reset_gate: Option<Gate>,
    /// True if lists and watches use the watch cache.
    pub watch_cache: bool,
    /// True if the resource is served only if `--runtime-config` enables it.
    pub off_by_default: bool,
    /// Properties of a connect subresource (`exec`, `proxy`, …).
    pub connect: Option<Connect>,
    /// Shape of the query options of GET, if not `GetOptions`.
    pub get_options: Option<&'static Message>,
    /// Media types of GET responses that are not negotiated object formats.
    pub produces: &'static [&'static str],
    /// Releases in which the version was introduced, deprecated and removed.
    pub lifecycle: Lifecycle,
    /// Feature gate that the resource requires, regardless of `--runtime-config` (upstream's
    /// `registry/*/rest`).
    pub gate: Option<Gate>,
    /// Objects are always stored in this release's version, regardless of the versions that older servers
    /// support. Equivalent to upstream's `NewStorageFactoryConfigEffectiveVersion`, and to the encodings of
    /// its servers for CRDs and for API services.
    pub pinned_storage: bool,
    /// Text of the error about an unknown field selector label.
    pub unknown_label: UnknownLabel,
}

/// Texts of the error about an unknown field selector label. Upstream converts labels in several places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownLabel {
    /// The label alone.
    Plain,
    /// The label in quotes, and `Job`.
    Job,
    /// The label with version and kind.
    OfVersion,
}

/// Storage of the objects of a resource.
#[derive(Debug, Clone, Copy)]
pub struct StorageSpec<'a> {
    pub group_version: &'a str,
    pub kind: &'a str,
    pub message: &'static Message,
    /// Path below the storage prefix, without slashes at its ends: keys are
    /// `/registry/<prefix>/[<namespace>/]<name>`.
    pub prefix: &'a str,
    pub encoding: Encoding,
    /// Definition of a custom resource.
    pub custom: Option<&'a CustomKind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Protobuf in the `k8s\0` envelope.
    Protobuf,
    Json,
}

/// Effect of a deletion on dependents, if neither options nor finalizers set it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultGc {
    /// The garbage collector deletes them.
    DeleteDependents,
    /// They are orphaned.
    OrphanDependents,
    /// The resource takes no part in garbage collection.
    Unsupported,
}

#[derive(Debug, Clone, Copy)]
pub struct Connect {
    /// HTTP methods that connect.
    pub methods: &'static [&'static str],
    /// Shape of the query options.
    pub options: &'static Message,
    /// True if a path may follow the subresource.
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

/// Defaults of most resources; the rows set the names.
const RESOURCE: Resource<'static> = Resource {
    group: "",
    version: "",
    group_version: "",
    plural: "",
    subresource: "",
    builtin: None,
    operation: EndpointOperation::Store,
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
    field_selectors: &[label_equal_to_path("metadata.name"), label_equal_to_path("metadata.namespace")],
    index_fields: &[],
    reset_fields: &[],
    reset_gate: None,
    watch_cache: true,
    off_by_default: false,
    connect: None,
    get_options: None,
    produces: &[],
    lifecycle: UNVERSIONED,
    gate: None,
    pinned_storage: false,
    unknown_label: UnknownLabel::Plain,
};

/// Defaults of the subresources of a group version.
const fn subresource_of(base: Resource<'static>) -> Resource<'static> {
    Resource { verbs: SUBRESOURCE_VERBS, field_selectors: &[], ..base }
}

/// Returns a field selector label that equals its path.
const fn label_equal_to_path(label: &'static str) -> (&'static str, &'static str) {
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

/// Returns the groups in discovery order, including those without a version that is served by default.
pub fn groups() -> &'static [Group] {
    groups::GROUPS
}

/// Iterates over every resource, group by group in discovery order.
pub fn all() -> impl Iterator<Item = &'static Resource<'static>> {
    groups().iter().flat_map(|group| group.resources)
}

/// Finds a resource (`subresource` empty) or subresource.
pub fn find(
    group: &str,
    version: &str,
    plural: &str,
    subresource: &str,
) -> Option<&'static Resource<'static>> {
    let rows = groups().iter().find(|g| g.name == group)?.resources;
    let key = (version, plural, subresource);
    let at = rows.binary_search_by(|r| (r.version, r.plural, r.subresource).cmp(&key)).ok()?;
    rows.get(at)
}

/// Empty form of resources that are not stored.
static EMPTY_STORAGE: StorageSpec<'static> = StorageSpec {
    group_version: "",
    kind: "",
    message: &IO_K8S_APIMACHINERY_PKG_APIS_META_V1_STATUS,
    prefix: "",
    encoding: Encoding::Json,
    custom: None,
};

impl<'a> Resource<'a> {
    /// Returns the storage of the objects. For resources that are not stored, it is an empty form.
    pub fn stored_form(&self) -> &StorageSpec<'a> {
        self.storage.as_ref().unwrap_or(&EMPTY_STORAGE)
    }

    pub fn serves(&self, verb: &str) -> bool {
        self.verbs.contains(&verb)
    }

    /// Returns `pods` or `pods/status`, as in discovery.
    pub fn path(&self) -> String {
        match self.subresource {
            "" => self.plural.to_owned(),
            subresource => format!("{}/{subresource}", self.plural),
        }
    }

    /// Returns the text of the `Warning` header of a deprecated kind. Every response of the endpoint contains
    /// it, including errors.
    pub fn deprecation_warning(&self) -> Option<String> {
        if let Some(custom) = self.custom {
            return custom.version.deprecated.clone();
        }
        self.lifecycle.warning(self.kind_group_version, self.kind)
    }
}
