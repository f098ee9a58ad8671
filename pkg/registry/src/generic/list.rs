//! Lists and pages, with the freshness rules of `resourceVersion` and `resourceVersionMatch`.

use api::options::ListOptions;
use apimachinery::status::Status;
use cacher::{Freshness, ListQuery, Page};
use storage::Error as StorageError;

use super::{Registry, Result, Target, error, filter};
use crate::Stored;
use crate::continue_token::ContinueToken;

/// A list, or a page of one.
pub struct ListPage {
    /// In byte order of storage keys.
    pub items: Vec<Stored>,
    /// The list's resource version.
    pub revision: i64,
    /// Token for the next page; empty when this is the last.
    pub continue_token: String,
    /// Items after this page, where that is known.
    pub remaining: Option<u64>,
}

impl Registry {
    /// Lists a collection. `options` have passed validation; selectors are in them, parsed.
    ///
    /// # Errors
    /// 400 for a bad version or token, 410 for one that is too old, 504 for one from the future.
    pub async fn list(&self, target: &Target<'_>, options: &ListOptions) -> Result<ListPage> {
        let storage = self.storage_of(target, "list")?;
        let namespace = filter::namespace_of(target, options);
        let prefix = self.key_prefix(storage, &namespace);
        let token = match options.continue_token.as_str() {
            "" => None,
            text => Some(
                ContinueToken::decode(text)
                    .map_err(|e| bad_request(format!("invalid continue token: {e}")))?,
            ),
        };
        let freshness = freshness(options, token.as_ref())?;
        if let (Some(name), None) = (filter::name_of(options), &token)
            && (!target.row.namespaced || !namespace.is_empty())
        {
            return self.list_one(target, options, &(prefix + name), freshness).await;
        }
        let query = ListQuery {
            start: token.as_ref().map(|t| format!("{prefix}{}", t.start)),
            // A server that answers from its cache ignores the limit at version 0; clients rely on it.
            limit: usize::try_from(if options.resource_version == "0" { 0 } else { options.limit })
                .unwrap_or(0),
            freshness,
            filter: filter::of(target.row, options),
            prefix,
        };
        let page = match self.delegator.list(&query).await {
            Ok(page) => page,
            Err(cacher::Error::Storage(StorageError::Compacted { .. })) if token.is_some() => {
                return Err(expired(token.map_or(String::new(), |t| t.start)));
            }
            Err(e) => return Err(error::read(&target.group_resource(), "list", e)),
        };
        Ok(page_of(page, &query.prefix))
    }

    /// A list of the one object with a known key: empty when it is not there.
    async fn list_one(
        &self,
        target: &Target<'_>,
        options: &ListOptions,
        key: &str,
        freshness: Freshness,
    ) -> Result<ListPage> {
        let lookup = self.delegator.get(key, freshness).await;
        let lookup = lookup.map_err(|e| error::read(&target.group_resource(), "list", e))?;
        let mut items = Vec::new();
        if let Some(kv) = lookup.kv {
            let wanted = match filter::of(target.row, options) {
                Some(filter) => filter(&kv).map_err(|message| error::corrupt(&kv.key, &message))?,
                None => true,
            };
            if wanted {
                items.push(Stored { key: kv.key, value: kv.value, revision: kv.mod_revision });
            }
        }
        let revision = match freshness {
            Freshness::Exact(revision) => revision,
            _ => lookup.revision,
        };
        Ok(ListPage { items, revision, continue_token: String::new(), remaining: None })
    }
}

fn page_of(page: Page, prefix: &str) -> ListPage {
    let continue_token = match page.next.as_deref().and_then(|next| next.strip_prefix(prefix)) {
        Some(start) => ContinueToken { revision: page.revision, start: start.to_owned() }.encode(),
        None => String::new(),
    };
    let items = page
        .items
        .into_iter()
        .map(|kv| Stored { key: kv.key, value: kv.value, revision: kv.mod_revision })
        .collect();
    ListPage { items, revision: page.revision, continue_token, remaining: page.remaining }
}

fn bad_request(message: String) -> Box<Status> {
    Status::bad_request(message).into()
}

/// The routing table of list freshness (upstream's `storage/interfaces.go` and `cacher/delegator`).
fn freshness(options: &ListOptions, token: Option<&ContinueToken>) -> Result<Freshness> {
    let version = options.resource_version.as_str();
    let parsed = super::revision(version)
        .map_err(|e| bad_request(apimachinery::resource_version::invalid_message(&e)))?;
    if let Some(token) = token {
        if parsed != 0 {
            return Err(bad_request(
                "specifying resource version is not allowed when using continue".to_owned(),
            ));
        }
        return Ok(if token.revision > 0 { Freshness::Exact(token.revision) } else { Freshness::Consistent });
    }
    Ok(match (version, options.resource_version_match.as_str()) {
        ("", _) => Freshness::Consistent,
        (_, "Exact") => Freshness::Exact(parsed),
        (_, "NotOlderThan") | ("0", _) => Freshness::NotOlderThan(parsed),
        _ if options.limit > 0 => Freshness::Exact(parsed),
        _ => Freshness::NotOlderThan(parsed),
    })
}

/// 410 with a token that goes on at the latest revision.
fn expired(start: String) -> Box<Status> {
    let mut status = Status::expired(error::CONTINUE_TOO_OLD);
    status.metadata.continue_token = ContinueToken { revision: -1, start }.encode();
    status.into()
}
