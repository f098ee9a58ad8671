//! Inserts resource versions into encoded objects. Stored objects have none (`32 00` in their metadata); the
//! store provides it. Only two lengths change, so nothing is decoded.

use super::envelope::{begin, end, envelope_len};
use super::wire::{BYTES, Reader, bytes_len, put_bytes, put_varint, varint_len};
use super::{Error, TypeMetaHead};
use crate::builtin::{
    IO_K8S_APIMACHINERY_PKG_APIS_META_V1_OBJECTMETA as OBJECT_META,
    IO_K8S_APIMACHINERY_PKG_APIS_META_V1_PARTIALOBJECTMETADATA as PARTIAL,
};

/// `ObjectMeta.resourceVersion`.
const RESOURCE_VERSION: u32 = 6;

/// The encoded ObjectMeta of an object, field 1 of every kind that has one; empty if there is none.
///
/// # Errors
/// The bytes are not a message.
pub fn metadata_slice(raw: &[u8]) -> Result<&[u8], Error> {
    Ok(locate(raw)?.metadata)
}

/// The object's PartialObjectMetadata, as an encoded message: only its metadata. It can be served like any
/// object.
///
/// # Errors
/// The bytes are not a message.
pub fn partial_metadata(raw: &[u8]) -> Result<&[u8], Error> {
    let place = locate(raw)?;
    Ok(raw.get(place.before..place.after).unwrap_or_default())
}

/// Appends the message `raw` with its resource version set to `version`: an item of a protobuf list. `raw`
/// must be canonical, as stored objects are: then there is at most one resource version, before all fields of
/// higher number.
///
/// # Errors
/// The bytes are not a message; `out` is then unchanged.
pub fn with_resource_version(raw: &[u8], version: &str, out: &mut Vec<u8>) -> Result<(), Error> {
    let place = locate(raw)?;
    out.reserve(raw.len() + version.len() + 16);
    place.write(raw, version, out);
    Ok(())
}

/// Appends the output of [`with_resource_version`] as a length-delimited field with a number below 16.
///
/// # Errors
/// As [`with_resource_version`].
pub fn put_with_resource_version(
    number: u8,
    raw: &[u8],
    version: &str,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let place = locate(raw)?;
    let len = place.len(raw, version);
    out.reserve(bytes_len(len));
    out.push(number << 3 | BYTES);
    put_varint(len as u64, out);
    place.write(raw, version, out);
    Ok(())
}

/// Length of the output of [`with_resource_version`] in bytes.
///
/// # Errors
/// As [`with_resource_version`].
pub fn len_with_resource_version(raw: &[u8], version: &str) -> Result<usize, Error> {
    Ok(locate(raw)?.len(raw, version))
}

/// Appends the object `raw` as served: in its envelope, with the resource version set.
///
/// # Errors
/// The bytes are not a message; `out` is then unchanged.
pub fn served(head: TypeMetaHead, raw: &[u8], version: &str, out: &mut Vec<u8>) -> Result<(), Error> {
    let place = locate(raw)?;
    let len = place.len(raw, version);
    out.reserve(envelope_len(head.api_version, head.kind, len));
    begin(head.api_version, head.kind, len, out);
    place.write(raw, version, out);
    end(out);
    Ok(())
}

/// Positions of the metadata and of the resource version in an object.
struct MetadataLayout<'a> {
    metadata: &'a [u8],
    /// Bytes before the metadata's key, and after its last byte.
    before: usize,
    after: usize,
    /// The resource version's field inside the metadata, or its insertion point.
    from: usize,
    to: usize,
}

fn locate(raw: &[u8]) -> Result<MetadataLayout<'_>, Error> {
    let mut place = MetadataLayout { metadata: &[], before: 0, after: 0, from: 0, to: 0 };
    let mut reader = Reader::new(raw);
    while !reader.done() {
        let begin = reader.at();
        let key = reader.key(&PARTIAL)?;
        if key.number == 1 && key.wire_type == BYTES {
            place.metadata = reader.bytes()?;
            (place.before, place.after) = (begin, reader.at());
            break;
        }
        reader.skip(key.wire_type)?;
    }
    let mut reader = Reader::new(place.metadata);
    while !reader.done() {
        let from = reader.at();
        let key = reader.key(&OBJECT_META)?;
        reader.skip(key.wire_type)?;
        if key.number > RESOURCE_VERSION {
            break;
        }
        place.from = if key.number == RESOURCE_VERSION { from } else { reader.at() };
        place.to = reader.at();
        if key.number == RESOURCE_VERSION {
            break;
        }
    }
    Ok(place)
}

impl MetadataLayout<'_> {
    fn metadata_len(&self, version: &str) -> usize {
        self.metadata.len() - (self.to - self.from) + 1 + varint_len(version.len() as u64) + version.len()
    }

    fn len(&self, raw: &[u8], version: &str) -> usize {
        let metadata = self.metadata_len(version);
        raw.len() - (self.after - self.before) + 1 + varint_len(metadata as u64) + metadata
    }

    fn write(&self, raw: &[u8], version: &str, out: &mut Vec<u8>) {
        let part = |bytes: &[u8], from: usize, to: usize, out: &mut Vec<u8>| {
            out.extend_from_slice(bytes.get(from..to).unwrap_or_default());
        };
        part(raw, 0, self.before, out);
        out.push(0x0a);
        put_varint(self.metadata_len(version) as u64, out);
        part(self.metadata, 0, self.from, out);
        put_bytes(RESOURCE_VERSION as u8, version.as_bytes(), out);
        part(self.metadata, self.to, self.metadata.len(), out);
        part(raw, self.after, raw.len(), out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The stored form of the ConfigMap b/a.
    fn config_map() -> Vec<u8> {
        let hex = "0a1b0a016112001a016222002a0175320038004208 0880e2cfaa061000 12060a016b120176";
        let hex: Vec<u8> = hex.bytes().filter(|b| *b != b' ').collect();
        let digit = |b: u8| (b as char).to_digit(16).unwrap() as u8;
        hex.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
    }

    #[test]
    fn only_the_lengths_and_the_version_change() {
        let raw = config_map();
        let mut out = Vec::new();
        let head = TypeMetaHead { api_version: "v1", kind: "ConfigMap" };
        served(head, &raw, "1234", &mut out).unwrap();
        let mut expected = b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x29\x0a\x1f".to_vec();
        expected.extend_from_slice(&raw[2..15]);
        expected.extend_from_slice(b"\x32\x041234");
        expected.extend_from_slice(&raw[17..]);
        expected.extend_from_slice(&[0x1a, 0, 0x22, 0]);
        assert_eq!(out, expected);
    }

    #[test]
    fn a_version_is_replaced_or_inserted() {
        let check = |raw: &[u8], expected: &[u8]| {
            let mut out = Vec::new();
            with_resource_version(raw, "7", &mut out).unwrap();
            assert_eq!(out, expected, "{raw:?}");
            assert_eq!(len_with_resource_version(raw, "7"), Ok(out.len()), "{raw:?}");
            let mut field = Vec::new();
            let mut expected_field = Vec::new();
            put_with_resource_version(2, raw, "7", &mut field).unwrap();
            put_bytes(2, expected, &mut expected_field);
            assert_eq!(field, expected_field, "{raw:?}");
        };
        check(b"", b"\x0a\x03\x32\x017");
        check(b"\x12\x00", b"\x0a\x03\x32\x017\x12\x00");
        check(b"\x0a\x05\x32\x03123", b"\x0a\x03\x32\x017");
        check(b"\x0a\x05\x0a\x01a\x38\x00", b"\x0a\x08\x0a\x01a\x32\x017\x38\x00");
        check(b"\x0a\x02\x38\x01", b"\x0a\x05\x32\x017\x38\x01");
    }

    #[test]
    fn partial_metadata_is_a_part_of_the_object() {
        assert_eq!(partial_metadata(&config_map()).unwrap(), &config_map()[..29]);
        assert_eq!(metadata_slice(&config_map()).unwrap(), &config_map()[2..29]);
        assert_eq!(partial_metadata(b"\x12\x00").unwrap(), b"");
    }

    #[test]
    fn broken_bytes_are_an_error() {
        let mut out = Vec::new();
        assert_eq!(with_resource_version(b"\x0a\x7f", "1", &mut out), Err(Error::UnexpectedEof));
        assert!(out.is_empty());
    }
}
