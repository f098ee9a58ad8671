//! Texts that are kept for long and read seldom.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

/// Below this many bytes a text is kept as it is.
const PACKED_MIN: usize = 1024;

/// A text, compressed if that is worth it. Schemas become a tenth.
#[derive(Debug)]
pub(super) enum PackedText {
    Plain(Box<[u8]>),
    Packed { bytes: Box<[u8]>, unpacked: usize },
}

impl PackedText {
    /// Keeps a text.
    pub(super) fn new(text: &str) -> Self {
        let plain = || PackedText::Plain(text.as_bytes().into());
        if text.len() < PACKED_MIN {
            return plain();
        }
        let mut encoder = DeflateEncoder::new(Vec::with_capacity(text.len() / 6), Compression::fast());
        // Writing into a vector does not fail.
        let packed = encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish());
        let packed = packed.ok().filter(|packed| packed.len() < text.len());
        packed.map_or_else(plain, |bytes| PackedText::Packed { bytes: bytes.into(), unpacked: text.len() })
    }

    /// The text.
    pub(super) fn unpacked(&self) -> Vec<u8> {
        match self {
            PackedText::Plain(bytes) => bytes.to_vec(),
            PackedText::Packed { bytes, unpacked } => {
                let mut text = Vec::with_capacity(*unpacked);
                // Nor does reading what was written above.
                DeflateDecoder::new(&**bytes).read_to_end(&mut text).map_or_else(|_| Vec::new(), |_| text)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_comes_back_as_it_was_and_a_long_one_takes_less() {
        for text in ["", "short", &"a description of a member. ".repeat(100)] {
            let packed = PackedText::new(text);
            assert_eq!(packed.unpacked(), text.as_bytes());
            let PackedText::Packed { bytes, .. } = packed else {
                assert!(text.len() < PACKED_MIN);
                continue;
            };
            assert!(bytes.len() < text.len() / 5, "{}", bytes.len());
        }
    }
}
