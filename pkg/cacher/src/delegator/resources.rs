//! The resources of a delegator: a set that is swapped as a whole, so that lookups take no lock and see a
//! consistent state.

use std::cmp::Ordering;
use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::time::Instant;

use super::{Delegator, Inner};
use crate::cache::{Cache, CacheConfig};
use crate::resource::Filling;
use crate::{Resource, ResourceConfig};
use storage::tree::{Keyed, Tree};

/// Resources by prefix. Cheap to clone.
pub(crate) type Set = Tree<Arc<Resource>>;

impl Keyed for Resource {
    type Key<'a> = &'a str;

    fn key(&self) -> &str {
        &self.config.prefix
    }

    fn compare(&self, key: &&str) -> Ordering {
        self.config.prefix.as_str().cmp(key)
    }
}

/// The current resources; initially empty.
#[derive(Default)]
pub(crate) struct Resources {
    set: ArcSwap<Set>,
}

impl Resources {
    /// Sets the initial resources, before there is a driver.
    pub(super) fn set_initial(&self, set: Set) {
        self.set.store(Arc::new(set));
    }

    pub(crate) fn load(&self) -> Arc<Set> {
        self.set.load_full()
    }

    /// Swaps the set for a changed copy. `change` is called again after a concurrent swap.
    fn update<T>(&self, change: impl Fn(&mut Set) -> T) -> T {
        let mut current = self.set.load();
        loop {
            let mut next = Set::clone(&current);
            let changed = change(&mut next);
            let witnessed = self.set.compare_and_swap(&*current, Arc::new(next));
            if Arc::ptr_eq(&witnessed, &current) {
                return changed;
            }
            current = witnessed;
        }
    }
}

impl Inner {
    /// True if the caches of all initial resources are filled or rest.
    pub(crate) fn is_ready(&self) -> bool {
        self.resources
            .load()
            .iter()
            .all(|resource| !resource.initial || resource.is_ready() || resource.is_dormant())
    }

    /// Creates a resource, with a cache if it is configured and the driver can map its keys.
    pub(super) fn resource(&self, config: ResourceConfig, founding: bool) -> Arc<Resource> {
        let source = Arc::clone(self.sources.of(&config.prefix));
        let followed = segments(&self.prefix, &config.prefix).is_some_and(|count| count <= 2);
        if !followed && self.options.enabled && config.cached {
            tracing::error!(prefix = config.prefix, "cannot cache a resource with this prefix");
        }
        let cache = (followed && self.options.enabled && config.cached).then(|| {
            let config = CacheConfig {
                prefix: config.prefix.clone(),
                index: config.index,
                limits: self.options.limits,
                frames: Arc::clone(&self.frames),
                fresh_revision: source.frontier.handle(),
            };
            Arc::new(Cache::new(config, Instant::now()))
        });
        let filling = if self.options.fill_on_demand { Filling::OnDemand } else { Filling::AtOnce };
        Arc::new(Resource::new(config, source, cache, founding, filling, self.options.weakened.clone()))
    }
}

/// Number of path segments of a prefix after the root.
fn segments(root: &str, prefix: &str) -> Option<usize> {
    let path = prefix.strip_prefix(root)?.strip_suffix('/')?;
    path.split('/').all(|segment| !segment.is_empty()).then(|| path.split('/').count())
}

impl Delegator {
    /// Adds a resource. It is listed at once and becomes ready after its own list; other resources are not
    /// affected. Until then, it is read like any resource whose cache is not filled. [`Resource::ready`]
    /// waits for it; [`Delegator::ready`] does not.
    ///
    /// `config.prefix` must have one or two segments after the store's prefix and must not overlap with
    /// another resource's prefix. A resource with exactly this prefix is [retired](Self::retire) first.
    pub fn install(&self, config: ResourceConfig) -> Arc<Resource> {
        let resource = self.inner.resource(config, false);
        let former = self.inner.resources.update(|set| set.insert(Arc::clone(&resource)));
        resource.source.changed.notify_one();
        if let Some(former) = former {
            former.retire();
        }
        resource
    }

    /// Removes and returns the resource with this prefix; `None` if there is none. When this returns, its
    /// watches have ended without an error. Its cached objects are released, except those in use by running
    /// reads. Its metrics are removed. Its stored objects remain.
    ///
    /// A retired resource can still be read, as one whose cache is never filled.
    pub fn retire(&self, prefix: &str) -> Option<Arc<Resource>> {
        let retired = self.inner.resources.update(|set| set.remove(prefix))?;
        retired.source.changed.notify_one();
        retired.retire();
        Some(retired)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_counted_after_the_root() {
        let check = |root, prefix, expected| assert_eq!(segments(root, prefix), expected, "{root} {prefix}");
        check("/r/", "/r/pods/", Some(1));
        check("/r/", "/r/services/specs/", Some(2));
        check("/r/", "/r/a/b/c/", Some(3));
        for prefix in ["/r/", "/r", "/r/pods", "/r//pods/", "/q/pods/", ""] {
            check("/r/", prefix, None);
        }
    }
}
