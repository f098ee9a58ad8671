//! The envelope of stored objects: `k8s\0` and a `runtime.Unknown` with kind and version of the contained
//! message.

use std::borrow::Cow;

use super::wire::{Reader, bytes_len, put_bytes, put_varint};
use super::{Error, first_error, index};
use crate::builtin::{
    IO_K8S_APIMACHINERY_PKG_RUNTIME_TYPEMETA as TYPE_META, IO_K8S_APIMACHINERY_PKG_RUNTIME_UNKNOWN as UNKNOWN,
};
use crate::text::go_text;

/// The first bytes of every enveloped object.
pub const PREFIX: [u8; 4] = *b"k8s\0";

/// An object's `apiVersion` and `kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeMetaHead<'a> {
    /// `v1` or `group/version`; empty if absent.
    pub api_version: &'a str,
    /// The kind; empty if absent.
    pub kind: &'a str,
}

/// A parsed envelope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Envelope<'a> {
    /// `v1` or `group/version`; empty if absent.
    pub api_version: Cow<'a, str>,
    /// The kind; empty if absent.
    pub kind: Cow<'a, str>,
    /// The contained message, without its kind and version.
    pub raw: &'a [u8],
    /// Always empty in upstream's output; ignored.
    pub content_encoding: Cow<'a, str>,
    /// Always empty in upstream's output; ignored.
    pub content_type: Cow<'a, str>,
}

impl<'a> Envelope<'a> {
    /// Parses an envelope.
    ///
    /// # Errors
    /// There is none ([`Error::EmptyData`], [`Error::NotAnEnvelope`], [`Error::EmptyBody`]), or its bytes are
    /// malformed; with the texts of upstream's protobuf serializer.
    pub fn parse(data: &'a [u8]) -> Result<Envelope<'a>, Error> {
        let body = match data.strip_prefix(&PREFIX) {
            _ if data.is_empty() => return Err(Error::EmptyData),
            None => return Err(Error::NotAnEnvelope),
            Some([]) => return Err(Error::EmptyBody),
            Some(body) => body,
        };
        let mut envelope = Envelope::default();
        envelope.read(body).map_err(|error| first_error::first(&UNKNOWN, body).unwrap_or(error))?;
        Ok(envelope)
    }

    fn read(&mut self, body: &'a [u8]) -> Result<(), Error> {
        let mut reader = Reader::new(body);
        while !reader.done() {
            let key = reader.key(&UNKNOWN)?;
            let Some(field) = UNKNOWN.field_by_number(key.number) else {
                reader.skip(key.wire_type)?;
                continue;
            };
            index::check_wire_type(field, key)?;
            let value = reader.bytes()?;
            match key.number {
                1 => self.read_type_meta(value)?,
                2 => self.raw = value,
                3 => self.content_encoding = go_text(value),
                _ => self.content_type = go_text(value),
            }
        }
        Ok(())
    }

    fn read_type_meta(&mut self, raw: &'a [u8]) -> Result<(), Error> {
        let mut reader = Reader::new(raw);
        while !reader.done() {
            let key = reader.key(&TYPE_META)?;
            let Some(field) = TYPE_META.field_by_number(key.number) else {
                reader.skip(key.wire_type)?;
                continue;
            };
            index::check_wire_type(field, key)?;
            let value = go_text(reader.bytes()?);
            match key.number {
                1 => self.api_version = value,
                _ => self.kind = value,
            }
        }
        Ok(())
    }

    /// The object's `apiVersion` and `kind`.
    pub fn head(&self) -> TypeMetaHead<'_> {
        TypeMetaHead { api_version: &self.api_version, kind: &self.kind }
    }

    /// True if `data` begins with the envelope's prefix.
    pub fn recognizes(data: &[u8]) -> bool {
        data.starts_with(&PREFIX)
    }
}

/// Appends an enveloped object. Empty content encoding and type are always written, so the result ends in `1a
/// 00 22 00`, like all objects stored by upstream.
pub fn wrap(api_version: &str, kind: &str, raw: &[u8], out: &mut Vec<u8>) {
    out.reserve(envelope_len(api_version, kind, raw.len()));
    begin(api_version, kind, raw.len(), out);
    out.extend_from_slice(raw);
    end(out);
}

/// The size of an enveloped object with `raw_len` bytes of content.
pub(super) fn envelope_len(api_version: &str, kind: &str, raw_len: usize) -> usize {
    let head = bytes_len(api_version.len()) + bytes_len(kind.len());
    PREFIX.len() + bytes_len(head) + bytes_len(raw_len) + 4
}

/// Appends everything before the object's bytes.
pub(super) fn begin(api_version: &str, kind: &str, raw_len: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&PREFIX);
    out.push(0x0a);
    put_varint((bytes_len(api_version.len()) + bytes_len(kind.len())) as u64, out);
    put_bytes(1, api_version.as_bytes(), out);
    put_bytes(2, kind.as_bytes(), out);
    out.push(0x12);
    put_varint(raw_len as u64, out);
}

/// Appends everything after the object's bytes.
pub(super) fn end(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0x1a, 0, 0x22, 0]);
}
