//! Tests of compressed lists.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may say what must hold")]

use std::io::Read;
use std::task::Waker;

use apimachinery::status::Status;

use super::*;

/// Source with this many numbered lines.
struct Lines {
    next: usize,
    end: usize,
}

impl Source for Lines {
    fn head(&mut self, _: Option<usize>, out: &mut Vec<u8>) -> Result<(), Box<Status>> {
        out.extend_from_slice(b"head");
        Ok(())
    }

    fn fill(&mut self, out: &mut Vec<u8>, enough: usize) -> Result<bool, Box<Status>> {
        while out.len() < enough {
            if self.next == self.end {
                return Ok(false);
            }
            out.extend_from_slice(format!("line {}\n", self.next * 7919 % 104_729).as_bytes());
            self.next += 1;
        }
        Ok(true)
    }
}

fn plain(head: &str, end: usize) -> Vec<u8> {
    let mut out = head.as_bytes().to_vec();
    Lines { next: 0, end }.fill(&mut out, usize::MAX).unwrap();
    out
}

/// Collects all frames of a body that is never pending except to yield.
fn frames(body: impl Body<Data = Bytes, Error = BoxError>) -> Vec<Bytes> {
    let mut body = Box::pin(body);
    let mut cx = Context::from_waker(Waker::noop());
    let mut frames = Vec::new();
    loop {
        match body.as_mut().poll_frame(&mut cx) {
            Poll::Ready(Some(frame)) => frames.push(frame.unwrap().into_data().unwrap()),
            Poll::Ready(None) => break,
            Poll::Pending => {}
        }
    }
    assert!(body.is_end_stream());
    frames
}

fn inflate(frames: &[Bytes]) -> Vec<u8> {
    let all = frames.concat();
    let mut out = Vec::new();
    flate2::read::MultiGzDecoder::new(&all[..]).read_to_end(&mut out).unwrap();
    out
}

/// Compresses the list. The first 1000 bytes are encoded in advance.
fn make(end: usize, remembering: Option<CacheFill>) -> Vec<Bytes> {
    let mut source = Lines { next: 0, end };
    let mut piece = Vec::new();
    source.head(None, &mut piece).unwrap();
    let head = piece.len();
    let more = source.fill(&mut piece, 1000).unwrap();
    frames(CompressedSource::new(piece, head, more.then_some(source), remembering))
}

fn wanted(lists: &CompressedLists, name: &str, version: i64) -> ListKey {
    ListKey { lists: lists.clone(), name: name.to_owned(), version }
}

#[test]
fn a_compressed_list_inflates_to_itself() {
    for end in [0, 1, 50, 20_000, 100_000] {
        let frames = make(end, None);
        assert!(inflate(&frames) == plain("head", end), "{end}");
        assert!(frames.iter().all(|frame| !frame.is_empty() && frame.len() <= CHUNK_BYTES), "{end}");
    }
}

#[test]
fn second_request_fills_cache_for_any_head() {
    let lists = CompressedLists::new(1 << 20);
    let list = wanted(&lists, "a", 5);
    assert!(list.cached_items().is_none());
    let first = list.clone().miss();
    assert!(first.is_none(), "once is not worth it");
    let second = list.clone().miss();
    assert!(second.is_some());
    assert!(list.clone().miss().is_none(), "one is enough");
    make(20_000, second);
    let rest = list.cached_items().unwrap();
    assert_eq!(rest.plain_len(), plain("", 20_000).len());
    let body = CachedBody::new(b"another head", rest);
    let size = body.size_hint().exact().unwrap();
    let frames = frames(body);
    assert_eq!(frames.concat().len() as u64, size);
    assert!(inflate(&frames) == plain("another head", 20_000));
}

#[test]
fn another_version_is_another_list() {
    let lists = CompressedLists::new(1 << 20);
    wanted(&lists, "a", 5).miss();
    make(100, wanted(&lists, "a", 5).miss());
    assert!(wanted(&lists, "a", 6).cached_items().is_none());
    assert!(wanted(&lists, "a", 4).miss().is_none(), "the past does not displace the present");
    assert!(wanted(&lists, "a", 5).cached_items().is_some());
    assert!(wanted(&lists, "a", 6).miss().is_none());
    assert!(wanted(&lists, "a", 5).cached_items().is_none());
    assert_eq!(lists.with_lock(|lists| lists.bytes), 0);
}

#[test]
fn aborted_list_can_be_cached_later() {
    let lists = CompressedLists::new(1 << 20);
    let list = wanted(&lists, "a", 5);
    list.clone().miss();
    drop(list.clone().miss());
    assert!(list.cached_items().is_none());
    assert!(list.miss().is_some());
}

#[test]
fn budget_evicts_oldest_first() {
    let entry_bytes = {
        let lists = CompressedLists::new(usize::MAX);
        wanted(&lists, "a", 1).miss();
        make(20_000, wanted(&lists, "a", 1).miss());
        lists.with_lock(|lists| lists.bytes)
    };
    let lists = CompressedLists::new(entry_bytes * 2);
    for name in ["a", "b", "c"] {
        wanted(&lists, name, 1).miss();
        make(20_000, wanted(&lists, name, 1).miss());
        assert!(wanted(&lists, name, 1).cached_items().is_some());
        assert!(wanted(&lists, "b", 1).cached_items().is_some() || name == "a");
    }
    assert!(wanted(&lists, "a", 1).cached_items().is_none());
    assert_eq!(lists.with_lock(|lists| lists.bytes), entry_bytes * 2);
    let small = CompressedLists::new(entry_bytes - 1);
    wanted(&small, "a", 1).miss();
    make(20_000, wanted(&small, "a", 1).miss());
    assert!(wanted(&small, "a", 1).cached_items().is_none());
    assert_eq!(small.with_lock(|lists| lists.bytes), 0);
}

#[test]
fn number_of_names_is_bounded() {
    let lists = CompressedLists::new(1 << 20);
    for at in 0..LISTS_MAX + 10 {
        wanted(&lists, &at.to_string(), 1).miss();
    }
    assert_eq!(lists.with_lock(|lists| lists.lists.len()), LISTS_MAX);
}
