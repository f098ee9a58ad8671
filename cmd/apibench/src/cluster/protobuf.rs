//! Just enough protobuf: to write the bodies that nodes and controllers send, and to find a revision in
//! an answer. Built-in clients speak it, and it costs the load generator next to nothing.

use bytes::Bytes;

use crate::check::Fields;

/// What Kubernetes' protobuf begins with.
const MAGIC: &[u8] = b"k8s\0";

/// A message that is being written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Message(Vec<u8>);

impl Message {
    /// Without fields.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// A string.
    pub(crate) fn text(self, field: u64, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    /// A message within.
    pub(crate) fn message(self, field: u64, message: &Self) -> Self {
        self.bytes(field, &message.0)
    }

    /// An entry of a map of strings.
    pub(crate) fn pair(self, field: u64, key: &str, value: &str) -> Self {
        self.message(field, &Self::new().text(1, key).text(2, value))
    }

    /// An integer or a boolean.
    pub(crate) fn number(mut self, field: u64, number: u64) -> Self {
        self.varint(field << 3);
        self.varint(number);
        self
    }

    /// The whole object as a body: the envelope that says its kind, and this.
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

/// `metadata.resourceVersion` of an object in its envelope.
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
    fn a_revision_is_found_in_what_was_written() {
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
