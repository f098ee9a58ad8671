//! Lists from storage: pages, selectors, and what is left (upstream's `etcd3.store.GetList`).

use storage::{KeyValue, ListOptions, Listing, Revision};

use crate::{Delegator, Error, Filter, Freshness};

/// The largest page read from the store at once while a selector drops most of it.
const PAGE_MAX: usize = 10_000;

/// What to list.
#[derive(Clone)]
pub struct ListQuery {
    /// Keys below this prefix, which ends in `/`.
    pub prefix: String,
    /// First key wanted (inclusive), for continued lists.
    pub start: Option<String>,
    /// At most so many items; 0 for all.
    pub limit: usize,
    /// How fresh.
    pub freshness: Freshness,
    /// Which pairs are wanted; `None` for all.
    pub filter: Option<Filter>,
}

/// A list, or a page of one.
#[derive(Debug)]
pub struct Page {
    /// In byte order of keys.
    pub items: Vec<KeyValue>,
    /// The revision of the list. Every page of one list has the same.
    pub revision: Revision,
    /// Where the next page starts; `None` when this is the last.
    pub next: Option<String>,
    /// How many items remain after this page, where that is known (never with a filter).
    pub remaining: Option<u64>,
}

impl Delegator {
    /// Lists a prefix.
    ///
    /// # Errors
    /// As the store; [`Error::FutureRevision`] when it is older than asked for; [`Error::Corrupt`]
    /// when the filter cannot read a value, for one such value fails the whole list.
    pub async fn list(&self, query: &ListQuery) -> Result<Page, Error> {
        let exact = match query.freshness {
            Freshness::Exact(revision) => revision,
            _ => 0,
        };
        let mut page = Page { items: Vec::new(), revision: exact, next: None, remaining: None };
        let mut limit = query.limit;
        let mut start = query.start.clone();
        loop {
            let options = ListOptions { start: start.clone(), limit, revision: page.revision };
            let listing = self.store.list(&query.prefix, options).await?;
            fresh_enough(query.freshness, &listing)?;
            if page.revision == 0 {
                page.revision = listing.revision;
            }
            let (more, count, read) = (listing.more(), listing.count, listing.kvs.len());
            let last = listing.kvs.last().map(|kv| kv.key.clone());
            let wanted = keep(listing.kvs, query, &mut page.items)?;
            let after = wanted.or(if more { last } else { None }).map(|key| key + "\0");
            let full = query.limit > 0 && page.items.len() >= query.limit;
            if after.is_none() || full || read == 0 {
                page.remaining = match (&after, &query.filter) {
                    (Some(_), None) => Some(count.saturating_sub(read as u64)),
                    _ => None,
                };
                page.next = after;
                return Ok(page);
            }
            start = after;
            limit = limit.saturating_mul(2).clamp(1, PAGE_MAX.max(query.limit));
        }
    }
}

fn fresh_enough(freshness: Freshness, listing: &Listing) -> Result<(), Error> {
    match freshness {
        Freshness::NotOlderThan(wanted) if wanted > listing.revision => {
            Err(Error::FutureRevision { requested: wanted, current: listing.revision })
        }
        _ => Ok(()),
    }
}

/// Moves the wanted pairs into `items` up to the limit. When pairs are left over that were not
/// looked at, returns the key of the last one that was.
fn keep(kvs: Vec<KeyValue>, query: &ListQuery, items: &mut Vec<KeyValue>) -> Result<Option<String>, Error> {
    let Some(filter) = &query.filter else {
        items.extend(kvs);
        return Ok(None);
    };
    let mut kvs = kvs.into_iter().peekable();
    while let Some(kv) = kvs.next() {
        let matches = filter(&kv).map_err(|message| Error::Corrupt { key: kv.key.clone(), message })?;
        let key = (query.limit > 0 && matches).then(|| kv.key.clone());
        if matches {
            items.push(kv);
        }
        if query.limit > 0 && items.len() >= query.limit && kvs.peek().is_some() {
            return Ok(key);
        }
    }
    Ok(None)
}
