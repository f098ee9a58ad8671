//! Lists: kind, list metadata, and items. The items are encoded one by one while the list is sent.

use std::ops::ControlFlow;
use std::sync::Arc;

use api::resources::Handle;
use apimachinery::status::Status;
use component_base::weakened::{WeakenedDecisions, WeakenedKind};
use jsontree::Value;
use kinds::printers::DefaultClass;
use registry::generic::ListPage;
use registry::{Budget, Element, ItemsIter, OBJECTS_AT_ONCE};
use schema::builtin::IO_K8S_APIMACHINERY_PKG_APIS_META_V1_LISTMETA as LIST_META;
use schema::object::Object;
use schema::{cbor, json_write, proto};

use crate::response::chunks::{CHUNK_BYTES, Source};
use crate::response::encode::{
    self, ResponseObject, Shape, encoding_error, protobuf_len, put_varint, varint_len,
};
use crate::response::table::{self, TableRequest};

/// Encoding options of the items of a list.
#[derive(Clone)]
pub(crate) struct Listing {
    /// Row of the endpoint; determines the served version.
    pub(crate) endpoint: Handle,
    pub(crate) shape: Shape,
    /// Memory budget of the memo for encoded forms.
    pub(crate) budget: Arc<Budget>,
    /// Receiver of stored objects that cannot be encoded.
    pub(crate) weakened: WeakenedDecisions,
}

impl Listing {
    /// Removes a partly written item that cannot be encoded, for example because raw JSON in a stored protobuf
    /// message is damaged. Such an object must not block its resource.
    fn leave_out(&self, element: &Element, error: &Status, begin: usize, out: &mut Vec<u8>) {
        out.truncate(begin);
        self.weakened.record(WeakenedKind::UnreadableElement, element.key(), &error.message);
    }

    fn outgoing<'a>(&'a self, element: &'a Element) -> ResponseObject<'a> {
        let row = self.endpoint.row();
        ResponseObject::element(row, row.stored_form(), element, element.revision(), &self.budget)
    }

    /// Appends an item as a field of a protobuf list.
    fn put(&self, element: &Element, scratch: &mut Vec<u8>, out: &mut Vec<u8>) -> Result<(), Box<Status>> {
        encode::protobuf_item(&self.outgoing(element), self.shape, scratch, out)
    }

    /// True if the list is encoded with sorted keys, like a Go map. This is the case for lists of whole
    /// custom resources.
    pub(crate) fn has_sorted_keys(&self) -> bool {
        self.shape == Shape::Whole && self.endpoint.row().message.open
    }

    /// Returns `kind` and `apiVersion` of the list.
    fn type_meta(&self) -> (&str, String) {
        let row = self.endpoint.row();
        match self.shape {
            Shape::Whole => {
                let list_kind = row.custom.map(|custom| custom.kind.list_kind.clone());
                (row.group_version, list_kind.unwrap_or_else(|| format!("{}List", row.kind)))
            }
            Shape::Metadata(version) => {
                (encode::meta_api_version(version), format!("{}List", encode::PARTIAL_KIND))
            }
        }
    }

    /// Returns `ListMeta` of a page. Only lists of whole built-in objects contain their shard information.
    fn meta(&self, page: &ListPage) -> Object {
        let mut meta = list_meta(page);
        let has_shard_info = self.shape == Shape::Whole && !self.endpoint.row().message.open;
        if has_shard_info && !page.shard_selector.is_empty() {
            let selector = Value::from(page.shard_selector.clone());
            meta.insert("shardInfo", Value::Object(Object::from_iter([("selector", selector)])));
        }
        meta
    }
}

/// Number of items that are measured per time slice. Most take almost no time, but some need a conversion.
const MEASURED_AT_ONCE: usize = 250;

/// Encodes items until `out` holds `enough` bytes, the time slice is used up, or no item is left. Returns
/// true if items may be left.
fn each(
    items: &mut ItemsIter,
    out: &mut Vec<u8>,
    enough: usize,
    mut write: impl FnMut(&Element, &mut Vec<u8>) -> Result<(), Box<Status>>,
) -> Result<bool, Box<Status>> {
    if out.len() >= enough {
        return Ok(true);
    }
    let mut result = Ok(());
    let ended = items.visit_some(OBJECTS_AT_ONCE, |element| {
        result = write(element, out);
        let stop = result.is_err() || out.len() >= enough;
        if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    result.map(|()| !ended)
}

/// Returns `ListMeta` of a page as a tree.
pub(crate) fn list_meta(page: &ListPage) -> Object {
    let mut meta = Object::new();
    meta.insert("resourceVersion", page.revision.to_string().into());
    if !page.continue_token.is_empty() {
        meta.insert("continue", page.continue_token.clone().into());
    }
    if let Some(remaining) = page.remaining {
        meta.insert("remainingItemCount", Value::from(remaining));
    }
    meta
}

pub(crate) struct Json {
    listing: Listing,
    meta: Object,
    items: ItemsIter,
    started: bool,
}

impl Json {
    pub(crate) fn new(listing: Listing, page: &ListPage) -> Self {
        Json { meta: listing.meta(page), listing, items: page.items.iter(), started: false }
    }

    fn end(&self, out: &mut Vec<u8>) -> Result<(), Box<Status>> {
        out.extend_from_slice(match (self.started, self.listing.shape) {
            (true, _) => b"]",
            (false, Shape::Whole) => b",\"items\":[]",
            // Upstream leaves the items of an empty partial list nil.
            (false, Shape::Metadata(_)) => b",\"items\":null",
        });
        if self.listing.has_sorted_keys() {
            let (_, kind) = self.listing.type_meta();
            for part in [",\"kind\":\"", &kind, "\",\"metadata\":"] {
                out.extend_from_slice(part.as_bytes());
            }
            // Upstream encodes this as a map, which contains every field that was set, even if empty.
            let mut meta = self.meta.clone();
            meta.entry("continue").or_insert_with(|| "".into());
            out.extend_from_slice(Value::Object(meta).to_string().as_bytes());
        }
        out.extend_from_slice(b"}\n");
        Ok(())
    }
}

impl Source for Json {
    fn head(&mut self, _: Option<usize>, out: &mut Vec<u8>) -> Result<(), Box<Status>> {
        let (api_version, kind) = self.listing.type_meta();
        if self.listing.has_sorted_keys() {
            for part in ["{\"apiVersion\":\"", api_version, "\""] {
                out.extend_from_slice(part.as_bytes());
            }
            return Ok(());
        }
        for part in ["{\"kind\":\"", &kind, "\",\"apiVersion\":\"", api_version, "\",\"metadata\":"] {
            out.extend_from_slice(part.as_bytes());
        }
        json_write::encode(&LIST_META, &self.meta, out).map_err(encoding_error)
    }

    fn fill(&mut self, out: &mut Vec<u8>, enough: usize) -> Result<bool, Box<Status>> {
        let Json { listing, items, started, .. } = self;
        let more = each(items, out, enough, |element, out| {
            let begin = out.len();
            out.extend_from_slice(if *started { b"," } else { b",\"items\":[" });
            let result = match listing.shape {
                Shape::Whole => listing.outgoing(element).json(false, out),
                Shape::Metadata(version) => listing.outgoing(element).partial_json(version, out),
            };
            match result {
                Ok(()) => *started = true,
                Err(error) => listing.leave_out(element, &error, begin, out),
            }
            Ok(())
        })?;
        if !more {
            self.end(out)?;
        }
        Ok(more)
    }
}

/// A list in CBOR. Shorter keys come first, so the metadata follow the items. The number of items precedes
/// the items.
pub(crate) struct Cbor {
    listing: Listing,
    meta: Object,
    /// Number of items counted so far.
    count: usize,
    /// Items that are not counted yet.
    uncounted: ItemsIter,
    items: ItemsIter,
}

impl Cbor {
    pub(crate) fn new(listing: Listing, page: &ListPage) -> Self {
        let meta = listing.meta(page);
        Cbor { listing, meta, count: 0, uncounted: page.items.iter(), items: page.items.iter() }
    }
}

impl Source for Cbor {
    fn prepare(&mut self) -> Result<bool, Box<Status>> {
        let ended = self.uncounted.visit_some(OBJECTS_AT_ONCE, |_| {
            self.count += 1;
            ControlFlow::Continue(())
        });
        Ok(!ended)
    }

    fn head(&mut self, _: Option<usize>, out: &mut Vec<u8>) -> Result<(), Box<Status>> {
        out.extend_from_slice(&cbor::SELF_DESCRIBED);
        cbor::put_map(4, out);
        let (_, kind) = self.listing.type_meta();
        for text in ["kind", &kind, "items"] {
            cbor::put_text(text, out);
        }
        match (self.count, self.listing.shape) {
            // Nil, as in JSON.
            (0, Shape::Metadata(_)) => cbor::untyped(&Value::Null, out).map_err(encoding_error)?,
            (count, _) => cbor::put_array(count, out),
        }
        Ok(())
    }

    fn fill(&mut self, out: &mut Vec<u8>, enough: usize) -> Result<bool, Box<Status>> {
        let Cbor { listing, meta, items, .. } = self;
        let more = each(items, out, enough, |element, out| {
            encode::cbor_item(&listing.outgoing(element), listing.shape, out)
        })?;
        if !more {
            cbor::put_text("metadata", out);
            cbor::item(&LIST_META, meta, out).map_err(encoding_error)?;
            cbor::put_text("apiVersion", out);
            cbor::put_text(listing.type_meta().0, out);
        }
        Ok(more)
    }
}

pub(crate) struct Table {
    listing: Listing,
    meta: Object,
    items: ItemsIter,
    writer: table::Writer,
    /// Search for the default class in a list of storage classes.
    default_class: Option<DefaultClass>,
    /// Items that the search has not considered yet.
    unconsidered: ItemsIter,
}

impl Table {
    pub(crate) fn new(listing: Listing, page: &ListPage, request: TableRequest) -> Self {
        let writer = table::Writer::new(&listing.endpoint, request);
        let default_class = DefaultClass::of(listing.endpoint.row());
        let items = page.items.iter();
        Table {
            listing,
            meta: list_meta(page),
            items,
            writer,
            default_class,
            unconsidered: page.items.iter(),
        }
    }
}

impl Source for Table {
    fn prepare(&mut self) -> Result<bool, Box<Status>> {
        let Table { listing, default_class: Some(default_class), unconsidered, .. } = self else {
            return Ok(false);
        };
        let mut considered = 0;
        let ended = unconsidered.visit_some(OBJECTS_AT_ONCE, |element| {
            if let Ok(object) = listing.outgoing(element).tree() {
                default_class.consider(&object);
            }
            considered += 1;
            if considered == MEASURED_AT_ONCE { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        Ok(!ended)
    }

    fn head(&mut self, _: Option<usize>, out: &mut Vec<u8>) -> Result<(), Box<Status>> {
        self.writer.set_default_class(self.default_class.take());
        self.writer.begin(&self.meta, true, out)
    }

    fn fill(&mut self, out: &mut Vec<u8>, enough: usize) -> Result<bool, Box<Status>> {
        let Table { listing, items, writer, .. } = self;
        let more = each(items, out, enough, |element, out| {
            let begin = out.len();
            if let Err(error) = writer.stored(&listing.outgoing(element), out) {
                listing.leave_out(element, &error, begin, out);
            }
            Ok(())
        })?;
        if !more {
            writer.end(out);
            out.push(b'\n');
        }
        Ok(more)
    }
}

/// Fields after the object in an envelope: content encoding and content type, both empty.
const ENVELOPE_END: [u8; 4] = [0x1a, 0, 0x22, 0];

/// A list in protobuf. Its size precedes the items, so all items are measured before the first byte is sent.
/// The items of a small list are encoded in the same pass.
pub(crate) struct Protobuf {
    listing: Listing,
    page: ListPage,
    /// Encoded items, from the first one on.
    encoded: Vec<u8>,
    /// Items that follow `started`.
    items: ItemsIter,
    /// Items after `started` that are not measured yet; `None` before the list is started.
    unmeasured: Option<ItemsIter>,
    /// Number of measured item bytes that follow `started`.
    due: usize,
}

impl Protobuf {
    pub(crate) fn new(listing: Listing, page: ListPage) -> Self {
        Protobuf { listing, items: page.items.iter(), page, encoded: Vec::new(), unmeasured: None, due: 0 }
    }

    /// Encodes the first items. Returns the following ones, which must be measured.
    fn begin(&mut self) -> Result<ItemsIter, Box<Status>> {
        let mut scratch = Vec::new();
        let mut count = 0;
        let Protobuf { listing, items, encoded, .. } = self;
        each(items, encoded, CHUNK_BYTES, |element, out| {
            count += 1;
            listing.put(element, &mut scratch, out)
        })?;
        let mut remaining = self.page.items.iter();
        if count > 0 {
            remaining.nth(count - 1);
        }
        Ok(remaining)
    }
}

impl Source for Protobuf {
    fn prepare(&mut self) -> Result<bool, Box<Status>> {
        let Some(unmeasured) = &mut self.unmeasured else {
            let remaining = self.begin()?;
            self.unmeasured = Some(remaining);
            return Ok(true);
        };
        let mut measured = 0;
        let mut failed = None;
        let ended = unmeasured.visit_some(OBJECTS_AT_ONCE, |element| {
            match protobuf_len(&self.listing.outgoing(element), self.listing.shape) {
                Ok(len) => self.due += field_len(len),
                Err(status) => failed = Some(status),
            }
            measured += 1;
            let stop = failed.is_some() || measured == MEASURED_AT_ONCE;
            if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        failed.map_or(Ok(!ended), Err)
    }

    fn head(&mut self, rest: Option<usize>, out: &mut Vec<u8>) -> Result<(), Box<Status>> {
        if let Some(rest) = rest {
            self.due = rest.saturating_sub(ENVELOPE_END.len());
        }
        let (api_version, kind) = self.listing.type_meta();
        let mut type_meta = Vec::new();
        let mut meta = Vec::new();
        proto::put_bytes(1, api_version.as_bytes(), &mut type_meta);
        proto::put_bytes(2, kind.as_bytes(), &mut type_meta);
        proto::encode(&LIST_META, &self.listing.meta(&self.page), &mut meta).map_err(encoding_error)?;
        out.extend_from_slice(&proto::PREFIX);
        proto::put_bytes(1, &type_meta, out);
        out.push(0x12);
        put_varint(field_len(meta.len()) + self.encoded.len() + self.due, out);
        proto::put_bytes(1, &meta, out);
        Ok(())
    }

    fn fill(&mut self, out: &mut Vec<u8>, enough: usize) -> Result<bool, Box<Status>> {
        out.append(&mut self.encoded);
        let Protobuf { listing, items, due, .. } = self;
        let mut scratch = Vec::new();
        let more = each(items, out, enough, |element, out| {
            let begin = out.len();
            listing.put(element, &mut scratch, out)?;
            *due = due.checked_sub(out.len() - begin).ok_or_else(length_mismatch)?;
            Ok(())
        })?;
        if !more {
            out.extend_from_slice(&ENVELOPE_END);
        }
        if more || *due == 0 { Ok(more) } else { Err(length_mismatch()) }
    }
}

/// Status for a list whose length on the wire would differ from the announced length.
fn length_mismatch() -> Box<Status> {
    encoding_error("an item of a list is not as long as it was measured")
}

/// Size of a length-delimited field with a low field number.
fn field_len(len: usize) -> usize {
    1 + varint_len(len) + len
}

#[cfg(test)]
mod tests;
