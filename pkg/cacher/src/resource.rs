//! A resource as the cache knows it, and the part of it that a read is about.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::cache::Cache;
use crate::extent::NEVER_COUNTED;
use crate::metrics::ResourceMetrics;
use crate::{HeaderBuilder, Ingest};

/// What has to be known about a resource to cache it.
#[derive(Clone)]
pub struct ResourceConfig {
    /// What all its keys begin with; ends in `/`. For example `/registry/pods/`.
    pub prefix: String,
    /// API group, for metrics and errors; empty for the core group.
    pub group: String,
    /// Plural name, for metrics and errors.
    pub resource: String,
    /// Whether to cache it. What is not cached is read from storage every time.
    pub cached: bool,
    /// The header field that deserves an index, such as a pod's node.
    pub index: Option<usize>,
    /// Reads its values.
    pub ingest: Arc<dyn Ingest>,
}

/// Where a resource is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Its cache is not going to be filled before somebody asks.
    Resting,
    /// Its cache is not filled.
    Filling,
    /// Its cache is filled, or it has none.
    Ready,
    /// The delegator has let it go, for good.
    Retired,
}

/// A resource of a [`crate::Delegator`].
pub struct Resource {
    pub(crate) config: ResourceConfig,
    /// `None` for what is read from storage every time.
    pub(crate) cache: Option<Arc<Cache>>,
    /// Whether the delegator began with it.
    pub(crate) founding: bool,
    stage: Mutex<Stage>,
    /// Tells the driver that somebody asks, for a resource that rests until then.
    asked: Option<Arc<Notify>>,
    /// Wakes those who wait for a stage, in order: the same course of events has the same outcome.
    moved: Notify,
    pub(crate) metrics: ResourceMetrics,
    /// How many objects the store has, as last counted.
    pub(crate) counted: AtomicI64,
}

/// Reads values as another does; one over which that panics cannot be read. It must not stop the
/// driver, which reads the values of all.
struct PanicSafeIngest(Arc<dyn Ingest>);

impl Ingest for PanicSafeIngest {
    fn ingest(&self, value: Bytes, header: &mut HeaderBuilder) -> Result<Bytes, String> {
        // What a panic leaves in the header is thrown away with it.
        let read = catch_unwind(AssertUnwindSafe(|| self.0.ingest(value, header)));
        read.unwrap_or_else(|_| Err("the server panicked over it".to_owned()))
    }
}

impl Resource {
    /// A resource whose cache is filled at once, or when that has been `asked` for.
    pub(crate) fn new(
        mut config: ResourceConfig,
        cache: Option<Arc<Cache>>,
        founding: bool,
        asked: Option<Arc<Notify>>,
    ) -> Self {
        config.ingest = Arc::new(PanicSafeIngest(config.ingest));
        let stage = match (&cache, &asked) {
            (Some(_), Some(_)) => Stage::Resting,
            (Some(_), None) => Stage::Filling,
            (None, _) => Stage::Ready,
        };
        let (stage, moved, metrics) = (Mutex::new(stage), Notify::new(), ResourceMetrics::default());
        let counted = AtomicI64::new(NEVER_COUNTED);
        Resource { config, cache, founding, stage, asked, moved, metrics, counted }
    }

    /// What it was made from.
    pub fn config(&self) -> &ResourceConfig {
        &self.config
    }

    /// How many objects its cache holds; `None` without a cache and while that is not filled.
    pub fn cached_objects(&self) -> Option<usize> {
        Some(self.cache.as_ref()?.snapshot()?.len())
    }

    /// Has its cache filled, and waits for that; what has none is ready at once. Says whether it is ready: one that
    /// was retired never is.
    pub async fn ready(&self) -> bool {
        self.ask();
        self.wait_for_stage(|stage| stage != Stage::Filling).await == Stage::Ready
    }

    /// Has its cache filled, if it rests.
    fn ask(&self) {
        let Some(asked) = &self.asked else { return };
        if self.transition(|stage| stage == Stage::Resting, Stage::Filling) {
            asked.notify_one();
        }
    }

    /// Whether its cache is filled when somebody first asks.
    pub(crate) fn is_filled_on_demand(&self) -> bool {
        self.asked.is_some()
    }

    /// Whether nobody has asked yet for its cache, which is not filled therefore.
    pub(crate) fn is_dormant(&self) -> bool {
        self.stage() == Stage::Resting
    }

    /// Waits until its cache is filled or rests.
    pub(crate) async fn wait_until_settled(&self) {
        self.wait_for_stage(|stage| stage != Stage::Filling).await;
    }

    /// Waits until the delegator lets it go.
    pub async fn retired(&self) {
        self.wait_for_stage(|stage| stage == Stage::Retired).await;
    }

    async fn wait_for_stage(&self, wanted: impl Fn(Stage) -> bool) -> Stage {
        loop {
            let mut moved = pin!(self.moved.notified());
            // From here on no move is missed; so look only now.
            moved.as_mut().enable();
            let stage = self.stage();
            if wanted(stage) {
                return stage;
            }
            moved.await;
        }
    }

    fn stage(&self) -> Stage {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether its cache is filled.
    pub(crate) fn is_ready(&self) -> bool {
        self.stage() == Stage::Ready
    }

    /// Takes note of what the driver has done with its cache. Nothing comes after retirement.
    pub(crate) fn enter(&self, stage: Stage) {
        self.transition(|current| current != stage && current != Stage::Retired, stage);
    }

    /// Enters a stage if it is in one that allows it; says whether it did.
    fn transition(&self, allows: impl Fn(Stage) -> bool, to: Stage) -> bool {
        let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        let transition = allows(*stage);
        if transition {
            *stage = to;
            drop(stage);
            self.moved.notify_waiters();
        }
        transition
    }

    /// Ends its watches and empties its cache, for good.
    pub(crate) fn retire(&self) {
        self.enter(Stage::Retired);
        if let Some(cache) = &self.cache {
            cache.retire(Instant::now());
        }
    }

    /// The scope of all its objects.
    pub fn everything(&self) -> Scope {
        Scope { prefix: self.config.prefix.clone(), exact: false }
    }
}

/// Which keys a read is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The prefix of a resource or of one of its namespaces, ending in `/`; or a whole key.
    pub prefix: String,
    /// `prefix` is a whole key.
    pub exact: bool,
}

impl Scope {
    /// Whether a key is in the scope.
    pub fn contains(&self, key: &str) -> bool {
        if self.exact { key == self.prefix } else { key.starts_with(&self.prefix) }
    }
}
