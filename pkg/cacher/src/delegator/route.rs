//! The table that says what answers a read (upstream's `cacher/delegator.go` and
//! `delegator/interface.go`; KEP-2340, KEP-4568, KEP-4988). Pure.

use storage::Revision;

use crate::{Freshness, ListQuery};

/// What the cache must have before it may answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// Nothing: any state will do.
    Nothing,
    /// Everything that was acknowledged before the request.
    Latest,
    /// Everything up to a revision that the client named.
    Revision(Revision),
}

/// What answers a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListRoute {
    /// Storage.
    Storage,
    /// The cache as it is once it has what is needed.
    Current(Need),
    /// The cache as it was at a revision, or storage if that is too long ago.
    At(Revision),
    /// Nobody: come back when the cache is filled.
    NotReady,
}

/// What a read that is not of an exact past needs.
pub(super) fn need(freshness: Freshness) -> Need {
    match freshness {
        Freshness::Consistent => Need::Latest,
        Freshness::NotOlderThan(0) => Need::Nothing,
        Freshness::NotOlderThan(revision) | Freshness::Exact(revision) => Need::Revision(revision),
    }
}

/// Decides about a list of a resource that has a cache, `ready` or not.
pub(super) fn list(query: &ListQuery, ready: bool) -> ListRoute {
    let exact = matches!(query.freshness, Freshness::Exact(_));
    if query.scope.exact && (exact || query.start.is_some()) {
        return ListRoute::Storage;
    }
    if !ready {
        // Whoever pages through everything costs storage little at a time.
        let modest = !query.scope.exact && query.predicate.has_no_selectors() && query.limit > 0;
        return if modest { ListRoute::Storage } else { ListRoute::NotReady };
    }
    match query.freshness {
        Freshness::Exact(revision) => ListRoute::At(revision),
        freshness => ListRoute::Current(need(freshness)),
    }
}

/// How many items a list from the cache has at most: a client that takes any state gets all of it,
/// whatever limit it sets (upstream's `computeListLimit`).
pub(super) fn limit(query: &ListQuery) -> usize {
    if query.freshness == Freshness::NotOlderThan(0) { 0 } else { query.limit }
}

#[cfg(test)]
mod tests;
