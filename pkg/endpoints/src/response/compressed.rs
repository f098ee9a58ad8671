//! Compressed lists: streamed for the first request, cached from the second request on.
//!
//! The cache holds the deflated items of a whole list, by the requested list and the version of its items.
//! The list's head, with the resource version, is encoded for every response. So a list that does not change
//! goes to any number of clients without encoding its items.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use crate::response::chunks::{CHUNK_BYTES, Source, abort_body, yield_now};
use crate::response::gzip::{Deflate, HEADER, Plain, trailer};
use crate::routing::dispatch::BoxError;

/// Maximum number of tracked lists, cached or requested only once.
const LISTS_MAX: usize = 1024;

/// Second part of a compressed list: the deflated items.
#[derive(Clone)]
pub(crate) struct DeflatedItems {
    deflated: Bytes,
    plain: Plain,
}

impl DeflatedItems {
    /// Uncompressed length.
    pub(crate) fn plain_len(&self) -> usize {
        self.plain.len
    }
}

/// Cache of compressed lists. Cheap to clone.
#[derive(Clone)]
pub struct CompressedLists(Arc<Mutex<Lists>>);

struct Lists {
    bytes_max: usize,
    bytes: usize,
    /// Request counter, for the eviction order.
    request_count: u64,
    lists: HashMap<String, List>,
}

struct List {
    version: i64,
    last_request: u64,
    /// True while a request fills in `rest`.
    filling: bool,
    items: Option<DeflatedItems>,
}

/// Cache key of a requested list.
#[derive(Clone)]
pub(crate) struct ListKey {
    pub(crate) lists: CompressedLists,
    /// The requested list and its representation. Complete lists with the same name and version have the same
    /// second part.
    pub(crate) name: String,
    pub(crate) version: i64,
}

impl CompressedLists {
    /// Bytes that the cached lists use, and their limit.
    pub fn bytes(&self) -> (usize, usize) {
        let lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (lists.bytes, lists.bytes_max)
    }

    /// Creates a cache with a limit in bytes.
    pub fn new(bytes_max: usize) -> Self {
        let lists = Lists { bytes_max, bytes: 0, request_count: 0, lists: HashMap::new() };
        CompressedLists(Arc::new(Mutex::new(lists)))
    }

    fn with_lock<T>(&self, f: impl FnOnce(&mut Lists) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ListKey {
    /// Returns the cached items of the list.
    pub(crate) fn cached_items(&self) -> Option<DeflatedItems> {
        self.lists.with_lock(|lists| {
            lists.request_count += 1;
            let request_number = lists.request_count;
            let list = lists.lists.get_mut(&self.name).filter(|list| list.version == self.version)?;
            list.last_request = request_number;
            list.items.clone()
        })
    }

    /// Records a cache miss. From the second miss on, one request gets the right to fill the cache.
    pub(crate) fn miss(self) -> Option<CacheFill> {
        let again = self.lists.with_lock(|lists| {
            let version = self.version;
            let last_request = lists.request_count;
            match lists.lists.get_mut(&self.name) {
                Some(list) if list.version == version => {
                    let free = !list.filling && list.items.is_none();
                    list.filling |= free;
                    free
                }
                // A version older than the cached one is not cached.
                Some(list) if list.version > version => false,
                _ => {
                    lists.insert(&self.name, List { version, last_request, filling: false, items: None });
                    false
                }
            }
        });
        again.then(|| CacheFill { key: self, deflated: Vec::new() })
    }
}

impl Lists {
    fn insert(&mut self, name: &str, list: List) {
        self.remove(name);
        while self.lists.len() >= LISTS_MAX && self.evict() {}
        self.lists.insert(name.to_owned(), list);
    }

    fn remove(&mut self, name: &str) {
        let rest = self.lists.remove(name).and_then(|list| list.items);
        self.bytes -= rest.map_or(0, |rest| rest.deflated.len());
    }

    /// Evicts the least recently requested list. Returns false if there was none.
    fn evict(&mut self) -> bool {
        let oldest = self.lists.iter().min_by_key(|(_, list)| list.last_request);
        let Some(name) = oldest.map(|(name, _)| name.clone()) else { return false };
        self.remove(&name);
        true
    }

    /// Caches a list, unless it has changed meanwhile or exceeds the limit of the whole cache.
    fn store(&mut self, name: &str, version: i64, items: DeflatedItems) {
        let len = items.deflated.len();
        let Some(list) = self.lists.get(name).filter(|list| list.version == version) else { return };
        if len > self.bytes_max || list.items.is_some() {
            return;
        }
        let last_request = list.last_request;
        self.remove(name);
        while self.bytes + len > self.bytes_max && self.evict() {}
        self.bytes += len;
        self.lists
            .insert(name.to_owned(), List { version, last_request, filling: false, items: Some(items) });
    }
}

/// Right to fill the cache for a list, with the bytes so far.
pub(crate) struct CacheFill {
    key: ListKey,
    deflated: Vec<u8>,
}

impl CacheFill {
    /// Adds a piece. Returns false if the list is too large.
    fn add(&mut self, piece: &[u8]) -> bool {
        self.deflated.extend_from_slice(piece);
        self.deflated.len() <= self.key.lists.with_lock(|lists| lists.bytes_max)
    }

    fn store(&mut self, plain: Plain) {
        let rest = DeflatedItems { deflated: std::mem::take(&mut self.deflated).into(), plain };
        let ListKey { lists, name, version } = &self.key;
        lists.with_lock(|lists| lists.store(name, *version, rest));
    }
}

impl Drop for CacheFill {
    fn drop(&mut self) {
        let ListKey { lists, name, version } = &self.key;
        lists.with_lock(|lists| {
            if let Some(list) = lists.lists.get_mut(name).filter(|list| list.version == *version) {
                list.filling = false;
            }
        });
    }
}

/// Body that is compressed while it is sent.
pub(crate) struct CompressedSource<S> {
    /// Uncompressed bytes that were encoded to check that the body is large enough for compression.
    unsent: Vec<u8>,
    source: Option<S>,
    /// The gzip header and the deflated head, until they are sent.
    begin: Vec<u8>,
    head: Plain,
    deflate: Option<Deflate>,
    cache_fill: Option<CacheFill>,
}

impl<S: Source> CompressedSource<S> {
    /// Body of `made` and the remaining bytes of `source`. The first `head` bytes of `made` are the head.
    pub(crate) fn new(
        mut piece: Vec<u8>,
        head: usize,
        source: Option<S>,
        cache_fill: Option<CacheFill>,
    ) -> Self {
        let rest = piece.split_off(head);
        let (begin, head) = begin(&piece);
        CompressedSource { unsent: rest, source, begin, head, deflate: Some(Deflate::new()), cache_fill }
    }

    /// Compresses the next piece.
    fn next(&mut self) -> Option<Result<Bytes, BoxError>> {
        self.deflate.as_ref()?;
        let mut plain = std::mem::take(&mut self.unsent);
        if plain.is_empty()
            && let Some(source) = &mut self.source
        {
            plain.reserve(CHUNK_BYTES + CHUNK_BYTES / 8);
            match source.fill(&mut plain, CHUNK_BYTES) {
                Ok(true) => {}
                Ok(false) => self.source = None,
                Err(status) => {
                    self.deflate = None;
                    return Some(Err(abort_body(&status)));
                }
            }
        }
        let mut out = std::mem::take(&mut self.begin);
        let begin = out.len();
        if let Some(rest) = &mut self.deflate {
            rest.write(&plain, &mut out);
        }
        let end = self.source.is_none().then(|| self.deflate.take()).flatten();
        let end = end.map(|rest| rest.finish(&mut out));
        if let Some(remembering) = &mut self.cache_fill
            && !remembering.add(out.get(begin..).unwrap_or_default())
        {
            self.cache_fill = None;
        }
        if let Some(plain) = end {
            out.extend_from_slice(&trailer(&self.head, &plain));
            if let Some(mut remembering) = self.cache_fill.take() {
                remembering.store(plain);
            }
        }
        Some(Ok(out.into()))
    }
}

/// Returns the gzip header and the deflated head.
fn begin(head: &[u8]) -> (Vec<u8>, Plain) {
    let mut out = HEADER.to_vec();
    let mut deflate = Deflate::new();
    deflate.write(head, &mut out);
    let plain = deflate.flush(&mut out);
    (out, plain)
}

impl<S: Source + Unpin> Body for CompressedSource<S> {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match self.next() {
            // The compressor buffers its input, so a piece can be empty. Empty frames are not sent.
            Some(Ok(bytes)) if bytes.is_empty() => yield_now(context),
            bytes => Poll::Ready(bytes.map(|bytes| bytes.map(Frame::data))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.deflate.is_none()
    }
}

/// Cached compressed items behind a new head.
pub(crate) struct CachedBody(std::array::IntoIter<Bytes, 3>);

impl CachedBody {
    pub(crate) fn new(head: &[u8], rest: DeflatedItems) -> Self {
        let (begin, head) = begin(head);
        let trailer = trailer(&head, &rest.plain);
        CachedBody([begin.into(), rest.deflated, Bytes::copy_from_slice(&trailer)].into_iter())
    }
}

impl Body for CachedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        Poll::Ready(self.0.next().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.len() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_slice().iter().map(|piece| piece.len() as u64).sum())
    }
}

#[cfg(test)]
mod tests;
