//! The message `EncryptedObject` that KMS v2 stores (`kmsv2/v2/api.proto`).

use std::collections::BTreeMap;

use apimachinery::field::{self, Path, joined};
use apimachinery::foreign_text::ForeignText;
use apimachinery::names;
use encryption::Error;
use prost::encoding::{
    DecodeContext, WireType, decode_key, decode_varint, encode_key, encode_varint, encoded_len_varint,
    skip_field,
};
use sha2::{Digest, Sha256};
use smallvec::SmallVec;

use crate::Fingerprint;

/// Length limit of a key id in bytes.
pub(super) const KEY_ID_BYTES_MAX: usize = 1024;
/// Length limit of a sealed seed or key in bytes.
const SOURCE_BYTES_MAX: usize = 1024;
/// Size limit of all annotations, names and values together.
const ANNOTATIONS_BYTES_MAX: usize = 32 * 1024;
/// Limit of the annotations with bad names that an error lists.
const BAD_NAMES_MAX: usize = 8;

const DATA: u32 = 1;
const KEY_ID: u32 = 2;
const SOURCE: u32 = 3;
const ANNOTATIONS: u32 = 4;
const KIND: u32 = 5;

/// Relation between the key of a value and its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The source is the key (AES-GCM). Upstream wrote this until v1.28.
    Key,
    /// The source is a seed; each value has its own key (`encryption::cipher::ExtendedGcm`).
    Seed,
}

impl Kind {
    fn of(number: i32) -> Result<Self, Error> {
        match number {
            0 => Ok(Kind::Key),
            1 => Ok(Kind::Seed),
            other => Err(Error::new(format!("unknown encryptedDEKSourceType: {other}"))),
        }
    }

    fn number(self) -> u8 {
        match self {
            Kind::Key => 0,
            Kind::Seed => 1,
        }
    }
}

/// Names and values, sorted by name. Most objects have none.
type Annotations<'a> = SmallVec<[(&'a str, &'a [u8]); 2]>;

/// Sealed source of a value's key, with everything that the plugin needs to decrypt it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source<'a> {
    pub(super) kind: Kind,
    pub(super) encrypted: &'a [u8],
    pub(super) key_id: &'a str,
    annotations: Annotations<'a>,
}

impl<'a> Source<'a> {
    /// Creates a source after checking that it can be stored.
    ///
    /// # Errors
    /// The text is upstream's.
    pub(super) fn new(
        kind: Kind,
        sealed: &'a [u8],
        key_id: &'a str,
        annotations: Annotations<'a>,
    ) -> Result<Self, Error> {
        sealed_errors(sealed).map_err(|error| error.context("failed to validate encrypted DEK source"))?;
        if let Some((_, error)) = key_id_errors(key_id) {
            return Err(error.context("failed to validate key id"));
        }
        annotation_errors(&annotations).map_err(|error| error.context("failed to validate annotations"))?;
        Ok(Source { kind, encrypted: sealed, key_id, annotations })
    }

    /// Returns a hash that identifies the source.
    pub(super) fn fingerprint(&self) -> Fingerprint {
        let mut hash = Sha256::new();
        hash.update([self.kind.number()]);
        let mut add = |part: &[u8]| {
            hash.update(part.len().to_be_bytes());
            hash.update(part);
        };
        add(self.encrypted);
        add(self.key_id.as_bytes());
        for (name, value) in &self.annotations {
            add(name.as_bytes());
            add(value);
        }
        hash.finalize().into()
    }

    /// Returns an owned copy of the annotations.
    pub(super) fn annotations(&self) -> BTreeMap<String, Vec<u8>> {
        self.annotations.iter().map(|(name, value)| ((*name).to_owned(), value.to_vec())).collect()
    }

    /// Encodes the fields of the message that follow the data.
    pub(super) fn encoded(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, KEY_ID, self.key_id.as_bytes());
        put(&mut out, SOURCE, self.encrypted);
        for (name, value) in &self.annotations {
            let mut entry = Vec::new();
            // Go writes both fields of a map entry, even empty ones.
            put(&mut entry, 1, name.as_bytes());
            put(&mut entry, 2, value);
            put(&mut out, ANNOTATIONS, &entry);
        }
        if self.kind == Kind::Seed {
            encode_key(KIND, WireType::Varint, &mut out);
            encode_varint(1, &mut out);
        }
        out
    }
}

fn put(out: &mut Vec<u8>, tag: u32, bytes: &[u8]) {
    encode_key(tag, WireType::LengthDelimited, out);
    encode_varint(length(bytes.len()), out);
    out.extend_from_slice(bytes);
}

fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// Returns the length of the header for a message with `data` bytes of data.
pub(super) fn head_length(data: usize) -> usize {
    1 + encoded_len_varint(length(data))
}

/// Appends the header of a message. The caller must append `data` bytes and then [`Source::encoded`].
pub(super) fn put_head(out: &mut Vec<u8>, data: usize) {
    encode_key(DATA, WireType::LengthDelimited, out);
    encode_varint(length(data), out);
}

/// Encrypted value and the source of its key.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EncryptedObject<'a> {
    pub(super) data: &'a [u8],
    pub(super) source: Source<'a>,
}

impl<'a> EncryptedObject<'a> {
    /// Decodes a stored value without copying.
    ///
    /// # Errors
    /// The bytes are not a message or a field is invalid. The text is upstream's.
    pub(super) fn parse(mut raw: &'a [u8]) -> Result<Self, Error> {
        let mut data = &[][..];
        let mut key_id = "";
        let mut sealed = &[][..];
        let mut kind = 0;
        let mut annotations = Annotations::new();
        while !raw.is_empty() {
            let (tag, wire_type) = decode_key(&mut raw).map_err(malformed)?;
            match (tag, wire_type) {
                (DATA, WireType::LengthDelimited) => data = bytes(&mut raw)?,
                (KEY_ID, WireType::LengthDelimited) => key_id = text(&mut raw)?,
                (SOURCE, WireType::LengthDelimited) => sealed = bytes(&mut raw)?,
                (ANNOTATIONS, WireType::LengthDelimited) => annotations.push(entry(bytes(&mut raw)?)?),
                // An enum is the lower half of the varint.
                (KIND, WireType::Varint) => kind = decode_varint(&mut raw).map_err(malformed)?,
                _ => skip_field(wire_type, tag, &mut raw, DecodeContext::default()).map_err(malformed)?,
            }
            // That many distinct names would exceed the size limit.
            if annotations.len() > ANNOTATIONS_BYTES_MAX {
                return Err(too_much(annotations.len()).context("failed to validate annotations"));
            }
        }
        #[allow(clippy::as_conversions, clippy::cast_possible_truncation, reason = "the rule for enums")]
        let kind = Kind::of(kind as i32)?;
        if data.is_empty() {
            return Err(Error::new("encrypted data is empty"));
        }
        in_order(&mut annotations);
        Ok(EncryptedObject { data, source: Source::new(kind, sealed, key_id, annotations)? })
    }
}

/// Sorts the annotations by name. The last entry of each name wins.
fn in_order(annotations: &mut Annotations<'_>) {
    if annotations.len() > 1 {
        annotations.reverse();
        annotations.sort_by_key(|(name, _)| *name);
        annotations.dedup_by_key(|(name, _)| *name);
    }
}

fn malformed<E>(_: E) -> Error {
    Error::new("proto: cannot parse invalid wire-format data")
}

fn bytes<'a>(raw: &mut &'a [u8]) -> Result<&'a [u8], Error> {
    let length = decode_varint(raw).map_err(malformed)?;
    let split = usize::try_from(length).ok().and_then(|length| raw.split_at_checked(length));
    let (bytes, rest) = split.ok_or_else(|| malformed(()))?;
    *raw = rest;
    Ok(bytes)
}

fn text<'a>(raw: &mut &'a [u8]) -> Result<&'a str, Error> {
    let bytes = bytes(raw)?;
    std::str::from_utf8(bytes).map_err(|_| Error::new("proto: string field contains invalid UTF-8"))
}

/// Decodes one map entry.
fn entry(mut raw: &[u8]) -> Result<(&str, &[u8]), Error> {
    let mut name = "";
    let mut value = &[][..];
    while !raw.is_empty() {
        let (tag, wire_type) = decode_key(&mut raw).map_err(malformed)?;
        match (tag, wire_type) {
            (1, WireType::LengthDelimited) => name = text(&mut raw)?,
            (2, WireType::LengthDelimited) => value = bytes(&mut raw)?,
            _ => skip_field(wire_type, tag, &mut raw, DecodeContext::default()).map_err(malformed)?,
        }
    }
    Ok((name, value))
}

fn sealed_errors(sealed: &[u8]) -> Result<(), Error> {
    match sealed.len() {
        0 => Err(Error::new("encrypted DEK source is empty")),
        1..=SOURCE_BYTES_MAX => Ok(()),
        length => Err(Error::new(format!(
            "encrypted DEK source is {length} bytes, which exceeds the max size of {SOURCE_BYTES_MAX}"
        ))),
    }
}

/// Returns the metric label and the error for an invalid key id.
pub(super) fn key_id_errors(key_id: &str) -> Option<(&'static str, Error)> {
    match key_id.len() {
        0 => Some(("empty", Error::new("keyID is empty"))),
        1..=KEY_ID_BYTES_MAX => None,
        length => {
            let error = format!("keyID is {length} bytes, which exceeds the max size of {KEY_ID_BYTES_MAX}");
            Some(("too_long", Error::new(error)))
        }
    }
}

fn annotation_errors(annotations: &Annotations<'_>) -> Result<(), Error> {
    if annotations.is_empty() {
        return Ok(());
    }
    let size = annotations.iter().map(|(name, value)| name.len() + value.len()).sum();
    let bad = annotations.iter().filter_map(|(name, _)| domain_error(name)).take(BAD_NAMES_MAX);
    let mut texts: Vec<String> = bad.map(|error| error.to_string()).collect();
    if size > ANNOTATIONS_BYTES_MAX {
        texts.push(too_much(size).to_string());
    }
    joined(texts).map_or(Ok(()), |text| Err(Error::new(String::from(ForeignText::from(text)))))
}

fn too_much(size: usize) -> Error {
    Error::new(format!(
        "total size of annotations is {size}, which exceeds the max size of {ANNOTATIONS_BYTES_MAX}"
    ))
}

/// Returns the error for a name that is not a fully qualified domain name (upstream's
/// `IsFullyQualifiedDomainName`).
fn domain_error(name: &str) -> Option<field::Error> {
    let path = Path::root("annotations");
    if name.is_empty() {
        return Some(field::Error::required(&path, ""));
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let errors = names::is_dns1123_subdomain(name);
    if !errors.is_empty() {
        return Some(field::Error::invalid(&path, name, errors.join(",")));
    }
    if !name.contains('.') {
        let detail = "should be a domain with at least two segments separated by dots";
        return Some(field::Error::invalid(&path, name, detail));
    }
    let labels = name.split('.').map(|label| (label, names::is_dns1123_label(label)));
    let (label, errors) = labels.into_iter().find(|(_, errors)| !errors.is_empty())?;
    Some(field::Error::invalid(&path, label, errors.join(",")))
}

#[cfg(test)]
mod tests;
