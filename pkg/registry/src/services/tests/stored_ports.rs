//! Tests of the stored form of node ports.

use super::super::bitmap::{Bitmap, PortRange};
use super::super::port_store::Allocation;
use super::*;

fn bitmap(members: &[u32]) -> Bitmap {
    let mut bitmap = Bitmap::default();
    members.iter().for_each(|member| assert!(bitmap.insert(*member)));
    bitmap
}

#[test]
fn a_set_is_a_number_without_leading_zeros() {
    let check = |members: &[u32], stored: &[u8]| {
        assert_eq!(bitmap(members).to_stored(), stored, "{members:?}");
        let read = Bitmap::from_stored(stored);
        assert_eq!(read.members().collect::<Vec<_>>(), members, "{stored:?}");
    };
    check(&[], &[]);
    check(&[0], &[1]);
    check(&[8], &[1, 0]);
    check(&[0, 3, 15], &[0x80, 0x09]);
    let mut emptied = bitmap(&[2, 40]);
    emptied.remove(40);
    emptied.remove(1000);
    assert_eq!((emptied.to_stored(), emptied == bitmap(&[2])), (vec![4], true));
}

#[test]
fn bytes_match_upstream() {
    let check = |members: &[u32], data: &[u8]| {
        let allocation = Allocation::new("30000-32767".to_owned(), bitmap(members));
        let mut expected = b"k8s\0\x0a\x15\x0a\x02v1\x12\x0fRangeAllocation\x12".to_vec();
        let mut raw =
            b"\x0a\x10\x0a\0\x12\0\x1a\0\x22\0\x2a\0\x32\0\x38\0\x42\0\x12\x0b30000-32767\x1a".to_vec();
        raw.push(u8::try_from(data.len()).unwrap());
        raw.extend(data);
        expected.push(u8::try_from(raw.len()).unwrap());
        expected.extend(raw);
        expected.extend(b"\x1a\0\x22\0");
        let bytes = allocation.encode().unwrap();
        assert_eq!(bytes, expected, "{members:?}");
        assert_eq!(Allocation::decode(&bytes).unwrap().encode().unwrap(), bytes);
    };
    check(&[], &[]);
    check(&[0, 9], &[2, 1]);
}

#[test]
fn free_port_prefers_dynamic_band() {
    let range = PortRange::new(&(30_000..=30_099));
    let mut bitmap = Bitmap::default();
    let numbers = Numbers::seeded(3);
    let positions: Vec<u32> = std::iter::from_fn(|| {
        let position = bitmap.free(range.size(), range.band(), || numbers.number())?;
        assert!(bitmap.insert(position));
        Some(position)
    })
    .collect();
    assert_eq!(positions.len(), 100);
    let (upper, lower) = positions.split_at(84);
    assert!(upper.iter().all(|position| *position >= 16), "{upper:?}");
    assert!(lower.iter().all(|position| *position < 16), "{lower:?}");
}

#[test]
fn port_range_round_trips() {
    let check = |ports: RangeInclusive<u16>, text: &str, inside: &[i64], outside: &[i64]| {
        let range = PortRange::new(&ports);
        assert_eq!(range.to_string(), text);
        assert_eq!(PortRange::parse(text), Some(range));
        for port in inside {
            assert_eq!(range.position(*port).map(|position| range.port(position)), Some(*port));
        }
        assert!(outside.iter().all(|port| range.position(*port).is_none()));
    };
    check(30_000..=32_767, "30000-32767", &[30_000, 32_767], &[29_999, 32_768, 0, -1, 1 << 40]);
    check(1..=65_535, "1-65535", &[1, 65_535], &[0, 65_536]);
    check(80..=80, "80-80", &[80], &[79, 81]);
    assert_eq!(PortRange::parse("30000"), None);
}
