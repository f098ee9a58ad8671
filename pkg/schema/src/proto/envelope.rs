//! The envelope: `k8s\0` and a `runtime.Unknown` that says what the bytes inside are.

use std::borrow::Cow;

use super::wire::{Reader, bytes_len, put_bytes, put_varint};
use super::{Error, first_error, index};
use crate::builtin::{
    IO_K8S_APIMACHINERY_PKG_RUNTIME_TYPEMETA as TYPE_META, IO_K8S_APIMACHINERY_PKG_RUNTIME_UNKNOWN as UNKNOWN,
};
use crate::text::go_text;

/// What every enveloped object begins with.
pub const PREFIX: [u8; 4] = *b"k8s\0";

/// What an object calls itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeMetaHead<'a> {
    /// `v1` or `group/version`; empty when it does not say.
    pub api_version: &'a str,
    /// The kind; empty when it does not say.
    pub kind: &'a str,
}

/// An opened envelope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Envelope<'a> {
    /// `v1` or `group/version`; empty when the envelope does not say.
    pub api_version: Cow<'a, str>,
    /// The kind; empty when the envelope does not say.
    pub kind: Cow<'a, str>,
    /// The object's message.
    pub raw: &'a [u8],
    /// Always empty in what upstream writes, and not looked at.
    pub content_encoding: Cow<'a, str>,
    /// Always empty in what upstream writes, and not looked at.
    pub content_type: Cow<'a, str>,
}

impl<'a> Envelope<'a> {
    /// Opens an envelope.
    ///
    /// # Errors
    /// There is none ([`Error::EmptyData`], [`Error::NotAnEnvelope`], [`Error::EmptyBody`]), or its
    /// bytes are broken; texts as upstream's protobuf serializer gives them.
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

    /// What the object inside calls itself.
    pub fn head(&self) -> TypeMetaHead<'_> {
        TypeMetaHead { api_version: &self.api_version, kind: &self.kind }
    }

    /// Whether `data` begins as an envelope does.
    pub fn recognizes(data: &[u8]) -> bool {
        data.starts_with(&PREFIX)
    }
}

/// Appends an enveloped object. Content encoding and type are always written, empty, so that the
/// result ends in `1a 00 22 00`, as everything that upstream stores.
pub fn wrap(api_version: &str, kind: &str, raw: &[u8], out: &mut Vec<u8>) {
    out.reserve(envelope_len(api_version, kind, raw.len()));
    begin(api_version, kind, raw.len(), out);
    out.extend_from_slice(raw);
    end(out);
}

/// The size of an enveloped object with `raw_len` bytes inside.
pub(super) fn envelope_len(api_version: &str, kind: &str, raw_len: usize) -> usize {
    let head = bytes_len(api_version.len()) + bytes_len(kind.len());
    PREFIX.len() + bytes_len(head) + bytes_len(raw_len) + 4
}

/// Everything in front of the object's bytes.
pub(super) fn begin(api_version: &str, kind: &str, raw_len: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&PREFIX);
    out.push(0x0a);
    put_varint((bytes_len(api_version.len()) + bytes_len(kind.len())) as u64, out);
    put_bytes(1, api_version.as_bytes(), out);
    put_bytes(2, kind.as_bytes(), out);
    out.push(0x12);
    put_varint(raw_len as u64, out);
}

/// Everything behind the object's bytes.
pub(super) fn end(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0x1a, 0, 0x22, 0]);
}
