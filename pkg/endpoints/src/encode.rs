//! Objects to bytes, in every representation. An object whose served version is its storage version
//! goes from stored protobuf to the answer without a tree.

use api::resources::{Encoding, Resource, Storage as StorageRow};
use apimachinery::status::Status;
use registry::{Stored, codec};
use schema::builtin;
use schema::object::Object;
use schema::proto::{self, Envelope, TypeMetaHead};
use schema::table::Message;
use schema::{json_write, transcode, yaml};
use serde_json::Value;

use crate::negotiate::Format;

/// A stored object on its way out through an endpoint.
#[derive(Clone, Copy)]
pub(crate) struct Outgoing<'a> {
    /// The endpoint's row: the served version.
    pub(crate) endpoint: &'static Resource,
    /// How it is stored.
    pub(crate) storage: &'static StorageRow,
    /// The stored bytes.
    pub(crate) stored: &'a Stored,
}

/// A failure to encode: the object cannot be read or written.
pub(crate) fn failed(message: impl std::fmt::Display) -> Box<Status> {
    Status::internal_error(message.to_string()).into()
}

impl<'a> Outgoing<'a> {
    /// The message inside the stored envelope, when it can be served as it is.
    fn raw(&self) -> Option<&'a [u8]> {
        if self.storage.encoding != Encoding::Protobuf
            || self.storage.group_version != self.endpoint.kind_group_version
        {
            return None;
        }
        let envelope = Envelope::parse(&self.stored.value).ok()?;
        (envelope.api_version == self.storage.group_version && envelope.kind == self.storage.kind)
            .then_some(envelope.raw)
    }

    /// The object as a tree in the served version.
    pub(crate) fn tree(&self) -> Result<Object, Box<Status>> {
        let object = codec::decode(self.storage, self.stored).map_err(|message| {
            tracing::error!(
                key = self.stored.key,
                revision = self.stored.revision,
                message,
                "a stored object cannot be decoded"
            );
            failed(format_args!("unable to decode an object from storage: {message}"))
        })?;
        Ok(served(object, self.storage, self.endpoint))
    }

    /// Appends the object as JSON; list items leave `kind` and `apiVersion` out.
    pub(crate) fn json(&self, type_meta: bool, out: &mut Vec<u8>) -> Result<(), Box<Status>> {
        let revision = codec::revision_text(self.stored.revision);
        if let Some(raw) = self.raw() {
            let head =
                TypeMetaHead { api_version: self.endpoint.kind_group_version, kind: self.endpoint.kind };
            let head = type_meta.then_some(head);
            return transcode::to_json(
                self.endpoint.message,
                raw,
                head,
                (!revision.is_empty()).then_some(&*revision),
                out,
            )
            .map_err(|error| {
                tracing::error!(key = self.stored.key, %error, "a stored object cannot be transcoded");
                failed(format_args!("unable to decode an object from storage: {error}"))
            });
        }
        let mut object = self.tree()?;
        if !type_meta {
            object.remove("kind");
            object.remove("apiVersion");
        }
        json_write::encode(self.endpoint.message, &object, out).map_err(failed)
    }

    /// Appends the bare protobuf message, with its resource version.
    pub(crate) fn protobuf(&self, out: &mut Vec<u8>) -> Result<(), Box<Status>> {
        match self.raw() {
            Some(raw) => proto::with_resource_version(raw, &codec::revision_text(self.stored.revision), out)
                .map_err(failed),
            None => proto::encode(self.endpoint.message, &self.tree()?, out).map_err(failed),
        }
    }

    /// The object as `PartialObjectMetadata` of a version.
    pub(crate) fn partial(&self, version: &str) -> Result<Object, Box<Status>> {
        Ok(partial(self.tree()?, version))
    }
}

/// Converts a tree from its storage version to the served one.
pub(crate) fn served(object: Object, storage: &StorageRow, endpoint: &Resource) -> Object {
    let to = endpoint.kind_group_version;
    if storage.group_version == to {
        return object;
    }
    let mut object = api::conversion::convert(object, storage.group_version, to, storage.kind);
    object.insert("apiVersion".to_owned(), to.into());
    object
}

/// Reduces an object to its metadata.
pub(crate) fn partial(mut object: Object, version: &str) -> Object {
    let mut out = Object::new();
    out.insert("kind".to_owned(), "PartialObjectMetadata".into());
    out.insert("apiVersion".to_owned(), format!("meta.k8s.io/{version}").into());
    if let Some(metadata) = object.remove("metadata") {
        out.insert("metadata".to_owned(), metadata);
    }
    out
}

/// A tree in a format, ready to be sent: JSON with its final newline, protobuf in its envelope.
pub(crate) fn tree(
    message: &'static Message,
    object: &Object,
    format: Format,
    out: &mut Vec<u8>,
) -> Result<(), Box<Status>> {
    match format {
        Format::Json => {
            json_write::encode(message, object, out).map_err(failed)?;
            out.push(b'\n');
        }
        Format::Yaml => {
            let mut json = Vec::new();
            json_write::encode(message, object, &mut json).map_err(failed)?;
            yaml::from_json(&json, out).map_err(failed)?;
        }
        Format::Protobuf => {
            let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or("");
            let mut raw = Vec::new();
            proto::encode(message, object, &mut raw).map_err(failed)?;
            proto::wrap(text("apiVersion"), text("kind"), &raw, out);
        }
    }
    Ok(())
}

/// One object in a format, ready to be sent.
pub(crate) fn object(outgoing: &Outgoing<'_>, format: Format, out: &mut Vec<u8>) -> Result<(), Box<Status>> {
    match format {
        Format::Json => {
            outgoing.json(true, out)?;
            out.push(b'\n');
        }
        Format::Yaml => {
            let mut json = Vec::new();
            outgoing.json(true, &mut json)?;
            yaml::from_json(&json, out).map_err(failed)?;
        }
        Format::Protobuf => {
            let mut raw = Vec::new();
            outgoing.protobuf(&mut raw)?;
            proto::wrap(outgoing.endpoint.kind_group_version, outgoing.endpoint.kind, &raw, out);
        }
    }
    Ok(())
}

/// The shape of a Status.
pub(crate) fn status_message() -> &'static Message {
    &builtin::IO_K8S_APIMACHINERY_PKG_APIS_META_V1_STATUS
}

/// A Status as a tree.
pub(crate) fn status_tree(status: &Status) -> Object {
    match serde_json::to_value(status) {
        Ok(Value::Object(map)) => map,
        _ => Object::new(),
    }
}
