//! ObjectMeta read directly from an object's bytes: the data that a cache needs, without decoding and without
//! allocating.

use super::Error;
use super::index::entry;
use super::splice::metadata_slice;
use super::wire::{BYTES, Reader, VARINT};
use crate::builtin::IO_K8S_APIMACHINERY_PKG_APIS_META_V1_OBJECTMETA as OBJECT_META;

/// The metadata of one object, borrowed from its bytes. Invalid UTF-8 reads as empty: no such name or label
/// passes validation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Header<'a> {
    /// `metadata.name`.
    pub name: &'a str,
    /// The namespace; empty for cluster-scoped objects.
    pub namespace: &'a str,
    /// `metadata.uid`.
    pub uid: &'a str,
    /// The resource version; empty in stored bytes.
    pub resource_version: &'a str,
    /// The generation; 0 for kinds without one.
    pub generation: i64,
    /// True if `metadata.deletionTimestamp` is set.
    pub deleting: bool,
    metadata: &'a [u8],
}

impl<'a> Header<'a> {
    /// Reads the header of an object's message, without its envelope.
    ///
    /// # Errors
    /// The bytes are not a valid object.
    pub fn parse(raw: &'a [u8]) -> Result<Header<'a>, Error> {
        Header::of_metadata(metadata_slice(raw)?)
    }

    /// Reads the header from an encoded ObjectMeta.
    ///
    /// # Errors
    /// The bytes are not a valid ObjectMeta.
    pub fn of_metadata(metadata: &'a [u8]) -> Result<Header<'a>, Error> {
        let mut header = Header { metadata, ..Header::default() };
        let mut reader = Reader::new(metadata);
        while !reader.done() {
            let key = reader.key(&OBJECT_META)?;
            let text = match (key.number, key.wire_type) {
                (1, BYTES) => &mut header.name,
                (3, BYTES) => &mut header.namespace,
                (5, BYTES) => &mut header.uid,
                (6, BYTES) => &mut header.resource_version,
                (7, VARINT) => {
                    header.generation = reader.varint()? as i64;
                    continue;
                }
                (number, wire_type) => {
                    header.deleting |= number == 9;
                    reader.skip(wire_type)?;
                    continue;
                }
            };
            *text = std::str::from_utf8(reader.bytes()?).unwrap_or_default();
        }
        Ok(header)
    }

    /// The labels in stored order, which is by key.
    pub fn labels(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        pairs(self.metadata, 11)
    }

    /// The annotations in stored order, which is by key.
    pub fn annotations(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        pairs(self.metadata, 12)
    }

    /// The value of a label, by a scan over all labels.
    pub fn label(&self, key: &str) -> Option<&'a str> {
        self.labels().find_map(|(k, v)| (k == key).then_some(v))
    }

    /// The finalizers in stored order, except for invalid UTF-8.
    pub fn finalizers(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        values(self.metadata, 14).filter_map(|v| std::str::from_utf8(v).ok())
    }

    /// The UIDs of the owner references in stored order, except for invalid UTF-8.
    pub fn owner_uids(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        values(self.metadata, 13)
            .filter_map(|owner| values(owner, 4).next())
            .filter_map(|v| std::str::from_utf8(v).ok())
    }

    /// The encoded ObjectMeta.
    pub fn metadata(&self) -> &'a [u8] {
        self.metadata
    }
}

fn pairs<'a>(raw: &'a [u8], number: u32) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
    values(raw, number).filter_map(|raw| {
        let (key, value) = entry(raw).ok()?;
        Some((std::str::from_utf8(key).ok()?, std::str::from_utf8(value).ok()?))
    })
}

/// The values of one length-delimited field; ends at the first error.
fn values<'a>(raw: &'a [u8], number: u32) -> impl Iterator<Item = &'a [u8]> + use<'a> {
    let mut reader = Reader::new(raw);
    std::iter::from_fn(move || {
        while !reader.done() {
            let key = reader.entry_key().ok()?;
            if key.number == number && key.wire_type == BYTES {
                return reader.bytes().ok();
            }
            reader.skip(key.wire_type).ok()?;
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::IO_K8S_API_CORE_V1_CONFIGMAP;
    use crate::proto::encode;
    use jsontree::json;

    #[test]
    fn header_reads_encoded_metadata() {
        let object = json!({"metadata": {
            "name": "a", "namespace": "b", "uid": "u", "resourceVersion": "5", "generation": 3,
            "deletionTimestamp": "2023-11-14T22:13:20Z", "labels": {"x": "1", "y": ""},
            "annotations": {"n": "m"}, "finalizers": ["f", "g"], "ownerReferences": [{"uid": "o1"}, {"uid": "o2"}],
        }});
        let mut raw = Vec::new();
        encode(&IO_K8S_API_CORE_V1_CONFIGMAP, object.as_object().unwrap(), &mut raw).unwrap();
        let header = Header::parse(&raw).unwrap();
        assert_eq!((header.name, header.namespace, header.uid), ("a", "b", "u"));
        assert_eq!((header.resource_version, header.generation, header.deleting), ("5", 3, true));
        assert_eq!(header.labels().collect::<Vec<_>>(), [("x", "1"), ("y", "")]);
        assert_eq!(header.annotations().collect::<Vec<_>>(), [("n", "m")]);
        assert_eq!(header.finalizers().collect::<Vec<_>>(), ["f", "g"]);
        assert_eq!(header.owner_uids().collect::<Vec<_>>(), ["o1", "o2"]);
        assert_eq!(header.label("x"), Some("1"));
    }

    #[test]
    fn an_object_without_metadata_has_an_empty_header() {
        let header = Header::parse(b"").unwrap();
        assert_eq!((header.name, header.deleting), ("", false));
        assert_eq!(header.labels().count(), 0);
    }
}
