//! Minimal protobuf: writes the bodies of nodes and controllers, and finds the resource version in a
//! response. Built-in clients use protobuf, and it costs the load generator almost nothing.

use bytes::Bytes;

use crate::check::Fields;

/// Prefix of Kubernetes' protobuf.
const MAGIC: &[u8] = b"k8s\0";

/// A message under construction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Message(Vec<u8>);

impl Message {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds a string.
    pub(crate) fn text(self, field: u64, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    /// Adds a nested message.
    pub(crate) fn message(self, field: u64, message: &Self) -> Self {
        self.bytes(field, &message.0)
    }

    /// Adds a string map entry.
    pub(crate) fn pair(self, field: u64, key: &str, value: &str) -> Self {
        self.message(field, &Self::new().text(1, key).text(2, value))
    }

    /// Adds an integer or a boolean.
    pub(crate) fn number(mut self, field: u64, number: u64) -> Self {
        self.varint(field << 3);
        self.varint(number);
        self
    }

    /// Returns the object as a request body, in an envelope with its version and kind.
    pub(crate) fn object(self, api_version: &str, kind: &str) -> Bytes {
        let kind = Self::new().text(1, api_version).text(2, kind);
        let mut body = MAGIC.to_vec();
        body.append(&mut Self::new().message(1, &kind).message(2, &self).0);
        body.into()
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

/// Returns `metadata.resourceVersion` of an object in its envelope.
pub(crate) fn resource_version(body: &[u8]) -> Option<&str> {
    let object = field(body.strip_prefix(MAGIC)?, 2)?;
    let metadata = field(object, 1)?;
    std::str::from_utf8(field(metadata, 6)?).ok()
}

fn field(message: &[u8], number: u64) -> Option<&[u8]> {
    Fields(message).flatten().find(|(found, _)| *found == number).map(|(_, content)| content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_resource_version_is_found() {
        let metadata = Message::new().text(1, "n").pair(12, "k", "v").text(6, "12345");
        let object = Message::new().message(1, &metadata).message(2, &Message::new().number(2, 40_000));
        let body = object.object("v1", "Node");
        assert!(body.starts_with(b"k8s\0\x0a\x0a\x0a\x02v1\x12\x04Node\x12"));
        assert_eq!(resource_version(&body), Some("12345"));
        assert_eq!(resource_version(&body[..20]), None);
        assert_eq!(resource_version(b"{}"), None);
    }

    #[test]
    fn numbers_take_as_many_bytes_as_they_need() {
        assert_eq!(Message::new().number(1, 300).0, [0x08, 0xac, 0x02]);
    }
}
