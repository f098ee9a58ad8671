//! Lists and pages, with the freshness rules of `resourceVersion` and `resourceVersionMatch`.

use std::sync::Arc;

use api::options::ListOptions;
use apimachinery::sharding::Shards;
use apimachinery::status::Status;
use cacher::{Element, Freshness, Items, ListQuery, Page, Predicate};
use component_base::features::Gate;
use storage::Error as StorageError;

use super::convert::Conversion;
use super::filter::{self, Selection};
use super::{Registry, Result, StoredResource, Target, error, shards};
use crate::continue_token::ContinueToken;

/// Page of a list, at one revision.
#[derive(Debug)]
pub struct ListPage {
    /// In byte order of storage keys.
    pub items: Items,
    /// `metadata.resourceVersion` of the list.
    pub revision: i64,
    /// Token for the next page; empty on the last page.
    pub continue_token: String,
    /// Number of items after this page, if known.
    pub remaining: Option<u64>,
    /// Selector of the listed shards; empty for all.
    pub shard_selector: String,
    /// Number of unreadable objects in the range of the page that are left out: see [`cacher::Damage`].
    pub left_out: usize,
}

impl ListPage {
    /// Returns the page if no object is left out: for decisions that depend on every object.
    ///
    /// # Errors
    /// 500 if an object is left out.
    pub fn complete(self) -> Result<Self> {
        match self.left_out {
            0 => Ok(self),
            count => Err(Status::internal_error(format!("{count} stored objects cannot be decoded")).into()),
        }
    }

    /// Leaves out the objects that are nested too deeply for a tree.
    pub fn leave_out_deep(&mut self) {
        let is_deep = |element: &Arc<Element>| element.header().is_deep();
        let deep = self.items.iter().filter(is_deep).count();
        if deep > 0 {
            self.items = Items::listed(self.items.iter().filter(|element| !is_deep(element)).collect());
            self.left_out += deep;
        }
    }
}

impl Registry {
    /// Returns the requested shards, if the gate is enabled.
    ///
    /// # Errors
    /// 500 for an invalid selector, which upstream does not map.
    pub(super) fn shards(&self, options: &ListOptions) -> Result<Option<Shards>> {
        let text = options.shard_selector.as_str();
        if text.is_empty() || !self.gates().enabled(Gate::ShardedListAndWatch) {
            return Ok(None);
        }
        let shards = shards::parse(text)
            .map_err(|error| Status::unmapped(format!("invalid shard selector: {error}")))?;
        Ok(Some(shards))
    }

    /// Lists a collection. `options` are validated and contain the parsed selectors.
    ///
    /// # Errors
    /// 400 for an invalid version or token, 410 for one that is too old, 429 while the cache is being filled,
    /// 500 for an unreadable object that may not be left out, 504 for a future version.
    pub async fn list(&self, target: &Target<'_>, options: &ListOptions) -> Result<ListPage> {
        let storage = self.storage_of(target, "list")?;
        let stored = self.stored(storage)?;
        let shards = self.shards(options)?;
        let shard_selector = shards.as_ref().map(ToString::to_string).unwrap_or_default();
        let token = match options.continue_token.as_str() {
            "" => None,
            text => Some(
                ContinueToken::decode(text)
                    .map_err(|e| bad_request(format!("invalid continue token: {e}")))?,
            ),
        };
        let freshness = freshness(options, token.as_ref())?;
        let Selection { scope, predicate } = filter::of(target, &stored, options, token.is_some(), shards);
        stored.check(storage, &scope.prefix)?;
        // At version 0 a cache ignores the limit, and clients rely on that. The delegator handles the first
        // page. On later pages it only sees the token's version.
        let cached = stored.resource.cached_objects().is_some();
        let unlimited = token.is_some() && options.resource_version == "0" && cached;
        let limit = if unlimited { 0 } else { options.limit };
        let requested_scope = scope.clone();
        let prefix = &requested_scope.prefix;
        let query = ListQuery {
            start: token.as_ref().map(|t| format!("{prefix}{}", t.start)),
            limit: usize::try_from(limit).unwrap_or(0),
            freshness,
            predicate,
            scope,
        };
        let listed = match self.conversion(target.resource, storage)? {
            Some(conversion) => self.list_converted(&stored, query, &conversion).await?,
            None => self.delegator.list(&stored.resource, query).await,
        };
        match listed {
            Ok(page) => Ok(ListPage { shard_selector, ..page_of(page, prefix) }),
            Err(cacher::Error::Storage(StorageError::Compacted { .. }) | cacher::Error::TooOld { .. })
                if token.is_some() =>
            {
                Err(expired(token.map_or(String::new(), |t| t.start)))
            }
            Err(e) => Err(self.list_failed(target, &stored, &requested_scope, e).await),
        }
    }

    /// Lists objects in a version that needs a conversion. Selectors apply to converted objects, so objects
    /// are converted before they are selected, and pages are read until one is full.
    ///
    /// # Errors
    /// The failed conversion; within it, objects that cannot be decoded.
    async fn list_converted(
        &self,
        stored: &StoredResource,
        mut query: ListQuery,
        conversion: &Conversion,
    ) -> Result<std::result::Result<Page, cacher::Error>> {
        let everything = Predicate::default();
        // These selectors apply to stored objects.
        let predicate = if conversion.is_to_storage() {
            everything
        } else {
            std::mem::replace(&mut query.predicate, everything)
        };
        let mut matches = Vec::new();
        let mut left_out = 0;
        loop {
            let page = match self.delegator.list(&stored.resource, query.clone()).await {
                Ok(page) => page,
                Err(error) => return Ok(Err(error)),
            };
            let (deep, items): (Vec<_>, Vec<_>) =
                page.items.iter().partition(|element| conversion.is_impossible(element));
            left_out += page.left_out + deep.len();
            let items = conversion.elements(items, !predicate.is_everything()).await?;
            matches.extend(items.into_iter().filter(|item| predicate.matches(item)));
            let full = query.limit > 0 && matches.len() >= query.limit;
            let Page { revision, mut next, mut remaining, .. } = page;
            if next.is_some() && !full {
                query.start = next;
                query.freshness = Freshness::Exact(revision);
                continue;
            }
            if query.limit > 0 && matches.len() > query.limit {
                matches.truncate(query.limit);
                next = matches.last().map(|last| format!("{}\0", last.key()));
            }
            if !predicate.is_everything() {
                remaining = None;
            }
            return Ok(Ok(Page { items: Items::listed(matches), revision, next, remaining, left_out }));
        }
    }
}

fn page_of(page: Page, prefix: &str) -> ListPage {
    let continue_token = match page.next.as_deref().and_then(|next| next.strip_prefix(prefix)) {
        Some(start) => ContinueToken { revision: page.revision, start: start.to_owned() }.encode(),
        None => String::new(),
    };
    let Page { items, revision, remaining, left_out, .. } = page;
    ListPage { items, revision, continue_token, remaining, shard_selector: String::new(), left_out }
}

fn bad_request(message: String) -> Box<Status> {
    Status::bad_request(message).into()
}

/// Selects the freshness of a list (upstream's `storage/interfaces.go` and `cacher/delegator`).
fn freshness(options: &ListOptions, token: Option<&ContinueToken>) -> Result<Freshness> {
    let version = options.resource_version.as_str();
    if let Some(token) = token {
        if !matches!(version, "" | "0") {
            return Err(bad_request(
                "specifying resource version is not allowed when using continue".to_owned(),
            ));
        }
        return Ok(if token.revision > 0 { Freshness::Exact(token.revision) } else { Freshness::Consistent });
    }
    let parsed = super::revision(version)
        .map_err(|e| bad_request(apimachinery::resource_version::invalid_message(&e)))?;
    Ok(match (version, options.resource_version_match.as_str()) {
        ("", _) => Freshness::Consistent,
        (_, "Exact") => Freshness::Exact(parsed),
        (_, "NotOlderThan") | ("0", _) => Freshness::NotOlderThan(parsed),
        _ if options.limit > 0 => Freshness::Exact(parsed),
        _ => Freshness::NotOlderThan(parsed),
    })
}

/// 410 with a token that continues at the latest revision.
fn expired(start: String) -> Box<Status> {
    let mut status = Status::expired(error::CONTINUE_TOO_OLD);
    status.metadata.continue_token = ContinueToken { revision: -1, start }.encode();
    status.into()
}
