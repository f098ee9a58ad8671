//! Content codings of documents: decoding within a memory bound, and the same coding for the result.

use std::io::{self, Write};

use flate2::write::{DeflateEncoder, GzEncoder, MultiGzDecoder};
use flate2::{Compression, Decompress, FlushDecompress, Status};
use thiserror::Error;

/// Maximum size of an uncompressed part that is rewritten at once.
const PLAIN_INPUT_BYTES: usize = 16 * 1024;
/// Maximum size of a compressed part that is rewritten at once. It expands to at most a thousand times its size.
const CODED_INPUT_BYTES: usize = 512;
/// Size of a decoded part.
const DECODED_BYTES: usize = 16 * 1024;

/// Content coding of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::proxy) enum Coding {
    Identity,
    Gzip,
    /// Without the zlib header, as in upstream.
    Deflate,
}

/// Document that cannot be decoded, in Go's words.
#[derive(Debug, Error)]
pub(super) enum DecodeError {
    #[error("errorf making gzip reader: gzip: invalid header")]
    GzipHeader,
    #[error("flate: corrupt input before offset {0}")]
    Corrupt(u64),
    #[error("unexpected EOF")]
    UnexpectedEnd,
}

impl Coding {
    /// Parses the `Content-Encoding` header; `None` for an unknown coding.
    pub(super) fn parse(name: &str) -> Option<Self> {
        match name {
            "" => Some(Coding::Identity),
            "gzip" => Some(Coding::Gzip),
            "deflate" => Some(Coding::Deflate),
            _ => None,
        }
    }
}

/// Decoder of a document.
pub(super) struct Decoder {
    kind: DecoderKind,
    received: u64,
}

enum DecoderKind {
    Identity,
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
    Deflate { decoder: Decompress, ended: bool },
}

impl Decoder {
    pub(super) fn new(coding: Coding) -> Self {
        let kind = match coding {
            Coding::Identity => DecoderKind::Identity,
            Coding::Gzip => DecoderKind::Gzip(Box::new(MultiGzDecoder::new(Vec::new()))),
            Coding::Deflate => DecoderKind::Deflate { decoder: Decompress::new(false), ended: false },
        };
        Decoder { kind, received: 0 }
    }

    /// Maximum size of the input of one [`Decoder::decode`].
    pub(super) fn input_bytes_max(&self) -> usize {
        match self.kind {
            DecoderKind::Identity => PLAIN_INPUT_BYTES,
            DecoderKind::Gzip(_) | DecoderKind::Deflate { .. } => CODED_INPUT_BYTES,
        }
    }

    /// Decodes a part of the document and passes on the result.
    ///
    /// # Errors
    /// The document is not in this coding.
    pub(super) fn decode(&mut self, part: &[u8], sink: &mut impl FnMut(&[u8])) -> Result<(), DecodeError> {
        self.received += part.len() as u64;
        match &mut self.kind {
            DecoderKind::Identity => sink(part),
            DecoderKind::Gzip(decoder) => {
                if decoder.write_all(part).is_err() {
                    let in_header = decoder.header().is_none();
                    let corrupt = DecodeError::Corrupt(self.received);
                    return Err(if in_header { DecodeError::GzipHeader } else { corrupt });
                }
                sink(&std::mem::take(decoder.get_mut()));
            }
            DecoderKind::Deflate { decoder, ended } => inflate(decoder, ended, part, sink)?,
        }
        Ok(())
    }

    /// Ends the document and passes on its rest. False if it is empty.
    ///
    /// # Errors
    /// The document is incomplete.
    pub(super) fn finish(&mut self, sink: &mut impl FnMut(&[u8])) -> Result<bool, DecodeError> {
        if self.received == 0 {
            return Ok(false);
        }
        let complete = match &mut self.kind {
            DecoderKind::Identity => true,
            DecoderKind::Gzip(decoder) => {
                // The decoder keeps its last output until here.
                let complete = decoder.try_finish().is_ok();
                sink(&std::mem::take(decoder.get_mut()));
                complete
            }
            DecoderKind::Deflate { ended, .. } => *ended,
        };
        if complete { Ok(true) } else { Err(DecodeError::UnexpectedEnd) }
    }
}

/// Decompresses a part. Bytes after the end are ignored.
fn inflate(
    decoder: &mut Decompress,
    ended: &mut bool,
    part: &[u8],
    sink: &mut impl FnMut(&[u8]),
) -> Result<(), DecodeError> {
    let mut rest = part;
    let mut plain = Vec::with_capacity(DECODED_BYTES);
    while !*ended {
        plain.clear();
        let before = decoder.total_in();
        let status = decoder.decompress_vec(rest, &mut plain, FlushDecompress::None);
        let status = status.map_err(|_| DecodeError::Corrupt(decoder.total_in()))?;
        let consumed = usize::try_from(decoder.total_in() - before).unwrap_or(rest.len());
        rest = rest.get(consumed..).unwrap_or_default();
        sink(&plain);
        *ended = status == Status::StreamEnd;
        if plain.len() < plain.capacity() && rest.is_empty() {
            break;
        }
        if plain.is_empty() && consumed == 0 {
            return Err(DecodeError::Corrupt(decoder.total_in()));
        }
    }
    Ok(())
}

/// Encoder of a document.
pub(super) enum Encoder {
    Identity,
    Gzip(GzEncoder<Vec<u8>>),
    Deflate(DeflateEncoder<Vec<u8>>),
}

impl Encoder {
    pub(super) fn new(coding: Coding) -> Self {
        match coding {
            Coding::Identity => Encoder::Identity,
            Coding::Gzip => Encoder::Gzip(GzEncoder::new(Vec::new(), Compression::default())),
            Coding::Deflate => Encoder::Deflate(DeflateEncoder::new(Vec::new(), Compression::best())),
        }
    }

    /// Encodes a part. Returns the bytes that are complete.
    ///
    /// # Errors
    /// None: the output is memory.
    pub(super) fn encode(&mut self, plain: Vec<u8>) -> io::Result<Vec<u8>> {
        match self {
            Encoder::Identity => return Ok(plain),
            Encoder::Gzip(encoder) => encoder.write_all(&plain)?,
            Encoder::Deflate(encoder) => encoder.write_all(&plain)?,
        }
        Ok(self.take())
    }

    /// Encodes the last part.
    ///
    /// # Errors
    /// As [`Encoder::encode`].
    pub(super) fn finish(&mut self, plain: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut out = self.encode(plain)?;
        match self {
            Encoder::Identity => {}
            Encoder::Gzip(encoder) => encoder.try_finish()?,
            Encoder::Deflate(encoder) => encoder.try_finish()?,
        }
        out.append(&mut self.take());
        Ok(out)
    }

    fn take(&mut self) -> Vec<u8> {
        match self {
            Encoder::Identity => Vec::new(),
            Encoder::Gzip(encoder) => std::mem::take(encoder.get_mut()),
            Encoder::Deflate(encoder) => std::mem::take(encoder.get_mut()),
        }
    }
}
