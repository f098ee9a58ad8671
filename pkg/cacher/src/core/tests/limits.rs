//! The contents of the log.

use super::*;

const KEY: &str = "/r/pods/a/1";

/// The oldest revision to resume from after changes at these revisions, each this many seconds after the
/// previous one.
fn oldest(limits: Limits, changes: &[(Revision, u64)]) -> Revision {
    let mut fixture = Fixture::new("/r/pods/", false, limits, 10);
    for (revision, seconds) in changes {
        fixture.now += Duration::from_secs(*seconds);
        fixture.puts(KEY, [*revision]);
    }
    match fixture.resume(select("/r/pods/", "", ""), 0) {
        Err(Error::TooOld { requested: 0, oldest }) => oldest,
        other => panic!("{:?}", other.map(|reader| reader.got)),
    }
}

#[test]
fn log_is_bounded_by_number_and_age() {
    let limits = Limits { events_min: 2, events_max: 4, ..Limits::default() };
    let check = |changes: &[(Revision, u64)], expected| {
        assert_eq!(oldest(limits, changes), expected, "{changes:?}");
    };
    check(&[], 10);
    check(&[(12, 0)], 10);
    check(&[(12, 0), (14, 1000)], 10);
    check(&[(12, 0), (14, 0), (16, 75)], 10);
    check(&[(12, 0), (14, 0), (16, 76)], 13);
    check(&[(12, 0), (14, 76), (16, 0)], 13);
    check(&[(12, 0), (14, 0), (16, 0), (18, 0), (20, 0)], 13);
    check(&[(12, 0), (14, 0), (16, 0), (18, 0), (20, 76)], 17);
}

#[test]
fn byte_limit_takes_precedence_over_minimum() {
    let size = element(KEY, 1, "n").size();
    let limits = Limits { bytes_max: 2 * size, ..Limits::default() };
    // The first change supersedes no object; every later one supersedes the previous object.
    assert_eq!(oldest(limits, &[(12, 0), (14, 0), (16, 0)]), 10);
    assert_eq!(oldest(limits, &[(12, 0), (14, 0), (16, 0), (18, 0)]), 15);
    assert_eq!(oldest(Limits { bytes_max: 0, ..limits }, &[(12, 0), (14, 0)]), 14);
}

#[test]
fn watches_do_not_resume_within_a_transaction() {
    let mut fixture = Fixture::new("/r/pods/", false, keeping(3), 10);
    fixture.apply((0..4).map(|name| put(&format!("/r/pods/a/{name}"), 11 + name, "n")).collect());
    fixture.apply((0..4).map(|name| delete(&format!("/r/pods/a/{name}"), 20)).collect());
    let all_pods = || select("/r/pods/", "", "");
    assert!(matches!(fixture.resume(all_pods(), 19), Err(Error::TooOld { requested: 19, oldest: 20 })));
    assert!(fixture.resume(all_pods(), 20).is_ok());
}

#[test]
fn tidy_drops_old_changes() {
    let limits = Limits { events_min: 1, ..Limits::default() };
    let mut fixture = Fixture::new("/r/pods/", false, limits, 10);
    fixture.puts(KEY, [11, 12, 13]);
    let (effects, _) = fixture.state.sweep(fixture.now + Duration::from_secs(75));
    effects.run();
    assert_eq!(fixture.state.sizes().log_length, 3);
    let (effects, _) = fixture.state.sweep(fixture.now + Duration::from_secs(76));
    effects.run();
    assert_eq!(fixture.state.sizes().log_length, 1);
}

#[test]
fn memory_is_released_after_a_burst() {
    let limits = Limits { events_min: 1, ..Limits::default() };
    let mut fixture = Fixture::new("/r/pods/", false, limits, 10);
    fixture.puts(KEY, 11..3000);
    fixture.state.sweep(fixture.now + Duration::from_secs(76)).0.run();
    let sizes = fixture.state.sizes();
    assert_eq!(sizes.log_length, 1);
    assert!(sizes.log_capacity < 300, "{}", sizes.log_capacity);
}

#[test]
fn stale_changes_and_empty_deletions_are_skipped() {
    let mut fixture = Fixture::new("/r/pods/", false, keeping(9), 10);
    fixture.apply(vec![put(KEY, 9, "n"), put(KEY, 10, "n"), delete("/r/pods/a/2", 11), put(KEY, 12, "n")]);
    assert_eq!((fixture.state.sizes().log_length, fixture.snapshot.revision()), (1, 12));
    fixture.apply(vec![put(KEY, 12, "n"), delete(KEY, 12)]);
    assert_eq!((fixture.state.sizes().log_length, fixture.snapshot.len()), (1, 1));
}

#[test]
fn oldest_frames_are_dropped_and_stay_dropped() {
    let mut fixture = Fixture::new("/r/pods/", false, keeping(9), 10);
    fixture.frames = Budget::new(100);
    fixture.puts(KEY, [11, 12, 13]);
    let changes: Vec<_> =
        fixture.state.changes_to_undo(fixture.state.end() - 3, fixture.state.end()).unwrap();
    let frame = |change: &Change| change.frames.frame(1, || Ok::<_, ()>(Bytes::from_static(b"frame")));
    changes.iter().for_each(|change| drop(frame(change)));
    assert_eq!(fixture.frames.used(), 15);
    let end = fixture.state.end();
    let oldest = fixture.state.take_changes_with_frames(end - 1);
    assert_eq!(oldest.iter().map(|change| change.revision).collect::<Vec<_>>(), [11, 12]);
    oldest.iter().for_each(|change| change.frames.close());
    oldest.iter().for_each(|change| drop(frame(change)));
    assert_eq!(fixture.frames.used(), 5);
    assert!(fixture.state.take_changes_with_frames(end - 1).is_empty());
    assert_eq!(fixture.state.take_changes_with_frames(end).len(), 1);
}
