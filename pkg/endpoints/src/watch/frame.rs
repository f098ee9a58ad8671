//! Encodes events as frames: in JSON a line, in protobuf a length and a message, in CBOR a data item.

use std::sync::Arc;

use api::resources::{Handle, Resource};
use apimachinery::status::Status;
use bytes::Bytes;
use jsontree::json;
use registry::generic::{Event, EventType, WatchEvent};
use registry::{Budget, Registry};
use schema::builtin::IO_K8S_APIMACHINERY_PKG_APIS_META_V1_PARTIALOBJECTMETADATA as PARTIAL;
use schema::object::Object;
use schema::table::Message;
use schema::{cbor, proto};

use crate::negotiation::{Format, Representation, Transform};
use crate::response::encode::{self, PARTIAL_KIND, ResponseObject, Shape, varint_len};
use crate::response::table::{self, IncludeObject, TableRequest};
use crate::response::{forms, gzip, not_a_list_error};

/// Size of the length in front of a protobuf frame.
const LENGTH_BYTES: usize = 4;

/// Encodes the events of one watch.
pub(crate) struct Encoder {
    endpoint: Handle,
    format: Format,
    shape: Shape,
    /// True if the client requests lists, which no event contains.
    lists: bool,
    forms: Arc<Budget>,
    table: Option<Box<Table>>,
    /// True if shared frames are gzip members.
    pub(crate) compresses: bool,
}

/// State of a watch that returns tables.
struct Table {
    request: TableRequest,
    registry: Registry,
    columns_sent: bool,
}

/// Encoded event.
pub(crate) enum Frame {
    /// Bytes that are shared with other watches.
    Shared(Bytes),
    /// The frame was appended to the buffer.
    Appended,
}

impl Encoder {
    /// Creates the encoder of a watch through an endpoint. `request` is for tables.
    pub(crate) fn new(
        endpoint: Handle,
        representation: Representation,
        request: TableRequest,
        registry: &Registry,
    ) -> Self {
        let shape = match representation.transform {
            Transform::None | Transform::Table => Shape::Whole,
            Transform::PartialObject | Transform::PartialList => {
                Shape::Metadata(representation.transform_version)
            }
        };
        let table = || Box::new(Table { request, registry: registry.clone(), columns_sent: false });
        Encoder {
            endpoint,
            format: representation.format,
            shape,
            lists: representation.transform == Transform::PartialList,
            forms: Arc::clone(registry.budget()),
            table: (representation.transform == Transform::Table).then(table),
            compresses: false,
        }
    }

    /// Creates an encoder without a memo, for tests.
    #[cfg(test)]
    pub(crate) fn of(endpoint: impl Into<Handle>, format: Format, shape: Shape) -> Self {
        let forms = Budget::new(0);
        Encoder {
            endpoint: endpoint.into(),
            format,
            shape,
            lists: false,
            forms,
            table: None,
            compresses: false,
        }
    }

    /// True for an event of an object that is nested too deeply for the format. The watch leaves it out, as
    /// lists do.
    pub(crate) fn leaves_out(&self, event: &WatchEvent) -> bool {
        let WatchEvent::Event(Event { element: Some(element), .. }) = event else { return false };
        let is_limited = !matches!(self.format, Format::Json | Format::Yaml) && self.shape == Shape::Whole;
        is_limited && element.header().is_deep()
    }

    /// Encodes an event: as shared bytes if other watches get the same event, otherwise at the end of `out`. Only shared
    /// bytes are compressed here, once for all watches.
    ///
    /// # Errors
    /// The event cannot be encoded; `out` is unchanged.
    pub(crate) fn frame(&mut self, event: &WatchEvent, out: &mut Vec<u8>) -> Result<Frame, Box<Status>> {
        match event {
            WatchEvent::Event(_) if self.lists => Err(not_a_list_error(self.endpoint.row())),
            WatchEvent::Event(event) if event.is_shared() && self.table.is_none() => {
                let encode = || {
                    let mut out = Vec::new();
                    self.append(event, &mut out)?;
                    Ok(Bytes::from(if self.compresses { gzip::member(&out) } else { out }))
                };
                event.frame(self.number(event.kind), encode).map(Frame::Shared)
            }
            WatchEvent::Event(event) => self.append_any(event, out).map(|()| Frame::Appended),
            WatchEvent::Error(status) => {
                let tree = encode::status_tree(status);
                let write = |out: &mut Vec<u8>| self.tree(encode::status_message(), &tree, out);
                append_framed(self.format, "ERROR", out, write).map(|()| Frame::Appended)
            }
        }
    }

    /// Returns a frame without the length at its beginning, for transports that delimit messages themselves.
    pub(crate) fn without_length<'f>(&self, frame: &'f [u8]) -> &'f [u8] {
        let length_bytes = if self.format == Format::Protobuf { LENGTH_BYTES } else { 0 };
        frame.get(length_bytes..).unwrap_or_default()
    }

    /// Memo key of an event's frame. It covers everything that affects the bytes.
    fn number(&self, kind: EventType) -> u32 {
        let shape = match self.shape {
            Shape::Whole => 0,
            Shape::Metadata("v1beta1") => 1,
            Shape::Metadata(_) => 2,
        };
        let format = match self.format {
            Format::Json | Format::Yaml => 0,
            Format::Protobuf => 1,
            Format::Cbor => 2,
        };
        forms::version(self.endpoint.row(), self.endpoint.row().stored_form()) << 7
            | u32::from(self.compresses) << 6
            | shape << 4
            | format << 2
            | kind as u32
    }

    fn append_any(&mut self, event: &Event, out: &mut Vec<u8>) -> Result<(), Box<Status>> {
        let Some(table) = &mut self.table else { return self.append(event, out) };
        let columns = !std::mem::replace(&mut table.columns_sent, true);
        let request = TableRequest { now: table.registry.now(), ..table.request };
        self.append_table(event, request, columns, out)
    }

    fn append(&self, event: &Event, out: &mut Vec<u8>) -> Result<(), Box<Status>> {
        let Event { kind, revision, initial_events_end, .. } = *event;
        let endpoint = self.endpoint.row();
        append_framed(self.format, type_name(kind), out, |out| match &event.element {
            Some(element) => {
                let outgoing =
                    ResponseObject::element(endpoint, endpoint.stored_form(), element, revision, &self.forms);
                encode::object(&outgoing, self.shape, self.format, out)
            }
            None => {
                let (message, kind, api_version) = match self.shape {
                    Shape::Whole => (endpoint.message, endpoint.kind, endpoint.kind_group_version),
                    Shape::Metadata(version) => (&PARTIAL, PARTIAL_KIND, encode::meta_api_version(version)),
                };
                let object = bookmark(kind, api_version, revision, initial_events_end);
                self.tree(message, &object, out)
            }
        })
    }

    fn append_table(
        &self,
        event: &Event,
        request: TableRequest,
        columns: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), Box<Status>> {
        let Event { kind, revision, initial_events_end, .. } = *event;
        let endpoint = self.endpoint.row();
        append_framed(self.format, type_name(kind), out, |out| match &event.element {
            Some(element) => {
                let outgoing =
                    ResponseObject::element(endpoint, endpoint.stored_form(), element, revision, &self.forms);
                let meta = table::metadata_of(&outgoing);
                table::write(&self.endpoint, &[outgoing], &meta, request, columns, out)
            }
            None => {
                let Resource { kind, kind_group_version, .. } = endpoint;
                let object = bookmark(kind, kind_group_version, revision, initial_events_end);
                let mut meta = Object::new();
                meta.insert("resourceVersion", revision.to_string().into());
                // The row needs its metadata to mark the end of the initial events.
                let include = match request.include {
                    IncludeObject::None if initial_events_end => IncludeObject::Metadata,
                    include => include,
                };
                let mut table = table::Writer::new(&self.endpoint, TableRequest { include, ..request });
                table.begin(&meta, columns, out)?;
                table.row(&table::Item::Tree(object), out)?;
                table.end(out);
                Ok(())
            }
        })
    }

    fn tree(&self, message: &'static Message, object: &Object, out: &mut Vec<u8>) -> Result<(), Box<Status>> {
        encode::tree(message, object, self.format, out)?;
        if self.format == Format::Json && out.last() == Some(&b'\n') {
            out.pop();
        }
        Ok(())
    }
}

/// Creates a bookmark: an empty object with only a resource version, and once the annotation that marks the
/// end of the initial events (KEP-3157).
fn bookmark(kind: &str, api_version: &str, revision: i64, initial_events_end: bool) -> Object {
    let mut metadata = json!({"resourceVersion": revision.to_string()});
    if initial_events_end {
        metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
    }
    let mut object = Object::new();
    object.insert("kind", kind.into());
    object.insert("apiVersion", api_version.into());
    object.insert("metadata", metadata);
    object
}

fn type_name(kind: EventType) -> &'static str {
    match kind {
        EventType::Added => "ADDED",
        EventType::Modified => "MODIFIED",
        EventType::Deleted => "DELETED",
        EventType::Bookmark => "BOOKMARK",
    }
}

/// Appends a frame around the object that `write` appends.
fn append_framed(
    format: Format,
    name: &str,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), Box<Status>>,
) -> Result<(), Box<Status>> {
    let begin = out.len();
    let result = match format {
        Format::Protobuf => protobuf(name, out, write),
        Format::Cbor => sequence(name, out, write),
        Format::Json | Format::Yaml => json(name, out, write),
    };
    result.inspect_err(|_| out.truncate(begin))
}

/// `{"type":…,"object":…}` and a newline.
fn json(
    name: &str,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), Box<Status>>,
) -> Result<(), Box<Status>> {
    for part in ["{\"type\":\"", name, "\",\"object\":"] {
        out.extend_from_slice(part.as_bytes());
    }
    write(out)?;
    out.extend_from_slice(b"}\n");
    Ok(())
}

/// A CBOR map around the object, which keeps its envelope.
fn sequence(
    name: &str,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), Box<Status>>,
) -> Result<(), Box<Status>> {
    out.extend_from_slice(&cbor::SELF_DESCRIBED);
    cbor::put_map(2, out);
    for text in ["type", name, "object"] {
        cbor::put_text(text, out);
    }
    write(out)
}

/// A big-endian length, then a bare `metav1.WatchEvent` around the enveloped object.
fn protobuf(
    name: &str,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), Box<Status>>,
) -> Result<(), Box<Status>> {
    let mut object = Vec::new();
    write(&mut object)?;
    let field = |len: usize| 1 + varint_len(len) + len;
    let extension = field(object.len());
    let event = field(name.len()) + field(extension);
    out.reserve(event + LENGTH_BYTES);
    out.extend_from_slice(&u32::try_from(event).unwrap_or(u32::MAX).to_be_bytes());
    proto::put_bytes(1, name.as_bytes(), out);
    out.push(0x12);
    encode::put_varint(extension, out);
    proto::put_bytes(1, &object, out);
    Ok(())
}

#[cfg(test)]
mod tests;
