//! Claims about gets and lists.

use std::sync::Arc;

use super::*;
use crate::{Error, Freshness, ListQuery, Page};

const ALL: Freshness = Freshness::Consistent;

fn query(limit: usize, freshness: Freshness, filter: Option<Filter>) -> ListQuery {
    ListQuery { prefix: PREFIX.to_owned(), start: None, limit, freshness, filter }
}

fn names(page: &Page) -> Vec<&str> {
    page.items.iter().map(|kv| kv.key.strip_prefix(PREFIX).unwrap()).collect()
}

async fn five() -> Arc<Recorded> {
    Recorded::with(&[("a", "yes"), ("b", "no"), ("c", "yes"), ("d", "no"), ("e", "yes")]).await
}

#[tokio::test]
async fn a_page_says_where_the_next_one_starts_and_what_remains() {
    let check = async |limit, filter, expected: (&[&str], Option<&str>, Option<u64>)| {
        let page = delegator(&five().await).list(&query(limit, ALL, filter)).await.unwrap();
        let next = page.next.as_deref().map(|key| key.strip_prefix(PREFIX).unwrap());
        assert_eq!((&*names(&page), next, page.remaining), expected, "limit {limit}");
    };
    check(0, None, (&["a", "b", "c", "d", "e"], None, None)).await;
    check(2, None, (&["a", "b"], Some("b\0"), Some(3))).await;
    check(5, None, (&["a", "b", "c", "d", "e"], None, None)).await;
    check(9, None, (&["a", "b", "c", "d", "e"], None, None)).await;
    check(0, Some(yes()), (&["a", "c", "e"], None, None)).await;
    check(1, Some(yes()), (&["a"], Some("a\0"), None)).await;
    check(2, Some(yes()), (&["a", "c"], Some("c\0"), None)).await;
    check(3, Some(yes()), (&["a", "c", "e"], None, None)).await;
}

#[tokio::test]
async fn following_next_visits_every_wanted_key_once() {
    for limit in 1..=6 {
        for (filter, expected) in
            [(None, &["a", "b", "c", "d", "e"][..]), (Some(yes()), &["a", "c", "e"][..])]
        {
            let delegator = delegator(&five().await);
            let mut query = query(limit, ALL, filter);
            let mut seen = Vec::new();
            loop {
                let page = delegator.list(&query).await.unwrap();
                seen.extend(names(&page).into_iter().map(str::to_owned));
                query.freshness = Freshness::Exact(page.revision);
                query.start = page.next;
                if query.start.is_none() {
                    break;
                }
            }
            assert_eq!(seen, expected, "limit {limit}");
        }
    }
}

#[tokio::test]
async fn a_continued_page_counts_only_what_is_after_it() {
    let mut query = query(2, ALL, None);
    query.start = Some(format!("{PREFIX}b\0"));
    let page = delegator(&five().await).list(&query).await.unwrap();
    assert_eq!((&*names(&page), page.remaining), (&["c", "d"][..], Some(1)));
}

#[tokio::test]
async fn reads_double_while_a_filter_drops_everything() {
    let pairs: Vec<(String, &str)> =
        (0..10).map(|n| (format!("{n}"), if n == 9 { "yes" } else { "no" })).collect();
    let pairs: Vec<(&str, &str)> = pairs.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let store = Recorded::with(&pairs).await;
    let page = delegator(&store).list(&query(1, ALL, Some(yes()))).await.unwrap();
    assert_eq!(names(&page), ["9"]);
    let limits: Vec<usize> = store.reads().iter().map(|(limit, _)| *limit).collect();
    assert_eq!(limits, [1, 2, 4, 8]);
}

#[tokio::test]
async fn all_reads_of_one_list_are_at_one_revision() {
    let store = five().await;
    let page = delegator(&store).list(&query(2, ALL, Some(yes()))).await.unwrap();
    let revisions: Vec<Revision> = store.reads().iter().map(|(_, revision)| *revision).collect();
    assert_eq!(revisions, [0, page.revision]);
}

#[tokio::test]
async fn keys_of_a_longer_sibling_prefix_are_not_listed() {
    let store = Recorded::with(&[("a", "yes")]).await;
    store.memory.put("/pq/a", Bytes::from_static(b"yes"), 0, None).await.unwrap();
    assert_eq!(names(&delegator(&store).list(&query(0, ALL, None)).await.unwrap()), ["a"]);
}

#[tokio::test]
async fn an_exact_list_shows_the_past_and_its_revision() {
    let store = Recorded::with(&[("a", "yes")]).await;
    let then = store.memory.current_revision().await.unwrap();
    store.set("b", Some("yes")).await;
    let page = delegator(&store).list(&query(0, Freshness::Exact(then), None)).await.unwrap();
    assert_eq!((&*names(&page), page.revision), (&["a"][..], then));
}

#[tokio::test]
async fn a_list_not_older_than_the_past_shows_the_present() {
    let store = Recorded::with(&[("a", "yes")]).await;
    let then = store.memory.current_revision().await.unwrap();
    let now = store.set("b", Some("yes")).await;
    let page = delegator(&store).list(&query(0, Freshness::NotOlderThan(then), None)).await.unwrap();
    assert_eq!((&*names(&page), page.revision), (&["a", "b"][..], now));
}

#[tokio::test]
async fn a_revision_that_is_not_reached_is_refused() {
    let store = Recorded::with(&[("a", "yes")]).await;
    let now = store.memory.current_revision().await.unwrap();
    for freshness in [Freshness::NotOlderThan(now + 1), Freshness::Exact(now + 1)] {
        let error = delegator(&store).list(&query(0, freshness, None)).await.unwrap_err();
        assert!(
            matches!(error, Error::FutureRevision { requested, current } if (requested, current) == (now + 1, now)),
            "{freshness:?}: {error:?}"
        );
    }
    let error = delegator(&store).get("/p/a", Freshness::NotOlderThan(now + 1)).await.unwrap_err();
    assert!(matches!(error, Error::FutureRevision { .. }), "{error:?}");
}

#[tokio::test]
async fn a_list_at_a_compacted_revision_is_refused() {
    let store = Recorded::with(&[("a", "yes"), ("b", "yes")]).await;
    let then = store.memory.current_revision().await.unwrap();
    let now = store.set("c", Some("yes")).await;
    store.memory.compact(now).await.unwrap();
    let error = delegator(&store).list(&query(0, Freshness::Exact(then), None)).await.unwrap_err();
    assert!(matches!(error, Error::Storage(storage::Error::Compacted { .. })), "{error:?}");
}

#[tokio::test]
async fn one_value_that_a_filter_cannot_read_fails_the_list() {
    let store = Recorded::with(&[("a", "yes"), ("b", "broken")]).await;
    let error = delegator(&store).list(&query(0, ALL, Some(yes()))).await.unwrap_err();
    assert!(matches!(&error, Error::Corrupt { key, .. } if key == "/p/b"), "{error:?}");
}
