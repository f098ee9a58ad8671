//! Parses any two texts, separated by NUL, as field sets: it never panics, sets survive a round trip, and the
//! set operations obey the laws of set algebra.
#![no_main]

use libfuzzer_sys::fuzz_target;
use fieldmanager::structured_merge::Set;

fn read_back(set: &Set) {
    let mut text = Vec::new();
    set.write(&mut text);
    assert_eq!(Set::parse(&text).as_ref(), Ok(set));
}

fuzz_target!(|data: &[u8]| {
    let mut parts = data.splitn(2, |byte| *byte == 0);
    let (Some(one), Some(other)) = (parts.next(), parts.next()) else { return };
    let Ok(one) = Set::parse(one) else { return };
    read_back(&one);
    let Ok(other) = Set::parse(other) else { return };
    let union = one.union(&other);
    let both = one.intersection(&other);
    read_back(&union);
    assert_eq!(union, other.union(&one));
    assert!(
        one.is_subset(&union) && other.is_subset(&union) && both.is_subset(&one) && both.is_subset(&other)
    );
    assert_eq!(one.intersects(&other), !both.is_empty());
    let rest = one.clone().difference(&other);
    assert!(!rest.intersects(&other));
    assert_eq!(rest.union(&both), one);
    assert!(one.clone().recursive_difference(&other).is_subset(&rest));
    assert!(one.clone().leaves().is_subset(&one));
});
