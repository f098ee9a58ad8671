//! Tests of the Service configuration and of the repair loop.

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

#[tokio::test(start_paused = true)]
async fn failed_watch_restarts_within_seconds() {
    let start = Instant::now();
    let mut starts = Vec::new();
    let mut fail = || {
        starts.push(start.elapsed().as_secs());
        std::future::ready(WATCH_RETRY)
    };
    repeat_until(start + Duration::from_secs(3), &mut fail).await;
    assert_eq!(starts, [0, 1, 2]);
    assert_eq!(start.elapsed(), Duration::from_secs(3));
}
