//! Malformed and unusual protobuf: the codecs agree on it, and none of them panics.

use schema::json::TREE_DEPTH_MAX;
use schema::json_write;
use schema::proto::{self, Envelope, is_canonical};
use schema::table::Message;
use schema::transcode::{self, to_json};

use crate::archive::pairs;

/// A small generator, so that a failure can be reproduced from its seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// Mutates a message: flips, cuts, repeats or swaps parts of it.
pub(crate) fn mutate(raw: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
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
            // Repeated top-level fields: structs are merged, scalars replaced.
            5 => out.extend_from_slice(raw),
            _ => out.extend_from_slice(other),
        }
    }
    out
}

fn varint(data: &[u8]) -> Option<(u64, &[u8])> {
    let len = data.iter().take(10).position(|byte| *byte < 0x80)? + 1;
    let value = data[..len].iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7f));
    Some((value, &data[len..]))
}

fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The fields of a message: key, and value without its length.
fn split(raw: &[u8]) -> Option<Vec<(u64, Vec<u8>)>> {
    let mut fields = Vec::new();
    let mut rest = raw;
    while !rest.is_empty() {
        let (key, remaining) = varint(rest)?;
        let (value, remaining) = match key & 7 {
            0 => remaining.split_at(remaining.len() - varint(remaining)?.1.len()),
            1 => remaining.split_at_checked(8)?,
            2 => {
                let (len, remaining) = varint(remaining)?;
                remaining.split_at_checked(usize::try_from(len).ok()?)?
            }
            _ => return None,
        };
        fields.push((key, value.to_vec()));
        rest = remaining;
    }
    (!fields.is_empty()).then_some(fields)
}

/// Reorders, repeats, drops or changes fields at any depth of a message; lengths remain correct.
fn rearrange(raw: &[u8], random: &mut Random, depth: usize) -> Vec<u8> {
    let Some(mut fields) = split(raw).filter(|_| depth < 8) else { return mutate(raw, b"", random) };
    let at = random.below(fields.len());
    match random.below(8) {
        0 => fields.rotate_left(at),
        1 => fields.push(fields[at].clone()),
        2 => {
            fields.remove(at);
        }
        3 => {
            let (key, value) = fields[at].clone();
            fields.insert(0, (key, rearrange(&value, random, 8)));
        }
        4 => fields[at].0 ^= 8 << random.below(5),
        _ if fields[at].0 & 7 == 2 => fields[at].1 = rearrange(&fields[at].1, random, depth + 1),
        _ => fields.swap(0, at),
    }
    let mut out = Vec::new();
    for (key, value) in fields {
        put_varint(key, &mut out);
        if key & 7 == 2 {
            put_varint(value.len() as u64, &mut out);
        }
        out.extend_from_slice(&value);
    }
    out
}

/// Checks the properties of arbitrary bytes; returns true if they are a valid message.
fn check(name: &str, message: &'static Message, raw: &[u8]) -> bool {
    let decoded = proto::decode(message, raw);
    let mut transcoded = Vec::new();
    let json = to_json(message, raw, None, None, &mut transcoded);
    let Ok(tree) = decoded else {
        assert!(json.is_err(), "{name}: transcoded but not decoded: {decoded:?} {raw:?}");
        assert!(!is_canonical(message, raw), "{name}: canonical but not decoded: {raw:?}");
        return false;
    };
    let mut json_text = Vec::new();
    let by_tree = json_write::encode(message, &tree, &mut json_text);
    match (&json, &by_tree) {
        // Raw JSON keeps invalid UTF-8, as in Go; a tree cannot contain it.
        (Ok(()), Ok(())) if std::str::from_utf8(&transcoded).is_ok() => {
            let plain = String::from_utf8(transcoded).unwrap().replace("\\ufffd", "\u{fffd}");
            assert_eq!(plain, String::from_utf8(json_text).unwrap(), "{name}: {raw:?}");
        }
        (Ok(()), Ok(())) => {}
        // The transcoder may see a raw value that a later map entry of the same key overrides.
        (Err(transcode::Error::Json(json_write::Error::Raw { .. })), Ok(()))
            if !is_canonical(message, raw) => {}
        (lhs, rhs) => assert_eq!(lhs.is_ok(), rhs.is_ok(), "{name}: {lhs:?} {rhs:?} {raw:?}"),
    }
    let mut again = Vec::new();
    let stable = proto::encode(message, &tree, &mut again).is_ok() && again == raw;
    assert_eq!(is_canonical(message, raw), stable, "{name}: {raw:?}");
    // Encoding is a projection: its result is canonical.
    let mut encoded = Vec::new();
    if proto::encode(message, &tree, &mut encoded).is_ok() {
        assert!(is_canonical(message, &encoded), "{name}: {raw:?}");
        assert_eq!(proto::decode(message, &encoded).unwrap(), tree, "{name}: {raw:?}");
    }
    true
}

/// Variants per fixture. A soak test uses a thousand.
const ROUNDS: usize = 5;

#[test]
fn codecs_agree_on_mutated_messages() {
    let mut random = Random(0x6d61_696e_7374_6179);
    let mut messages = 0;
    let mut broken = 0;
    for archive in ["fixtures", "generated"] {
        let pairs = pairs(archive);
        let raws: Vec<_> = pairs.iter().filter_map(|pair| Some((&pair.name, pair.open()?))).collect();
        for (at, (name, (message, envelope))) in raws.iter().enumerate() {
            let (_, (_, other)) = &raws[(at + 1) % raws.len()];
            for round in 0..ROUNDS {
                let raw = match round % 3 {
                    0 => mutate(envelope.raw, other.raw, &mut random),
                    _ => rearrange(envelope.raw, &mut random, 0),
                };
                if check(name, message, &raw) { messages += 1 } else { broken += 1 }
            }
        }
    }
    // Both valid and invalid messages occur.
    assert_eq!(messages + broken, crate::fixtures::CURRENT * ROUNDS);
    assert!(messages > 5000 && broken > 1000, "{messages} {broken}");
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

/// Nested schemas (`not`) of the given depth.
fn nested(depth: usize) -> Vec<u8> {
    within([0xe2, 0x01], depth)
}

/// Nested lists of schemas (`allOf`): two levels of a tree each.
fn lists(depth: usize) -> Vec<u8> {
    within([0xca, 0x01], depth)
}

/// Nests a message in a field of itself, by the field's key.
fn within(key: [u8; 2], depth: usize) -> Vec<u8> {
    let mut raw = Vec::new();
    for _ in 0..depth {
        let mut outer = Vec::new();
        let mut len = raw.len();
        outer.extend_from_slice(&key);
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
fn deep_nesting_is_an_error() {
    let schema = &schema::builtin::IO_K8S_APIEXTENSIONS_APISERVER_PKG_APIS_APIEXTENSIONS_V1_JSONSCHEMAPROPS;
    // A small part of a worker's stack; debug frames are several times larger than release frames.
    let worker = std::thread::Builder::new().stack_size(1 << 20);
    let body = move || {
        let deep = nested(proto::DEPTH_MAX + 1);
        assert_eq!(proto::decode(schema, &deep), Err(proto::Error::TooDeep));
        assert!(to_json(schema, &deep, None, None, &mut Vec::new()).is_err());
        assert!(!is_canonical(schema, &deep));
        let fits = nested(proto::DEPTH_MAX - 1);
        assert!(check("nested schema", schema, &fits));
        let tree = |levels| proto::decode(schema, &lists(levels)).map(drop);
        assert_eq!(tree(TREE_DEPTH_MAX / 2 - 1), Ok(()));
        assert_eq!(tree(TREE_DEPTH_MAX / 2), Err(proto::Error::TooDeep));
    };
    worker.spawn(body).unwrap().join().unwrap();
}
