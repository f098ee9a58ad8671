//! The resources of a delegator: a set that is exchanged as a whole, so that whoever looks something up
//! takes no lock and sees one state of it.

use std::cmp::Ordering;
use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::{Delegator, Inner};
use crate::cache::{Cache, CacheConfig};
use crate::{Resource, ResourceConfig};
use storage::tree::{Keyed, Tree};

/// Resources by their prefixes, as of some moment. A clone costs nothing.
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

/// The resources that there are now; none at first.
#[derive(Default)]
pub(crate) struct Resources {
    set: ArcSwap<Set>,
    /// Tells the driver, the only one who waits for it, of every change, and of caches that are asked for.
    changed: Arc<Notify>,
}

impl Resources {
    /// These, before there is a driver.
    pub(super) fn begin_with(&self, set: Set) {
        self.set.store(Arc::new(set));
    }

    /// Those that there are at this moment.
    pub(crate) fn load(&self) -> Arc<Set> {
        self.set.load_full()
    }

    /// Waits until the set is not what it was when this was last waited for, or a cache is asked for that rests.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Exchanges the set for a changed one. `change` is asked again when somebody else was faster.
    fn change<T>(&self, change: impl Fn(&mut Set) -> T) -> T {
        let mut current = self.set.load();
        loop {
            let mut next = Set::clone(&current);
            let changed = change(&mut next);
            let before = self.set.compare_and_swap(&*current, Arc::new(next));
            if Arc::ptr_eq(&before, &current) {
                self.changed.notify_one();
                return changed;
            }
            current = before;
        }
    }
}

impl Inner {
    /// Whether the caches of all resources that the delegator began with are filled, or rest.
    pub(crate) fn is_ready(&self) -> bool {
        self.resources
            .load()
            .iter()
            .all(|resource| !resource.founding || resource.is_ready() || resource.is_dormant())
    }

    /// A resource, with a cache if it is to have one and the driver can find its keys.
    pub(super) fn resource(&self, config: ResourceConfig, founding: bool) -> Arc<Resource> {
        let followed = segments(&self.prefix, &config.prefix).is_some_and(|count| count <= 2);
        if !followed && self.options.enabled && config.cached {
            tracing::error!(prefix = config.prefix, "keys at this place cannot be cached");
        }
        let cache = (followed && self.options.enabled && config.cached).then(|| {
            let config = CacheConfig {
                prefix: config.prefix.clone(),
                index: config.index,
                limits: self.options.limits,
                frames: Arc::clone(&self.frames),
                fresh: self.frontier.handle(),
            };
            Arc::new(Cache::new(config, Instant::now()))
        });
        let asked = self.options.when_asked.then(|| Arc::clone(&self.resources.changed));
        Arc::new(Resource::new(config, cache, founding, asked))
    }
}

/// How many segments a prefix has behind the one that all keys have.
fn segments(root: &str, prefix: &str) -> Option<usize> {
    let path = prefix.strip_prefix(root)?.strip_suffix('/')?;
    path.split('/').all(|segment| !segment.is_empty()).then(|| path.split('/').count())
}

impl Delegator {
    /// Takes a resource in. It is listed at once, and ready by its own list; nobody else notices. Until
    /// then it is read as any resource is whose cache is not filled. Wait for it with
    /// [`Resource::ready`]; [`Delegator::ready`] does not.
    ///
    /// `config.prefix` has one or two segments behind the prefix of the store, and no other resource's
    /// prefix is a part of it. One that has this very prefix is [retired](Self::retire) first.
    pub fn install(&self, config: ResourceConfig) -> Arc<Resource> {
        let resource = self.inner.resource(config, false);
        let former = self.inner.resources.change(|set| set.insert(Arc::clone(&resource)));
        if let Some(former) = former {
            former.retire();
        }
        resource
    }

    /// Lets the resource with this prefix go, and returns it; `None` when there is none. When this
    /// returns, its watches have ended, without an error, and what its cache held is released but for
    /// what readers under way still look at. Its metrics are gone. What it stored stays stored.
    ///
    /// Whoever still holds the resource reads it as one whose cache is not filled, for ever.
    pub fn retire(&self, prefix: &str) -> Option<Arc<Resource>> {
        let retired = self.inner.resources.change(|set| set.remove(prefix))?;
        retired.retire();
        Some(retired)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_segments_of_a_prefix_are_those_behind_the_root() {
        let check = |root, prefix, expected| assert_eq!(segments(root, prefix), expected, "{root} {prefix}");
        check("/r/", "/r/pods/", Some(1));
        check("/r/", "/r/services/specs/", Some(2));
        check("/r/", "/r/a/b/c/", Some(3));
        for prefix in ["/r/", "/r", "/r/pods", "/r//pods/", "/q/pods/", ""] {
            check("/r/", prefix, None);
        }
    }
}
