//! Converts between stored bytes and object trees.
//!
//! A tree in this crate is always in the row's *storage version*. Requests in another version are converted
//! on the way in, responses on the way out. With a conversion webhook, a tree is in the version of the
//! request, and an object that is stored in another version stays unconverted until the webhook is called
//! ([`crate::generic`]'s conversions).

use api::conversion::NormaliseError;
use api::resources::custom::{CustomKind, InvalidVersionError};
use api::resources::{Encoding, Resource, StorageSpec};
use api::scheme::scheme_name;
use api::structural::{Coercion, CoercionError, drop_malformed_metadata};
use apimachinery::gvk::split_api_version;
use apimachinery::status::Status;
use bytes::Bytes;
use cacher::Element;
use component_base::features::Gates;
use jsontree::Value;
use kinds::defaults::Defaults;
use schema::json::errors::not_registered;
use schema::memory::BudgetExceeded;
use schema::object::Object;
use schema::proto::Envelope;
use schema::proto::inplace::MessageRef;
use schema::{cbor, json, json_write, proto};
use storage::{KeyValue, Revision};

use crate::meta;

/// Error of encoding or decoding a stored object. The texts are upstream's.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CodecError {
    /// The object or the stored value is invalid as Protobuf.
    #[error(transparent)]
    Protobuf(#[from] proto::Error),
    /// The stored value is invalid JSON.
    #[error(transparent)]
    Json(#[from] json::Error),
    /// The object cannot be written as JSON.
    #[error(transparent)]
    WriteJson(#[from] json_write::Error),
    /// The stored value is invalid CBOR.
    #[error(transparent)]
    Cbor(#[from] cbor::Error),
    /// The object cannot be written as CBOR.
    #[error(transparent)]
    WriteCbor(#[from] cbor::WriteError),
    /// The stored value has another kind, or a version that is not registered.
    #[error("{}", not_registered(kind, api_version, scheme_name(group)))]
    UnknownKind {
        /// Group of the resource.
        group: String,
        /// Kind of the stored value.
        kind: String,
        /// Version of the stored value.
        api_version: String,
    },
    /// The stored value does not match the schema of its custom resource.
    #[error(transparent)]
    CustomResource(#[from] CoercionError),
    /// The custom resource definition lacks the version of the stored value.
    #[error(transparent)]
    InvalidVersion(#[from] InvalidVersionError),
    /// The object to write is nested deeper than a stored object may be.
    #[error("the object is nested too deeply")]
    TooDeep,
    /// The verbatim JSON of the object to write takes too much memory.
    #[error(transparent)]
    TooLarge(#[from] BudgetExceeded),
    /// The object cannot be brought into its canonical form.
    #[error(transparent)]
    Normalise(#[from] NormaliseError),
}

impl From<CodecError> for Box<Status> {
    fn from(error: CodecError) -> Self {
        match error {
            CodecError::TooDeep => Status::bad_request(error.to_string()),
            CodecError::TooLarge(_) => Status::request_entity_too_large(error.to_string()),
            error => Status::internal_error(error.to_string()),
        }
        .into()
    }
}

impl CodecError {
    /// True for an intact custom object in a version that its definition no longer has.
    pub(crate) fn is_of_unserved_version(&self) -> bool {
        matches!(self, CodecError::InvalidVersion(_))
    }

    /// Returns the error of an object that cannot be encoded. Clients can send objects that are too deep or
    /// too large, but no object with another defect.
    fn encoding(error: impl Into<CodecError>) -> Self {
        match error.into() {
            CodecError::Protobuf(proto::Error::TooDeep)
            | CodecError::WriteJson(json_write::Error::TooDeep)
            | CodecError::WriteCbor(cbor::WriteError::Value(json_write::Error::TooDeep)) => {
                CodecError::TooDeep
            }
            CodecError::WriteCbor(cbor::WriteError::Raw {
                reason: json::Error::BudgetExceeded(error),
                ..
            }) => CodecError::TooLarge(error),
            error => error,
        }
    }
}

/// Stored object with its key and revision. Clones share the bytes.
#[derive(Debug, Clone)]
pub struct StoredObject {
    /// Storage key, for the log.
    pub key: String,
    /// Stored bytes, without a resource version.
    pub value: Bytes,
    /// Revision of the last write, which is the object's resource version. 0 for an object that was never
    /// written (a dry run).
    pub revision: Revision,
}

impl StoredObject {
    /// Borrows the object for decoding or encoding.
    pub fn as_ref(&self) -> StoredRef<'_> {
        StoredRef { key: &self.key, value: &self.value, revision: self.revision }
    }
}

/// Stored object, borrowed from a [`StoredObject`] or an [`Element`].
#[derive(Debug, Clone, Copy)]
pub struct StoredRef<'a> {
    /// Storage key, for the log.
    pub key: &'a str,
    /// Stored bytes, without a resource version.
    pub value: &'a [u8],
    /// Resource version; 0 for none.
    pub revision: Revision,
}

impl<'a> StoredRef<'a> {
    /// Borrows a key-value pair of the store.
    pub fn of(kv: &'a KeyValue) -> Self {
        StoredRef { key: &kv.key, value: &kv.value, revision: kv.mod_revision }
    }

    /// Borrows an element. An unreadable element is empty, and empty bytes never decode; reads never return
    /// it.
    pub fn element(element: &'a Element) -> Self {
        let value = element.value().map_or(&[][..], |value| value);
        StoredRef { key: element.key(), value, revision: element.revision() }
    }
}

/// Encodes an object for storage. `resourceVersion` and `selfLink` are never stored.
///
/// # Errors
/// A message if the object cannot be encoded.
pub fn encode(row: &StorageSpec, object: &Object) -> Result<Bytes, CodecError> {
    let mut out = Vec::with_capacity(1024);
    match row.encoding {
        Encoding::Protobuf => {
            let mut raw = Vec::with_capacity(1024);
            proto::encode(row.message, object, &mut raw).map_err(CodecError::encoding)?;
            proto::wrap(row.group_version, row.kind, &raw, &mut out);
        }
        Encoding::Json => {
            json_write::encode(row.message, object, &mut out).map_err(CodecError::encoding)?;
            out.push(b'\n');
        }
    }
    Ok(shrink(out))
}

/// Shrinks bytes that live as long as the object. Their spare capacity could be as large as their content.
fn shrink(bytes: Vec<u8>) -> Bytes {
    bytes.into_boxed_slice().into()
}

/// Prunes a custom object before it is stored: fields that only the version of the request has, and unknown
/// fields from an apply or from admission. Until then field managers and the validation see those fields.
///
/// # Errors
/// The object does not match the schema of the version that it is stored in.
pub(crate) fn prune_for_storage(
    came_in: &Resource<'_>,
    row: &StorageSpec<'_>,
    object: &mut Object,
) -> Result<(), CodecError> {
    let Some(kind) = row.custom else { return Ok(()) };
    let version = if kind.converts_by_webhook { came_in.group_version } else { row.group_version };
    kind.coerce(version, object, Coercion::Silent)?;
    Ok(())
}

/// Prunes a stored custom object to the schema of the version that a request uses, so that field managers of
/// that version can read it. The object keeps the `apiVersion` of the storage version.
///
/// # Errors
/// The object does not match the schema of that version.
pub(crate) fn prune_to_request(
    row: &Resource<'_>,
    storage: &StorageSpec<'_>,
    object: &mut Object,
) -> Result<(), CodecError> {
    match storage.custom {
        Some(kind) if row.group_version != storage.group_version => {
            kind.coerce(row.group_version, object, Coercion::Silent)?;
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Encodes a custom object as CBOR, the storage encoding with the gate `CBORServingAndStorage`.
///
/// # Errors
/// A message if the object cannot be encoded.
pub(crate) fn encode_cbor(row: &StorageSpec, object: &Object) -> Result<Bytes, CodecError> {
    let mut out = Vec::with_capacity(1024);
    cbor::encode(row.message, object, &mut out).map_err(CodecError::encoding)?;
    Ok(shrink(out))
}

/// Removes the fields that are never stored.
pub fn strip_revision(object: &mut Object) {
    let metadata = meta::metadata_mut(object);
    metadata.remove("resourceVersion");
    metadata.remove("selfLink");
}

/// Decodes an element's bytes or the result of a write. Applies no defaults, because elements already have
/// them ([`crate::ingest`]).
///
/// # Errors
/// A message if the bytes cannot be decoded.
pub fn decode(row: &StorageSpec, stored: StoredRef<'_>) -> Result<Object, CodecError> {
    let mut object = decode_value(row, stored.value)?;
    meta::set_text(&mut object, "resourceVersion", &revision_text(stored.revision));
    Ok(object)
}

/// Decodes stored bytes that another server may have written. Accepts the row's own encoding and those that
/// upstream's storage codec tolerates: another version of the kind, and JSON for protobuf or the reverse.
/// Applies newer defaults.
///
/// # Errors
/// A message if the bytes cannot be decoded.
pub(crate) fn decode_kv(
    row: &StorageSpec,
    stored: StoredRef<'_>,
    gates: &Gates,
) -> Result<Object, CodecError> {
    let mut object = decode_stored(row, stored.value, gates)?;
    meta::set_text(&mut object, "resourceVersion", &revision_text(stored.revision));
    Ok(object)
}

/// Formats a revision as `resourceVersion`; empty for 0.
pub fn revision_text(revision: Revision) -> String {
    if revision == 0 { String::new() } else { revision.to_string() }
}

/// Decodes complete bytes of the row's version, or bytes of another version, into a tree of the row's version
/// without a resource version.
pub(crate) fn decode_value(row: &StorageSpec, value: &[u8]) -> Result<Object, CodecError> {
    let (object, from) = decode_any(row, value)?;
    Ok(to_row_version(row, object, &from))
}

/// Decodes bytes that any server has written into a tree of the row's version without a resource version.
/// Like upstream, it applies newer defaults by the rules of the version that was written, and makes aliases
/// consistent.
pub(crate) fn decode_stored(row: &StorageSpec, value: &[u8], gates: &Gates) -> Result<Object, CodecError> {
    let (mut object, from) = decode_any(row, value)?;
    match row.custom {
        None => kinds::defaults::apply(&from, row.kind, &mut object, gates),
        Some(kind) => {
            kind.check_version(&from)?;
            kind.coerce(&from, &mut object, Coercion::Lenient)?;
            if kind.default(&from, &mut object).is_err() {
                // An object that a later CRD makes too large can still be read in its stored form, and
                // deleted.
                (object, _) = decode_any(row, value)?;
                kind.coerce(&from, &mut object, Coercion::Lenient)?;
            }
            complete_custom(kind, row, &from, &mut object)?;
        }
    }
    let mut object = to_row_version(row, object, &from);
    api::conversion::normalise_for_storage(group_of(row), row.kind, &mut object)?;
    if row.custom.is_none() {
        kinds::defaults::complete_stored(row.kind, &mut object, gates);
    }
    Ok(object)
}

/// Completes a stored custom object in version `from` with its defaults. Prunes fields that are not in the
/// schema of the storage version, and adds a generation, which very old objects lack.
fn complete_custom(
    kind: &CustomKind,
    row: &StorageSpec,
    from: &str,
    object: &mut Object,
) -> Result<(), CodecError> {
    if from != row.group_version && !kind.converts_by_webhook {
        kind.coerce(row.group_version, object, Coercion::Lenient)?;
    }
    if meta::generation(object) == 0 {
        meta::set_generation(object, 1);
    }
    Ok(())
}

/// Returns the bytes that readers see for stored bytes. Strategies omit fields that upstream's decoder fills
/// in again, for example the phase of a new claim. Older servers wrote other versions.
pub(crate) fn reader_form(row: &StorageSpec, stored: Bytes, gates: &Gates) -> Bytes {
    let differs = |envelope: Envelope<'_>| {
        if envelope.api_version != row.group_version {
            return true;
        }
        let stored = MessageRef::new(row.message, envelope.raw);
        Defaults::of_stored(row.group_version, row.kind)
            .is_some_and(|defaults| defaults.are_missing(stored, gates))
    };
    if Envelope::parse(&stored).is_ok_and(differs) {
        decode_stored(row, &stored, gates).and_then(|object| encode(row, &object)).unwrap_or(stored)
    } else {
        stored
    }
}

/// Returns the bytes that readers see for a custom object.
///
/// # Errors
/// 500 for an object that cannot be decoded.
pub(crate) fn custom_reader_form(
    row: &StorageSpec,
    stored: &[u8],
    gates: &Gates,
) -> Result<Bytes, Box<Status>> {
    let read = decode_stored(row, stored, gates).and_then(|object| encode(row, &object));
    Ok(read?)
}

fn decode_any(row: &StorageSpec, value: &[u8]) -> Result<(Object, String), CodecError> {
    match () {
        () if Envelope::recognizes(value) => decode_protobuf(row, value),
        () if value.starts_with(SELF_DESCRIBED_CBOR) => decode_cbor(row, value),
        () => decode_json(row, value),
    }
}

/// Converts an object of version `from` to the row's version. An object with a conversion webhook is
/// unchanged.
pub(crate) fn to_row_version(row: &StorageSpec, object: Object, from: &str) -> Object {
    if row.custom.is_some_and(|kind| kind.converts_by_webhook) {
        return object;
    }
    let mut object = if from == row.group_version {
        object
    } else {
        api::conversion::convert(object, from, row.group_version, row.kind)
    };
    object.insert("kind", row.kind.into());
    object.insert("apiVersion", row.group_version.into());
    object
}

/// Returns an object with its version.
fn decode_protobuf(row: &StorageSpec, value: &[u8]) -> Result<(Object, String), CodecError> {
    let envelope = Envelope::parse(value)?;
    let message = version_of(row, &envelope.api_version, &envelope.kind)?;
    let object = proto::decode(message, envelope.raw)?;
    Ok((object, envelope.api_version.into_owned()))
}

/// Returns an object with its version.
fn decode_json(row: &StorageSpec, value: &[u8]) -> Result<(Object, String), CodecError> {
    let head = json::type_meta(value)?;
    let message = version_of(row, &head.api_version, &head.kind)?;
    let object = match json::decode_stored(message, value) {
        Ok(decoded) => decoded.object,
        Err(error) if message.open => decode_leniently(message, value).ok_or(error)?,
        Err(error) => return Err(error.into()),
    };
    Ok((object, head.api_version.to_string()))
}

/// Prefix of stored CBOR (RFC 8949, 3.4.6).
const SELF_DESCRIBED_CBOR: &[u8] = b"\xd9\xd9\xf7";

/// Returns an object with its version.
fn decode_cbor(row: &StorageSpec, value: &[u8]) -> Result<(Object, String), CodecError> {
    let head = cbor::type_meta(value)?;
    let message = version_of(row, &head.api_version, &head.kind)?;
    let decoded = cbor::decode(message, value)?;
    Ok((decoded.object, head.api_version.to_string()))
}

/// Decodes a custom object with invalid metadata, without the invalid parts. Another writer stored it without
/// validation, and it must be readable to be deleted.
fn decode_leniently(message: &'static schema::table::Message, value: &[u8]) -> Option<Object> {
    let Value::Object(mut object) = json::decode_untyped_stored(value).ok()?.value else { return None };
    drop_malformed_metadata(&mut object);
    let mut text = Vec::new();
    json_write::untyped(&Value::Object(object), &mut text).ok()?;
    json::decode_stored(message, &text).ok().map(|decoded| decoded.object)
}

pub(crate) fn group_of<'a>(row: &StorageSpec<'a>) -> &'a str {
    split_api_version(row.group_version).0
}

/// Returns the type of a version of the row's kind. All versions of a custom resource have the same one.
fn version_of(
    row: &StorageSpec,
    api_version: &str,
    kind: &str,
) -> Result<&'static schema::table::Message, CodecError> {
    if api_version == row.group_version && kind == row.kind {
        return Ok(row.message);
    }
    if row.message.open && kind == row.kind && split_api_version(api_version).0 == group_of(row) {
        return Ok(row.message);
    }
    schema::builtin::kind(api_version, kind).filter(|_| kind == row.kind).ok_or_else(|| {
        CodecError::UnknownKind {
            group: group_of(row).to_owned(),
            kind: kind.to_owned(),
            api_version: api_version.to_owned(),
        }
    })
}
