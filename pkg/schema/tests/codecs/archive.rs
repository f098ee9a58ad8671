//! The objects of `testdata/*.tar.gz`, in both formats.

use schema::builtin;
use schema::proto::Envelope;
use schema::table::Message;

/// An object in both formats.
pub(crate) struct Pair {
    /// File name without extension.
    pub(crate) name: String,
    /// Protobuf with envelope.
    pub(crate) pb: Vec<u8>,
    /// JSON; indented in upstream's published fixtures, compact in the generated ones.
    pub(crate) json: Vec<u8>,
    /// The result of this release for an older release's object, if it differs.
    pub(crate) after: Option<(Vec<u8>, Vec<u8>)>,
}

impl Pair {
    /// The type in the envelope, and the enclosed message; `None` for kinds of older releases that were
    /// removed.
    pub(crate) fn open(&self) -> Option<(&'static Message, Envelope<'_>)> {
        let envelope = Envelope::parse(&self.pb).unwrap();
        // The envelope of a WatchEvent has no kind.
        let kind = if envelope.kind.is_empty() { "WatchEvent" } else { &*envelope.kind };
        Some((builtin::kind(&envelope.api_version, kind)?, envelope))
    }
}

pub(crate) fn pairs(archive: &str) -> Vec<Pair> {
    let mut files = crate::testdata::files(archive);
    let names: Vec<String> =
        files.keys().filter_map(|name| name.strip_suffix(".pb")).map(str::to_owned).collect();
    let mut pairs = Vec::new();
    for name in names.iter().filter(|name| !name.ends_with(".after_roundtrip")) {
        let (Some(pb), Some(json)) =
            (files.remove(&format!("{name}.pb")), files.remove(&format!("{name}.json")))
        else {
            continue;
        };
        let after_pb = files.remove(&format!("{name}.after_roundtrip.pb"));
        let after_json = files.remove(&format!("{name}.after_roundtrip.json"));
        let after = (after_pb.is_some() || after_json.is_some())
            .then(|| (after_pb.unwrap_or_else(|| pb.clone()), after_json.unwrap_or_else(|| json.clone())));
        pairs.push(Pair { name: name.clone(), pb, json, after });
    }
    pairs
}
