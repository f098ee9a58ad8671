//! The body of a list: kind, list metadata, items.

use api::resources::{Resource, Storage as StorageRow};
use apimachinery::status::Status;
use registry::generic::ListPage;
use schema::object::Object;
use schema::{builtin, json_write, proto, yaml};
use serde_json::Value;

use crate::encode::{Outgoing, failed};
use crate::negotiate::Format;

/// Appends a list in a format, ready to be sent.
pub(crate) fn write(
    endpoint: &'static Resource,
    storage: &'static StorageRow,
    page: &ListPage,
    format: Format,
    out: &mut Vec<u8>,
) -> Result<(), Box<Status>> {
    let kind = format!("{}List", endpoint.kind);
    match format {
        Format::Json => json(endpoint, storage, page, &kind, out)?,
        Format::Yaml => {
            let mut text = Vec::new();
            json(endpoint, storage, page, &kind, &mut text)?;
            yaml::from_json(&text, out).map_err(failed)?;
        }
        Format::Protobuf => protobuf(endpoint, storage, page, &kind, out)?,
    }
    Ok(())
}

/// `ListMeta` of a page as a tree.
pub(crate) fn list_meta(page: &ListPage) -> Object {
    let mut meta = Object::new();
    meta.insert("resourceVersion".to_owned(), page.revision.to_string().into());
    if !page.continue_token.is_empty() {
        meta.insert("continue".to_owned(), page.continue_token.clone().into());
    }
    if let Some(remaining) = page.remaining {
        meta.insert("remainingItemCount".to_owned(), Value::from(remaining));
    }
    meta
}

fn json(
    endpoint: &'static Resource,
    storage: &'static StorageRow,
    page: &ListPage,
    kind: &str,
    out: &mut Vec<u8>,
) -> Result<(), Box<Status>> {
    let stored: usize = page.items.iter().map(|item| item.value.len()).sum();
    out.reserve(stored * 2 + 256);
    out.extend_from_slice(
        format!("{{\"kind\":\"{kind}\",\"apiVersion\":\"{}\",\"metadata\":", endpoint.group_version)
            .as_bytes(),
    );
    json_write::encode(&builtin::IO_K8S_APIMACHINERY_PKG_APIS_META_V1_LISTMETA, &list_meta(page), out)
        .map_err(failed)?;
    out.extend_from_slice(b",\"items\":[");
    for (at, stored) in page.items.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        Outgoing { endpoint, storage, stored }.json(false, out)?;
    }
    out.extend_from_slice(b"]}\n");
    Ok(())
}

fn protobuf(
    endpoint: &'static Resource,
    storage: &'static StorageRow,
    page: &ListPage,
    kind: &str,
    out: &mut Vec<u8>,
) -> Result<(), Box<Status>> {
    let stored: usize = page.items.iter().map(|item| item.value.len() + 16).sum();
    let mut raw = Vec::with_capacity(stored + 64);
    let mut part = Vec::new();
    proto::encode(&builtin::IO_K8S_APIMACHINERY_PKG_APIS_META_V1_LISTMETA, &list_meta(page), &mut part)
        .map_err(failed)?;
    proto::put_bytes(1, &part, &mut raw);
    for stored in &page.items {
        part.clear();
        Outgoing { endpoint, storage, stored }.protobuf(&mut part)?;
        proto::put_bytes(2, &part, &mut raw);
    }
    proto::wrap(endpoint.group_version, kind, &raw, out);
    Ok(())
}
