//! The schemas of definitions as text: most of a definition, and read seldom.

use std::borrow::Cow;
use std::io::{Read as _, Write as _};

use bytes::Bytes;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

/// Below this many bytes a text is kept as it is.
const PACKED_MIN: usize = 1024;

/// The JSON text of a schema. Cloning shares it.
#[derive(Debug, Clone)]
pub struct SchemaText {
    bytes: Bytes,
    /// How long the text is, where the bytes are compressed.
    unpacked: Option<usize>,
}

impl SchemaText {
    /// A part of bytes that somebody keeps anyhow, as the cache does those of a definition.
    pub fn shared(bytes: Bytes) -> Self {
        SchemaText { bytes, unpacked: None }
    }

    /// A text of its own, compressed if that is worth it. Schemas become a tenth.
    pub fn packed(text: &[u8]) -> Self {
        let plain = || SchemaText::shared(Bytes::copy_from_slice(text));
        if text.len() < PACKED_MIN {
            return plain();
        }
        let mut encoder = DeflateEncoder::new(Vec::with_capacity(text.len() / 6), Compression::fast());
        // Writing into a vector does not fail.
        let packed = encoder.write_all(text).and_then(|()| encoder.finish());
        let packed = packed.ok().filter(|packed| packed.len() < text.len());
        packed.map_or_else(plain, |packed| SchemaText {
            bytes: packed.into_boxed_slice().into(),
            unpacked: Some(text.len()),
        })
    }

    /// The text.
    pub(super) fn text(&self) -> Cow<'_, [u8]> {
        let Some(length) = self.unpacked else { return Cow::Borrowed(&self.bytes) };
        let mut text = Vec::with_capacity(length);
        // Nor does reading what was written above.
        let read = DeflateDecoder::new(&*self.bytes).read_to_end(&mut text);
        Cow::Owned(read.map_or_else(|_| Vec::new(), |_| text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_comes_back_as_it_was_and_a_long_one_takes_less() {
        for text in ["", "short", &"a description of a member. ".repeat(100)] {
            let packed = SchemaText::packed(text.as_bytes());
            assert_eq!(&*packed.text(), text.as_bytes());
            let compressed = packed.bytes.len() < text.len() / 5;
            assert_eq!(compressed, text.len() >= PACKED_MIN, "{}", packed.bytes.len());
            let shared = SchemaText::shared(Bytes::copy_from_slice(text.as_bytes()));
            assert_eq!(&*shared.text(), text.as_bytes());
        }
    }
}
