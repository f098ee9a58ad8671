//! Tests of frame batching and of the end of a watch.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may say what must hold")]

use std::collections::VecDeque;
use std::io::Read;
use std::task::Waker;
use std::time::Duration;

use apimachinery::status::Status;
use registry::generic::EventType;

use super::*;
use crate::negotiation::Format;
use crate::response::encode::Shape;
use crate::testing;
use crate::watch::drain::WatchDrain;

/// Events that are ready. After them the stream is pending or ends.
struct Script {
    events: VecDeque<WatchEvent>,
    ends: bool,
}

impl Stream for Script {
    type Item = WatchEvent;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<WatchEvent>> {
        match self.events.pop_front() {
            Some(event) => Poll::Ready(Some(event)),
            None if self.ends => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

impl Events for Script {
    fn is_current(&self) -> bool {
        self.events.is_empty()
    }
}

fn bookmark(revision: i64, end: bool) -> WatchEvent {
    WatchEvent::Event(Event::bookmark(revision, end))
}

fn body(events: Vec<WatchEvent>, ends: bool, drain: &WatchDrain) -> WatchBody<Script> {
    let stored = testing::of("", "v1", "pods");
    WatchBody::new(
        Script { events: events.into(), ends },
        Encoder::of(stored.endpoint, Format::Json, Shape::Whole),
        drain.register_watch(),
        Arc::default(),
        Listing { scope: Scope::Cluster, started_at: Instant::now(), spans: None },
    )
}

/// Returns the next piece; `None` at the end.
fn poll(body: &mut WatchBody<Script>) -> Poll<Option<String>> {
    let mut cx = Context::from_waker(Waker::noop());
    Pin::new(body).poll_frame(&mut cx).map(|frame| {
        frame.map(|frame| String::from_utf8(frame.unwrap().into_data().unwrap().to_vec()).unwrap())
    })
}

#[test]
fn ready_events_are_sent_together() {
    let drain = WatchDrain::default();
    let mut body = body(vec![bookmark(1, true), bookmark(2, false), bookmark(3, false)], false, &drain);
    let Poll::Ready(Some(piece)) = poll(&mut body) else { panic!("three are ready") };
    let revisions = piece.lines().map(|line| {
        let event: jsontree::Value = serde_json::from_str(line).unwrap();
        event["object"]["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
    });
    assert_eq!(revisions.collect::<Vec<_>>(), ["1", "2", "3"]);
    assert_eq!(poll(&mut body), Poll::Pending);
    assert!(!body.is_end_stream());
}

#[test]
fn each_event_is_a_message() {
    let drain = WatchDrain::default();
    let events = || vec![bookmark(1, false), bookmark(2, false)];
    let Poll::Ready(Some(stream)) = poll(&mut body(events(), true, &drain)) else { panic!("two are ready") };
    let mut expected = Vec::new();
    stream.split_inclusive('\n').for_each(|line| frame::append(Opcode::Text, line.as_bytes(), &mut expected));
    let mut body = body(events(), true, &drain).in_messages(Opcode::Text);
    let mut cx = Context::from_waker(Waker::noop());
    let Poll::Ready(Some(piece)) = Pin::new(&mut body).poll_frame(&mut cx) else { panic!("two are ready") };
    assert_eq!(piece.unwrap().into_data().unwrap(), expected);
}

#[test]
fn pieces_are_complete_gzip_members() {
    let drain = WatchDrain::default();
    let mut body = body(vec![bookmark(1, true), bookmark(2, false)], true, &drain).compressed();
    let mut cx = Context::from_waker(Waker::noop());
    let Poll::Ready(Some(piece)) = Pin::new(&mut body).poll_frame(&mut cx) else { panic!("two are ready") };
    let piece = piece.unwrap().into_data().unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(&*piece).read_to_string(&mut text).unwrap();
    assert_eq!(text.lines().count(), 2);
}

#[test]
fn compressed_batch_consists_of_members() {
    let mut batch = FrameBatch { compresses: true, ..FrameBatch::default() };
    assert_eq!(batch.push(gzip::member(b"shared ").into()), 7);
    batch.buffer().extend_from_slice(b"own ");
    batch.push(gzip::member(b"shared ").into());
    batch.buffer().extend_from_slice(b"own");
    let members = batch.finish().unwrap();
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(&*members).read_to_string(&mut text).unwrap();
    assert_eq!(text, "shared own shared own");
}

#[test]
fn flag_is_set_after_initial_state() {
    let drain = WatchDrain::default();
    let stored = testing::of("", "v1", "pods");
    let event = |element: &Arc<registry::Element>| {
        WatchEvent::Event(Event::object(EventType::Added, Arc::clone(element), element.revision()))
    };
    let mut body = body(stored.elements.iter().cycle().take(200).map(event).collect(), false, &drain);
    let initialized = body.initialized();
    assert!(poll(&mut body).is_ready() && !initialized.is_set(), "there is more than one piece");
    while poll(&mut body).is_ready() {}
    assert!(initialized.is_set());
}

#[test]
fn many_events_are_sent_in_pieces() {
    let drain = WatchDrain::default();
    let stored = testing::of("", "v1", "pods");
    let events = stored.elements.iter().cycle().take(200);
    let events =
        events.map(|e| WatchEvent::Event(Event::object(EventType::Added, Arc::clone(e), e.revision())));
    let largest = 64 * 1024;
    let mut body = body(events.collect(), true, &drain);
    let mut lines = 0;
    let mut pieces = 0;
    while let Poll::Ready(Some(piece)) = poll(&mut body) {
        assert!(piece.len() < CHUNK_BYTES + largest && piece.ends_with('\n'));
        lines += piece.lines().count();
        pieces += 1;
    }
    assert_eq!(lines, 200);
    assert!(pieces > 3, "{pieces}");
    assert!(body.is_end_stream());
}

#[test]
fn an_error_is_the_last_event() {
    let drain = WatchDrain::default();
    let error = WatchEvent::Error(Status::expired("gone").into());
    let mut body = body(vec![bookmark(1, false), error, bookmark(2, false)], false, &drain);
    let Poll::Ready(Some(piece)) = poll(&mut body) else { panic!("two are ready") };
    assert_eq!(piece.lines().count(), 2);
    assert_eq!(poll(&mut body), Poll::Ready(None));
}

#[test]
fn a_watch_ends_when_the_server_stops() {
    let drain = WatchDrain::default();
    let mut body = body(Vec::new(), false, &drain);
    assert_eq!(poll(&mut body), Poll::Pending);
    drain.begin(Duration::ZERO);
    assert_eq!(poll(&mut body), Poll::Ready(None));
}

#[test]
fn failed_watch_ends() {
    let drain = WatchDrain::default();
    assert_eq!(poll(&mut body(Vec::new(), true, &drain)), Poll::Ready(None));
}

#[test]
fn single_shared_frame_is_not_copied() {
    let frame = Bytes::from_static(b"shared");
    let mut piece = FrameBatch::default();
    piece.push(frame.clone());
    assert_eq!(piece.finish().unwrap().as_ptr(), frame.as_ptr());
}

#[test]
fn frames_keep_their_order_in_a_piece() {
    let check = |steps: &str, expected: &str| {
        let mut piece = FrameBatch::default();
        for step in steps.chars() {
            if step.is_uppercase() {
                piece.push(step.to_string().into());
            } else {
                piece.buffer().push(step as u8)
            }
        }
        let actual = piece.finish().map(|bytes| String::from_utf8(bytes.to_vec()).unwrap());
        assert_eq!(actual.as_deref().unwrap_or(""), expected);
    };
    for steps in ["", "A", "a", "AB", "Ab", "aB", "ABcDe", "abC", "AbcD"] {
        check(steps, steps);
    }
}

#[test]
fn an_idle_watch_is_small() {
    let size = size_of::<WatchBody<registry::generic::WatchEvents>>();
    assert!(size <= 408, "{size}");
}
