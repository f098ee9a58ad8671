//! Test objects: all objects that Kubernetes itself wrote (`pkg/schema/testdata`), in stored form. [`server`] runs
//! the handlers over a store.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests state what must hold")]

pub(crate) mod server;

use std::sync::Arc;

use api::catalog::{Definition, Group};
use api::resources::custom::{CustomKind, Names};
use api::resources::{self, Encoding, Resource, StorageSpec};
use jsontree::Value;
use registry::{Element, codec};
use schema::proto::{self, Envelope};

/// Elements of one storage, with an endpoint that serves them.
pub(crate) struct Stored {
    pub(crate) endpoint: &'static Resource<'static>,
    pub(crate) storage: &'static StorageSpec<'static>,
    pub(crate) elements: Vec<Arc<Element>>,
}

/// Returns the stored objects of every listable endpoint, in the order of the rows.
pub(crate) fn all() -> Vec<Stored> {
    select(|row| row.subresource.is_empty() && row.list_message.is_some())
}

/// Returns the stored objects of one endpoint.
pub(crate) fn of(group: &str, version: &str, plural: &str) -> Stored {
    let row = resources::find(group, version, plural, "").unwrap();
    select(|candidate| std::ptr::eq(candidate, row)).remove(0)
}

fn select(rows: impl Fn(&Resource) -> bool) -> Vec<Stored> {
    let files = ["fixtures", "generated"].into_iter().flat_map(crate::testdata::files);
    let stored_by_upstream = |name: &str| name.ends_with(".pb") && !name.contains("after_roundtrip");
    let files: Vec<_> = files.filter(|(name, _)| stored_by_upstream(name)).map(|(_, bytes)| bytes).collect();
    let stored = |endpoint: &'static Resource<'static>| {
        let storage = endpoint.storage.as_ref()?;
        let elements = files.iter().filter_map(|bytes| element(storage, bytes)).collect();
        Some(Stored { endpoint, storage, elements })
    };
    let rows = resources::all().filter(|row| rows(row));
    rows.filter_map(stored).filter(|stored| !stored.elements.is_empty()).collect()
}

/// Returns the element of a file, if it is of the kind.
fn element(storage: &StorageSpec, bytes: &[u8]) -> Option<Arc<Element>> {
    let envelope = Envelope::parse(bytes).unwrap();
    if envelope.api_version != storage.group_version || envelope.kind != storage.kind {
        return None;
    }
    let mut object = proto::decode(storage.message, envelope.raw).unwrap();
    codec::strip_revision(&mut object);
    if storage.encoding == Encoding::Json {
        object.insert("kind", storage.kind.into());
        object.insert("apiVersion", storage.group_version.into());
    }
    let value = codec::encode(storage, &object).ok()?;
    let revision = 1000 + i64::try_from(value.len()).unwrap();
    Some(Element::of(&format!("/registry/{}/ns/{}", storage.prefix, value.len()), value, revision))
}

/// Creates a group with the CRDs of these specs.
pub(crate) fn custom_group(specs: &[Value]) -> Group {
    let name = specs[0]["group"].as_str().unwrap();
    let mut versions: Vec<&str> = Vec::new();
    let mut resources = Vec::new();
    for spec in specs {
        versions.extend(spec["versions"].as_array().unwrap().iter().map(|v| v["name"].as_str().unwrap()));
        let names = Names::read(spec["names"].as_object().unwrap());
        let kind = CustomKind::of_stored(spec.as_object().unwrap(), &|_| None, &names, false, 36);
        let namespaced = spec["scope"] == "Namespaced";
        let definition = Definition { group: name, names: &names, namespaced, kind: Arc::new(kind) };
        resources.extend(definition.resource());
    }
    versions.sort_unstable();
    versions.dedup();
    Group::custom(name, &versions, &resources)
}
