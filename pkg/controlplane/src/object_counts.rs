//! Metrics of object counts by resource (`--etcd-count-metric-poll-period`).
//!
//! Cached resources are counted in the cache on each scrape. Other resources, and those whose cache is not
//! filled yet, are counted periodically in the store.

use std::time::Duration;

use cacher::{Delegator, Resource};
use component_base::metrics::{Family, Stability};
use server::metrics::Collector;

/// Maximum additional delay as a multiple of the period (upstream's `resourceCountPollPeriodJitter`). It
/// spreads the counts of servers that start together.
const JITTER: f64 = 1.2;

pub(crate) struct ObjectCounts {
    delegator: Delegator,
}

impl ObjectCounts {
    /// Creates empty counts for all resources of `delegator`.
    pub(crate) fn new(delegator: Delegator) -> Self {
        ObjectCounts { delegator }
    }

    /// Counts uncached objects in the store, one resource after the other.
    pub(crate) async fn poll(&self) {
        for resource in self.delegator.resources() {
            if resource.cached_objects().is_some() {
                continue;
            }
            let prefix = &resource.config().prefix;
            let counted = self.delegator.storage().count(prefix).await;
            let counted =
                counted.inspect_err(|error| tracing::debug!(prefix, %error, "failed to count objects"));
            resource.counted(counted.ok());
        }
    }

    /// Counts repeatedly, with a delay of `period` plus jitter. `jitter` must be uniformly distributed in
    /// `0..1`.
    pub(crate) async fn keep_polling(&self, period: Duration, jitter: impl Fn() -> f64) {
        loop {
            tokio::time::sleep(period.mul_f64(1.0 + JITTER * jitter())).await;
            self.poll().await;
        }
    }
}

const OBJECTS: Family = Family::gauge(
    Stability::Alpha,
    "apiserver_resource_objects",
    "Stored objects; -1 when they could not be counted.",
);
const BYTES: Family = Family::gauge(
    Stability::Alpha,
    "apiserver_resource_size_estimate_bytes",
    "What the objects of a watch cache have together as they are stored, in bytes.",
);
const OF_OLD: Family = Family::gauge(
    Stability::Stable,
    "apiserver_storage_objects",
    "(Deprecated since 1.34.0) Stored objects; -1 when they could not be counted.",
);

impl Collector for ObjectCounts {
    fn collect(&self, out: &mut String) {
        let resources = self.delegator.resources();
        let mut rows: Vec<(&str, &str, &Resource)> = Vec::with_capacity(resources.len());
        for resource in &resources {
            let config = resource.config();
            rows.push((&config.group, &config.resource, resource));
        }
        rows.sort_unstable_by_key(|(group, resource, _)| (*group, *resource));
        let counted =
            || rows.iter().filter_map(|(group, name, resource)| Some((*group, *name, resource.objects()?)));
        let mut samples = OBJECTS.write(out);
        counted()
            .for_each(|(group, name, count)| samples.add(&[("group", group), ("resource", name)], count));
        let mut samples = BYTES.write(out);
        for (group, name, resource) in &rows {
            if let Some(bytes) = resource.cached_bytes() {
                samples.add(&[("group", group), ("resource", name)], bytes);
            }
        }
        let mut samples = OF_OLD.write(out);
        for (group, name, count) in counted() {
            let dot = if group.is_empty() { "" } else { "." };
            samples.add(&[("resource", &format!("{name}{dot}{group}"))], count);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use component_base::features::Gates;
    use std::sync::Arc;

    use bytes::Bytes;
    use cacher::Options;
    use storage::Storage;
    use storage::memory::Memory;

    use super::*;

    /// Returns the counts of pods, which are cached, and of events, which are not.
    fn counts(counts: &ObjectCounts) -> (Option<String>, Option<String>) {
        let mut page = String::new();
        counts.collect(&mut page);
        let of = |name: &str| {
            let line = page.lines().find_map(|line| line.strip_prefix(name))?;
            Some(line.trim().to_owned())
        };
        let pods = of("apiserver_resource_objects{group=\"\",resource=\"pods\"}");
        assert_eq!(of("apiserver_storage_objects{resource=\"pods\"}"), pods);
        (pods, of("apiserver_storage_objects{resource=\"leases.coordination.k8s.io\"}"))
    }

    #[tokio::test]
    async fn uncached_objects_are_counted_in_store() {
        let store: Arc<dyn Storage> = Arc::new(Memory::new());
        for key in ["/registry/leases/a/x", "/registry/leases/b/y"] {
            store.put(key, Bytes::from_static(b"{}"), 0, None).await.unwrap();
        }
        let resources =
            registry::ingest::resources("/registry", Gates::default(), |row| row.plural == "pods");
        let (delegator, driver) = Delegator::new(store, "/registry", resources, Options::default());
        let object_counts = ObjectCounts::new(delegator.clone());
        assert_eq!(counts(&object_counts), (None, None));
        object_counts.poll().await;
        let text = |count: &str| Some(count.to_owned());
        assert_eq!(counts(&object_counts), (text("0"), text("2")));

        let driver = tokio::spawn(driver.run());
        delegator.ready().await;
        driver.abort();
        assert_eq!(delegator.resource("/registry/pods/").unwrap().cached_objects(), Some(0));
        assert_eq!(delegator.resource("/registry/pods/").unwrap().cached_bytes(), Some(0));
        assert_eq!(delegator.resource("/registry/leases/").unwrap().cached_objects(), None);
    }
}
