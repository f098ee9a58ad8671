//! The routing table, row by row.

use super::*;
use crate::{Field, FieldTerm, Predicate, Scope};

const FIVE: Option<&str> = Some("/r/x\0");

fn query(freshness: Freshness, start: Option<&str>, limit: usize) -> ListQuery {
    ListQuery {
        scope: Scope { prefix: "/r/".to_owned(), exact: false },
        start: start.map(str::to_owned),
        limit,
        freshness,
        predicate: Predicate::default(),
    }
}

fn selective(mut query: ListQuery) -> ListQuery {
    let term = FieldTerm { field: Field::Name, equal: true, value: "x".to_owned() };
    query.predicate.fields = [term].into_iter().collect();
    query
}

fn named(query: ListQuery) -> ListQuery {
    let scope = Scope { prefix: "/r/x".to_owned(), exact: true };
    ListQuery { scope, ..selective(query) }
}

#[test]
fn lists_follow_the_table() {
    use Freshness::{Consistent, Exact, NotOlderThan};
    use ListRoute::{AtRevision, Current, NotReady, Storage};
    use RequiredFreshness::{Any, Latest, Revision};
    let check = |query: ListQuery, when_ready: ListRoute, when_not: ListRoute| {
        assert_eq!(list(&query, true), when_ready, "{query:?}");
        assert_eq!(list(&query, false), when_not, "{query:?}");
    };
    // resourceVersion "": consistent, with and without limit, and the inconsistent continuation.
    check(query(Consistent, None, 0), Current(Latest), NotReady);
    check(query(Consistent, None, 5), Current(Latest), Storage);
    check(query(Consistent, FIVE, 5), Current(Latest), Storage);
    // A continued list, and resourceVersion N with a limit or with match Exact.
    check(query(Exact(7), FIVE, 5), AtRevision(7), Storage);
    check(query(Exact(7), FIVE, 0), AtRevision(7), NotReady);
    check(query(Exact(7), None, 5), AtRevision(7), Storage);
    check(query(Exact(7), None, 0), AtRevision(7), NotReady);
    // resourceVersion "0", and N without a limit or with match NotOlderThan.
    check(query(NotOlderThan(0), None, 0), Current(Any), NotReady);
    check(query(NotOlderThan(0), None, 5), Current(Any), Storage);
    check(query(NotOlderThan(7), None, 0), Current(Revision(7)), NotReady);
    check(query(NotOlderThan(7), None, 5), Current(Revision(7)), Storage);
    // Lists with selectors never go to storage.
    check(selective(query(Consistent, None, 5)), Current(Latest), NotReady);
    check(selective(query(Exact(7), FIVE, 5)), AtRevision(7), NotReady);
    check(selective(query(NotOlderThan(0), None, 5)), Current(Any), NotReady);
    // One object by name: past states come from storage, even if the cache is ready.
    check(named(query(Consistent, None, 5)), Current(Latest), NotReady);
    check(named(query(NotOlderThan(7), None, 0)), Current(Revision(7)), NotReady);
    check(named(query(Exact(7), None, 0)), Storage, Storage);
    check(named(query(Exact(7), FIVE, 5)), Storage, Storage);
    check(named(query(Consistent, FIVE, 5)), Storage, Storage);
}

#[test]
fn any_state_lists_ignore_the_limit() {
    let check = |freshness, expected| assert_eq!(limit(&query(freshness, None, 5)), expected);
    check(Freshness::NotOlderThan(0), 0);
    check(Freshness::NotOlderThan(7), 5);
    check(Freshness::Consistent, 5);
    check(Freshness::Exact(7), 5);
}
