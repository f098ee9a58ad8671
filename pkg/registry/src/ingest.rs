//! Prepares stored values for readers, both through the cache and past it: each is made canonical, defaulted,
//! and indexed by labels and selectable fields, once.
//!
//! Values of older servers lack newer defaults. Upstream applies them at every decode. Here a complete value,
//! which is nearly every one, keeps its bytes.

use std::sync::Arc;

use api::conversion::normalise_for_storage;
use api::resources;
use api::resources::custom::BULK;
use api::resources::{Encoding, Handle, Resource, StorageSpec};
use bytes::Bytes;
use cacher::{HeaderBuilder, Ingest, IngestError, ResourceConfig};
use component_base::features::{Gate, Gates};
use jsontree::Value;
use kinds::defaults::Defaults;
use schema::json;
use schema::object::Object;
use schema::proto::inplace::MessageRef;
use schema::proto::meta::Header;
use schema::proto::{self, Envelope, ScalarRef};

use crate::codec::{self, CodecError};
use crate::meta;

/// Returns every stored built-in resource once, with keys below `prefix` (for example `/registry`). `cached`
/// selects the resources with a watch cache; `gates` affect the defaults.
pub fn resources(prefix: &str, gates: Gates, cached: impl Fn(&Resource) -> bool) -> Vec<ResourceConfig> {
    let config = |(row, storage): (&'static Resource<'static>, &'static StorageSpec<'static>)| {
        resource(prefix, row.into(), Fields::of(storage.prefix).with_gates(&gates), gates, cached(row))
    };
    stored_rows().map(config).collect()
}

/// Creates a stored resource with keys below `prefix`.
pub(crate) fn resource(
    prefix: &str,
    handle: Handle,
    fields: Fields,
    gates: Gates,
    cached: bool,
) -> ResourceConfig {
    let row = handle.row();
    ResourceConfig {
        prefix: key_prefix_of(prefix, row.stored_form().prefix),
        group: row.group.to_owned(),
        resource: row.plural.to_owned(),
        cached,
        index: row.index_fields.first().and_then(|path| fields.position(path)),
        ingest: Arc::new(StoredForm::new(handle.clone(), fields, gates)),
    }
}

pub(crate) fn key_prefix_of(prefix: &str, storage_prefix: &str) -> String {
    format!("/{}/{storage_prefix}/", prefix.trim_matches('/'))
}

/// Returns the first row of each storage. Several versions, and for events several groups, share one.
pub(crate) fn stored_rows()
-> impl Iterator<Item = (&'static Resource<'static>, &'static StorageSpec<'static>)> {
    let mut prefixes = Vec::new();
    resources::all().filter_map(move |row| {
        let storage = row.storage.as_ref().filter(|storage| !prefixes.contains(&storage.prefix))?;
        prefixes.push(storage.prefix);
        Some((row, storage))
    })
}

/// Selectable fields of the objects under one storage prefix, besides name and namespace. A field's position
/// is the position of its value in an element's header. If clients may request shards, the uid is the last
/// field.
#[derive(Debug, Clone)]
pub(crate) struct Fields {
    paths: Arc<[Box<str>]>,
    sharded: bool,
}

impl Fields {
    /// Returns the fields of all built-in rows with this storage prefix.
    pub(crate) fn of(storage_prefix: &str) -> Self {
        let rows = resources::all().filter(|row| row.storage.is_some_and(|s| s.prefix == storage_prefix));
        Self::of_rows(rows)
    }

    /// Returns the fields of rows that share a storage prefix.
    pub(crate) fn of_rows<'r>(rows: impl IntoIterator<Item = &'r Resource<'r>>) -> Self {
        let paths = rows.into_iter().flat_map(|row| row.field_selectors.iter().map(|(_, path)| *path));
        let mut paths: Vec<_> =
            paths.filter(|path| !path.is_empty() && !path.starts_with("metadata.")).collect();
        paths.sort_unstable();
        paths.dedup();
        Fields { paths: paths.into_iter().map(Box::from).collect(), sharded: false }
    }

    /// Adds the shard key if its gate is enabled.
    pub(crate) fn with_gates(self, gates: &Gates) -> Self {
        Fields { sharded: gates.enabled(Gate::ShardedListAndWatch), ..self }
    }

    /// All header fields, in order.
    fn header_fields(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().map(|path| &**path).chain(self.sharded.then_some(UID))
    }

    pub(crate) fn uid_position(&self) -> usize {
        self.paths.len()
    }

    pub(crate) fn position(&self, path: &str) -> Option<usize> {
        self.paths.binary_search_by(|indexed| (**indexed).cmp(path)).ok()
    }
}

/// Shard key of an object.
const UID: &str = "metadata.uid";

/// Paths of a selectable field in a stored object; the first non-empty one applies. Rows contain paths of
/// upstream's internal objects. The differences to stored objects are listed here (upstream's
/// `ToSelectableFields` functions).
fn field_paths(kind: &str, path: &str) -> &'static [&'static [&'static str]] {
    match (kind, path) {
        ("Pod", "status.podIP") => &[&["status", "podIPs", "ip"]],
        ("Event", "source") => &[&["source", "component"], &["reportingComponent"]],
        ("Job", "status.successful") => &[&["status", "succeeded"]],
        _ => &[],
    }
}

/// Decoder for the values of one stored resource.
struct StoredForm {
    row: Handle,
    defaults: Option<Defaults>,
    fields: Fields,
    gates: Gates,
}

impl Ingest for StoredForm {
    fn ingest(&self, value: Bytes, header: &mut HeaderBuilder) -> Result<Bytes, IngestError> {
        let ingested = match self.storage().encoding {
            Encoding::Protobuf => self.protobuf(value, header),
            Encoding::Json => self.json(value, header),
        };
        ingested.map_err(|error| {
            if error.is_of_unserved_version() {
                IngestError::Unserved(error.into())
            } else {
                IngestError::decode(error)
            }
        })
    }
}

impl StoredForm {
    fn new(row: Handle, fields: Fields, gates: Gates) -> Self {
        let storage = row.row().stored_form();
        StoredForm { defaults: Defaults::of_stored(storage.group_version, storage.kind), row, fields, gates }
    }

    fn storage(&self) -> &StorageSpec<'_> {
        self.row.row().stored_form()
    }

    fn protobuf(&self, value: Bytes, header: &mut HeaderBuilder) -> Result<Bytes, CodecError> {
        let storage = self.storage();
        let value = if self.is_canonical(&value) {
            value
        } else {
            let object = codec::decode_stored(storage, &value, &self.gates)?;
            warn_of_removed_version(&value, &object);
            codec::encode(storage, &object)?
        };
        let raw = Envelope::parse(&value)?.raw;
        for (key, label) in Header::parse(raw)?.labels() {
            header.push_label(key, label);
        }
        for path in self.fields.header_fields() {
            push(storage.kind, path, header, |place| {
                scalar_text(proto::field_at(raw, storage.message, place))
            });
        }
        Ok(value)
    }

    /// True if a value is canonical and has all its defaults.
    fn is_canonical(&self, value: &[u8]) -> bool {
        let storage = self.storage();
        Envelope::parse(value).is_ok_and(|envelope| {
            envelope.api_version == storage.group_version
                && envelope.kind == storage.kind
                && proto::is_canonical(storage.message, envelope.raw)
                && self.defaults.is_none_or(|defaults| {
                    !defaults.are_missing(MessageRef::new(storage.message, envelope.raw), &self.gates)
                })
        })
    }

    /// Returns the outline of a built-in JSON object that is canonical and has all its defaults. The schemas
    /// of CRDs, which have no defaults, are skipped.
    fn canonical_outline(&self, value: &[u8]) -> Option<Object> {
        let storage = self.storage();
        let text = value.strip_suffix(b"\n").filter(|_| storage.custom.is_none())?;
        if !json::is_canonical(storage.message, text) {
            return None;
        }
        let Value::Object(outline) = json::decode_outline(text, BULK).ok()?.value else { return None };
        let is = |name: &str, expected: &str| outline.get(name).and_then(Value::as_str) == Some(expected);
        if !is("apiVersion", storage.group_version) || !is("kind", storage.kind) {
            return None;
        }
        let mut read = outline.clone();
        self.defaults.map_or(Ok(()), |defaults| defaults.fill(&mut read, &self.gates)).ok()?;
        normalise_for_storage(codec::group_of(storage), storage.kind, &mut read).ok()?;
        (read == outline).then_some(outline)
    }

    fn json(&self, value: Bytes, header: &mut HeaderBuilder) -> Result<Bytes, CodecError> {
        if let Some(outline) = self.canonical_outline(&value) {
            index(self.storage().kind, &self.fields, &outline, header);
            return Ok(value);
        }
        let object = codec::decode_stored(self.storage(), &value, &self.gates)?;
        index(self.storage().kind, &self.fields, &object, header);
        header.set_deep(object.values().any(Value::has_raw));
        let encoded = codec::encode(self.storage(), &object)?;
        // Nearly always equal to the stored bytes, which are then shared.
        Ok(if encoded == value { value } else { encoded })
    }
}

/// Logs a stored object of a version that no request can use. It must be written again or deleted while a
/// release can still read it.
fn warn_of_removed_version(value: &[u8], object: &Object) {
    let Ok(envelope) = Envelope::parse(value) else { return };
    let message = schema::builtin::kind(&envelope.api_version, &envelope.kind);
    if message.is_some_and(|message| message.info.unregistered) {
        tracing::warn!(
            api_version = %envelope.api_version,
            kind = %envelope.kind,
            namespace = meta::text(object, "namespace"),
            name = meta::text(object, "name"),
            "stored object has a removed version: write it again or delete it"
        );
    }
}

/// Adds an object's labels and fields to its header.
pub(crate) fn index(kind: &str, fields: &Fields, object: &Object, header: &mut HeaderBuilder) {
    let labels = meta::metadata(object).and_then(|m| m.get("labels")).and_then(Value::as_object);
    for (key, label) in labels.into_iter().flatten() {
        header.push_label(key, label.as_str().unwrap_or(""));
    }
    for path in fields.header_fields() {
        push(kind, path, header, |place| tree_text(object, place));
    }
}

/// Adds the first non-empty value of a field.
fn push(kind: &str, path: &str, header: &mut HeaderBuilder, read: impl Fn(&[&str]) -> String) {
    let selected = match field_paths(kind, path) {
        [] => read(&path.split('.').collect::<Vec<_>>()),
        places => places.iter().map(|place| read(place)).find(|text| !text.is_empty()).unwrap_or_default(),
    };
    header.push_field(&selected);
}

fn scalar_text(value: Option<ScalarRef<'_>>) -> String {
    match value {
        Some(ScalarRef::Str(text)) => text.to_owned(),
        Some(ScalarRef::Bool(flag)) => flag.to_string(),
        Some(ScalarRef::Int(number)) => number.to_string(),
        _ => String::new(),
    }
}

fn tree_text(object: &Object, path: &[&str]) -> String {
    let Some((first, rest)) = path.split_first() else { return String::new() };
    match rest.iter().try_fold(object.get(*first), |at, name| Some(at?.get(*name))).flatten() {
        Some(Value::String(text)) => text.to_string(),
        Some(Value::Bool(flag)) => flag.to_string(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests;
