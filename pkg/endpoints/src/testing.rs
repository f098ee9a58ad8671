//! Objects for tests: everything that Kubernetes itself wrote (`pkg/schema/testdata`), as it would be
//! stored.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may say what must hold")]

use std::io::Read;
use std::sync::Arc;

use api::resources::{self, Encoding, Resource, Storage as StorageRow};
use registry::{Element, codec};
use schema::proto::{self, Envelope};

/// Elements of one storage, and an endpoint that serves them.
pub(crate) struct Stored {
    pub(crate) endpoint: &'static Resource,
    pub(crate) storage: &'static StorageRow,
    pub(crate) elements: Vec<Arc<Element>>,
}

/// The stored objects of every endpoint that can be listed, in the order of the rows.
pub(crate) fn all() -> Vec<Stored> {
    select(|row| row.subresource.is_empty() && row.list_message.is_some())
}

/// The stored objects of one endpoint.
pub(crate) fn of(group: &str, version: &str, plural: &str) -> Stored {
    let row = resources::find(group, version, plural, "").unwrap();
    select(|other| std::ptr::eq(other, row)).remove(0)
}

fn select(rows: impl Fn(&Resource) -> bool) -> Vec<Stored> {
    let files: Vec<_> = ["fixtures", "generated"].into_iter().flat_map(files).collect();
    let stored = |endpoint: &'static Resource| {
        let storage = endpoint.storage.as_ref()?;
        let elements = files.iter().filter_map(|bytes| element(storage, bytes)).collect();
        Some(Stored { endpoint, storage, elements })
    };
    let rows = resources::all().filter(|row| rows(row));
    rows.filter_map(stored).filter(|stored| !stored.elements.is_empty()).collect()
}

/// The element of a file, if it is of the kind.
fn element(storage: &StorageRow, bytes: &[u8]) -> Option<Arc<Element>> {
    let envelope = Envelope::parse(bytes).unwrap();
    if envelope.api_version != storage.group_version || envelope.kind != storage.kind {
        return None;
    }
    let mut object = proto::decode(storage.message, envelope.raw).unwrap();
    codec::strip_revision(&mut object);
    if storage.encoding == Encoding::Json {
        object.insert("kind".to_owned(), storage.kind.into());
        object.insert("apiVersion".to_owned(), storage.group_version.into());
    }
    let value = codec::encode(storage, &object).ok()?;
    let revision = 1000 + i64::try_from(value.len()).unwrap();
    Some(Element::of(&format!("/registry/{}/ns/{}", storage.prefix, value.len()), value, revision))
}

/// The protobuf files of a gzipped tar archive.
fn files(archive: &str) -> Vec<Vec<u8>> {
    let path = format!("{}/../schema/testdata/{archive}.tar.gz", env!("CARGO_MANIFEST_DIR"));
    let mut tar = Vec::new();
    flate2::read::GzDecoder::new(&std::fs::read(path).unwrap()[..]).read_to_end(&mut tar).unwrap();
    let text = |field: &[u8]| {
        let end = field.iter().position(|b| *b == 0 || *b == b' ').unwrap_or(field.len());
        String::from_utf8(field[..end].to_vec()).unwrap()
    };
    let mut files = Vec::new();
    let mut rest = &tar[..];
    while rest.len() >= 512 && rest[0] != 0 {
        let (header, body) = rest.split_at(512);
        let size = usize::from_str_radix(&text(&header[124..136]), 8).unwrap();
        let name = text(&header[..100]);
        if matches!(header[156], b'0' | 0) && name.ends_with(".pb") && !name.contains("after_roundtrip") {
            files.push(body[..size].to_vec());
        }
        rest = &body[size.next_multiple_of(512)..];
    }
    files
}
