//! Lists of a snapshot.

use std::ops::ControlFlow;
use std::task::{Context, Poll, Waker};

use super::*;
use crate::OBJECTS_AT_ONCE;

const OBJECTS: [(&str, Revision, &str); 7] = [
    ("a-b/1", 1, "n1 x"),
    ("a/1", 2, "n1 x"),
    ("a/2", 3, "n2 x"),
    ("a/3", 4, "n1 y"),
    ("ab/1", 5, "n1 x"),
    ("ab/2", 6, "n2 y"),
    ("b/1", 7, "n1 x"),
];

#[test]
fn lists_are_filtered_and_sorted_by_key() {
    let snapshot = filled(Limits::default(), &OBJECTS, 10).snapshot().unwrap();
    let check = |scope: &str, node: &str, app: &str, start: Option<&str>, expected: &[&str]| {
        let start = start.map(|start| format!("{PODS}{start}"));
        let query = query(&select(scope, node, app), start.as_deref(), 0);
        let page = list(&snapshot, &query, 12).unwrap();
        assert_eq!(names(page.items.iter()), expected, "{scope} {node} {app} {start:?}");
        assert_eq!((page.revision, page.next, page.remaining), (12, None, None));
        assert_eq!(page.items.version(), Some(10));
    };
    check(PODS, "", "", None, &["a-b/1", "a/1", "a/2", "a/3", "ab/1", "ab/2", "b/1"]);
    check("/r/pods/a/", "", "", None, &["a/1", "a/2", "a/3"]);
    check("/r/pods/a-b/", "", "", None, &["a-b/1"]);
    check("/r/pods/none/", "", "", None, &[]);
    check("/r/pods/a/2", "", "", None, &["a/2"]);
    check("/r/pods/a/2", "n1", "", None, &[]);
    check("/r/pods/a/9", "", "", None, &[]);
    check(PODS, "n2", "", None, &["a/2", "ab/2"]);
    check(PODS, "n2", "x", None, &["a/2"]);
    check(PODS, "", "y", None, &["a/3", "ab/2"]);
    check("/r/pods/ab/", "n2", "", None, &["ab/2"]);
    check(PODS, "n1", "", Some("a/1\0"), &["a/3", "ab/1", "b/1"]);
    check("/r/pods/a/", "", "", Some("a/2"), &["a/2", "a/3"]);
    check("/r/pods/a/", "", "", Some("b/1"), &[]);
    check("/r/pods/a/", "", "", Some("a-b/1"), &["a/1", "a/2", "a/3"]);
}

#[test]
fn pages_have_next_key_and_remaining_count() {
    let snapshot = filled(Limits::default(), &OBJECTS, 10).snapshot().unwrap();
    let check = |node: &str, app: &str, limit, expected: &[&str], next: Option<&str>, remaining| {
        let query = query(&select(PODS, node, app), None, limit);
        let page = list(&snapshot, &query, 12).unwrap();
        assert_eq!(names(page.items.iter()), expected, "{node} {app} {limit}");
        assert_eq!(page.next, next.map(|next| format!("{PODS}{next}")), "{node} {app} {limit}");
        assert_eq!(page.remaining, remaining, "{node} {app} {limit}");
    };
    check("", "", 2, &["a-b/1", "a/1"], Some("a/1\0"), Some(5));
    check("", "", 7, &["a-b/1", "a/1", "a/2", "a/3", "ab/1", "ab/2", "b/1"], None, None);
    check("", "y", 1, &["a/3"], Some("a/3\0"), None);
    // No further object matches, but this is not checked.
    check("", "y", 2, &["a/3", "ab/2"], Some("ab/2\0"), None);
    check("", "y", 3, &["a/3", "ab/2"], None, None);
    check("n2", "", 1, &["a/2"], Some("a/2\0"), None);
    check("n2", "", 2, &["a/2", "ab/2"], None, None);
}

#[test]
fn items_can_be_iterated_repeatedly() {
    let cache = filled(Limits::default(), &OBJECTS, 10);
    let page = list(&cache.snapshot().unwrap(), &query(&select(PODS, "", "x"), None, 0), 10).unwrap();
    let mut pass = page.items.iter();
    let first = pass.next().unwrap();
    change(&cache, "a/1", 11, None);
    change(&cache, "ab/1", 12, Some("n9 x"));
    let expected = listed(page.items.iter());
    assert_eq!(expected.len(), 5);
    assert_eq!(listed([first].into_iter().chain(pass)), expected);
    assert_eq!(page.items.len_max(), 7);
}

#[test]
fn visit_stops_on_break_and_resumes() {
    let snapshot = filled(Limits::default(), &OBJECTS, 10).snapshot().unwrap();
    for limit in [0, 100] {
        let page = list(&snapshot, &query(&select(PODS, "n1", ""), None, limit), 10).unwrap();
        let mut pass = page.items.iter();
        let mut visits = Vec::new();
        for _ in 0..3 {
            let mut names = Vec::new();
            pass.visit(|element| {
                names.push(element.name().to_owned());
                if names.len() == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            visits.push(names);
        }
        assert_eq!(visits, [vec!["1", "1"], vec!["3", "1"], vec!["1"]], "limit {limit}");
    }
}

#[test]
fn visit_scans_at_most_objects_max() {
    let snapshot = filled(Limits::default(), &OBJECTS, 10).snapshot().unwrap();
    let page = list(&snapshot, &query(&select(PODS, "", "x"), None, 0), 10).unwrap();
    let mut pass = page.items.iter();
    let mut names = Vec::new();
    let mut visits = 1;
    let mut look = |pass: &mut crate::ItemsIter| {
        pass.visit_some(2, |element| {
            names.push(element.name().to_owned());
            ControlFlow::Continue(())
        })
    };
    while !look(&mut pass) {
        visits += 1;
    }
    assert_eq!((names.len(), visits), (5, page.items.len_max() / 2 + 1));
    assert!(pass.next().is_none());
}

#[test]
fn long_scans_yield_and_complete() {
    let keys: Vec<String> = (0..2 * OBJECTS_AT_ONCE + 10).map(|number| format!("a/{number:06}")).collect();
    let objects: Vec<_> =
        keys.iter().map(|key| (key.as_str(), 5, "n1 x")).chain([("b/1", 6, "n1 y")]).collect();
    let snapshot = filled(Limits::default(), &objects, 10).snapshot().unwrap();
    let query = query(&select(PODS, "", "y"), None, 1);
    let mut page = Box::pin(snapshot.list(&query, 10));
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..2 {
        assert!(page.as_mut().poll(&mut context).is_pending());
    }
    let Poll::Ready(page) = page.as_mut().poll(&mut context) else { panic!("it gives way too often") };
    assert_eq!(names(page.unwrap().items.iter()), ["b/1"]);
}

#[test]
fn unreadable_objects_concern_lists_in_range() {
    for value in ["broken", "unserved"] {
        concerns_lists_in_range(value);
    }
}

/// Checks lists with an unreadable value. A malformed one is left out; for another one, lists fail.
fn concerns_lists_in_range(unreadable: &'static str) {
    let mut objects = OBJECTS;
    objects[3].2 = unreadable;
    let cache = filled(Limits::default(), &objects, 10);
    let check = |scope: &str, node: &str, start: Option<&str>, limit, fails: bool| {
        let start = start.map(|start| format!("{PODS}{start}"));
        let query = query(&select(scope, node, ""), start.as_deref(), limit);
        let left_out = match list(&cache.snapshot().unwrap(), &query, 10) {
            Err(Error::Corrupt { key, .. }) if unreadable == "unserved" => usize::from(key == "/r/pods/a/3"),
            Ok(page) => page.left_out,
            Err(other) => panic!("{other:?}"),
        };
        assert_eq!(left_out, usize::from(fails), "{scope} {node} {start:?} {limit}");
    };
    check(PODS, "", None, 0, true);
    check("/r/pods/a/", "", None, 0, true);
    check("/r/pods/ab/", "", None, 0, false);
    check("/r/pods/a/3", "", None, 0, true);
    check("/r/pods/a/2", "", None, 0, false);
    check(PODS, "n2", None, 0, true);
    check(PODS, "", None, 3, false);
    check(PODS, "", None, 4, true);
    check(PODS, "", Some("a/3\0"), 0, false);
    change(&cache, "a/3", 11, Some("n1 y"));
    check(PODS, "", None, 0, false);
    change(&cache, "a/3", 12, Some(unreadable));
    check(PODS, "", None, 0, true);
    change(&cache, "a/3", 13, None);
    check(PODS, "", None, 0, false);
}

#[test]
fn cache_is_ready_between_fill_and_reset() {
    let cache = Cache::new(CacheConfig::new(PODS, None), Instant::now());
    assert!(cache.snapshot().is_none() && cache.snapshot_at(1).is_none());
    cache.apply(vec![put("/r/pods/a/1", 5, "n")], Instant::now());
    assert!(cache.snapshot().is_none());
    cache.fill(vec![element("/r/pods/a/1", 5, "n")], 6, Vec::new(), Instant::now());
    assert_eq!(cache.snapshot().unwrap().len(), 1);
    cache.reset(Some("gap".to_owned()), Instant::now());
    assert!(cache.snapshot().is_none() && cache.snapshot_at(6).is_none());
    let Error::NotReady { reason, .. } = cache.not_ready(Instant::now()) else { panic!() };
    assert_eq!(reason.as_deref(), Some("gap"));
}

#[test]
fn changes_during_fill_are_applied() {
    let cache = Cache::new(CacheConfig::new(PODS, None), Instant::now());
    let elements = vec![element("/r/pods/a/1", 5, "n"), element("/r/pods/a/2", 6, "n")];
    let later = vec![delete("/r/pods/a/3", 6), delete("/r/pods/a/1", 7), put("/r/pods/a/4", 8, "n")];
    cache.fill(elements, 6, later, Instant::now());
    let snapshot = cache.snapshot().unwrap();
    assert_eq!(names(snapshot.iter().cloned()), ["a/2", "a/4"]);
    assert_eq!((snapshot.revision(), cache.stats().log_length), (8, 2));
    assert_eq!(names(cache.snapshot_at(7).unwrap().iter().cloned()), ["a/2"]);
}

#[test]
fn superseded_and_unused_forms_are_dropped() {
    let cache = filled(Limits::default(), &OBJECTS, 10);
    let budget = Budget::new(1000);
    let former = cache.snapshot().unwrap();
    for object in former.iter() {
        let form = object.memo().shared(1, &budget, || Ok::<_, ()>(bytes::Bytes::from_static(b"form")));
        form.unwrap();
    }
    assert_eq!(budget.used(), 28);
    change(&cache, "a/1", 11, Some("n1 x"));
    change(&cache, "a/2", 12, None);
    assert_eq!(budget.used(), 20);
    let old = former.get("/r/pods/a/1").unwrap().memo();
    old.shared(1, &budget, || Ok::<_, ()>(bytes::Bytes::from_static(b"form"))).unwrap();
    assert_eq!(budget.used(), 20, "nothing of the past is kept again");
    for expected in [20, 0] {
        budget.next_epoch();
        assert_eq!(cache.sweep(&budget), 6, "every object is examined");
        assert_eq!(budget.used(), expected);
    }
    assert_eq!(cache.sweep(&budget), 0, "no form is cached");
}
