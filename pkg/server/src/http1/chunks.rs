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
    state: ParseState,
    /// Size of the current chunk: the value read so far, then the remaining bytes.
    size: u64,
    /// Number of digits of `size`.
    digits: u8,
    /// Number of bytes of extensions and trailers.
    extra: usize,
}

/// Position of the next byte.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum ParseState {
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
        self.state == ParseState::Done
    }

    /// Parses more bytes. Returns the number of bytes that belong to the body: all, unless it ends within
    /// them.
    ///
    /// # Errors
    /// Invalid chunk syntax.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Result<usize, ChunkError> {
        let mut rest = bytes;
        while self.state != ParseState::Done {
            if self.state == ParseState::Data {
                let data_bytes = usize::try_from(self.size).unwrap_or(usize::MAX).min(rest.len());
                self.size = self.size.saturating_sub(u64::try_from(data_bytes).unwrap_or(u64::MAX));
                rest = rest.get(data_bytes..).unwrap_or_default();
                if self.size == 0 {
                    self.state = ParseState::DataCr;
                }
            }
            let Some((&byte, tail)) = rest.split_first() else { break };
            self.state = self.step(byte)?;
            rest = tail;
        }
        Ok(bytes.len().saturating_sub(rest.len()))
    }

    fn step(&mut self, byte: u8) -> Result<ParseState, ChunkError> {
        match (self.state, byte) {
            (ParseState::Size, _) if byte.is_ascii_hexdigit() => self.digit(byte),
            (ParseState::Size | ParseState::Space, b' ' | b'\t') if self.digits > 0 => {
                self.extra(ParseState::Space)
            }
            (ParseState::Size | ParseState::Space, b';') if self.digits > 0 => {
                self.extra(ParseState::Extension)
            }
            (ParseState::Size | ParseState::Space, b'\r') if self.digits > 0 => Ok(ParseState::SizeLf),
            (ParseState::Extension, b'\r') => Ok(ParseState::SizeLf),
            (ParseState::Extension, _) if is_value_byte(byte) => self.extra(ParseState::Extension),
            (ParseState::SizeLf, b'\n') => {
                self.digits = 0;
                Ok(if self.size == 0 { ParseState::Trailer } else { ParseState::Data })
            }
            (ParseState::DataCr, b'\r') => Ok(ParseState::DataLf),
            (ParseState::DataLf, b'\n') => Ok(ParseState::Size),
            (ParseState::Trailer, b'\r') => Ok(ParseState::EndLf),
            (ParseState::EndLf, b'\n') => Ok(ParseState::Done),
            (ParseState::Trailer | ParseState::TrailerName, _) if is_token_byte(byte) => {
                self.extra(ParseState::TrailerName)
            }
            (ParseState::TrailerName, b':') => self.extra(ParseState::TrailerValue),
            (ParseState::TrailerValue, b'\r') => Ok(ParseState::TrailerLf),
            (ParseState::TrailerValue, _) if is_value_byte(byte) => self.extra(ParseState::TrailerValue),
            (ParseState::TrailerLf, b'\n') => Ok(ParseState::Trailer),
            _ => Err(ChunkError),
        }
    }

    fn digit(&mut self, byte: u8) -> Result<ParseState, ChunkError> {
        let value = char::from(byte).to_digit(16).ok_or(ChunkError)?;
        self.digits = self.digits.checked_add(1).filter(|&digits| digits <= DIGITS_MAX).ok_or(ChunkError)?;
        self.size = self.size.checked_shl(4).unwrap_or_default() | u64::from(value);
        Ok(ParseState::Size)
    }

    fn extra(&mut self, next: ParseState) -> Result<ParseState, ChunkError> {
        self.extra = self.extra.saturating_add(1);
        if self.extra > EXTRA_BYTES_MAX { Err(ChunkError) } else { Ok(next) }
    }
}
