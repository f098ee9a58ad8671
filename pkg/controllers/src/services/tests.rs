//! Tests of the Service configuration.

use super::*;

#[test]
fn first_range_sets_primary_family() {
    let check = |ranges: &[&str], primary: Family, dual: bool| {
        let cidrs: Vec<Cidr> = ranges.iter().filter_map(|range| Cidr::parse(range)).collect();
        assert_eq!(families(&cidrs), Families { primary, dual }, "{ranges:?}");
    };
    check(&["10.0.0.0/24"], Family::V4, false);
    check(&["fd00::/112"], Family::V6, false);
    check(&["10.0.0.0/24", "fd00::/112"], Family::V4, true);
    check(&["fd00::/112", "10.0.0.0/24"], Family::V6, true);
}
