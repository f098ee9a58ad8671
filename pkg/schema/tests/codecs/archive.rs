//! Reads `testdata/*.tar.gz`.

use std::collections::BTreeMap;
use std::io::Read;

use schema::builtin;
use schema::proto::Envelope;
use schema::table::Message;

/// One object in both forms.
pub(crate) struct Pair {
    /// File name without extension.
    pub(crate) name: String,
    /// Protobuf, enveloped.
    pub(crate) pb: Vec<u8>,
    /// JSON; indented in the fixtures that upstream publishes, compact in the generated ones.
    pub(crate) json: Vec<u8>,
    /// What 1.36 makes of an older release's object, where that differs.
    pub(crate) after: Option<(Vec<u8>, Vec<u8>)>,
}

impl Pair {
    /// The type named in the envelope, and the message inside; `None` for the kinds of older releases
    /// that 1.36 no longer has.
    pub(crate) fn open(&self) -> Option<(&'static Message, Envelope<'_>)> {
        let envelope = Envelope::parse(&self.pb).unwrap();
        // A WatchEvent does not say what it is.
        let kind = if envelope.kind.is_empty() { "WatchEvent" } else { &*envelope.kind };
        Some((builtin::kind(&envelope.api_version, kind)?, envelope))
    }
}

/// The pairs of one archive.
pub(crate) fn pairs(archive: &str) -> Vec<Pair> {
    let path = format!("{}/testdata/{archive}.tar.gz", env!("CARGO_MANIFEST_DIR"));
    let mut files = files(&std::fs::read(path).unwrap());
    let names: Vec<String> =
        files.keys().filter_map(|name| name.strip_suffix(".pb")).map(str::to_owned).collect();
    let mut pairs = Vec::new();
    for name in names.iter().filter(|name| !name.ends_with(".after_roundtrip")) {
        let (Some(pb), Some(json)) =
            (files.remove(&format!("{name}.pb")), files.remove(&format!("{name}.json")))
        else {
            continue;
        };
        let (after_pb, after_json) = (
            files.remove(&format!("{name}.after_roundtrip.pb")),
            files.remove(&format!("{name}.after_roundtrip.json")),
        );
        let after = (after_pb.is_some() || after_json.is_some())
            .then(|| (after_pb.unwrap_or_else(|| pb.clone()), after_json.unwrap_or_else(|| json.clone())));
        pairs.push(Pair { name: name.clone(), pb, json, after });
    }
    pairs
}

/// The regular files of a gzipped tar archive.
fn files(gzip: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut tar = Vec::new();
    flate2::read::GzDecoder::new(gzip).read_to_end(&mut tar).unwrap();
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
