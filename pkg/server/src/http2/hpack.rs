//! Decoder for header blocks of HTTP/2 (RFC 7541). Its dynamic table owns its entries, so that they do not keep the blocks
//! which contained them.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::as_conversions)]

use std::borrow::Cow;
use std::collections::VecDeque;

use super::huffman;

/// Size of the dynamic table, as HTTP/2 defines it: names, values, and 32 bytes for each entry. The initial size of the
/// protocol, which the server does not change.
const TABLE_BYTES_MAX: usize = 4096;
/// Size of an entry in addition to its name and value, as HTTP/2 defines it.
const ENTRY_BYTES: usize = 32;
/// Number of bytes of an integer after its prefix.
const INTEGER_BYTES_MAX: usize = 4;

/// The block is not valid. Later blocks cannot be decoded either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid header block")]
pub(crate) struct BlockError;

/// Entry of the dynamic table.
#[derive(Debug)]
struct Field {
    name: Box<[u8]>,
    value: Box<[u8]>,
}

/// Size of a field as HTTP/2 defines it.
pub(crate) fn field_size(name: &[u8], value: &[u8]) -> usize {
    name.len().saturating_add(value.len()).saturating_add(ENTRY_BYTES)
}

/// Dynamic table of a connection.
#[derive(Debug)]
pub(crate) struct Table {
    /// The newest is first.
    entries: VecDeque<Field>,
    size: usize,
    size_max: usize,
}

impl Default for Table {
    fn default() -> Self {
        Table { entries: VecDeque::new(), size: 0, size_max: TABLE_BYTES_MAX }
    }
}

impl Table {
    /// Decodes a block and applies it to the table.
    ///
    /// # Errors
    /// The block is invalid. Some fields may have been passed on.
    pub(crate) fn decode(
        &mut self,
        block: &[u8],
        mut sink: impl FnMut(&[u8], &[u8]) -> Result<(), BlockError>,
    ) -> Result<(), BlockError> {
        let mut reader = Reader { rest: block };
        let mut has_fields = false;
        while let Some(entry) = reader.entry()? {
            match entry {
                // Only the start of a block may change the size.
                Entry::Resize(size) if has_fields || size > TABLE_BYTES_MAX => return Err(BlockError),
                Entry::Resize(size) => {
                    self.size_max = size;
                    self.evict(0);
                    continue;
                }
                Entry::Indexed(index) => {
                    let (name, value) = self.field(index)?;
                    sink(name, value)?;
                }
                Entry::Literal { name, value, added } => {
                    let name = match name {
                        Name::Index(index) => Cow::Borrowed(self.field(index)?.0),
                        Name::Text(text) => text.decode()?,
                    };
                    let value = value.decode()?;
                    sink(&name, &value)?;
                    if added {
                        let field = Field { name: name.into(), value: value.into() };
                        self.add(field);
                    }
                }
            }
            has_fields = true;
        }
        Ok(())
    }

    /// Returns the name and value of a field of the static or the dynamic table.
    fn field(&self, index: usize) -> Result<(&[u8], &[u8]), BlockError> {
        let position = index.checked_sub(1).ok_or(BlockError)?;
        if let Some((name, value)) = STATIC.get(position) {
            return Ok((name.as_bytes(), value.as_bytes()));
        }
        let field = self.entries.get(position.saturating_sub(STATIC.len())).ok_or(BlockError)?;
        Ok((&field.name, &field.value))
    }

    fn add(&mut self, field: Field) {
        let size = field_size(&field.name, &field.value);
        self.evict(size);
        if size <= self.size_max {
            self.size = self.size.saturating_add(size);
            self.entries.push_front(field);
        }
    }

    /// Removes the oldest entries until one of this size fits.
    fn evict(&mut self, size: usize) {
        while self.size.saturating_add(size) > self.size_max {
            let Some(oldest) = self.entries.pop_back() else { return };
            self.size = self.size.saturating_sub(field_size(&oldest.name, &oldest.value));
        }
    }
}

/// Part of a block.
enum Entry<'b> {
    /// Field of a table.
    Indexed(usize),
    /// Field whose value is in the block. `added`: it becomes an entry of the table.
    Literal { name: Name<'b>, value: Text<'b>, added: bool },
    /// New size of the table.
    Resize(usize),
}

enum Name<'b> {
    Index(usize),
    Text(Text<'b>),
}

/// Encoded string.
struct Text<'b> {
    huffman: bool,
    bytes: &'b [u8],
}

impl<'b> Text<'b> {
    fn decode(&self) -> Result<Cow<'b, [u8]>, BlockError> {
        if !self.huffman {
            return Ok(Cow::Borrowed(self.bytes));
        }
        // The shortest code has 5 bits.
        let mut text = Vec::with_capacity(self.bytes.len().saturating_mul(8) / 5);
        huffman::decode(self.bytes, &mut text).ok_or(BlockError)?;
        Ok(Cow::Owned(text))
    }
}

/// Unread part of a block.
struct Reader<'b> {
    rest: &'b [u8],
}

impl<'b> Reader<'b> {
    fn entry(&mut self) -> Result<Option<Entry<'b>>, BlockError> {
        let Some(&first) = self.rest.first() else { return Ok(None) };
        Ok(Some(match first {
            0x80.. => Entry::Indexed(self.integer(7)?),
            0x40.. => self.literal(6, true)?,
            0x20.. => Entry::Resize(self.integer(5)?),
            _ => self.literal(4, false)?,
        }))
    }

    fn literal(&mut self, prefix_bits: u8, added: bool) -> Result<Entry<'b>, BlockError> {
        let name = match self.integer(prefix_bits)? {
            0 => Name::Text(self.text()?),
            index => Name::Index(index),
        };
        Ok(Entry::Literal { name, value: self.text()?, added })
    }

    fn text(&mut self) -> Result<Text<'b>, BlockError> {
        let huffman = self.rest.first().is_some_and(|first| first & 0x80 != 0);
        let length = self.integer(7)?;
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or(BlockError)?;
        self.rest = rest;
        Ok(Text { huffman, bytes })
    }

    /// Reads an integer that starts in the lowest `prefix_bits` of the next byte.
    fn integer(&mut self, prefix_bits: u8) -> Result<usize, BlockError> {
        let (&first, rest) = self.rest.split_first().ok_or(BlockError)?;
        self.rest = rest;
        let mask = u8::MAX.checked_shr(8_u32.saturating_sub(u32::from(prefix_bits))).unwrap_or_default();
        let mut value = usize::from(first & mask);
        if first & mask < mask {
            return Ok(value);
        }
        let mut shift = 0_u32;
        for _ in 0..INTEGER_BYTES_MAX {
            let (&byte, rest) = self.rest.split_first().ok_or(BlockError)?;
            self.rest = rest;
            value = value.saturating_add(usize::from(byte & 0x7f).checked_shl(shift).unwrap_or(usize::MAX));
            if byte < 0x80 {
                return Ok(value);
            }
            shift = shift.saturating_add(7);
        }
        Err(BlockError)
    }
}

/// Appends a field to a block, without reference to a table.
pub(crate) fn encode(name: &[u8], value: &[u8], block: &mut Vec<u8>) {
    block.push(0);
    for text in [name, value] {
        encode_length(text.len(), block);
        block.extend_from_slice(text);
    }
}

/// Appends the length of a string without Huffman code.
fn encode_length(length: usize, block: &mut Vec<u8>) {
    let Some(mut rest) = length.checked_sub(0x7f) else {
        block.push(u8::try_from(length).unwrap_or_default());
        return;
    };
    block.push(0x7f);
    while rest >= 0x80 {
        block.push(u8::try_from(rest & 0x7f).unwrap_or_default() | 0x80);
        rest >>= 7;
    }
    block.push(u8::try_from(rest).unwrap_or_default());
}

/// Static table (RFC 7541, appendix A).
const STATIC: [(&str, &str); 61] = [
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    ("accept-language", ""),
    ("accept-ranges", ""),
    ("accept", ""),
    ("access-control-allow-origin", ""),
    ("age", ""),
    ("allow", ""),
    ("authorization", ""),
    ("cache-control", ""),
    ("content-disposition", ""),
    ("content-encoding", ""),
    ("content-language", ""),
    ("content-length", ""),
    ("content-location", ""),
    ("content-range", ""),
    ("content-type", ""),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("expect", ""),
    ("expires", ""),
    ("from", ""),
    ("host", ""),
    ("if-match", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("if-range", ""),
    ("if-unmodified-since", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("max-forwards", ""),
    ("proxy-authenticate", ""),
    ("proxy-authorization", ""),
    ("range", ""),
    ("referer", ""),
    ("refresh", ""),
    ("retry-after", ""),
    ("server", ""),
    ("set-cookie", ""),
    ("strict-transport-security", ""),
    ("transfer-encoding", ""),
    ("user-agent", ""),
    ("vary", ""),
    ("via", ""),
    ("www-authenticate", ""),
];

#[cfg(test)]
mod tests;
