//! Shards of a collection, for clients that divide the objects among them (KEP-5866). The hash of an object
//! determines its shards.

use std::fmt;

/// Field whose hash determines the shard of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShardKey {
    /// The uid, which distributes objects evenly.
    Uid,
    /// The namespace, which keeps its objects together.
    Namespace,
}

impl ShardKey {
    /// All keys that a shard selector may use.
    pub const ALL: [ShardKey; 2] = [ShardKey::Uid, ShardKey::Namespace];

    /// Path of the field in a shard selector.
    pub fn path(self) -> &'static str {
        match self {
            ShardKey::Uid => "object.metadata.uid",
            ShardKey::Namespace => "object.metadata.namespace",
        }
    }
}

/// Hashes from `start` to `end`, exclusive; `end` may be one past the last hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShardRange {
    /// First hash of the range.
    pub start: u128,
    /// Exclusive; at most 2^64.
    pub end: u128,
}

/// Requested shards. Displayed as written, except for spaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shards {
    key: ShardKey,
    /// As written.
    ranges: Vec<ShardRange>,
    /// Sorted and without overlaps, for binary search.
    merged: Vec<ShardRange>,
}

impl Shards {
    /// Creates shards from ranges, which may overlap.
    pub fn new(key: ShardKey, ranges: Vec<ShardRange>) -> Self {
        let mut sorted = ranges.clone();
        sorted.sort_unstable();
        let mut merged: Vec<ShardRange> = Vec::with_capacity(sorted.len());
        for range in sorted {
            match merged.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        Shards { key, ranges, merged }
    }

    /// Field whose hash is compared.
    pub fn key(&self) -> ShardKey {
        self.key
    }

    /// True if an object with this uid or namespace belongs to the shards.
    pub fn contain(&self, value: &str) -> bool {
        let hash = u128::from(hash(value));
        let at = self.merged.partition_point(|range| range.end <= hash);
        self.merged.get(at).is_some_and(|range| range.start <= hash)
    }
}

impl fmt::Display for Shards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, ShardRange { start, end }) in self.ranges.iter().enumerate() {
            let or = if at == 0 { "" } else { " || " };
            write!(f, "{or}shardRange({}, '0x{start:016x}', '0x{end:016x}')", self.key.path())?;
        }
        Ok(())
    }
}

/// Hash of a shard key: 64-bit FNV-1a, which clients compute too.
pub fn hash(value: &str) -> u64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    value.bytes().fold(BASIS, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: u128 = 1 << 64;

    fn shards(ranges: &[(u128, u128)]) -> Shards {
        let ranges = ranges.iter().map(|&(start, end)| ShardRange { start, end }).collect();
        Shards::new(ShardKey::Uid, ranges)
    }

    #[test]
    fn the_hash_is_fnv_1a() {
        assert_eq!(hash(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(hash("foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn hash_selects_range() {
        let at = u128::from(hash("foobar"));
        let check = |ranges: &[(u128, u128)], expected: bool| {
            assert_eq!(shards(ranges).contain("foobar"), expected, "{ranges:?}");
        };
        check(&[(0, END)], true);
        check(&[(at, at + 1)], true);
        check(&[(0, at)], false);
        check(&[(at + 1, END)], false);
        check(&[(at + 1, END), (0, 1)], false);
        check(&[(at + 1, END), (0, 1), (at, at + 1)], true);
        check(&[(0, at + 1), (0, 1)], true);
        check(&[], false);
    }

    #[test]
    fn covering_shards_contain_every_value() {
        let cuts: Vec<u128> = (0..=7).map(|at| END * at / 7).collect();
        let partition: Vec<Shards> = cuts.windows(2).map(|cut| shards(&[(cut[0], cut[1])])).collect();
        for number in 0..500 {
            let value = format!("object-{number}");
            assert_eq!(partition.iter().filter(|part| part.contain(&value)).count(), 1, "{value}");
        }
    }

    #[test]
    fn ranges_display_as_written() {
        let text = shards(&[(1 << 63, END), (0, 0xff)]).to_string();
        let expected = "shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000') || \
                        shardRange(object.metadata.uid, '0x0000000000000000', '0x00000000000000ff')";
        assert_eq!(text, expected);
    }
}
