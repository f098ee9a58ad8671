//! Schemas of definitions as text: most of a definition's bytes, and rarely read.

use std::borrow::Cow;
use std::io::{Read as _, Write as _};

use bytes::Bytes;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

/// Texts with fewer bytes are not compressed.
const PACKED_MIN: usize = 1024;

/// The JSON text of a schema. Cloning shares it.
#[derive(Debug, Clone)]
pub struct SchemaText {
    bytes: Bytes,
    /// Length of the text if the bytes are compressed.
    unpacked: Option<usize>,
}

impl SchemaText {
    /// Wraps bytes that exist anyway, such as those of a cached definition.
    pub fn shared(bytes: Bytes) -> Self {
        SchemaText { bytes, unpacked: None }
    }

    /// Stores a copy of a text, compressed if that saves memory. Schemas shrink to a tenth.
    pub fn packed(text: &[u8]) -> Self {
        let plain = || SchemaText::shared(Bytes::copy_from_slice(text));
        if text.len() < PACKED_MIN {
            return plain();
        }
        let mut encoder = DeflateEncoder::new(Vec::with_capacity(text.len() / 6), Compression::fast());
        // Writing to a vector cannot fail.
        let packed = encoder.write_all(text).and_then(|()| encoder.finish());
        let packed = packed.ok().filter(|packed| packed.len() < text.len());
        packed.map_or_else(plain, |packed| SchemaText {
            bytes: packed.into_boxed_slice().into(),
            unpacked: Some(text.len()),
        })
    }

    pub(super) fn text(&self) -> Cow<'_, [u8]> {
        let Some(length) = self.unpacked else { return Cow::Borrowed(&self.bytes) };
        let mut text = Vec::with_capacity(length);
        // Decompressing the output from above cannot fail.
        let read = DeflateDecoder::new(&*self.bytes).read_to_end(&mut text);
        Cow::Owned(read.map_or_else(|_| Vec::new(), |_| text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_round_trip_and_long_ones_shrink() {
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
