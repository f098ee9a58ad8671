//! Compares the caches with storage.

use std::sync::Arc;

use storage::{ListOptions, Revision};

use super::read::future_revision_error;
use super::{Delegator, Error};
use crate::cache::Cache;
use crate::{Element, Resource};

/// Page size of reads from storage.
const PAGE: usize = 1000;

/// A key whose value differs between cache and storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub key: String,
    /// The revision of its value in the cache; `None` if it is missing.
    pub cached: Option<Revision>,
    /// The same in storage.
    pub stored: Option<Revision>,
}

impl Delegator {
    /// Compares every ready cache with storage, each at one revision. For tests and troubleshooting: it reads
    /// everything.
    ///
    /// # Errors
    /// Storage errors; [`Error::FutureRevision`] if the caches do not reach the revision of storage in time.
    pub async fn differences(&self) -> Result<Vec<Difference>, Error> {
        let mut differences = Vec::new();
        for resource in self.inner.resources.load().iter() {
            if let Some(cache) = &resource.cache {
                self.compare(resource, cache, &mut differences).await?;
            }
        }
        Ok(differences)
    }

    async fn compare(
        &self,
        resource: &Resource,
        cache: &Cache,
        differences: &mut Vec<Difference>,
    ) -> Result<(), Error> {
        let source = &resource.source;
        let revision = source.read_index.read().await?;
        if !source.frontier.wait_for_existing(revision).await {
            return Err(future_revision_error(resource, revision));
        }
        let Some(snapshot) = cache.snapshot_at(revision) else { return Ok(()) };
        let mut cached = snapshot.iter().peekable();
        let mut start = None;
        loop {
            let options = ListOptions { start, limit: PAGE, revision, uncounted: true };
            let listing = source.store.list(&resource.config.prefix, options).await?;
            let more = listing.has_more();
            start = listing.kvs.last().map(|kv| format!("{}\0", kv.key));
            for kv in listing.kvs {
                let stored = Element::new(kv, &*resource.config.ingest);
                while let Some(surplus) = cached.next_if(|element| element.key() < stored.key()) {
                    differences.push(difference(Some(surplus), None));
                }
                let counterpart = cached.next_if(|element| element.key() == stored.key());
                if !counterpart.is_some_and(|element| equal(element, &stored)) {
                    differences.push(difference(counterpart, Some(&stored)));
                }
            }
            if !more {
                break;
            }
        }
        differences.extend(cached.map(|surplus| difference(Some(surplus), None)));
        Ok(())
    }
}

fn equal(a: &Element, b: &Element) -> bool {
    (a.revision(), a.value(), a.header()) == (b.revision(), b.value(), b.header())
}

fn difference(cached: Option<&Arc<Element>>, stored: Option<&Arc<Element>>) -> Difference {
    let key = cached.or(stored).map_or(String::new(), |element| element.key().to_owned());
    let revision = |element: &Arc<Element>| element.revision();
    Difference { key, cached: cached.map(revision), stored: stored.map(revision) }
}
