//! Broken and merely unusual protobuf: the codecs agree about it, and none of them panics.

use schema::json_write;
use schema::proto::{self, Envelope, is_canonical};
use schema::table::Message;
use schema::transcode::to_json;

use crate::archive::pairs;

/// A small generator, so that a failure can be replayed from its seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// Changes a message: flips, cuts, repeats or swaps pieces of it.
fn mutate(raw: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let mut out = raw.to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(out.len() + 1);
        match random.below(7) {
            0 if at < out.len() => out[at] = random.next() as u8,
            1 if at < out.len() => out[at] ^= 1 << random.below(8),
            2 => out.truncate(at),
            3 => out.insert(at, random.next() as u8),
            4 if at < out.len() => {
                out.remove(at);
            }
            // Top-level fields again: structs merge, scalars are replaced.
            5 => out.extend_from_slice(raw),
            _ => out.extend_from_slice(other),
        }
    }
    out
}

/// What must hold for any bytes.
fn check(name: &str, message: &'static Message, raw: &[u8]) {
    let decoded = proto::decode(message, raw);
    let mut transcoded = Vec::new();
    let json = to_json(message, raw, None, None, &mut transcoded);
    let Ok(tree) = decoded else {
        assert!(json.is_err(), "{name}: transcoded but not decoded: {decoded:?} {raw:?}");
        assert!(!is_canonical(message, raw), "{name}: canonical but not decoded: {raw:?}");
        return;
    };
    let mut written = Vec::new();
    let by_tree = json_write::encode(message, &tree, &mut written);
    match (&json, &by_tree) {
        // Raw JSON passes invalid UTF-8 on, as Go does; a tree cannot hold it.
        (Ok(()), Ok(())) if std::str::from_utf8(&transcoded).is_ok() => {
            let plain = String::from_utf8(transcoded).unwrap().replace("\\ufffd", "\u{fffd}");
            assert_eq!(plain, String::from_utf8(written).unwrap(), "{name}: {raw:?}");
        }
        (Ok(()), Ok(())) => {}
        (ours, theirs) => assert_eq!(ours.is_ok(), theirs.is_ok(), "{name}: {ours:?} {theirs:?} {raw:?}"),
    }
    let mut again = Vec::new();
    let stable = proto::encode(message, &tree, &mut again).is_ok() && again == raw;
    assert_eq!(is_canonical(message, raw), stable, "{name}: {raw:?}");
    if stable {
        return;
    }
    // Encoding is a projection: its result is canonical.
    if proto::encode(message, &tree, &mut Vec::new()).is_ok() {
        let mut encoded = Vec::new();
        proto::encode(message, &tree, &mut encoded).unwrap();
        let reread = proto::decode(message, &encoded).unwrap();
        assert_eq!(reread, tree, "{name}: {raw:?}");
    }
}

#[test]
fn codecs_agree_on_mutated_messages() {
    let mut random = Random(0x6d61_696e_7374_6179);
    let mut checked = 0;
    for archive in ["fixtures", "generated"] {
        let pairs = pairs(archive);
        let raws: Vec<_> = pairs.iter().filter_map(|pair| Some((&pair.name, pair.open()?))).collect();
        for (at, (name, (message, envelope))) in raws.iter().enumerate() {
            let (_, (_, other)) = &raws[(at + 1) % raws.len()];
            check(name, message, envelope.raw);
            for _ in 0..4 {
                check(name, message, &mutate(envelope.raw, other.raw, &mut random));
                checked += 1;
            }
        }
    }
    assert_eq!(checked, (185 + 1715) * 4);
}

#[test]
fn envelopes_never_panic() {
    let mut random = Random(7);
    for pair in pairs("fixtures") {
        for _ in 0..20 {
            let bytes = mutate(&pair.pb, &pair.pb, &mut random);
            if let Ok(envelope) = Envelope::parse(&bytes) {
                let mut out = Vec::new();
                let _ = proto::with_resource_version(envelope.raw, "1", &mut out);
                let _ = proto::meta::Header::parse(envelope.raw).map(|header| header.labels().count());
            }
        }
    }
}

/// A schema inside a schema, as deep as asked.
fn nested(depth: usize) -> Vec<u8> {
    let mut raw = Vec::new();
    for _ in 0..depth {
        let mut outer = Vec::new();
        let mut len = raw.len();
        outer.extend_from_slice(&[0xe2, 0x01]);
        while len >= 0x80 {
            outer.push(len as u8 | 0x80);
            len >>= 7;
        }
        outer.push(len as u8);
        outer.extend_from_slice(&raw);
        raw = outer;
    }
    raw
}

#[test]
fn nesting_ends_in_an_error_not_in_an_overflow() {
    let schema = &schema::builtin::IO_K8S_APIEXTENSIONS_APISERVER_PKG_APIS_APIEXTENSIONS_V1_JSONSCHEMAPROPS;
    // A worker's stack; debug frames are several times the size of release frames.
    let worker = std::thread::Builder::new().stack_size(2 << 20);
    let body = move || {
        let deep = nested(proto::DEPTH_MAX + 1);
        assert_eq!(proto::decode(schema, &deep), Err(proto::Error::TooDeep));
        assert!(to_json(schema, &deep, None, None, &mut Vec::new()).is_err());
        assert!(!is_canonical(schema, &deep));
        let fits = nested(proto::DEPTH_MAX - 1);
        check("nested schema", schema, &fits);
    };
    worker.spawn(body).unwrap().join().unwrap();
}
