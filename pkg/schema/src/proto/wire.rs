//! The wire format: varints, keys, lengths, and skipping of unknown fields, with gogo's errors.

use super::Error;
use super::names::short_name;
use crate::table::Message;

/// Wire type of a varint.
pub(crate) const VARINT: u8 = 0;
/// Wire type of eight bytes.
pub(crate) const FIXED64: u8 = 1;
/// Wire type of a length and that many bytes.
pub(crate) const BYTES: u8 = 2;

/// The key of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// Field number, above 0.
    pub(crate) number: u32,
    /// Wire type, 0 to 7.
    pub(crate) wire_type: u8,
}

/// Reads one message's bytes from front to back.
#[derive(Clone)]
pub(crate) struct Reader<'a> {
    data: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    #[inline]
    pub(crate) fn new(data: &'a [u8]) -> Reader<'a> {
        Reader { data, at: 0 }
    }

    #[inline]
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The byte that was read last.
    #[inline]
    pub(crate) fn byte_before(&self) -> Option<u8> {
        self.data.get(self.at.wrapping_sub(1)).copied()
    }

    #[inline]
    pub(crate) fn done(&self) -> bool {
        self.at >= self.data.len()
    }

    #[inline(always)]
    pub(crate) fn varint(&mut self) -> Result<u64, Error> {
        match self.data.get(self.at) {
            Some(&byte) if byte < 0x80 => {
                self.at += 1;
                Ok(u64::from(byte))
            }
            _ => self.long_varint(),
        }
    }

    /// Drops bits above the 64th, like gogo.
    #[inline(never)]
    fn long_varint(&mut self) -> Result<u64, Error> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = *self.data.get(self.at).ok_or(Error::UnexpectedEof)?;
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Error::Overflow)
    }

    /// Reads the key of the next field of `message`, which is named in errors.
    #[inline(always)]
    pub(crate) fn key(&mut self, message: &'static Message) -> Result<Key, Error> {
        let key = self.varint()?;
        let number = (key >> 3) as i32;
        let wire_type = (key & 7) as u8;
        if wire_type == 4 || number <= 0 {
            return Err(bad_key(message, number, key));
        }
        Ok(Key { number: number as u32, wire_type })
    }

    /// Reads the key of the next field of a map entry, where gogo checks only the number.
    #[inline]
    pub(crate) fn entry_key(&mut self) -> Result<Key, Error> {
        let key = self.varint()?;
        Ok(Key { number: (key >> 3) as u32, wire_type: (key & 7) as u8 })
    }

    /// Reads a length and that many bytes.
    #[inline(always)]
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Error> {
        let len = self.varint()? as i64;
        let len = usize::try_from(len).map_err(|_| Error::NegativeLength)?;
        let end = self.at.checked_add(len).ok_or(Error::NegativeLength)?;
        let bytes = self.data.get(self.at..end).ok_or(Error::UnexpectedEof)?;
        self.at = end;
        Ok(bytes)
    }

    #[inline]
    pub(crate) fn double(&mut self) -> Result<f64, Error> {
        let bytes = self.data.get(self.at..).and_then(<[u8]>::first_chunk).ok_or(Error::UnexpectedEof)?;
        self.at += 8;
        Ok(f64::from_le_bytes(*bytes))
    }

    /// Skips the value after a key with this wire type, including whole groups.
    pub(crate) fn skip(&mut self, wire_type: u8) -> Result<(), Error> {
        let mut wire_type = wire_type;
        let mut depth = 0_usize;
        loop {
            match wire_type {
                VARINT => {
                    self.varint()?;
                }
                FIXED64 => self.advance(8)?,
                BYTES => {
                    self.bytes()?;
                }
                3 => depth += 1,
                4 => depth = depth.checked_sub(1).ok_or(Error::UnexpectedEndOfGroup)?,
                5 => self.advance(4)?,
                other => return Err(Error::IllegalWireType(other)),
            }
            if depth == 0 {
                return Ok(());
            }
            wire_type = (self.varint()? & 7) as u8;
        }
    }

    fn advance(&mut self, n: usize) -> Result<(), Error> {
        if self.data.len() - self.at >= n {
            self.at += n;
            Ok(())
        } else {
            Err(Error::UnexpectedEof)
        }
    }
}

#[cold]
fn bad_key(message: &'static Message, number: i32, key: u64) -> Error {
    match key & 7 {
        4 => Error::EndGroup { message: short_name(message) },
        _ => Error::IllegalTag { message: short_name(message), number, key },
    }
}

/// Length of a varint in bytes.
#[inline]
pub(crate) fn varint_len(value: u64) -> usize {
    (70 - (value | 1).leading_zeros() as usize) / 7
}

#[inline]
pub(crate) fn put_varint(value: u64, out: &mut Vec<u8>) {
    let mut value = value;
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a length-delimited field whose number is below 16.
#[inline]
pub fn put_bytes(number: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(number << 3 | BYTES);
    put_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Length of the output of [`put_bytes`] for `len` bytes.
#[inline]
pub(crate) fn bytes_len(len: usize) -> usize {
    1 + varint_len(len as u64) + len
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varint_len_matches_encoding() {
        for bits in 0..64 {
            for value in [1_u64 << bits, (1 << bits) - 1, u64::MAX >> bits] {
                let mut out = Vec::new();
                put_varint(value, &mut out);
                assert_eq!(out.len(), varint_len(value), "{value}");
                assert_eq!(Reader::new(&out).varint(), Ok(value));
            }
        }
    }

    #[test]
    fn skip_errors_match_gogo() {
        let check = |wire_type, bytes: &[u8], expected| {
            assert_eq!(Reader::new(bytes).skip(wire_type), expected, "{wire_type} {bytes:?}");
        };
        check(0, &[0x80], Err(Error::UnexpectedEof));
        check(0, &[0xff; 11], Err(Error::Overflow));
        check(1, &[0; 7], Err(Error::UnexpectedEof));
        check(2, &[3, 0, 0], Err(Error::UnexpectedEof));
        check(2, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], Err(Error::NegativeLength));
        check(3, &[0x0c], Ok(()));
        check(3, &[0x0b, 0x0c], Err(Error::UnexpectedEof));
        check(4, &[], Err(Error::UnexpectedEndOfGroup));
        check(5, &[0; 4], Ok(()));
        check(7, &[], Err(Error::IllegalWireType(7)));
    }
}
