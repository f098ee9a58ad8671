//! Past states.

use super::*;

/// Pods `a/1` at revisions 11, 12, …, up to `last`.
fn changed(limits: Limits, last: Revision) -> Arc<Cache> {
    let cache = filled(limits, &[("a/0", 5, "n1 x")], 10);
    (11..=last).for_each(|revision| change(&cache, "a/1", revision, Some("n1 x")));
    cache
}

#[test]
fn past_states_are_bounded_by_log_and_compaction() {
    let cache = changed(Limits { events_max: 5, ..Limits::default() }, 20);
    let check = |from: Revision| {
        let revisions: Vec<Revision> = (0..=20).filter(|at| cache.snapshot_at(*at).is_some()).collect();
        assert_eq!(revisions, (from..=20).collect::<Vec<_>>());
    };
    check(15);
    cache.compacted(17);
    check(17);
    cache.compacted(3);
    check(17);
    cache.compacted(21);
    assert!(cache.snapshot_at(20).is_none(), "as storage would say");
    assert!(cache.snapshot_at(21).is_some(), "nothing has changed since");
}

#[test]
fn past_state_has_revision_of_last_change() {
    let cache = changed(Limits::default(), 13);
    let check = |at, expected| assert_eq!(cache.snapshot_at(at).unwrap().revision(), expected, "at {at}");
    check(10, 10);
    check(11, 11);
    check(13, 13);
    check(99, 13);
    change(&cache, "a/1", 20, None);
    check(15, 13);
    check(19, 13);
    check(20, 20);
}

#[test]
fn pages_of_one_list_share_a_state() {
    let cache = changed(Limits::default(), 40);
    let first = cache.snapshot_at(20).unwrap();
    change(&cache, "a/1", 41, Some("n1 x"));
    assert!(Arc::ptr_eq(&first, &cache.snapshot_at(20).unwrap()));
    assert!(!Arc::ptr_eq(&first, &cache.snapshot_at(21).unwrap()));
    // Kept while in use, but only a few.
    let budget = Budget::new(0);
    cache.sweep(&budget);
    assert!(Arc::ptr_eq(&first, &cache.snapshot_at(20).unwrap()));
    for at in 30..33 {
        assert!(cache.snapshot_at(at).is_some());
    }
    assert!(Arc::ptr_eq(&first, &cache.snapshot_at(20).unwrap()));
    for at in 30..34 {
        assert!(cache.snapshot_at(at).is_some());
    }
    assert!(!Arc::ptr_eq(&first, &cache.snapshot_at(20).unwrap()));
    cache.sweep(&budget);
    let weak = Arc::downgrade(&first);
    drop(first);
    cache.sweep(&budget);
    assert!(weak.upgrade().is_none());
}

#[test]
fn old_states_are_left_to_storage() {
    let limits = Limits { rewind_max: 10, scan_max: 3, ..Limits::default() };
    let cache = changed(limits, 40);
    assert!(cache.snapshot_at(29).is_none());
    assert!(cache.snapshot_at(30).is_some());
    // Fewer changes must be undone from that state.
    assert!(cache.snapshot_at(25).is_some());
}

#[test]
fn reset_cache_has_no_past() {
    let cache = changed(Limits::default(), 20);
    assert!(cache.snapshot_at(15).is_some());
    cache.fill(Vec::new(), 30, Vec::new(), Instant::now());
    assert!(cache.snapshot_at(15).is_none() && cache.snapshot_at(29).is_none());
    assert_eq!(cache.snapshot_at(30).unwrap().len(), 0);
}
