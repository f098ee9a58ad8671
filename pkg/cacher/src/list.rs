//! What a list asks for and what it gives.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use storage::Revision;

use crate::core::{Selection, Snapshot, Walk};
use crate::{Element, Freshness, Predicate, Scope};

/// So many objects are looked at in one go, if they are not wanted: less than a millisecond of work.
pub const OBJECTS_AT_ONCE: usize = 5_000;

/// What to list.
#[derive(Debug, Clone)]
pub struct ListQuery {
    /// Which keys.
    pub scope: Scope,
    /// First key wanted (inclusive), for continued lists.
    pub start: Option<String>,
    /// At most so many items; 0 for all.
    pub limit: usize,
    /// How fresh.
    pub freshness: Freshness,
    /// Which elements are wanted.
    pub predicate: Predicate,
}

/// A list, or a page of one.
#[derive(Debug)]
pub struct Page {
    /// In byte order of keys.
    pub items: Items,
    /// The revision of the list. Every page of one list has the same.
    pub revision: Revision,
    /// Where the next page starts; `None` when this is the last.
    pub next: Option<String>,
    /// How many items remain after this page, where that is known (never with a predicate).
    pub remaining: Option<u64>,
}

/// The items of a page. They can be gone through several times; each pass shows the same. A clone
/// shares them.
#[derive(Debug, Clone)]
pub struct Items {
    source: Source,
    version: Option<Revision>,
}

#[derive(Clone)]
enum Source {
    Listed(Arc<[Arc<Element>]>),
    Selected(Arc<Selected>),
}

/// Items that are looked for in a snapshot when they are wanted.
struct Selected {
    snapshot: Arc<Snapshot>,
    selection: Selection,
    start: Option<String>,
}

impl Items {
    /// These items.
    pub fn listed(items: Vec<Arc<Element>>) -> Self {
        Items { source: Source::Listed(items.into()), version: None }
    }

    /// What a query selects from a snapshot, its limit aside.
    pub(crate) fn selected(snapshot: Arc<Snapshot>, query: &ListQuery) -> Self {
        let version = Some(snapshot.revision());
        let (scope, predicate) = (query.scope.clone(), query.predicate.clone());
        let selection = Selection { scope, predicate, lenient: false };
        let selected = Selected { snapshot, selection, start: query.start.clone() };
        Items { source: Source::Selected(Arc::new(selected)), version }
    }

    /// The same items, known to be those of a version.
    pub(crate) fn with_version(mut self, version: Revision) -> Self {
        self.version = Some(version);
        self
    }

    /// What the items depend on besides the query: the same scope, start, limit and predicate on the
    /// same resource give the same items whenever the version is the same. It stays while the resource
    /// does not change, though the revision of the list moves on. `None` where that is not known.
    pub fn version(&self) -> Option<Revision> {
        self.version
    }

    /// At most so many items there are. It is the number of objects to be looked at.
    pub fn len_max(&self) -> usize {
        match &self.source {
            Source::Listed(items) => items.len(),
            Source::Selected(selected) => selected.walk().remaining(),
        }
    }

    /// Goes through the items from the first on, at the pace of the reader.
    pub fn iter(&self) -> ItemsIter {
        ItemsIter(match &self.source {
            Source::Listed(items) => Pass::Listed(Arc::clone(items), 0),
            Source::Selected(selected) => Pass::Selected(Arc::clone(selected), selected.walk()),
        })
    }
}

impl Selected {
    fn walk(&self) -> Walk {
        let Selection { scope, predicate, .. } = &self.selection;
        self.snapshot.walk(scope, self.start.as_deref(), predicate)
    }
}

/// A pass through [`Items`]. Holds no lock.
pub struct ItemsIter(Pass);

enum Pass {
    /// The items and how many of them have been passed.
    Listed(Arc<[Arc<Element>]>, usize),
    Selected(Arc<Selected>, Walk),
}

impl ItemsIter {
    /// Shows the next items until `look` has seen enough or there are none left. They are lent: many
    /// readers of the same objects do not meet in reference counts, as they do with `next`.
    pub fn visit(&mut self, look: impl FnMut(&Arc<Element>) -> ControlFlow<()>) {
        self.visit_some(usize::MAX, look);
    }

    /// The same, but no more than `objects_max` objects are looked at, most of which may not be wanted. Returns
    /// whether there are none left.
    pub fn visit_some(
        &mut self,
        objects_max: usize,
        mut look: impl FnMut(&Arc<Element>) -> ControlFlow<()>,
    ) -> bool {
        for _ in 0..objects_max {
            let (element, wanted) = match &mut self.0 {
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
            if wanted && look(element).is_break() {
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
