//! Sizes for work estimates: the number of objects in a part of a resource, and of watches that see an
//! object. Used before a request is admitted. Nothing here waits, and nothing allocates except for names that
//! are too long for any object.

use std::sync::atomic::Ordering::Relaxed;

use smallvec::SmallVec;

use crate::{Predicate, Resource};

/// Assumed size of an uncached object: nearly always an Event.
const UNCACHED_BYTES: usize = 1024;
/// Longer than any key: a prefix, a namespace and a name.
const KEY_BYTES: usize = 512;

/// Size of the part of a resource that a list scans.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extent {
    pub objects: usize,
    /// Total size in bytes: exact for a whole resource, and the average object size times the number for a
    /// part.
    pub bytes: usize,
    /// True if the objects must be read from the store.
    pub stored: bool,
}

/// A key or a namespace's key prefix, without an allocation.
struct Key(SmallVec<[u8; KEY_BYTES]>);

impl Key {
    fn new(parts: &[&str]) -> Self {
        let mut bytes = SmallVec::new();
        parts.iter().for_each(|part| bytes.extend_from_slice(part.as_bytes()));
        Key(bytes)
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl Resource {
    /// Returns the size of a namespace, or of everything if `namespace` is empty. `term` restricts it to the
    /// objects whose indexed field has this value. `None` if the objects have not been counted.
    pub fn extent(&self, namespace: &str, term: Option<&str>) -> Option<Extent> {
        let Some(snapshot) = self.cache.as_ref().and_then(|cache| cache.snapshot()) else {
            let objects = usize::try_from(self.stored_count.load(Relaxed)).ok()?;
            return Some(Extent { objects, bytes: objects.saturating_mul(UNCACHED_BYTES), stored: true });
        };
        let prefix = &self.config.prefix;
        let (low, high) = match namespace {
            "" => (Key::new(&[prefix]), Key::new(&[prefix.trim_end_matches('/'), "0"])),
            // `0` is the character after `/`.
            _ => (Key::new(&[prefix, namespace, "/"]), Key::new(&[prefix, namespace, "0"])),
        };
        let unfiltered = namespace.is_empty() && term.is_none();
        let objects =
            if unfiltered { snapshot.len() } else { snapshot.count(low.as_str(), high.as_str(), term) };
        let bytes = match snapshot.len() {
            0 => 0,
            all if unfiltered || all == objects => snapshot.bytes(),
            all => snapshot.bytes() / all * objects,
        };
        Some(Extent { objects, bytes, stored: false })
    }

    /// Total stored size of the cached objects in bytes; `None` without a filled cache.
    pub fn cached_bytes(&self) -> Option<usize> {
        Some(self.cache.as_ref()?.snapshot()?.value_bytes())
    }

    /// Calls `see` with every cached key in order; does nothing without a filled cache.
    pub fn visit_cached_keys(&self, mut see: impl FnMut(&str)) {
        let Some(snapshot) = self.cache.as_ref().and_then(|cache| cache.snapshot()) else { return };
        let mut walk = snapshot.walk(&self.full_scope(), None, &Predicate::default());
        while let Some(element) = walk.next() {
            see(element.key());
        }
    }

    /// Number of watches that receive a change of an object: those of everything, of its namespace and of
    /// itself. Watches that select by the indexed field are not counted, because few of them match a change.
    pub fn watches_of(&self, namespace: &str, name: &str) -> usize {
        let Some(cache) = &self.cache else { return 0 };
        let prefix = &self.config.prefix;
        let slash = if namespace.is_empty() { "" } else { "/" };
        let object = Key::new(&[prefix, namespace, slash, name]);
        let object = object.as_str();
        let name_at = prefix.len() + namespace.len() + slash.len();
        cache.watch_count(object.get(..name_at).filter(|_| !namespace.is_empty()), object)
    }

    /// Records the store's number of objects; `None` if counting failed.
    pub fn record_stored_count(&self, objects: Option<u64>) {
        self.stored_count
            .store(objects.map_or(NOT_COUNTED, |n| i64::try_from(n).unwrap_or(i64::MAX)), Relaxed);
    }

    /// Number of objects: in the cache, or as last [counted](Self::record_stored_count) in the store. `None` if not yet
    /// counted; negative if counting failed.
    pub fn objects(&self) -> Option<i64> {
        let cached = self.cached_objects().map(|objects| i64::try_from(objects).unwrap_or(i64::MAX));
        cached.or_else(|| Some(self.stored_count.load(Relaxed)).filter(|count| *count != NEVER_COUNTED))
    }
}

/// The count failed.
const NOT_COUNTED: i64 = -1;
/// The objects have not been counted.
pub(crate) const NEVER_COUNTED: i64 = -2;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use storage::memory::Memory;
    use tokio::time::{Duration, Instant};

    use super::*;
    use crate::cache::{Cache, CacheConfig};
    use crate::resource::Filling;
    use crate::source::Source;
    use crate::{
        Element, HeaderBuilder, Ingest, IngestError, Predicate, ResourceConfig, Scope, WatchQuery, WatchStart,
    };

    struct Raw;

    impl Ingest for Raw {
        fn ingest(&self, value: Bytes, _: &mut HeaderBuilder) -> Result<Bytes, IngestError> {
            Ok(value)
        }
    }

    /// A resource of pods `ns/name` on nodes, all of one size.
    fn resource(pods: &[(&str, &str)]) -> Resource {
        let config = ResourceConfig {
            prefix: "/registry/pods/".to_owned(),
            group: String::new(),
            resource: "pods".to_owned(),
            cached: true,
            index: Some(0),
            ingest: Arc::new(Raw),
        };
        let cache = Arc::new(Cache::new(CacheConfig::new(&config.prefix, Some(0)), Instant::now()));
        let element = |(name, node): &(&str, &str)| {
            let mut header = HeaderBuilder::default();
            header.push_field(node);
            Element::with_header(&format!("/registry/pods/{name}"), Bytes::from_static(b"{}"), 1, header)
        };
        cache.fill(pods.iter().map(element).collect(), 1, Vec::new(), Instant::now());
        let source = Arc::new(Source::new(&(Arc::new(Memory::new()) as _)));
        Resource::new(config, source, Some(cache), true, Filling::AtOnce, Default::default())
    }

    #[tokio::test]
    async fn extent_is_the_number_of_scanned_objects() {
        let resource = resource(&[("a/x", "n1"), ("a/y", "n2"), ("ab/x", "n1"), ("b/x", "n1")]);
        let objects = |namespace: &str, term| resource.extent(namespace, term).unwrap().objects;
        assert_eq!([objects("", None), objects("a", None), objects("zz", None)], [4, 2, 0]);
        assert_eq!([objects("", Some("n1")), objects("a", Some("n1")), objects("", Some("n9"))], [3, 1, 0]);
        let bytes = |namespace: &str| resource.extent(namespace, None).unwrap().bytes;
        assert_eq!(bytes("a") * 2, bytes("") / 4 * 4);
    }

    #[tokio::test]
    async fn watches_are_counted_by_scope() {
        let resource = resource(&[("a/x", "n1")]);
        let cache = resource.cache.as_ref().unwrap();
        let watch = |prefix: &str| {
            let query = WatchQuery {
                scope: Scope { prefix: format!("/registry/pods/{prefix}"), exact: prefix.ends_with('x') },
                start: WatchStart::After(0),
                predicate: Predicate::default(),
                bookmarks: false,
                deadline: Instant::now() + Duration::from_secs(9),
            };
            cache.watch(query).unwrap()
        };
        let watches = ["", "", "a/", "a/x", "b/"].map(watch);
        let count = |namespace, name| resource.watches_of(namespace, name);
        assert_eq!(
            [count("a", "x"), count("a", "y"), count("a", ""), count("b", "x"), count("c", "x")],
            [4, 3, 3, 3, 2]
        );
        drop(watches);
        assert_eq!(count("a", "x"), 0);
    }

    #[tokio::test]
    async fn uncached_extent_is_the_last_count() {
        let mut resource = resource(&[]);
        resource.cache = None;
        assert_eq!((resource.extent("", None), resource.objects()), (None, None));
        resource.record_stored_count(None);
        assert_eq!((resource.extent("", None), resource.objects()), (None, Some(-1)));
        resource.record_stored_count(Some(3));
        let expected = Extent { objects: 3, bytes: 3072, stored: true };
        assert_eq!((resource.extent("a", None), resource.objects()), (Some(expected), Some(3)));
    }
}
