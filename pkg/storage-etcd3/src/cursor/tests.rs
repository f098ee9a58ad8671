//! The cursor with scripted responses.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use etcd_client::proto::PbResponseHeader;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::*;

fn header(revision: Revision) -> PbWatchResponse {
    PbWatchResponse {
        header: Some(PbResponseHeader { revision, ..Default::default() }),
        ..Default::default()
    }
}

fn put(key: &str, created: Revision, revision: Revision) -> PbEvent {
    let kv = PbKeyValue {
        key: key.as_bytes().to_vec(),
        create_revision: created,
        mod_revision: revision,
        value: b"v".to_vec(),
        ..Default::default()
    };
    PbEvent { r#type: PUT, kv: Some(kv), prev_kv: None }
}

fn delete(key: &str, revision: Revision) -> PbEvent {
    let kv = PbKeyValue { key: key.as_bytes().to_vec(), mod_revision: revision, ..Default::default() };
    PbEvent { r#type: DELETE, kv: Some(kv), prev_kv: None }
}

fn events(events: impl Into<Vec<PbEvent>>) -> PbWatchResponse {
    // The header is ahead of the events, like etcd's during catch-up.
    PbWatchResponse { events: events.into(), ..header(1000) }
}

fn fragment(list: impl Into<Vec<PbEvent>>) -> PbWatchResponse {
    PbWatchResponse { fragment: true, ..events(list) }
}

/// `kind:key@revision` of events, `p@revision` of progress.
fn text(items: &VecDeque<WatchItem>) -> String {
    let item = |item: &WatchItem| match item {
        WatchItem::Event(e) => {
            let kind = match e.kind {
                EventKind::Create => "c",
                EventKind::Update => "u",
                EventKind::Delete => "d",
            };
            format!("{kind}:{}@{}", e.kv.key, e.kv.mod_revision)
        }
        WatchItem::Progress(revision) => format!("p@{revision}"),
    };
    items.iter().map(item).collect::<Vec<_>>().join(" ")
}

fn cursor(start: Revision, progress: bool) -> Cursor {
    Cursor::new(start, progress, ForeignKeys::new())
}

/// Feeds the responses to a cursor at `start`; none may end the watch.
fn check(start: Revision, responses: Vec<PbWatchResponse>, items: &str, next: Revision) {
    let mut cursor = cursor(start, false);
    let mut out = VecDeque::new();
    for response in responses {
        let then = cursor.on_response(response, &mut out);
        assert!(then.is_ok(), "{then:?}");
    }
    assert_eq!((text(&out).as_str(), cursor.next()), (items, next));
}

#[test]
fn events_move_cursor_to_their_revision() {
    check(5, vec![events([put("/a", 5, 5), put("/b", 3, 6), delete("/a", 8)])], "c:/a@5 u:/b@6 d:/a@8", 9);
}

#[test]
fn watch_creation_does_not_move_the_cursor() {
    let created = PbWatchResponse { created: true, ..header(100) };
    let step = cursor(5, false).on_response(created.clone(), &mut VecDeque::new());
    assert!(matches!(step, Ok(Step::Created)), "{step:?}");
    check(5, vec![created], "", 5);
}

#[test]
fn delivered_events_are_not_repeated() {
    check(6, vec![events([put("/a", 5, 5), put("/a", 5, 6), put("/a", 5, 7)])], "u:/a@6 u:/a@7", 8);
}

#[test]
fn all_events_of_a_transaction_are_delivered() {
    check(5, vec![events([put("/a", 5, 5), put("/b", 5, 5)])], "c:/a@5 c:/b@5", 6);
}

#[test]
fn progress_moves_the_cursor_behind_it() {
    check(5, vec![header(9)], "p@9", 10);
    check(5, vec![header(9), events([put("/a", 10, 10)])], "p@9 c:/a@10", 11);
}

#[test]
fn progress_never_decreases() {
    check(5, vec![header(4)], "p@4", 5);
    check(5, vec![header(9), header(9)], "p@9 p@9", 10);
    check(10, vec![header(8)], "", 10);
    check(1, vec![header(0)], "", 1);
}

#[test]
fn fragmented_revision_is_delivered_whole() {
    let first = fragment([put("/a", 5, 5), put("/b", 6, 6)]);
    check(5, vec![first.clone()], "c:/a@5", 6);
    check(5, vec![first, events([put("/c", 6, 6), put("/d", 7, 7)])], "c:/a@5 c:/b@6 c:/c@6 c:/d@7", 8);
}

#[test]
fn incomplete_revision_is_repeated_after_reconnect() {
    let mut cursor = cursor(5, false);
    let mut out = VecDeque::new();
    cursor.on_response(fragment([put("/a", 5, 5), put("/b", 6, 6)]), &mut out).unwrap();
    cursor.reconnected();
    assert_eq!(cursor.next(), 6);
    cursor.on_response(events([put("/b", 6, 6), put("/c", 6, 6)]), &mut out).unwrap();
    assert_eq!(text(&out), "c:/a@5 c:/b@6 c:/c@6");
}

/// Like [`check`], for a watch with progress.
fn check_progress(responses: Vec<PbWatchResponse>, wanted: &str) {
    let mut cursor = cursor(5, true);
    let mut out = VecDeque::new();
    for response in responses {
        cursor.on_response(response, &mut out).unwrap();
    }
    assert_eq!(text(&out), wanted);
}

#[test]
fn progress_follows_each_batch_at_last_event() {
    let batch = events([put("/a", 5, 5), put("/b", 3, 6), delete("/a", 8)]);
    check_progress(vec![batch.clone()], "c:/a@5 u:/b@6 d:/a@8 p@8");
    check_progress(vec![batch.clone(), header(8)], "c:/a@5 u:/b@6 d:/a@8 p@8 p@8");
    check_progress(vec![batch.clone(), events([put("/a", 9, 9)])], "c:/a@5 u:/b@6 d:/a@8 p@8 c:/a@9 p@9");
    // The batch contains nothing new.
    check_progress(vec![header(9), batch], "p@9");
}

#[test]
fn no_progress_within_a_revision() {
    check_progress(vec![events([delete("/a", 5), delete("/b", 5)])], "d:/a@5 d:/b@5 p@5");
    let pieces = vec![
        fragment([delete("/a", 5), delete("/b", 6)]),
        fragment([delete("/c", 6)]),
        events([delete("/d", 6), delete("/e", 7)]),
    ];
    check_progress(pieces, "d:/a@5 p@5 d:/b@6 d:/c@6 d:/d@6 d:/e@7 p@7");
}

#[test]
fn progress_does_not_overtake_an_unfinished_revision() {
    check(5, vec![fragment([put("/a", 5, 5)]), header(9)], "", 5);
}

#[test]
fn compaction_of_the_next_revision_ends_the_watch() {
    let mut cursor = cursor(5, false);
    let mut out = VecDeque::new();
    let response = PbWatchResponse { canceled: true, compact_revision: 40, ..header(50) };
    let then = cursor.on_response(response, &mut out);
    assert!(matches!(then, Err(FailureScope::Watch(Error::Compacted { oldest: 40 }))), "{then:?}");
}

#[test]
fn lost_leader_reconnects_and_rejection_ends() {
    let check = |reason: &str, ends: bool| {
        let response = PbWatchResponse { canceled: true, cancel_reason: reason.to_owned(), ..header(50) };
        let then = cursor(5, false).on_response(response, &mut VecDeque::new());
        assert_eq!(matches!(then, Err(FailureScope::Watch(_))), ends, "{reason}: {then:?}");
    };
    check("etcdserver: no leader", false);
    check("", false);
    check("etcdserver: permission denied", true);
    check("rpc error: code = PermissionDenied desc = etcdserver: permission denied", true);
}

#[test]
fn invalid_event_ends_the_watch() {
    let unknown = PbEvent { r#type: 7, ..put("/a", 5, 5) };
    for event in [unknown, PbEvent::default()] {
        let then = cursor(5, false).on_response(events([event]), &mut VecDeque::new());
        assert!(matches!(then, Err(FailureScope::Watch(Error::Internal(_)))), "{then:?}");
    }
}

#[test]
fn only_temporary_failures_are_retried() {
    let over = |failure: CallError| matches!(FailureScope::from(failure), FailureScope::Watch(_));
    assert!(over(CallError::Rejected(Default::default())));
    assert!(over(CallError::Internal(Default::default())));
    assert!(!over(CallError::NotSent(Default::default())));
    assert!(!over(CallError::Unavailable(Default::default())));
    assert!(!over(CallError::TryLater(Default::default())));
}

#[test]
fn keys_that_are_not_utf8_are_skipped() {
    let mut foreign = put("/a", 5, 5);
    foreign.kv.as_mut().unwrap().key = b"/\xff".to_vec();
    check(1, vec![events([put("/a", 4, 4), foreign.clone()])], "c:/a@4", 6);
    check(1, vec![events([foreign]), events([put("/b", 6, 6)])], "c:/b@6", 7);
}

/// Counter of log lines.
#[derive(Clone, Default)]
struct Lines(Arc<AtomicUsize>);

impl Subscriber for Lines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        self.0.fetch_add(1, Relaxed);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test(start_paused = true)]
async fn log_lines_of_foreign_keys_are_limited() {
    let foreign_keys = ForeignKeys::new();
    let lines = Lines::default();
    let logged = || lines.0.load(Relaxed);
    let _subscription = tracing::subscriber::set_default(lines.clone());
    let read = |foreign_keys: &ForeignKeys| {
        for number in 0..1_000_u16 {
            let key = [&b"/\xff"[..], &number.to_be_bytes()].concat();
            assert!(foreign_keys.contain(&PbKeyValue { key, ..Default::default() }));
        }
    };
    read(&foreign_keys);
    read(&foreign_keys.clone());
    assert_eq!(logged(), 32);
    tokio::time::advance(Duration::from_secs(1)).await;
    read(&foreign_keys);
    assert_eq!(logged(), 33);
}
