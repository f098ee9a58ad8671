//! DELETE of a collection: deletes all objects of a list, one after the other.

use api::options::ListOptions;
use apimachinery::status::Reason;
use cacher::Items;

use super::read::suggestion;
use super::{DeleteRequest, ListPage, Registry, Result, Target};

/// Number of objects per page (upstream's page size).
const PAGE: i64 = 10_000;

impl Registry {
    /// Deletes the objects that match the selectors; objects that no longer exist are skipped, and so are
    /// malformed ones. Returns the list.
    ///
    /// # Errors
    /// The first failed deletion stops the rest. 500 after the deletion of all others if an object is malformed,
    /// unless the list has a limit.
    pub async fn delete_collection(
        &self,
        target: &Target<'_>,
        list: &ListOptions,
        request: &DeleteRequest<'_>,
    ) -> Result<ListPage> {
        self.storage_of(target, "deletecollection")?;
        let mut options = list.clone();
        let limited = options.limit > 0;
        if !limited {
            options.limit = PAGE;
        }
        let mut all = Vec::new();
        let mut revision = None;
        let mut left_out = 0;
        loop {
            let page = self.list(target, &options).await?;
            for item in page.items.iter() {
                let namespace = if target.resource.namespaced { item.namespace() } else { "" };
                let item_target = Target { namespace, name: item.name(), ..*target };
                match self.delete_suggested(&item_target, request, suggestion(&item), false).await {
                    Err(status) if status.reason != Reason::NotFound => return Err(status),
                    _ => {}
                }
            }
            if limited {
                return Ok(page);
            }
            all.extend(page.items.iter());
            left_out += page.left_out;
            let revision = *revision.get_or_insert(page.revision);
            if page.continue_token.is_empty() {
                let items = Items::listed(all);
                // A namespace whose deletion succeeded must not leave keys behind.
                return ListPage { items, revision, remaining: None, left_out, ..page }.complete();
            }
            options.continue_token = page.continue_token;
            options.resource_version.clear();
            options.resource_version_match.clear();
        }
    }
}
