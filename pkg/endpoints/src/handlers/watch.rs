//! Watches: a body that never ends by itself, one frame per event.

use std::time::Duration;

use api::options::ListOptions;
use api::resources::{Resource, Storage as StorageRow};
use apimachinery::status::Status;
use bytes::Bytes;
use futures::StreamExt;
use http::header::{CONTENT_TYPE, HeaderValue};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use registry::Stored;
use registry::generic::{EventType, WatchEvent};
use schema::object::Object;
use schema::table::Message;
use schema::{builtin, json_write, proto};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::api::Call;
use crate::dispatch::Response;
use crate::encode::{self, Outgoing, failed};
use crate::negotiate::{Format, Representation, STREAM_MEDIA_TYPES, Transform, not_acceptable};
use crate::respond::add_warnings;
use crate::table::{self, TableRequest};

pub(crate) async fn watch(call: &mut Call<'_>, options: ListOptions) -> Result<Response, Box<Status>> {
    let storage = call.storage()?;
    if !call.endpoint().serves("watch") {
        return Err(Status::method_not_supported(&call.target().group_resource(), "watch").into());
    }
    if call.representation.format == Format::Yaml {
        return Err(not_acceptable(&STREAM_MEDIA_TYPES));
    }
    let timeout = timeout(call, &options);
    let deadline = Instant::now() + timeout;
    let encoder = Encoder {
        endpoint: call.endpoint(),
        storage,
        representation: call.representation,
        table: call.reply()?.table,
        columns_sent: false,
    };
    let mut events = call.api.registry.watch(&call.target(), &options, deadline).await?;
    let shutdown = call.api.shutdown.clone();
    let body = async_stream::stream! {
        let mut encoder = encoder;
        let end = tokio::time::sleep_until(deadline);
        tokio::pin!(end);
        loop {
            let event = tokio::select! {
                event = events.next() => event,
                () = &mut end => return,
                () = shutdown.cancelled() => return,
            };
            let Some(event) = event else { return };
            let last = matches!(event, WatchEvent::Error(_));
            match encoder.frame(&event) {
                Ok(frame) => yield Ok(Frame::data(frame)),
                Err(status) => {
                    tracing::error!(message = %status.message, "a watch ends because an event cannot be encoded");
                    return;
                }
            }
            if last {
                return;
            }
        }
    };
    let mut response = http::Response::new(StreamBody::new(body).boxed_unsync());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type(call.representation.format)));
    add_warnings(headers, &call.warnings);
    Ok(response)
}

fn content_type(format: Format) -> &'static str {
    match format {
        Format::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
        other => other.media_type(),
    }
}

/// As asked for, else between one and two times the minimum, so that watches do not all end at once.
fn timeout(call: &Call<'_>, options: &ListOptions) -> Duration {
    match options.timeout_seconds {
        Some(seconds) if seconds > 0 => Duration::from_secs(seconds.unsigned_abs()),
        _ => call.api.watch_timeout_min.mul_f64(1.0 + (call.api.jitter)()),
    }
}

/// Turns events into frames.
struct Encoder {
    endpoint: &'static Resource,
    storage: &'static StorageRow,
    representation: Representation,
    table: TableRequest,
    columns_sent: bool,
}

impl Encoder {
    fn frame(&mut self, event: &WatchEvent) -> Result<Bytes, Box<Status>> {
        let (name, object) = match event {
            WatchEvent::Object { kind, stored } => (type_name(*kind), self.object(stored)?),
            WatchEvent::Bookmark { revision, initial_events_end } => {
                ("BOOKMARK", self.bookmark(*revision, *initial_events_end)?)
            }
            WatchEvent::Error(status) => {
                ("ERROR", self.tree(encode::status_message(), &encode::status_tree(status))?)
            }
        };
        Ok(match self.representation.format {
            Format::Protobuf => protobuf_frame(name, &object),
            _ => json_frame(name, &object),
        })
    }

    /// The object of an event, without a final newline.
    fn object(&mut self, stored: &Stored) -> Result<Vec<u8>, Box<Status>> {
        let outgoing = Outgoing { endpoint: self.endpoint, storage: self.storage, stored };
        let mut out = Vec::with_capacity(stored.value.len() * 2);
        match self.representation.transform {
            Transform::None => encode::object(&outgoing, self.representation.format, &mut out)?,
            Transform::Table => {
                let columns = !std::mem::replace(&mut self.columns_sent, true);
                let meta = table::metadata_of(&outgoing);
                let table = table::table(self.endpoint, &[outgoing], meta, self.table, columns)?;
                return self.tree(&builtin::IO_K8S_APIMACHINERY_PKG_APIS_META_V1_TABLE, &table);
            }
            Transform::PartialObject | Transform::PartialList => {
                let partial = outgoing.partial(self.representation.transform_version)?;
                return self
                    .tree(&builtin::IO_K8S_APIMACHINERY_PKG_APIS_META_V1_PARTIALOBJECTMETADATA, &partial);
            }
        }
        trim(&mut out);
        Ok(out)
    }

    fn tree(&self, message: &'static Message, object: &Object) -> Result<Vec<u8>, Box<Status>> {
        let mut out = Vec::new();
        encode::tree(message, object, self.representation.format, &mut out)?;
        if self.representation.format != Format::Protobuf {
            trim(&mut out);
        }
        Ok(out)
    }

    /// An empty object of the kind that carries only a resource version, and once the annotation that
    /// marks the end of the initial state (KEP-3157).
    fn bookmark(&mut self, revision: i64, initial_events_end: bool) -> Result<Vec<u8>, Box<Status>> {
        let mut metadata = json!({"resourceVersion": revision.to_string()});
        if initial_events_end {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let (kind, api_version, message) = match self.representation.transform {
            Transform::None | Transform::Table => {
                (self.endpoint.kind, self.endpoint.kind_group_version, self.endpoint.message)
            }
            _ => (
                "PartialObjectMetadata",
                if self.representation.transform_version == "v1" {
                    "meta.k8s.io/v1"
                } else {
                    "meta.k8s.io/v1beta1"
                },
                &builtin::IO_K8S_APIMACHINERY_PKG_APIS_META_V1_PARTIALOBJECTMETADATA,
            ),
        };
        let mut object = Object::new();
        object.insert("kind".to_owned(), kind.into());
        object.insert("apiVersion".to_owned(), api_version.into());
        object.insert("metadata".to_owned(), metadata);
        if self.representation.transform != Transform::Table {
            return self.tree(message, &object);
        }
        self.bookmark_table(&object, revision)
    }

    /// A bookmark as a table: one row without values, around the empty object.
    fn bookmark_table(&mut self, object: &Object, revision: i64) -> Result<Vec<u8>, Box<Status>> {
        let columns = !std::mem::replace(&mut self.columns_sent, true);
        let mut meta = Object::new();
        meta.insert("resourceVersion".to_owned(), Value::from(revision.to_string()));
        let mut table = table::table(self.endpoint, &[], meta, self.table, columns)?;
        let partial = encode::partial(object.clone(), self.table.version);
        let mut raw = Vec::new();
        json_write::encode(
            &builtin::IO_K8S_APIMACHINERY_PKG_APIS_META_V1_PARTIALOBJECTMETADATA,
            &partial,
            &mut raw,
        )
        .map_err(failed)?;
        let cells = vec![Value::Null; self.endpoint.columns.len()];
        let raw = String::from_utf8(raw).map_err(failed)?;
        table.insert("rows".to_owned(), json!([{"cells": cells, "object": raw}]));
        self.tree(&builtin::IO_K8S_APIMACHINERY_PKG_APIS_META_V1_TABLE, &table)
    }
}

fn trim(out: &mut Vec<u8>) {
    if out.last() == Some(&b'\n') {
        out.pop();
    }
}

fn type_name(kind: EventType) -> &'static str {
    match kind {
        EventType::Added => "ADDED",
        EventType::Modified => "MODIFIED",
        EventType::Deleted => "DELETED",
        EventType::Bookmark => "BOOKMARK",
    }
}

/// `{"type":…,"object":…}` and a newline.
fn json_frame(name: &str, object: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(object.len() + 40);
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\",\"object\":");
    out.extend_from_slice(object);
    out.extend_from_slice(b"}\n");
    out.into()
}

/// A big-endian length, then a bare `metav1.WatchEvent` around the enveloped object.
fn protobuf_frame(name: &str, object: &[u8]) -> Bytes {
    let mut raw = Vec::with_capacity(object.len() + 8);
    proto::put_bytes(1, object, &mut raw);
    let mut event = Vec::with_capacity(raw.len() + 24);
    proto::put_bytes(1, name.as_bytes(), &mut event);
    proto::put_bytes(2, &raw, &mut event);
    let mut out = Vec::with_capacity(event.len() + 4);
    out.extend_from_slice(&u32::try_from(event.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend_from_slice(&event);
    out.into()
}
