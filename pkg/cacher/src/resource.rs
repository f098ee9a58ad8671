//! A resource of the cache, and the scope of a read.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use component_base::weakened::{WeakenedDecisions, WeakenedKind};
use storage::KeyValue;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::cache::Cache;
use crate::extent::NEVER_COUNTED;
use crate::metrics::ResourceMetrics;
use crate::source::Source;
use crate::{Damage, Element, HeaderBuilder, Ingest, IngestError};

#[derive(Clone)]
pub struct ResourceConfig {
    /// Prefix of all its keys; ends in `/`. For example `/registry/pods/`.
    pub prefix: String,
    /// API group, for metrics and errors; empty for the core group.
    pub group: String,
    /// Plural name, for metrics and errors.
    pub resource: String,
    /// True if the resource is cached. Other resources are always read from storage.
    pub cached: bool,
    /// The header field to index, such as a pod's node.
    pub index: Option<usize>,
    pub ingest: Arc<dyn Ingest>,
}

/// Life-cycle stage of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The cache will be filled on first use.
    Dormant,
    /// The cache is not yet filled.
    Filling,
    /// The cache is filled, or there is none.
    Ready,
    /// The resource was removed from the delegator permanently.
    Retired,
}

/// Start of the filling of a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filling {
    AtOnce,
    OnDemand,
}

/// A resource of a [`crate::Delegator`].
pub struct Resource {
    pub(crate) config: ResourceConfig,
    /// The store with its keys.
    pub(crate) source: Arc<Source>,
    /// `None` for uncached resources.
    pub(crate) cache: Option<Arc<Cache>>,
    /// True if the delegator was created with the resource.
    pub(crate) initial: bool,
    stage: Mutex<Stage>,
    filling: Filling,
    /// Wakes readers that wait for a stage, in order, so that simulations are deterministic.
    stage_changed: Notify,
    pub(crate) metrics: ResourceMetrics,
    /// Number of objects in the store, as last counted.
    pub(crate) stored_count: AtomicI64,
    weakened: WeakenedDecisions,
}

/// Decodes values with another decoder and treats a panic as an unreadable value. A panic must not stop the
/// driver, which decodes the values of all resources.
struct PanicSafeIngest(Arc<dyn Ingest>);

impl Ingest for PanicSafeIngest {
    fn ingest(&self, value: Bytes, header: &mut HeaderBuilder) -> Result<Bytes, IngestError> {
        // The partial header is discarded after a panic.
        let read = catch_unwind(AssertUnwindSafe(|| self.0.ingest(value, header)));
        read.unwrap_or_else(|_| Err(IngestError::Panic))
    }
}

impl Resource {
    /// A resource with keys in `source`, and with a cache if it is cached.
    pub(crate) fn new(
        mut config: ResourceConfig,
        source: Arc<Source>,
        cache: Option<Arc<Cache>>,
        initial: bool,
        filling: Filling,
        weakened: WeakenedDecisions,
    ) -> Self {
        config.ingest = Arc::new(PanicSafeIngest(config.ingest));
        let stage = match filling {
            _ if cache.is_none() => Stage::Ready,
            Filling::AtOnce => Stage::Filling,
            Filling::OnDemand => Stage::Dormant,
        };
        let stage = Mutex::new(stage);
        let stage_changed = Notify::new();
        let metrics = ResourceMetrics::default();
        let stored_count = AtomicI64::new(NEVER_COUNTED);
        Resource {
            config,
            source,
            cache,
            initial,
            stage,
            filling,
            stage_changed,
            metrics,
            stored_count,
            weakened,
        }
    }

    /// True if this store has its keys.
    pub(crate) fn has_source(&self, source: &Arc<Source>) -> bool {
        Arc::ptr_eq(&self.source, source)
    }

    pub fn config(&self) -> &ResourceConfig {
        &self.config
    }

    /// Number of cached objects; `None` without a filled cache.
    pub fn cached_objects(&self) -> Option<usize> {
        Some(self.cache.as_ref()?.snapshot()?.len())
    }

    /// Triggers and awaits the filling of the cache; returns at once if there is no cache. Returns false if
    /// the resource was retired.
    pub async fn ready(&self) -> bool {
        self.request_fill();
        self.wait_for_stage(|stage| stage != Stage::Filling).await == Stage::Ready
    }

    /// Triggers the filling of a dormant cache.
    fn request_fill(&self) {
        if self.transition(|stage| stage == Stage::Dormant, Stage::Filling) {
            self.source.changed.notify_one();
        }
    }

    /// True if the cache is filled on first use.
    pub(crate) fn is_filled_on_demand(&self) -> bool {
        self.filling == Filling::OnDemand
    }

    /// True if the cache is unused so far and therefore not filled.
    pub(crate) fn is_dormant(&self) -> bool {
        self.stage() == Stage::Dormant
    }

    /// Waits until the cache is filled or dormant.
    pub(crate) async fn wait_until_settled(&self) {
        self.wait_for_stage(|stage| stage != Stage::Filling).await;
    }

    /// Waits until the resource is retired.
    pub async fn retired(&self) {
        self.wait_for_stage(|stage| stage == Stage::Retired).await;
    }

    async fn wait_for_stage(&self, is_awaited: impl Fn(Stage) -> bool) -> Stage {
        loop {
            let mut moved = pin!(self.stage_changed.notified());
            // Registers for notifications before the check, so that none is missed.
            moved.as_mut().enable();
            let stage = self.stage();
            if is_awaited(stage) {
                return stage;
            }
            moved.await;
        }
    }

    fn stage(&self) -> Stage {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.stage() == Stage::Ready
    }

    /// Sets the stage. `Retired` is final.
    pub(crate) fn enter(&self, stage: Stage) {
        self.transition(|current| current != stage && current != Stage::Retired, stage);
    }

    /// Sets the stage if the current one allows it; returns true if it did.
    fn transition(&self, allows: impl Fn(Stage) -> bool, to: Stage) -> bool {
        let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        let transition = allows(*stage);
        if transition {
            *stage = to;
            drop(stage);
            self.stage_changed.notify_waiters();
        }
        transition
    }

    /// Ends its watches and clears its cache permanently.
    pub(crate) fn retire(&self) {
        self.enter(Stage::Retired);
        if let Some(cache) = &self.cache {
            cache.retire(Instant::now());
        }
    }

    /// Decodes a stored pair. Reports an unreadable value.
    pub(crate) fn decode(&self, kv: KeyValue) -> Arc<Element> {
        let element = Element::new(kv, &*self.config.ingest);
        self.report_unreadable(&element);
        element
    }

    /// Counts and reports an element if its value is unreadable. Failed decryptions have their own metric.
    pub(crate) fn report_unreadable(&self, element: &Element) {
        let Some((damage, cause)) = element.damage() else { return };
        if damage == Damage::Undecryptable {
            return;
        }
        self.metrics.decode_errors.increment();
        self.weakened.record(WeakenedKind::UnreadableElement, element.key(), &cause);
    }

    pub fn full_scope(&self) -> Scope {
        Scope { prefix: self.config.prefix.clone(), exact: false }
    }
}

/// The keys that a read selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// Key prefix of a resource or of one of its namespaces, ending in `/`; or a whole key.
    pub prefix: String,
    /// True if `prefix` is a whole key.
    pub exact: bool,
}

impl Scope {
    pub fn contains(&self, key: &str) -> bool {
        if self.exact { key == self.prefix } else { key.starts_with(&self.prefix) }
    }
}
