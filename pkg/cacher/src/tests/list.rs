//! Gets and lists.

use super::*;
use crate::Error;

const ALL: Freshness = Freshness::Consistent;

fn query(limit: usize, freshness: Freshness, predicate: Predicate) -> ListQuery {
    ListQuery { scope: everything(), start: None, limit, freshness, predicate }
}

async fn five() -> Arc<Recorded> {
    Recorded::with(&[("a", "yes"), ("b", "no"), ("c", "yes"), ("d", "no"), ("e", "yes")]).await
}

#[tokio::test]
async fn pages_have_next_key_and_remaining_count() {
    let check = async |limit, predicate, expected: (&[&str], Option<&str>, Option<u64>)| {
        let page = uncached(&five().await).list(&query(limit, ALL, predicate)).await.unwrap();
        let next = page.next.as_deref().map(|key| key.strip_prefix(PREFIX).unwrap());
        let names = names(&page);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!((&*names, next, page.remaining), expected, "limit {limit}");
    };
    check(0, any(), (&["a", "b", "c", "d", "e"], None, None)).await;
    check(2, any(), (&["a", "b"], Some("b\0"), Some(3))).await;
    check(5, any(), (&["a", "b", "c", "d", "e"], None, None)).await;
    check(9, any(), (&["a", "b", "c", "d", "e"], None, None)).await;
    check(0, yes(), (&["a", "c", "e"], None, None)).await;
    check(1, yes(), (&["a"], Some("a\0"), None)).await;
    check(2, yes(), (&["a", "c"], Some("c\0"), None)).await;
    check(3, yes(), (&["a", "c", "e"], None, None)).await;
}

#[tokio::test]
async fn pagination_visits_every_key_once() {
    for limit in 1..=6 {
        for (predicate, expected) in [(any(), &["a", "b", "c", "d", "e"][..]), (yes(), &["a", "c", "e"][..])]
        {
            let reader = uncached(&five().await);
            let mut query = query(limit, ALL, predicate);
            let mut listed = Vec::new();
            loop {
                let page = reader.list(&query).await.unwrap();
                listed.extend(names(&page));
                query.freshness = Freshness::Exact(page.revision);
                query.start = page.next;
                if query.start.is_none() {
                    break;
                }
            }
            assert_eq!(listed, expected, "limit {limit}");
        }
    }
}

#[tokio::test]
async fn remaining_counts_only_later_keys() {
    let mut query = query(2, ALL, any());
    query.start = Some(format!("{PREFIX}b\0"));
    let page = uncached(&five().await).list(&query).await.unwrap();
    assert_eq!((names(&page), page.remaining), (vec!["c".to_owned(), "d".to_owned()], Some(1)));
}

#[tokio::test]
async fn page_size_doubles_while_nothing_matches() {
    let pairs: Vec<(String, &str)> =
        (0..10).map(|n| (format!("{n}"), if n == 9 { "yes" } else { "no" })).collect();
    let pairs: Vec<(&str, &str)> = pairs.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let store = Recorded::with(&pairs).await;
    let page = uncached(&store).list(&query(1, ALL, yes())).await.unwrap();
    assert_eq!(names(&page), ["9"]);
    let limits: Vec<usize> = store.reads().iter().map(|(limit, _)| *limit).collect();
    assert_eq!(limits, [1, 2, 4, 8]);
}

#[tokio::test]
async fn reads_of_one_list_share_a_revision() {
    let store = five().await;
    let page = uncached(&store).list(&query(2, ALL, yes())).await.unwrap();
    let revisions: Vec<Revision> = store.reads().iter().map(|(_, revision)| *revision).collect();
    assert_eq!(revisions, [0, page.revision]);
}

#[tokio::test]
async fn longer_sibling_prefixes_are_not_listed() {
    let store = Recorded::with(&[("a", "yes")]).await;
    store.memory.put("/r/pq/a", Bytes::from_static(b"yes"), 0, None).await.unwrap();
    assert_eq!(names(&uncached(&store).list(&query(0, ALL, any())).await.unwrap()), ["a"]);
}

#[tokio::test]
async fn exact_lists_return_past_state_and_revision() {
    let store = Recorded::with(&[("a", "yes")]).await;
    let old_revision = store.memory.current_revision().await.unwrap();
    store.set("b", Some("yes")).await;
    let page = uncached(&store).list(&query(0, Freshness::Exact(old_revision), any())).await.unwrap();
    assert_eq!(names(&page), ["a"]);
    assert_eq!(page.revision, old_revision);
}

#[tokio::test]
async fn not_older_than_lists_return_the_present() {
    let store = Recorded::with(&[("a", "yes")]).await;
    let old_revision = store.memory.current_revision().await.unwrap();
    let now = store.set("b", Some("yes")).await;
    let page = uncached(&store).list(&query(0, Freshness::NotOlderThan(old_revision), any())).await.unwrap();
    assert_eq!(names(&page), ["a", "b"]);
    assert_eq!(page.revision, now);
}

#[tokio::test]
async fn future_revisions_are_rejected() {
    let store = Recorded::with(&[("a", "yes")]).await;
    let now = store.memory.current_revision().await.unwrap();
    for freshness in [Freshness::NotOlderThan(now + 1), Freshness::Exact(now + 1)] {
        let error = uncached(&store).list(&query(0, freshness, any())).await.unwrap_err();
        assert!(
            matches!(error, Error::FutureRevision { requested, current, retry_after_seconds: 0 } if (requested, current) == (now + 1, now)),
            "{freshness:?}: {error:?}"
        );
    }
    let error = uncached(&store).get("/r/p/a", Freshness::NotOlderThan(now + 1)).await.unwrap_err();
    assert!(matches!(error, Error::FutureRevision { .. }), "{error:?}");
}

#[tokio::test]
async fn compacted_revisions_are_rejected() {
    let store = Recorded::with(&[("a", "yes"), ("b", "yes")]).await;
    let old_revision = store.memory.current_revision().await.unwrap();
    let now = store.set("c", Some("yes")).await;
    store.memory.compact(now).await.unwrap();
    let error = uncached(&store).list(&query(0, Freshness::Exact(old_revision), any())).await.unwrap_err();
    assert!(matches!(error, Error::Storage(storage::Error::Compacted { .. })), "{error:?}");
}

#[tokio::test]
async fn malformed_value_is_left_out_of_pages() {
    let store = Recorded::with(&[("a", "yes"), ("b", "broken"), ("c", "yes")]).await;
    for limit in [0, 2, 3] {
        let page = uncached(&store).list(&query(limit, ALL, yes())).await.unwrap();
        assert_eq!((page.items.iter().count(), page.left_out), (2, 1), "{limit}");
    }
}

#[tokio::test]
async fn unserved_value_fails_the_list() {
    let store = Recorded::with(&[("a", "yes"), ("b", "unserved")]).await;
    let error = uncached(&store).list(&query(0, ALL, yes())).await.unwrap_err();
    assert!(matches!(&error, Error::Corrupt { key, .. } if key == "/r/p/b"), "{error:?}");
}
