//! Lists: order, pages, and past revisions.

use futures::TryStreamExt;

use super::{TestPrefix, all_at_once, pairs};
use crate::{Error, ListOptions};

async fn create_all(prefix: &TestPrefix, names: &[&str]) {
    for name in names {
        prefix.create(name, name).await;
    }
}

fn names(prefix: &TestPrefix, listing: &crate::Listing) -> Vec<String> {
    pairs(prefix, listing).into_iter().map(|(name, _)| name).collect()
}

fn page(prefix: &TestPrefix, start: Option<&str>, limit: usize) -> ListOptions {
    ListOptions { start: start.map(|name| prefix.key(name)), limit, ..ListOptions::default() }
}

/// A prefix without keys has an empty list with a revision.
pub async fn a_list_of_nothing_is_empty(prefix: TestPrefix) {
    let listing = prefix.list(ListOptions::default()).await;
    assert_eq!((listing.kvs, listing.count), (vec![], 0));
    assert!(listing.revision > 0);
}

/// Keys are sorted by their bytes: '-' before '/' before '0', upper case before lower case.
pub async fn a_list_is_ordered_by_the_bytes_of_keys(prefix: TestPrefix) {
    create_all(&prefix, &["b", "a0/x", "a/z", "a-b/x", "a/x", "a.b/x", "B", "aé", "az"]).await;
    let listing = prefix.list(ListOptions::default()).await;
    let expected = ["B", "a-b/x", "a.b/x", "a/x", "a/z", "a0/x", "az", "aé", "b"];
    assert_eq!(names(&prefix, &listing), expected);
}

/// A key that merely starts with the name of a prefix does not belong to it.
pub async fn a_list_stays_below_its_prefix(prefix: TestPrefix) {
    create_all(&prefix, &["a", "a/1", "a/2/3", "ab", "ab/1", "a-b/1", "b/a/1"]).await;
    let listing = prefix.store.list(&prefix.key("a/"), ListOptions::default()).await.unwrap();
    assert_eq!(names(&prefix, &listing), ["a/1", "a/2/3"]);
    assert_eq!(listing.count, 2);
}

/// A page contains the first keys; the count is the number of all keys.
pub async fn limit_cuts_page_and_count_includes_rest(prefix: TestPrefix) {
    create_all(&prefix, &["a", "b", "c", "d", "e"]).await;
    for (limit, expected, more) in [(2, "ab", true), (5, "abcde", false), (9, "abcde", false)] {
        let listing = prefix.list(page(&prefix, None, limit)).await;
        assert_eq!(names(&prefix, &listing).concat(), expected, "limit {limit}");
        assert_eq!((listing.count, listing.has_more()), (5, more), "limit {limit}");
    }
}

/// The start is the first key, which need not exist; keys before it are not counted.
pub async fn start_is_inclusive_and_counted(prefix: TestPrefix) {
    create_all(&prefix, &["a", "b", "d", "e"]).await;
    for (start, expected) in [("b", "bde"), ("b\0", "de"), ("c", "de"), ("f", "")] {
        let listing = prefix.list(page(&prefix, Some(start), 0)).await;
        assert_eq!(names(&prefix, &listing).concat(), expected, "start {start:?}");
        assert_eq!(listing.count, expected.len() as u64, "start {start:?}");
    }
    let listing = prefix.list(page(&prefix, Some("b"), 1)).await;
    assert_eq!((names(&prefix, &listing).concat(), listing.count), ("b".to_owned(), 3));
}

/// An uncounted page still reports if keys remain.
pub async fn uncounted_page_reports_remaining_keys(prefix: TestPrefix) {
    create_all(&prefix, &["a", "b", "c", "d", "e"]).await;
    let all = prefix.list(ListOptions::default()).await;
    for (start, limit, expected, more) in [
        (None, 2, "ab", true),
        (Some("c"), 2, "cd", true),
        (Some("d"), 2, "de", false),
        (None, 0, "abcde", false),
    ] {
        for revision in [0, all.revision] {
            let options = ListOptions { revision, uncounted: true, ..page(&prefix, start, limit) };
            let listing = prefix.list(options).await;
            assert_eq!((&*names(&prefix, &listing).concat(), listing.has_more()), (expected, more));
            assert!(listing.count <= 5, "there are no more keys than that");
        }
    }
}

/// A list at a revision contains exactly the state of that revision.
pub async fn a_past_revision_shows_the_past(prefix: TestPrefix) {
    let a1 = prefix.create("a", "1").await;
    let b1 = prefix.create("b", "1").await;
    let a2 = prefix.update("a", "2", a1).await;
    let b2 = prefix.delete("b", b1).await;
    let c1 = prefix.create("c", "1").await;
    let b3 = prefix.create("b", "3").await;
    let cases: [(_, &[(&str, &str)]); 6] = [
        (a1, &[("a", "1")]),
        (b1, &[("a", "1"), ("b", "1")]),
        (a2, &[("a", "2"), ("b", "1")]),
        (b2, &[("a", "2")]),
        (c1, &[("a", "2"), ("c", "1")]),
        (b3, &[("a", "2"), ("b", "3"), ("c", "1")]),
    ];
    for (revision, expected) in cases {
        let listing = prefix.list_at(revision).await.unwrap();
        let expected: Vec<_> = expected.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        assert_eq!(pairs(&prefix, &listing), expected, "at {revision}");
        assert_eq!(listing.count, expected.len() as u64, "at {revision}");
        let newest = listing.kvs.iter().map(|kv| kv.mod_revision).max();
        assert!(newest <= Some(revision), "at {revision}");
    }
}

/// The revision of a list is the store's at the time of the read, also for lists of past revisions.
pub async fn a_list_carries_the_revision_of_the_store(prefix: TestPrefix) {
    let first = prefix.create("a", "1").await;
    let last = prefix.create("b", "1").await;
    assert!(prefix.list(ListOptions::default()).await.revision >= last);
    assert!(prefix.list_at(first).await.unwrap().revision >= last);
}

/// A future revision is rejected, and the error contains the store's revision.
pub async fn a_future_revision_cannot_be_listed(prefix: TestPrefix) {
    let last = prefix.create("a", "1").await;
    let future = last + 1_000_000;
    match prefix.list_at(future).await {
        Err(Error::FutureRevision { requested, current }) => {
            assert_eq!(requested, future);
            assert!((last..future).contains(&current), "current is {current}");
        }
        other => panic!("wanted FutureRevision, got {other:?}"),
    }
}

/// Pages at the first page's revision together are the state at that revision, regardless of writes in
/// between.
pub async fn pages_of_one_revision_are_consistent(prefix: TestPrefix) {
    for i in 0..10 {
        prefix.create(&format!("{i}"), "old").await;
    }
    let mut options = page(&prefix, None, 3);
    let mut listed = Vec::new();
    let mut round = 0;
    loop {
        let listing = prefix.list(options.clone()).await;
        if options.revision == 0 {
            options.revision = listing.revision;
        }
        listed.extend(pairs(&prefix, &listing));
        assert_eq!(listing.count as usize + listed.len() - listing.kvs.len(), 10);
        if !listing.has_more() {
            break;
        }
        options.start = listing.kvs.last().map(|kv| format!("{}\0", kv.key));
        // Before the page, after it, and new.
        let behind = format!("{round}");
        let ahead = format!("{}", 9 - round);
        for (name, delete) in [(behind, false), (ahead, true)] {
            let at = prefix.get(&name).await.unwrap().mod_revision;
            if delete {
                prefix.delete(&name, at).await;
            } else {
                prefix.update(&name, "new", at).await;
            }
        }
        prefix.create(&format!("5{round}"), "new").await;
        round += 1;
    }
    let expected: Vec<_> = (0..10).map(|i| (i.to_string(), "old".to_owned())).collect();
    assert_eq!(listed, expected);
}

/// Thousands of keys: all listed, in order, at once and in pages.
pub async fn many_keys_are_listed_and_counted(prefix: TestPrefix) {
    const KEYS: usize = 3_000;
    const WRITERS: usize = 30;
    let writers = (0..WRITERS).map(|writer| {
        let prefix = prefix.clone();
        async move {
            for i in (writer..KEYS).step_by(WRITERS) {
                prefix.create(&format!("{i:05}"), "v").await;
            }
        }
    });
    all_at_once(writers).await;
    let expected: Vec<_> = (0..KEYS).map(|i| format!("{i:05}")).collect();
    let all = prefix.list(ListOptions::default()).await;
    assert_eq!(names(&prefix, &all), expected);
    assert_eq!(prefix.store.count(&prefix.path).await.unwrap(), KEYS as u64);

    let mut listed = Vec::new();
    let mut options = page(&prefix, None, 700);
    loop {
        let listing = prefix.list(options.clone()).await;
        listed.extend(names(&prefix, &listing));
        options.revision = all.revision;
        options.start = listing.kvs.last().map(|kv| format!("{}\0", kv.key));
        if !listing.has_more() {
            break;
        }
    }
    assert_eq!(listed, expected);
}

/// A store with streams sends the same pairs as in a list: from a start, at a past revision.
pub async fn streams_equal_lists(prefix: TestPrefix) {
    let names: Vec<String> = (0..100).map(|number| format!("{number:03}")).collect();
    create_all(&prefix, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let past = prefix.list(ListOptions::default()).await;
    prefix.create("999", "later").await;
    for (start, revision) in [("", past.revision), ("050", past.revision), ("050\0", 0)] {
        let opened = prefix.store.list_stream(&prefix.path, &prefix.key(start), revision).await.unwrap();
        let Some(stream) = opened else { return };
        assert!(stream.revision == revision || revision == 0 && stream.revision > past.revision);
        let options = ListOptions { revision: stream.revision, ..page(&prefix, Some(start), 0) };
        let chunks: Vec<_> = stream.chunks.try_collect().await.unwrap();
        assert_eq!(chunks.concat(), prefix.list(options).await.kvs, "{start:?} at {revision}");
    }
}
