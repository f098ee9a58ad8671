//! The state of a resource at one revision: persistent trees, so that a copy is free and a change copies only
//! its path.

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use storage::Revision;

use super::{Arrival, Change, Frames, KeyChange};
use crate::list::OBJECTS_AT_ONCE;
use crate::memo::Budget;
use crate::{Element, Error, Items, ListQuery, Page, Predicate, Scope};
use storage::tree::{Cursor, Keyed, Tree};

/// The state of a resource at one revision. Immutable; it keeps all of its objects alive.
#[derive(Debug, Clone)]
pub struct Snapshot {
    revision: Revision,
    next: u64,
    by_key: Tree<Arc<Element>>,
    /// Total size of all elements in bytes.
    bytes: usize,
    value_bytes: usize,
    index: Option<Index>,
    /// The unreadable elements for which lists fail. They are in `by_key` too.
    corrupt: Tree<Arc<Element>>,
    /// The unreadable elements that lists leave out. They are in `by_key` too.
    left_out: Tree<Arc<Element>>,
}

/// The elements by the value of one header field, then by key.
#[derive(Debug, Clone)]
struct Index {
    field: usize,
    by_term: Tree<IndexEntry>,
}

#[derive(Debug, Clone)]
pub(crate) struct IndexEntry {
    element: Arc<Element>,
    field: usize,
}

impl Keyed for Element {
    type Key<'a> = &'a str;

    fn key(&self) -> &str {
        Element::key(self)
    }

    fn compare(&self, key: &&str) -> Ordering {
        Element::key(self).cmp(key)
    }
}

impl Keyed for IndexEntry {
    type Key<'a> = (&'a str, &'a str);

    fn key(&self) -> (&str, &str) {
        (self.element.header().field(self.field), self.element.key())
    }

    fn compare(&self, key: &(&str, &str)) -> Ordering {
        self.key().cmp(key)
    }
}

impl Index {
    fn new(field: usize, elements: &[Arc<Element>]) -> Self {
        let indexed = |element: &Arc<Element>| IndexEntry { element: Arc::clone(element), field };
        let mut entries: Vec<IndexEntry> = elements.iter().map(indexed).collect();
        entries.sort_by(|a, b| a.key().cmp(&b.key()));
        Index { field, by_term: Tree::from_sorted(entries) }
    }

    fn put(&mut self, element: &Arc<Element>, prev: Option<&Element>) {
        let term = element.header().field(self.field);
        if let Some(prev) = prev.filter(|prev| prev.header().field(self.field) != term) {
            self.remove(prev);
        }
        self.by_term.insert(IndexEntry { element: Arc::clone(element), field: self.field });
    }

    fn remove(&mut self, element: &Element) {
        self.by_term.remove((element.header().field(self.field), element.key()));
    }
}

impl Snapshot {
    /// A snapshot of elements sorted by key, at `revision`.
    pub(crate) fn from_elements(
        elements: Vec<Arc<Element>>,
        revision: Revision,
        index: Option<usize>,
    ) -> Self {
        let index = index.map(|field| Index::new(field, &elements));
        let unreadable = |left_out| {
            let unreadable = elements.iter().filter(|element| element.value().is_err());
            Tree::from_sorted(unreadable.filter(|element| element.is_left_out() == left_out).cloned())
        };
        let corrupt = unreadable(false);
        let left_out = unreadable(true);
        let bytes = elements.iter().map(|element| element.size()).sum();
        let value_bytes = elements.iter().map(|element| element.value_bytes()).sum();
        Snapshot {
            revision,
            next: 0,
            by_key: Tree::from_sorted(elements),
            bytes,
            value_bytes,
            index,
            corrupt,
            left_out,
        }
    }

    /// The revision of the resource's last change, or of the initial list if it has not changed since. A
    /// query selects the same items in all snapshots with the same revision.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Total length of all values in bytes.
    pub(crate) fn value_bytes(&self) -> usize {
        self.value_bytes
    }

    /// Total memory size of all objects in bytes: see [`Element::size`].
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Number of objects with keys in `low..high`. A `term` restricts it to objects with this value of the
    /// indexed field; it is ignored without an index.
    pub(crate) fn count(&self, low: &str, high: &str, term: Option<&str>) -> usize {
        match (self.index.as_ref(), term) {
            (Some(index), Some(term)) => {
                index.by_term.count(Bound::Included((term, low)), Bound::Excluded((term, high)))
            }
            _ => self.by_key.count(Bound::Included(low), Bound::Excluded(high)),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    pub fn get(&self, key: &str) -> Option<&Arc<Element>> {
        self.by_key.get(key)
    }

    /// All objects, in byte order of keys.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Element>> {
        self.by_key.iter()
    }

    /// The log position after the last change.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Sets the log position.
    pub(crate) fn with_position(mut self, next: u64) -> Arc<Self> {
        self.next = next;
        Arc::new(self)
    }

    /// The same state at a later revision. There must be no changes in between.
    pub(crate) fn as_of(&self, revision: Revision) -> Self {
        Snapshot { revision, next: 0, ..self.clone() }
    }

    /// All unreadable elements.
    pub(crate) fn unreadable(&self) -> impl Iterator<Item = &Arc<Element>> {
        self.corrupt.iter().chain(self.left_out.iter())
    }

    /// Number of unreadable elements.
    pub(crate) fn unreadable_len(&self) -> usize {
        self.corrupt.len() + self.left_out.len()
    }

    /// Lists the objects, or a page of them, with the revision `revision`. Without a limit, items are
    /// selected during iteration. With a limit, only the page is scanned; long scans yield.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if a value in the range is unreadable and may not be left out.
    pub async fn list(self: &Arc<Self>, query: &ListQuery, revision: Revision) -> Result<Page, Error> {
        if query.limit > 0 {
            return self.page(query, revision).await;
        }
        let start = query.start.as_deref();
        let left_out = self.left_out(&query.scope, start, None)?;
        let items = Items::selected(Arc::clone(self), query);
        Ok(Page { items, revision, next: None, remaining: None, left_out })
    }

    async fn page(&self, query: &ListQuery, revision: Revision) -> Result<Page, Error> {
        let start = query.start.as_deref();
        let mut walk = self.walk(&query.scope, start, &query.predicate);
        let all = walk.remaining();
        let mut items = Vec::with_capacity(all.min(query.limit));
        let mut looked_at = 0_usize;
        while items.len() < query.limit
            && let Some(element) = walk.next()
        {
            if query.predicate.matches(element) {
                items.push(Arc::clone(element));
            }
            looked_at += 1;
            if looked_at.is_multiple_of(OBJECTS_AT_ONCE) {
                tokio::task::yield_now().await;
            }
        }
        let more = walk.remaining() > 0;
        let last = items.last().filter(|_| more).map(|element| element.key());
        let left_out = self.left_out(&query.scope, start, last)?;
        let next = last.map(|key| format!("{key}\0"));
        let has_count = next.is_some() && query.predicate.has_no_selectors();
        let remaining = has_count.then(|| all.saturating_sub(query.limit) as u64);
        let items = Items::listed(items).with_version(self.revision);
        Ok(Page { items, revision, next, remaining, left_out })
    }

    /// Walks the elements of a scope from `start` on, in order of keys. The predicate only determines if the
    /// index is used; the caller must match the elements.
    pub(crate) fn walk(&self, scope: &Scope, start: Option<&str>, predicate: &Predicate) -> Walk {
        let range = Range::new(scope, start);
        let (low, high) = range.bounds();
        let indexed = self.index.as_ref().and_then(|index| Some((index, predicate.required(index.field)?)));
        match indexed {
            Some((index, term)) => {
                let of_term = |key| (term, key);
                Walk::ByTerm(index.by_term.cursor(low.map(of_term), high.map(of_term)))
            }
            None => Walk::ByKey(self.by_key.cursor(low, high)),
        }
    }

    /// Number of elements in the range (up to `last`, inclusive, if there is one) that a list leaves out.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for the first unreadable value in the range that may not be left out.
    pub(crate) fn left_out(
        &self,
        scope: &Scope,
        start: Option<&str>,
        last: Option<&str>,
    ) -> Result<usize, Error> {
        if self.corrupt.is_empty() && self.left_out.is_empty() {
            return Ok(0);
        }
        let range = Range::new(scope, start);
        let (low, high) = range.bounds();
        let high = last.map_or(high, Bound::Included);
        if let Some(corrupt) = self.corrupt.range(low, high).next() {
            corrupt.readable()?;
        }
        Ok(self.left_out.count(low, high))
    }

    /// Adds or removes a changed element to or from the unreadable ones.
    fn sort_unreadable(&mut self, element: &Arc<Element>) {
        self.forget_unreadable(element.key());
        if element.value().is_err() {
            let unreadable = if element.is_left_out() { &mut self.left_out } else { &mut self.corrupt };
            unreadable.insert(Arc::clone(element));
        }
    }

    fn forget_unreadable(&mut self, key: &str) {
        for unreadable in [&mut self.corrupt, &mut self.left_out] {
            if !unreadable.is_empty() {
                unreadable.remove(key);
            }
        }
    }

    fn put(&mut self, element: Arc<Element>) -> Option<Arc<Element>> {
        self.bytes += element.size();
        self.value_bytes += element.value_bytes();
        let prev = self.by_key.insert(Arc::clone(&element));
        self.bytes -= prev.as_ref().map_or(0, |prev| prev.size());
        self.value_bytes -= prev.as_ref().map_or(0, |prev| prev.value_bytes());
        if let Some(index) = &mut self.index {
            index.put(&element, prev.as_deref());
        }
        self.sort_unreadable(&element);
        prev
    }

    fn remove(&mut self, key: &str) -> Option<Arc<Element>> {
        let prev = self.by_key.remove(key)?;
        self.bytes -= prev.size();
        self.value_bytes -= prev.value_bytes();
        if let Some(index) = &mut self.index {
            index.remove(&prev);
        }
        self.forget_unreadable(key);
        Some(prev)
    }
}

/// Applies a batch. Returns the new state and the changes, each with the previous element. Changes that are
/// not newer than the state, and deletions of missing keys, are skipped.
pub(crate) fn advance(
    state: &Snapshot,
    batch: Vec<KeyChange>,
    frames: &Arc<Budget>,
    arrival: Arrival,
) -> (Snapshot, Vec<Arc<Change>>) {
    let mut next = state.clone();
    let mut changes = Vec::with_capacity(batch.len());
    for incoming in batch {
        let revision = incoming.revision();
        if revision <= state.revision {
            continue;
        }
        let (prev, new) = match incoming {
            KeyChange::Put(element) => (next.put(Arc::clone(&element)), Some(element)),
            KeyChange::Delete { key, .. } => match next.remove(&key) {
                Some(prev) => (Some(prev), None),
                None => continue,
            },
        };
        next.revision = revision;
        changes.push(Arc::new(Change { revision, new, prev, arrival, frames: Frames::new(frames) }));
    }
    (next, changes)
}

/// Undoes `changes`, newest first. `revision` is that of the last change before them.
pub(crate) fn rewind<'a>(
    state: &Snapshot,
    changes: impl Iterator<Item = &'a Change>,
    revision: Revision,
) -> Snapshot {
    let mut previous = state.clone();
    previous.revision = revision;
    for change in changes {
        match &change.prev {
            Some(prev) => drop(previous.put(Arc::clone(prev))),
            None => drop(previous.remove(change.key())),
        }
    }
    previous
}

/// A walk over the elements of a range. Holds the snapshot and no lock.
pub(crate) enum Walk {
    ByKey(Cursor<Arc<Element>>),
    ByTerm(Cursor<IndexEntry>),
}

impl Walk {
    pub(crate) fn next(&mut self) -> Option<&Arc<Element>> {
        match self {
            Walk::ByKey(cursor) => cursor.next(),
            Walk::ByTerm(cursor) => cursor.next().map(|entry| &entry.element),
        }
    }

    /// Number of elements left in the walk, matching or not: an upper bound of the remaining items.
    pub(crate) fn remaining(&self) -> usize {
        match self {
            Walk::ByKey(cursor) => cursor.remaining(),
            Walk::ByTerm(cursor) => cursor.remaining(),
        }
    }
}

/// The keys of a scope from a start on.
struct Range<'a> {
    low: &'a str,
    end: End<'a>,
}

enum End<'a> {
    Key(&'a str),
    Before(String),
}

impl<'a> Range<'a> {
    fn new(scope: &'a Scope, start: Option<&'a str>) -> Self {
        let low = start.map_or(&*scope.prefix, |start| start.max(&scope.prefix));
        let end = if scope.exact { End::Key(&scope.prefix) } else { End::Before(prefix_end(&scope.prefix)) };
        Range { low, end }
    }

    fn bounds(&self) -> (Bound<&str>, Bound<&str>) {
        let high = match &self.end {
            End::Key(key) => Bound::Included(*key),
            End::Before(end) => Bound::Excluded(&**end),
        };
        (Bound::Included(self.low), high)
    }
}

/// The least string that is greater than all strings with the prefix. Prefixes end in `/`, and `0` is the
/// next character.
fn prefix_end(prefix: &str) -> String {
    match prefix.strip_suffix('/') {
        Some(directory) => format!("{directory}0"),
        None => format!("{prefix}{}", char::MAX),
    }
}
