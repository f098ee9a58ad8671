//! Queries and results of lists.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use storage::Revision;

use crate::core::{Selection, Snapshot, Walk};
use crate::{Element, Freshness, Predicate, Scope};

/// Maximum number of objects to scan without yielding if they do not match: less than 1 ms of work.
pub const OBJECTS_AT_ONCE: usize = 5_000;

#[derive(Debug, Clone)]
pub struct ListQuery {
    pub scope: Scope,
    /// First key (inclusive), for continued lists.
    pub start: Option<String>,
    /// Maximum number of items; 0 for all.
    pub limit: usize,
    pub freshness: Freshness,
    pub predicate: Predicate,
}

/// A list, or a page of one.
#[derive(Debug)]
pub struct Page {
    /// Items in byte order of keys.
    pub items: Items,
    /// The revision of the list. Every page of a list has the same revision.
    pub revision: Revision,
    /// First key of the next page; `None` for the last page.
    pub next: Option<String>,
    /// Number of items after this page, if available (never with a predicate).
    pub remaining: Option<u64>,
    /// Number of unreadable objects in the range of the page that are left out: see [`Damage`](crate::Damage).
    /// It is unknown if the predicate would match them.
    pub left_out: usize,
}

/// The items of a page. They can be iterated several times, always with the same result. A clone shares the
/// items.
#[derive(Debug, Clone)]
pub struct Items {
    source: Source,
    version: Option<Revision>,
}

#[derive(Clone)]
enum Source {
    Listed(Arc<[Arc<Element>]>),
    Selected(Arc<SelectedItems>),
}

/// Items that are selected from a snapshot during iteration.
struct SelectedItems {
    snapshot: Arc<Snapshot>,
    selection: Selection,
    start: Option<String>,
}

impl Items {
    pub fn listed(items: Vec<Arc<Element>>) -> Self {
        Items { source: Source::Listed(items.into()), version: None }
    }

    /// The items that a query selects from a snapshot, without its limit.
    pub(crate) fn selected(snapshot: Arc<Snapshot>, query: &ListQuery) -> Self {
        let version = Some(snapshot.revision());
        let scope = query.scope.clone();
        let predicate = query.predicate.clone();
        let selection = Selection { scope, predicate, lenient: false };
        let selected = SelectedItems { snapshot, selection, start: query.start.clone() };
        Items { source: Source::Selected(Arc::new(selected)), version }
    }

    pub(crate) fn with_version(mut self, version: Revision) -> Self {
        self.version = Some(version);
        self
    }

    /// Cache key of the items: the same query on the same resource returns the same items as long as the
    /// version is the same. It does not change while the resource does not change, even if the revision of
    /// the list advances. `None` if not available.
    pub fn version(&self) -> Option<Revision> {
        self.version
    }

    /// Upper bound of the number of items: the number of objects to scan.
    pub fn len_max(&self) -> usize {
        match &self.source {
            Source::Listed(items) => items.len(),
            Source::Selected(selected) => selected.walk().remaining(),
        }
    }

    /// Iterates over the items from the first one.
    pub fn iter(&self) -> ItemsIter {
        ItemsIter(match &self.source {
            Source::Listed(items) => Pass::Listed(Arc::clone(items), 0),
            Source::Selected(selected) => Pass::Selected(Arc::clone(selected), selected.walk()),
        })
    }
}

impl SelectedItems {
    fn walk(&self) -> Walk {
        let Selection { scope, predicate, .. } = &self.selection;
        self.snapshot.walk(scope, self.start.as_deref(), predicate)
    }
}

/// Iterator over [`Items`]. Holds no lock.
pub struct ItemsIter(Pass);

enum Pass {
    /// The items and the current position.
    Listed(Arc<[Arc<Element>]>, usize),
    Selected(Arc<SelectedItems>, Walk),
}

impl ItemsIter {
    /// Calls `look` with the next items until it breaks or no items are left. Items are borrowed: concurrent
    /// readers do not contend for reference counts as they do with `next`.
    pub fn visit(&mut self, look: impl FnMut(&Arc<Element>) -> ControlFlow<()>) {
        self.visit_some(usize::MAX, look);
    }

    /// Like [`visit`](Self::visit), but scans at most `objects_max` objects, including those that do not
    /// match. Returns true if no items are left.
    pub fn visit_some(
        &mut self,
        objects_max: usize,
        mut look: impl FnMut(&Arc<Element>) -> ControlFlow<()>,
    ) -> bool {
        for _ in 0..objects_max {
            let (element, is_selected) = match &mut self.0 {
                Pass::Listed(items, passed) => {
                    let Some(element) = items.get(*passed) else { return true };
                    *passed += 1;
                    (element, true)
                }
                Pass::Selected(selected, walk) => {
                    let Some(element) = walk.next() else { return true };
                    (element, selected.selection.predicate.matches(element))
                }
            };
            if is_selected && look(element).is_break() {
                return false;
            }
        }
        false
    }
}

impl Iterator for ItemsIter {
    type Item = Arc<Element>;

    fn next(&mut self) -> Option<Arc<Element>> {
        let mut next = None;
        self.visit(|element| {
            next = Some(Arc::clone(element));
            ControlFlow::Break(())
        });
        next
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Listed(items) => f.debug_tuple("Listed").field(&items.len()).finish(),
            Source::Selected(selected) => f.debug_tuple("Selected").field(&selected.selection).finish(),
        }
    }
}

impl fmt::Debug for ItemsIter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ItemsIter").finish_non_exhaustive()
    }
}
