//! Metrics of object counts by resource (`--etcd-count-metric-poll-period`).
//!
//! Cached resources are counted in the cache on each scrape. Other resources, and those whose cache is not
//! filled yet, are counted periodically in the store.

use std::time::Duration;

use cacher::{Delegator, Resource};
use component_base::metrics::{Family, Gauge, MetricsRegistry, Page, Stability};

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

    /// Registers the metrics.
    pub(crate) fn register(&self, registry: &MetricsRegistry) {
        let delegator = self.delegator.clone();
        registry.collect(&[&OBJECTS, &BYTES, &LEGACY_OBJECTS], move |page| write(&delegator, page));
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
            resource.record_stored_count(counted.ok());
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

const OBJECTS: Family<Gauge, 2> = Family::gauge(
    Stability::Alpha,
    "apiserver_resource_objects",
    "Number of stored objects at the time of last check split by kind. In case of a fetching error, the value will be -1.",
    ["group", "resource"],
);
const BYTES: Family<Gauge, 2> = Family::gauge(
    Stability::Alpha,
    "apiserver_resource_size_estimate_bytes",
    "Estimated size of stored objects in database. Estimate is based on sum of last observed sizes of serialized objects. In case of a fetching error, the value will be -1.",
    ["group", "resource"],
);
const LEGACY_OBJECTS: Family<Gauge, 1> = Family::gauge(
    Stability::Stable,
    "apiserver_storage_objects",
    "[DEPRECATED, consider using apiserver_resource_objects instead] Number of stored objects at the time of last check split by kind. In case of a fetching error, the value will be -1.",
    ["resource"],
)
.deprecated(34);

fn write(delegator: &Delegator, page: &mut Page<'_>) {
    let resources = delegator.resources();
    let mut rows: Vec<(&str, &str, &Resource)> = Vec::with_capacity(resources.len());
    for resource in &resources {
        let config = resource.config();
        rows.push((&config.group, &config.resource, resource));
    }
    rows.sort_unstable_by_key(|(group, resource, _)| (*group, *resource));
    let counted =
        || rows.iter().filter_map(|(group, name, resource)| Some((*group, *name, resource.objects()?)));
    let mut samples = page.family(&OBJECTS);
    counted().for_each(|(group, name, count)| samples.add([group, name], count));
    drop(samples);
    let mut samples = page.family(&BYTES);
    for (group, name, resource) in &rows {
        if let Some(bytes) = resource.cached_bytes() {
            samples.add([group, name], bytes);
        }
    }
    drop(samples);
    let mut samples = page.family(&LEGACY_OBJECTS);
    for (group, name, count) in counted() {
        let dot = if group.is_empty() { "" } else { "." };
        samples.add([&format!("{name}{dot}{group}")], count);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use component_base::features::Gates;
    use component_base::metrics::Selection;
    use std::sync::Arc;

    use bytes::Bytes;
    use cacher::Options;
    use storage::Storage;
    use storage::memory::Memory;

    use super::*;

    /// Returns the counts of pods, which are cached, and of events, which are not.
    fn counts(counts: &ObjectCounts) -> (Option<String>, Option<String>) {
        let registry = MetricsRegistry::default();
        counts.register(&registry);
        let page = registry.render(&Selection::default().show_hidden());
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
