//! Routing table of reads (upstream's `cacher/delegator.go` and `delegator/interface.go`; KEP-2340, KEP-4568,
//! KEP-4988). Pure.

use storage::Revision;

use crate::{Freshness, ListQuery};

/// Freshness that the cache needs to serve a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequiredFreshness {
    Any,
    /// All writes acknowledged before the request.
    Latest,
    /// All changes up to the client's revision.
    Revision(Revision),
}

/// Source of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListRoute {
    Storage,
    /// The current state of the cache, once it is fresh enough.
    Current(RequiredFreshness),
    /// The cache's state at a revision, or storage if it is too old.
    AtRevision(Revision),
    /// No source: the client must retry when the cache is filled.
    NotReady,
}

/// The freshness needed by a read that is not of an exact past revision.
pub(super) fn required_freshness(freshness: Freshness) -> RequiredFreshness {
    match freshness {
        Freshness::Consistent => RequiredFreshness::Latest,
        Freshness::NotOlderThan(0) => RequiredFreshness::Any,
        Freshness::NotOlderThan(revision) | Freshness::Exact(revision) => {
            RequiredFreshness::Revision(revision)
        }
    }
}

/// Routes a list of a resource with a cache, which may be `ready` or not.
pub(super) fn list(query: &ListQuery, ready: bool) -> ListRoute {
    let exact = matches!(query.freshness, Freshness::Exact(_));
    if query.scope.exact && (exact || query.start.is_some()) {
        return ListRoute::Storage;
    }
    if !ready {
        // Paginated lists of everything are cheap for storage.
        let modest = !query.scope.exact && query.predicate.has_no_selectors() && query.limit > 0;
        return if modest { ListRoute::Storage } else { ListRoute::NotReady };
    }
    match query.freshness {
        Freshness::Exact(revision) => ListRoute::AtRevision(revision),
        freshness => ListRoute::Current(required_freshness(freshness)),
    }
}

/// The effective limit of a list from the cache. A client that accepts any state gets all items regardless of
/// its limit (upstream's `computeListLimit`).
pub(super) fn limit(query: &ListQuery) -> usize {
    if query.freshness == Freshness::NotOlderThan(0) { 0 } else { query.limit }
}

#[cfg(test)]
mod tests;
