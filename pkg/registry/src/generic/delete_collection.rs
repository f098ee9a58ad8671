//! DELETE of a collection: every object that a list finds, one after the other.

use api::options::ListOptions;

use super::{DeleteRequest, ListPage, Registry, Result, Target};
use crate::meta;

/// Objects listed and deleted at a time (upstream's page size).
const PAGE: i64 = 10_000;

impl Registry {
    /// Deletes what the selectors match; objects that are gone by then are passed over. Returns the
    /// list as it was found.
    ///
    /// # Errors
    /// The first deletion that fails stops the rest.
    pub async fn delete_collection(
        &self,
        target: &Target<'_>,
        list: &ListOptions,
        request: &DeleteRequest<'_>,
    ) -> Result<ListPage> {
        let storage = self.storage_of(target, "deletecollection")?;
        let mut options = list.clone();
        let limited = options.limit > 0;
        if !limited {
            options.limit = PAGE;
        }
        let mut all: Option<ListPage> = None;
        loop {
            let mut page = self.list(target, &options).await?;
            for item in &page.items {
                let object = self.decode(storage, target.row.plural, item)?;
                let namespace = meta::text(&object, "namespace");
                let one = Target { namespace, name: meta::text(&object, "name"), ..*target };
                match self.delete(&one, request).await {
                    Err(status) if status.reason != "NotFound" => return Err(status),
                    _ => {}
                }
            }
            let next = std::mem::take(&mut page.continue_token);
            if limited {
                page.continue_token = next;
                return Ok(page);
            }
            match &mut all {
                None => all = Some(page),
                Some(all) => all.items.append(&mut page.items),
            }
            if next.is_empty() {
                let empty =
                    ListPage { items: Vec::new(), revision: 0, continue_token: next, remaining: None };
                let mut page = all.unwrap_or(empty);
                page.remaining = None;
                return Ok(page);
            }
            options.continue_token = next;
            options.resource_version.clear();
            options.resource_version_match.clear();
        }
    }
}
