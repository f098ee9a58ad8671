//! Reads the archives of this folder. Tests of several crates include it as a module.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may say what must hold")]

use std::collections::BTreeMap;
use std::io::Read;

pub(crate) fn files(archive: &str) -> BTreeMap<String, Vec<u8>> {
    let path = format!("{}/../schema/testdata/{archive}.tar.gz", env!("CARGO_MANIFEST_DIR"));
    let mut tar = Vec::new();
    flate2::read::GzDecoder::new(&std::fs::read(path).unwrap()[..]).read_to_end(&mut tar).unwrap();
    let text = |field: &[u8]| {
        let end = field.iter().position(|b| *b == 0 || *b == b' ').unwrap_or(field.len());
        String::from_utf8(field[..end].to_vec()).unwrap()
    };
    let mut files = BTreeMap::new();
    let mut rest = &tar[..];
    while rest.len() >= 512 && rest[0] != 0 {
        let (header, body) = rest.split_at(512);
        let size = usize::from_str_radix(&text(&header[124..136]), 8).unwrap();
        if matches!(header[156], b'0' | 0) {
            files.insert(text(&header[..100]), body[..size].to_vec());
        }
        rest = &body[size.next_multiple_of(512)..];
    }
    files
}
