//! Parser for the end of a chunked body.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::as_conversions)]

use super::head::{is_token_byte, is_value_byte};

/// Maximum number of digits of a chunk size: those of 64 bits. With more leading zeros, some parsers would
/// overflow and others would accept the size.
const DIGITS_MAX: u8 = 16;
/// Limit in bytes for all chunk extensions of a body, and for its trailers. Neither is used.
const EXTRA_BYTES_MAX: usize = 16 * 1024;

/// State of a chunked body.
#[derive(Debug, Default)]
pub(crate) struct Chunks {
    at: At,
    /// Size of the current chunk: the value read so far, then the remaining bytes.
    size: u64,
    /// Number of digits of `size`.
    digits: u8,
    /// Number of bytes of extensions and trailers.
    extra: usize,
}

/// Position of the next byte.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum At {
    #[default]
    Size,
    /// White space after the size.
    Space,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    /// Start of a line after the last chunk.
    Trailer,
    TrailerName,
    TrailerValue,
    TrailerLf,
    EndLf,
    Done,
}

/// Error in a chunked body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("malformed chunked encoding")]
pub(crate) struct ChunkError;

impl Chunks {
    pub(crate) fn is_done(&self) -> bool {
        self.at == At::Done
    }

    /// Parses more bytes. Returns the number of bytes that belong to the body: all, unless it ends within
    /// them.
    ///
    /// # Errors
    /// Invalid chunk syntax.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Result<usize, ChunkError> {
        let mut rest = bytes;
        while self.at != At::Done {
            if self.at == At::Data {
                let taken = usize::try_from(self.size).unwrap_or(usize::MAX).min(rest.len());
                self.size = self.size.saturating_sub(u64::try_from(taken).unwrap_or(u64::MAX));
                rest = rest.get(taken..).unwrap_or_default();
                if self.size == 0 {
                    self.at = At::DataCr;
                }
            }
            let Some((&byte, behind)) = rest.split_first() else { break };
            self.at = self.step(byte)?;
            rest = behind;
        }
        Ok(bytes.len().saturating_sub(rest.len()))
    }

    fn step(&mut self, byte: u8) -> Result<At, ChunkError> {
        match (self.at, byte) {
            (At::Size, _) if byte.is_ascii_hexdigit() => self.digit(byte),
            (At::Size | At::Space, b' ' | b'\t') if self.digits > 0 => self.extra(At::Space),
            (At::Size | At::Space, b';') if self.digits > 0 => self.extra(At::Extension),
            (At::Size | At::Space, b'\r') if self.digits > 0 => Ok(At::SizeLf),
            (At::Extension, b'\r') => Ok(At::SizeLf),
            (At::Extension, _) if is_value_byte(byte) => self.extra(At::Extension),
            (At::SizeLf, b'\n') => {
                self.digits = 0;
                Ok(if self.size == 0 { At::Trailer } else { At::Data })
            }
            (At::DataCr, b'\r') => Ok(At::DataLf),
            (At::DataLf, b'\n') => Ok(At::Size),
            (At::Trailer, b'\r') => Ok(At::EndLf),
            (At::EndLf, b'\n') => Ok(At::Done),
            (At::Trailer | At::TrailerName, _) if is_token_byte(byte) => self.extra(At::TrailerName),
            (At::TrailerName, b':') => self.extra(At::TrailerValue),
            (At::TrailerValue, b'\r') => Ok(At::TrailerLf),
            (At::TrailerValue, _) if is_value_byte(byte) => self.extra(At::TrailerValue),
            (At::TrailerLf, b'\n') => Ok(At::Trailer),
            _ => Err(ChunkError),
        }
    }

    fn digit(&mut self, byte: u8) -> Result<At, ChunkError> {
        let value = char::from(byte).to_digit(16).ok_or(ChunkError)?;
        self.digits = self.digits.checked_add(1).filter(|&digits| digits <= DIGITS_MAX).ok_or(ChunkError)?;
        self.size = self.size.checked_shl(4).unwrap_or_default() | u64::from(value);
        Ok(At::Size)
    }

    fn extra(&mut self, next: At) -> Result<At, ChunkError> {
        self.extra = self.extra.saturating_add(1);
        if self.extra > EXTRA_BYTES_MAX { Err(ChunkError) } else { Ok(next) }
    }
}
