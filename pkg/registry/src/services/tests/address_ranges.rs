//! Tests of address ranges.

use super::*;

fn addresses(range: &str, starts: [u64; 2]) -> Vec<String> {
    AddressRange::parse(range).unwrap().candidates(starts).map(|address| address.to_string()).collect()
}

#[test]
fn all_inner_addresses_are_candidates_once() {
    let check = |range: &str, starts: [u64; 2], first: &str, count: usize| {
        let candidates = addresses(range, starts);
        let distinct: BTreeSet<&String> = candidates.iter().collect();
        assert_eq!((candidates.len(), distinct.len()), (count, count), "{range}");
        assert_eq!(candidates.first().map_or("", |address| address), first, "{range}");
        let parsed = AddressRange::parse(range).unwrap();
        assert!(candidates.iter().all(|address| parsed.is_usable(address.parse().unwrap())));
    };
    check("10.0.0.0/28", [0, 0], "10.0.0.1", 14);
    check("10.0.0.0/28", [13, 0], "10.0.0.14", 14);
    check("10.0.0.0/28", [14, 0], "10.0.0.1", 14);
    check("10.0.0.0/30", [0, 0], "10.0.0.1", 2);
    check("10.0.0.0/31", [0, 0], "", 0);
    check("10.0.0.0/32", [u64::MAX, u64::MAX], "", 0);
    check("fd00::/120", [0, 0], "fd00::11", 255);
    check("fd00::/128", [0, 0], "", 0);
}

#[test]
fn static_band_is_allocated_last() {
    let check = |range: &str, band: usize| {
        let candidates = addresses(range, [7, 0]);
        assert_eq!(
            candidates.iter().position(|address| *address == "10.0.0.1"),
            Some(candidates.len() - band),
            "{range}"
        );
    };
    check("10.0.0.0/27", 16);
    check("10.0.0.0/24", 16);
    check("10.0.0.0/22", 64);
    check("10.0.0.0/20", 256);
    check("10.0.0.0/16", 256);
}

#[test]
fn large_ranges_of_ipv6_begin_anywhere() {
    let first = |range: &str, start: u64| {
        let mut candidates = AddressRange::parse(range).unwrap().candidates([start, 0]);
        candidates.next().unwrap().to_string()
    };
    assert_eq!(first("fd00::/64", 0), "fd00::101");
    assert_eq!(first("fd00::/64", u64::MAX), "fd00::201");
    assert_eq!(first("fd00::/64", 1 << 63), "fd00::8000:0:0:101");
    assert_eq!(AddressRange::parse("fd00::/63"), None);
    for text in ["10.0.0.0", "10.0.0.0/33", "x/8", "fd00::/129"] {
        assert_eq!(AddressRange::parse(text), None, "{text}");
    }
}
