//! Encodes objects in every representation. An object whose served version is its storage version goes from
//! stored protobuf to the response without a tree.

use std::sync::Arc;

use api::conversion::internal_field_annotation;
use api::resources::{Encoding, Resource, StorageSpec};
use api::structural::Coercion;
use apimachinery::status::Status;
use jsontree::Value;
use memchr::memmem;
use registry::{Budget, Element, Memo, StoredRef, codec};
use schema::builtin::{self, IO_K8S_APIMACHINERY_PKG_APIS_META_V1_PARTIALOBJECTMETADATA as PARTIAL};
use schema::object::Object;
use schema::proto::{self, Envelope, TypeMetaHead};
use schema::table::Message;
use schema::{cbor, json_write, transcode, yaml};

use crate::negotiation::Format;
use crate::response::forms;

pub(crate) const PARTIAL_KIND: &str = "PartialObjectMetadata";

/// Field number of the items in the message of every list.
const ITEMS: u8 = 2;

/// A stored object that an endpoint encodes for a response.
#[derive(Clone, Copy)]
pub(crate) struct ResponseObject<'a> {
    /// Row of the endpoint; determines the served version.
    pub(crate) endpoint: &'a Resource<'a>,
    pub(crate) storage: &'a StorageSpec<'a>,
    pub(crate) stored: StoredRef<'a>,
    /// Memo for encoded forms, with its memory budget. `None` for objects that only one request reads.
    pub(crate) memo: Option<(&'a Memo, &'a Arc<Budget>)>,
}

/// Status for an object that cannot be decoded or encoded.
pub(crate) fn encoding_error(message: impl std::fmt::Display) -> Box<Status> {
    Status::internal_error(message.to_string()).into()
}

impl<'a> ResponseObject<'a> {
    /// Creates an object that many requests read. `revision` is the one to report; for deletions it differs
    /// from the element's own.
    pub(crate) fn element(
        endpoint: &'a Resource<'a>,
        storage: &'a StorageSpec<'a>,
        element: &'a Element,
        revision: i64,
        budget: &'a Arc<Budget>,
    ) -> Self {
        let is_current = revision == element.revision();
        let stored = StoredRef { revision, ..StoredRef::element(element) };
        ResponseObject { endpoint, storage, stored, memo: is_current.then(|| (element.memo(), budget)) }
    }

    /// Returns the message inside the stored envelope if it can be served unchanged.
    pub(crate) fn raw(&self) -> Option<&'a [u8]> {
        if self.storage.encoding != Encoding::Protobuf
            || self.storage.group_version != self.endpoint.kind_group_version
        {
            return None;
        }
        let envelope = Envelope::parse(self.stored.value).ok()?;
        (envelope.api_version == self.storage.group_version && envelope.kind == self.storage.kind)
            .then_some(envelope.raw)
    }

    /// Returns the object's `PartialObjectMetadata` if it is a contiguous part of the stored bytes. Returns
    /// `None` for other versions, because conversion may write annotations, and for objects with a hidden
    /// annotation.
    fn raw_partial(&self) -> Result<Option<&'a [u8]>, Box<Status>> {
        let raw = self.raw().map(proto::partial_metadata).transpose();
        let raw = raw.map_err(|error| self.unreadable(error))?;
        let hidden = internal_field_annotation(self.endpoint.builtin);
        Ok(raw.filter(|raw| hidden.is_none_or(|name| memmem::find(raw, name.as_bytes()).is_none())))
    }

    /// Returns a shape of the object if it is a contiguous part of the stored bytes.
    fn raw_shape(&self, shape: Shape) -> Result<Option<&'a [u8]>, Box<Status>> {
        match shape {
            Shape::Whole => Ok(self.raw()),
            Shape::Metadata(_) => self.raw_partial(),
        }
    }

    /// Returns the object's `PartialObjectMetadata`, in a version of `meta.k8s.io`, as a tree.
    fn partial_tree(&self, version: &str) -> Result<Object, Box<Status>> {
        let mut object = partial(self.tree()?, version);
        let Some(hidden) = internal_field_annotation(self.endpoint.builtin) else { return Ok(object) };
        if let Some(Value::Object(metadata)) = object.get_mut("metadata")
            && let Some(Value::Object(annotations)) = metadata.get_mut("annotations")
        {
            annotations.remove(hidden);
            if annotations.is_empty() {
                metadata.remove("annotations");
            }
        }
        Ok(object)
    }

    /// Returns the object as a tree in the served version.
    pub(crate) fn tree(&self) -> Result<Object, Box<Status>> {
        let object = codec::decode(self.storage, self.stored).map_err(|message| self.unreadable(message))?;
        Ok(served(object, self.storage, self.endpoint))
    }

    /// Returns the object reduced to `shape`, with its type.
    fn with_shape(&self, shape: Shape) -> Result<(&'static Message, Object), Box<Status>> {
        Ok(match shape {
            Shape::Whole => (self.endpoint.message, self.tree()?),
            Shape::Metadata(version) => (&PARTIAL, self.partial_tree(version)?),
        })
    }

    fn unreadable(&self, message: impl std::fmt::Display) -> Box<Status> {
        let StoredRef { key, revision, .. } = self.stored;
        tracing::error!(key, revision, error = %message, "a stored object cannot be decoded");
        encoding_error(format_args!("unable to decode an object from storage: {message}"))
    }

    /// Appends the object as JSON. List items have no `kind` and `apiVersion`, unless they are custom
    /// resources. On an error, `out` is unchanged.
    pub(crate) fn json(&self, type_meta: bool, out: &mut Vec<u8>) -> Result<(), Box<Status>> {
        if self.endpoint.message.open {
            let form = forms::of(self.endpoint, self.storage, forms::Form::JsonItem);
            let write = |out: &mut Vec<u8>| {
                json_write::encode(self.endpoint.message, &self.tree()?, out).map_err(encoding_error)
            };
            return match self.memo {
                Some((memo, budget)) => memo.append(form, budget, out, write),
                None => write(out),
            };
        }
        let begin = out.len();
        if type_meta {
            let Resource { kind, kind_group_version, .. } = self.endpoint;
            for part in ["{\"kind\":\"", kind, "\",\"apiVersion\":\"", kind_group_version, "\""] {
                out.extend_from_slice(part.as_bytes());
            }
        }
        let item = out.len();
        let form = forms::of(self.endpoint, self.storage, forms::Form::JsonItem);
        let result = match self.memo {
            Some((memo, budget)) => memo.append(form, budget, out, |out| self.json_item(out)),
            None => self.json_item(out),
        };
        if let Err(status) = result {
            out.truncate(begin);
            return Err(status);
        }
        // The type metadata come first. The opening brace of the item becomes a comma.
        if let Some(brace) = out.get_mut(item).filter(|_| type_meta) {
            *brace = b',';
        }
        Ok(())
    }

    /// Appends the item form, from which every other JSON form is made.
    fn json_item(&self, out: &mut Vec<u8>) -> Result<(), Box<Status>> {
        if let Some(raw) = self.raw() {
            let revision = codec::revision_text(self.stored.revision);
            let revision = (!revision.is_empty()).then_some(&*revision);
            let result = transcode::to_json(self.endpoint.message, raw, None, revision, out);
            return result.map_err(|error| self.unreadable(error));
        }
        let mut object = self.tree()?;
        object.remove("kind");
        object.remove("apiVersion");
        json_write::encode(self.endpoint.message, &object, out).map_err(encoding_error)
    }

    /// Appends the bare protobuf message, with its resource version.
    pub(crate) fn protobuf(&self, out: &mut Vec<u8>) -> Result<(), Box<Status>> {
        if let Some(raw) = self.raw() {
            let revision = codec::revision_text(self.stored.revision);
            return proto::with_resource_version(raw, &revision, out).map_err(encoding_error);
        }
        let encode = |out: &mut Vec<u8>| {
            proto::encode(self.endpoint.message, &self.tree()?, out).map_err(encoding_error)
        };
        match self.memo {
            Some((memo, budget)) => {
                let form = forms::of(self.endpoint, self.storage, forms::Form::Protobuf);
                memo.append(form, budget, out, encode)
            }
            None => encode(out),
        }
    }

    /// Appends the object's `PartialObjectMetadata` as JSON.
    pub(crate) fn partial_json(&self, version: &str, out: &mut Vec<u8>) -> Result<(), Box<Status>> {
        let Some((memo, budget)) = self.memo else { return self.partial_item(version, out) };
        let form = match version {
            "v1beta1" => forms::Form::MetadataV1beta1,
            _ => forms::Form::MetadataV1,
        };
        let form = forms::of(self.endpoint, self.storage, form);
        memo.append(form, budget, out, |out| self.partial_item(version, out))
    }

    fn partial_item(&self, version: &str, out: &mut Vec<u8>) -> Result<(), Box<Status>> {
        match self.raw_partial()? {
            Some(raw) => {
                let head = TypeMetaHead { api_version: meta_api_version(version), kind: PARTIAL_KIND };
                let revision = codec::revision_text(self.stored.revision);
                let revision = (!revision.is_empty()).then_some(&*revision);
                let result = transcode::to_json(&PARTIAL, raw, Some(head), revision, out);
                result.map_err(|error| self.unreadable(error))
            }
            None => json_write::encode(&PARTIAL, &self.partial_tree(version)?, out).map_err(encoding_error),
        }
    }

    /// Appends the object's `PartialObjectMetadata` as a bare protobuf message.
    pub(crate) fn partial_protobuf(&self, out: &mut Vec<u8>) -> Result<(), Box<Status>> {
        match self.raw_partial()? {
            Some(raw) => {
                let revision = codec::revision_text(self.stored.revision);
                proto::with_resource_version(raw, &revision, out).map_err(encoding_error)
            }
            None => proto::encode(&PARTIAL, &self.partial_tree("")?, out).map_err(encoding_error),
        }
    }
}

/// Converts a tree from its storage version to the served version.
pub(crate) fn served(object: Object, storage: &StorageSpec, endpoint: &Resource) -> Object {
    let to = endpoint.kind_group_version;
    if storage.group_version == to {
        return object;
    }
    let mut object = api::conversion::convert(object, storage.group_version, to, storage.kind);
    object.insert("apiVersion", to.into());
    if let Some(kind) = storage.custom
        && let Err(error) = kind.coerce(to, &mut object, Coercion::Silent)
    {
        // The object was coerced by the schema of its storage version, and is returned in that form.
        let error = error.to_string();
        tracing::warn!(kind = storage.kind, to, error, "an object does not fit the schema of a version");
    }
    object
}

/// Reduces an object to its metadata, in a version of `meta.k8s.io`.
pub(crate) fn partial(mut object: Object, version: &str) -> Object {
    let mut out = Object::new();
    out.insert("kind", PARTIAL_KIND.into());
    out.insert("apiVersion", meta_api_version(version).into());
    if let Some(metadata) = object.remove("metadata") {
        out.insert("metadata", metadata);
    }
    out
}

/// Size in bytes of the output of [`protobuf`].
pub(crate) fn protobuf_len(outgoing: &ResponseObject<'_>, shape: Shape) -> Result<usize, Box<Status>> {
    if let Some(raw) = outgoing.raw_shape(shape)? {
        let version = codec::revision_text(outgoing.stored.revision);
        return proto::len_with_resource_version(raw, &version).map_err(|error| outgoing.unreadable(error));
    }
    let mut out = Vec::new();
    protobuf(outgoing, shape, &mut out)?;
    Ok(out.len())
}

/// Appends an item of a protobuf list: field 2. Stored bytes are copied directly; other forms are built in `scratch`,
/// because their length comes first.
pub(crate) fn protobuf_item(
    outgoing: &ResponseObject<'_>,
    shape: Shape,
    scratch: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> Result<(), Box<Status>> {
    if let Some(raw) = outgoing.raw_shape(shape)? {
        let version = codec::revision_text(outgoing.stored.revision);
        let put = proto::put_with_resource_version(ITEMS, raw, &version, out);
        return put.map_err(|error| outgoing.unreadable(error));
    }
    scratch.clear();
    protobuf(outgoing, shape, scratch)?;
    proto::put_bytes(ITEMS, scratch, out);
    Ok(())
}

/// Appends a bare message.
pub(crate) fn protobuf(
    outgoing: &ResponseObject<'_>,
    shape: Shape,
    out: &mut Vec<u8>,
) -> Result<(), Box<Status>> {
    match shape {
        Shape::Whole => outgoing.protobuf(out),
        Shape::Metadata(_) => outgoing.partial_protobuf(out),
    }
}

/// Length in bytes of a number as a varint.
pub(crate) fn varint_len(number: usize) -> usize {
    (usize::BITS - (number | 1).leading_zeros()).div_ceil(7) as usize
}

pub(crate) fn put_varint(mut number: usize, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Encodes a tree for sending: JSON with its final newline, protobuf and CBOR in their envelopes.
pub(crate) fn tree(
    message: &'static Message,
    object: &Object,
    format: Format,
    out: &mut Vec<u8>,
) -> Result<(), Box<Status>> {
    match format {
        Format::Json => {
            json_write::encode(message, object, out).map_err(encoding_error)?;
            out.push(b'\n');
        }
        Format::Yaml => {
            let mut json = Vec::new();
            json_write::encode(message, object, &mut json).map_err(encoding_error)?;
            yaml::from_json(&json, out).map_err(encoding_error)?;
        }
        Format::Protobuf => {
            let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or("");
            let mut raw = Vec::new();
            proto::encode(message, object, &mut raw).map_err(encoding_error)?;
            proto::wrap(text("apiVersion"), text("kind"), &raw, out);
        }
        Format::Cbor => cbor::encode(message, object, out).map_err(encoding_error)?,
    }
    Ok(())
}

/// The `apiVersion` of a version of `meta.k8s.io`. Transforms exist in two versions.
pub(crate) fn meta_api_version(version: &str) -> &'static str {
    match version {
        "v1beta1" => "meta.k8s.io/v1beta1",
        _ => "meta.k8s.io/v1",
    }
}

/// Part of an object that is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Whole,
    /// Metadata only, as `PartialObjectMetadata` of this version of `meta.k8s.io`.
    Metadata(&'static str),
}

/// Encodes one object in a format, with its envelope and without a final newline.
///
/// # Errors
/// 406 if the object is nested too deeply for the format; 500 if it cannot be decoded or encoded.
pub(crate) fn object(
    outgoing: &ResponseObject<'_>,
    shape: Shape,
    format: Format,
    out: &mut Vec<u8>,
) -> Result<(), Box<Status>> {
    envelope(outgoing, shape, format, out).map_err(|failure| {
        let is_deep = || outgoing.tree().is_ok_and(|object| object.values().any(Value::has_raw));
        if format == Format::Json || outgoing.storage.encoding != Encoding::Json || !is_deep() {
            return failure;
        }
        Status::not_acceptable(&["application/json"]).into()
    })
}

fn envelope(
    outgoing: &ResponseObject<'_>,
    shape: Shape,
    format: Format,
    out: &mut Vec<u8>,
) -> Result<(), Box<Status>> {
    let json = |out: &mut Vec<u8>| match shape {
        Shape::Whole => outgoing.json(true, out),
        Shape::Metadata(version) => outgoing.partial_json(version, out),
    };
    match format {
        Format::Json => json(out),
        Format::Yaml => {
            let mut text = Vec::new();
            json(&mut text)?;
            yaml::from_json(&text, out).map_err(encoding_error)
        }
        Format::Protobuf => {
            let (raw, api_version, kind) = match shape {
                Shape::Whole => {
                    (outgoing.raw(), outgoing.endpoint.kind_group_version, outgoing.endpoint.kind)
                }
                Shape::Metadata(version) => {
                    (outgoing.raw_partial()?, meta_api_version(version), PARTIAL_KIND)
                }
            };
            if let Some(raw) = raw {
                let version = codec::revision_text(outgoing.stored.revision);
                let head = TypeMetaHead { api_version, kind };
                return proto::served(head, raw, &version, out).map_err(|e| outgoing.unreadable(e));
            }
            let mut raw = Vec::with_capacity(outgoing.stored.value.len() + 32);
            protobuf(outgoing, shape, &mut raw)?;
            proto::wrap(api_version, kind, &raw, out);
            Ok(())
        }
        Format::Cbor => {
            let (message, object) = outgoing.with_shape(shape)?;
            cbor::encode(message, &object, out).map_err(encoding_error)
        }
    }
}

/// Appends a list item in CBOR. Whole items have no `kind` and `apiVersion`.
pub(crate) fn cbor_item(
    outgoing: &ResponseObject<'_>,
    shape: Shape,
    out: &mut Vec<u8>,
) -> Result<(), Box<Status>> {
    let (message, mut object) = outgoing.with_shape(shape)?;
    if shape == Shape::Whole && !message.open {
        object.remove("kind");
        object.remove("apiVersion");
    }
    cbor::item(message, &object, out).map_err(encoding_error)
}

pub(crate) fn status_message() -> &'static Message {
    &builtin::IO_K8S_APIMACHINERY_PKG_APIS_META_V1_STATUS
}

pub(crate) fn status_tree(status: &Status) -> Object {
    match jsontree::to_value(status) {
        Ok(Value::Object(map)) => map,
        _ => Object::new(),
    }
}

#[cfg(test)]
mod tests;
