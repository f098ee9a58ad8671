//! Counts the items of responses, so that a wrong response is an error and not a fast result.

use std::io::Read as _;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::client::Answer;
use crate::error::{Error, Result};

/// Maximum size of a decompressed body in bytes.
pub(crate) const MAX_BODY: usize = 1 << 30;

/// Format of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// JSON with `items`.
    Json,
    /// JSON with `rows`.
    Table,
    /// Protobuf: a `runtime.Unknown` envelope around a list.
    Protobuf,
}

#[derive(Deserialize)]
struct JsonList {
    kind: String,
    #[serde(default)]
    metadata: Metadata,
    /// Go writes an empty list as null in some cases.
    items: Option<Vec<IgnoredAny>>,
}

impl JsonList {
    fn parse(body: &[u8]) -> Result<Self> {
        let list: Self = serde_json::from_slice(body).map_err(|e| Error::Wrong(e.to_string()))?;
        if list.kind.ends_with("List") { Ok(list) } else { Err(Error::Wrong(format!("a {}", list.kind))) }
    }

    fn len(&self) -> u64 {
        self.items.as_ref().map_or(0, Vec::len) as u64
    }
}

/// Metadata of a list.
#[derive(Deserialize, Default, Debug, PartialEq, Eq)]
pub(crate) struct Metadata {
    /// Resource version from which a watch can start.
    #[serde(rename = "resourceVersion", default)]
    pub(crate) resource_version: String,
    /// Number of items after this page, if the server reports it.
    #[serde(rename = "remainingItemCount", default)]
    pub(crate) remaining: u64,
}

#[derive(Deserialize)]
struct Table {
    rows: Vec<IgnoredAny>,
}

/// Returns the number of items or rows of a complete response.
pub(crate) fn items(format: Format, response: &Answer) -> Result<u64> {
    let mut unpacked = Vec::new();
    let body = if response.gzipped {
        let reader = flate2::read::GzDecoder::new(response.head.as_slice());
        let read = reader.take(MAX_BODY as u64).read_to_end(&mut unpacked);
        read.map_err(|e| response.wrong(&format!("bad gzip: {e}")))?;
        &unpacked
    } else {
        &response.head
    };
    count(format, body).map_err(|e| response.wrong(&format!("not a whole list: {e}")))
}

fn count(format: Format, body: &[u8]) -> Result<u64> {
    let wrong = |e: serde_json::Error| Error::Wrong(e.to_string());
    Ok(match format {
        Format::Json => JsonList::parse(body)?.len(),
        Format::Table => serde_json::from_slice::<Table>(body).map_err(wrong)?.rows.len() as u64,
        Format::Protobuf => protobuf_items(body).ok_or_else(|| Error::Wrong("bad protobuf".to_owned()))?,
    })
}

/// Returns the metadata and the number of items of a JSON list.
pub(crate) fn json_list(response: &Answer) -> Result<(Metadata, u64)> {
    let list = JsonList::parse(&response.head).map_err(|e| response.wrong(&format!("not a list: {e}")))?;
    let length = list.len();
    Ok((list.metadata, length))
}

/// Returns the continue token: the value of `continue` in a list's metadata, which both servers write before
/// the items. The rest of the page is not needed. An empty token counts as none.
pub(crate) fn continue_token(head: &[u8]) -> Option<&str> {
    const KEY: &[u8] = b"\"continue\":\"";
    let metadata = head.get(..memchr::memmem::find(head, b"\"items\":").unwrap_or(head.len()))?;
    let token = metadata.get(memchr::memmem::find(metadata, KEY)? + KEY.len()..)?;
    let token = std::str::from_utf8(token.get(..memchr::memchr(b'"', token)?)?).ok()?;
    (!token.is_empty()).then_some(token)
}

/// The `runtime.Unknown` envelope follows 4 bytes of magic. Its field 2 is the list, whose field 2 contains
/// the items.
fn protobuf_items(body: &[u8]) -> Option<u64> {
    let mut envelope = Fields(body.strip_prefix(b"k8s\0")?);
    let list = loop {
        if let (2, list) = envelope.next()?? {
            break list;
        }
    };
    let mut items = 0;
    for field in Fields(list) {
        items += u64::from(field?.0 == 2);
    }
    Some(items)
}

/// Fields of a protobuf message: number, and content if it is length-delimited. `None` for a malformed field.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = Option<(u64, &'a [u8])>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.0 = &[];
        }
        Some(field)
    }
}

impl<'a> Fields<'a> {
    fn field(&mut self) -> Option<(u64, &'a [u8])> {
        let tag = self.varint()?;
        let content = match tag & 7 {
            0 => {
                self.varint()?;
                &[]
            }
            1 => self.take(8)?,
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                self.take(length)?
            }
            5 => self.take(4)?,
            _ => return None,
        };
        Some((tag >> 3, content))
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (content, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(content)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = *self.take(1)?.first()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(format: Format, body: &[u8], expected: Option<u64>) {
        assert_eq!(count(format, body).ok(), expected);
    }

    #[test]
    fn lists_are_counted_and_truncated_ones_rejected() {
        check(Format::Json, br#"{"kind":"PodList","metadata":{},"items":[{},{"a":[1,2]}]}"#, Some(2));
        check(Format::Json, br#"{"kind":"PodList","items":[{},"#, None);
        check(Format::Json, br#"{"kind":"PodList","metadata":{},"items":null}"#, Some(0));
        check(Format::Json, br#"{"kind":"Status"}"#, None);
        check(Format::Table, br#"{"columnDefinitions":[],"rows":[{},{},{}]}"#, Some(3));
        // Type metadata, then a list with metadata "m" and two items.
        let list = b"\x0a\x01m\x12\x02ab\x12\x00";
        let mut body = b"k8s\0\x0a\x01t\x12".to_vec();
        body.push(u8::try_from(list.len()).unwrap());
        body.extend_from_slice(list);
        check(Format::Protobuf, &body, Some(2));
        check(Format::Protobuf, &body[..body.len() - 1], None);
        check(Format::Protobuf, b"k8s\0", None);
        check(Format::Protobuf, b"{}", None);
    }

    #[test]
    fn continue_token_is_read_before_the_items() {
        let head = br#"{"metadata":{"resourceVersion":"9","continue":"abc_-9"},"items":[{"x":"#;
        assert_eq!(continue_token(head), Some("abc_-9"));
        assert_eq!(continue_token(br#"{"metadata":{},"items":[{"continue":"no"}]}"#), None);
        assert_eq!(continue_token(br#"{"metadata":{"continue":""},"items":[]}"#), None);
        assert_eq!(continue_token(b""), None);
    }
}
