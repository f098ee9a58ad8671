//! Protobuf to JSON without a tree in between: how stored built-in objects are served.
//!
//! The output is byte for byte what Go's `encoding/json` makes of the decoded struct. Each message
//! is scanned once to find its fields ([`index`](crate::proto)), then written in the order of the
//! struct; values are copied from the input, never collected.

mod shapes;

use base64::prelude::{BASE64_STANDARD, Engine};

use crate::json_write::typed::member;
use crate::json_write::{write_double, write_string};
use crate::proto::index::{Slot, Slots, each, entry};
use crate::proto::wire::{BYTES, Reader};
use crate::proto::{self, TypeMetaHead};
use crate::table::{Cardinality, Field, Message, Shape, Type};
use crate::{json_write, object};

/// Why an object cannot be served as JSON.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// Its bytes are no message.
    #[error(transparent)]
    Wire(#[from] proto::Error),
    /// It holds a value that JSON cannot.
    #[error(transparent)]
    Json(#[from] json_write::Error),
}

/// Appends the JSON of the message `raw`, without a newline at the end.
///
/// `head` is what the object calls itself; list items of built-in kinds go without. If
/// `resource_version` is given it is written in place of the one in the root's `metadata`.
///
/// # Errors
/// The bytes are no such message, or hold what JSON cannot; `out` is then unchanged.
pub fn to_json(
    message: &'static Message,
    raw: &[u8],
    head: Option<TypeMetaHead>,
    resource_version: Option<&str>,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let before = out.len();
    // JSON is some 1.4 times as long as the bytes it comes from.
    out.reserve(raw.len() + raw.len() / 2);
    let mut writer = Writer { slots: Slots::default(), entries: Vec::new(), version: resource_version, out };
    let result = writer.root(message, raw, head);
    if result.is_err() {
        out.truncate(before);
    }
    result
}

struct Writer<'o> {
    slots: Slots,
    /// Map entries being sorted: offsets of key and value in the region they come from.
    entries: Vec<[u32; 4]>,
    /// The root's resource version, until it has been written.
    version: Option<&'o str>,
    out: &'o mut Vec<u8>,
}

impl Writer<'_> {
    fn root(&mut self, message: &'static Message, raw: &[u8], head: Option<TypeMetaHead>) -> Result<(), Error> {
        self.out.push(b'{');
        if let Some(head) = head.filter(|_| message.type_meta) {
            for (key, text) in [("\"kind\":", head.kind), ("\"apiVersion\":", head.api_version)] {
                if !text.is_empty() {
                    member(key.as_bytes(), self.out);
                    write_string(text.as_bytes(), self.out);
                }
            }
        }
        self.members(message, raw)?;
        self.out.push(b'}');
        Ok(())
    }
}
