//! Informers: views that are compiled from stored objects and kept up to date. Examples are the permissions
//! of all roles and the address ranges of ServiceCIDRs. They serve lookups that are too frequent to decode
//! objects each time.
//!
//! ```text
//! store ── watch cache ──┬── changes of resource 1 ──┐
//!                        └── changes of resource 2 ──┴── InformerTask ── publishes ──▶ Informer ── read(|view| …)
//! ```
//!
//! A [`Projection`] is pure: it applies one change at a time, in order. [`InformerTask`] is the single task that feeds
//! it. Any number of [`Informer`]s read the last published state without a lock. A partial view is never
//! visible: the first one is published when the initial state of all its resources is complete. After missed
//! changes a new view is compiled from the start, while readers still see the previous one.
//!
//! There are two copies of a view (left-right). Readers use one while the other applies the next batch of
//! changes. Then they are swapped, and the first copy applies the batch too. So a batch costs as much as its
//! changes, whatever the size of the view. A view is cloned only if a reader still holds the copy that must
//! change.

mod changes;
mod metrics;
mod on_demand;
mod source;

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use api::resources::{Handle, Resource};
use arc_swap::ArcSwap;
use bytes::Bytes;
use cacher::Element;
use futures::StreamExt;
use futures::stream::{BoxStream, select_all};
use schema::object::Object;
use storage::Revision;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::{Registry, StoredRef, codec};
pub use changes::{ResourceChange, changes};
pub use metrics::InformerMetrics;
use metrics::QueuedItem;
pub use on_demand::OnDemandInformer;
use source::{Item, Source};

/// Maximum number of changes that are published together.
const BATCH_MAX: usize = 256;
/// Pause before a view is compiled again.
const REBUILD_PAUSE: Duration = Duration::from_millis(100);

/// State that is compiled from objects. A clone must behave like the original, and so must a view that has
/// applied the same changes.
pub trait Projection: Clone + Default + Send + Sync + 'static {
    /// Applies a change. A typical implementation starts like this:
    ///
    /// ```text
    /// match change.object() {
    ///     Some(object) => self.insert(change.name(), compiled(object)),
    ///     None => self.remove(change.name()),
    /// }
    /// ```
    ///
    /// The same change may be applied twice in a row. If this panics, the view is compiled again without the
    /// object, until the object changes.
    fn apply(&mut self, change: &ObjectChange);
}

/// Addition, change or removal of an object.
#[derive(Debug)]
pub struct ObjectChange {
    row: Handle,
    element: Arc<Element>,
    deleted: bool,
    /// State before the change, if the watch cache has it.
    previous: Option<Arc<Element>>,
    /// Decoded on first use.
    object: OnceLock<Option<Object>>,
    /// The store is at least at this revision with the change.
    store_revision: Revision,
    queued: QueuedItem,
}

impl ObjectChange {
    fn new(row: Handle, element: Arc<Element>, event: EventState, queued: QueuedItem) -> Self {
        let EventState { deleted, previous, store_revision } = event;
        ObjectChange { row, element, deleted, previous, object: OnceLock::new(), store_revision, queued }
    }

    /// Row of the resource, as passed to [`Informer::new`].
    pub fn row(&self) -> &Resource<'_> {
        self.row.row()
    }

    /// Namespace of the object; empty if it is cluster-scoped.
    pub fn namespace(&self) -> &str {
        if self.row().namespaced { self.element.namespace() } else { "" }
    }

    /// Name of the object.
    pub fn name(&self) -> &str {
        self.element.name()
    }

    /// Storage key of the object.
    pub fn key(&self) -> &str {
        self.element.key()
    }

    /// Resource version of the object; for a removed object that of its last state, not of the deletion.
    pub fn revision(&self) -> Revision {
        self.element.revision()
    }

    /// True if the object was removed. An object that was not removed and has no [bytes](Self::bytes) cannot
    /// be decoded.
    pub fn is_deleted(&self) -> bool {
        self.deleted
    }

    /// Current object in its storage version; `None` if it was removed. An object that cannot be decoded is
    /// logged and treated as removed. For resources with many objects, [`bytes`](Self::bytes) are cheaper.
    pub fn object(&self) -> Option<&Object> {
        self.object.get_or_init(|| self.decode()).as_ref()
    }

    /// Current stored form of the object: canonical, with defaults, in the storage version. `None` if it was
    /// removed or cannot be decoded.
    pub fn bytes(&self) -> Option<&Bytes> {
        self.element.value().ok().filter(|_| !self.deleted)
    }

    /// Stored form of the object before the change, like [`bytes`](Self::bytes). `None` if there was none, or if it is
    /// not available. The view may not contain that state: it may have panicked for it.
    pub fn previous_bytes(&self) -> Option<&Bytes> {
        self.previous.as_ref()?.value().ok()
    }

    /// Like [`bytes`](Self::bytes); for a removed object, those of its last state.
    pub fn last_bytes(&self) -> Option<&Bytes> {
        self.element.value().ok()
    }

    fn decode(&self) -> Option<Object> {
        if self.deleted {
            return None;
        }
        let storage = self.row().storage.as_ref()?;
        let left_out =
            |error: &dyn Display| tracing::error!(key = self.element.key(), %error, "an object is left out");
        self.element.value().inspect_err(|error| left_out(error)).ok()?;
        codec::decode(storage, StoredRef::element(&self.element)).inspect_err(|error| left_out(error)).ok()
    }
}

/// Type of a change, the object before it, and the store's revision after it.
struct EventState {
    deleted: bool,
    previous: Option<Arc<Element>>,
    store_revision: Revision,
}

/// Reads a view. Cheap to clone.
pub struct Informer<V>(Arc<Shared<V>>);

impl<V> Clone for Informer<V> {
    fn clone(&self) -> Self {
        Informer(Arc::clone(&self.0))
    }
}

/// State shared by the readers and the single writer.
struct Shared<V> {
    view: ArcSwap<V>,
    /// True after the first publication.
    ready: AtomicBool,
    /// Notified of every publication.
    published: watch::Sender<()>,
}

impl<V: Projection> Informer<V> {
    /// Creates a view of `rows`, which must be stored resources, and the task that keeps it up to date.
    /// `description` names it in the log.
    pub fn new(registry: &Registry, description: &'static str, rows: Vec<Handle>) -> (Self, InformerTask<V>) {
        Informer::with_initial_view(V::default, registry, description, rows)
    }

    /// As [`new`](Self::new), with a view that starts as the result of `make_view` whenever it is compiled.
    pub fn with_initial_view(
        make_view: impl Fn() -> V + Send + Sync + 'static,
        registry: &Registry,
        description: &'static str,
        rows: Vec<Handle>,
    ) -> (Self, InformerTask<V>) {
        let view = ArcSwap::from_pointee(make_view());
        let ready = AtomicBool::new(false);
        let published = watch::Sender::new(());
        let shared = Arc::new(Shared { view, ready, published });
        let task = InformerTask {
            registry: registry.clone(),
            description,
            rows,
            make_view: Box::new(make_view),
            shared: Arc::clone(&shared),
            spare: None,
            excluded: HashMap::new(),
        };
        (Informer(shared), task)
    }

    /// Calls `look` with the view, which is empty until it is [ready](Self::is_ready). Use
    /// [`snapshot`](Self::snapshot) to keep a view; the next change clones a view that is kept.
    pub fn read<T>(&self, look: impl FnOnce(&V) -> T) -> T {
        look(&self.0.view.load())
    }

    /// Returns the current view, to be kept.
    pub fn snapshot(&self) -> Arc<V> {
        self.0.view.load_full()
    }

    /// True if the view was ever complete. It stays ready: after a gap the previous view is visible until the
    /// next one is complete.
    pub fn is_ready(&self) -> bool {
        self.0.ready.load(Ordering::Acquire)
    }

    /// Waits until the view is ready, which may never happen.
    pub async fn ready(&self) {
        self.wait_for(|_| true).await;
    }

    /// Waits until the view is ready and a condition holds.
    pub async fn wait_for(&self, holds: impl Fn(&V) -> bool) {
        let mut published = self.0.published.subscribe();
        // The sender lives as long as `self`, so there is no error.
        while !(self.is_ready() && self.read(&holds)) && published.changed().await.is_ok() {}
    }
}

/// Task that keeps a view up to date.
#[must_use = "a view that is not kept current never becomes ready"]
pub struct InformerTask<V> {
    registry: Registry,
    description: &'static str,
    rows: Vec<Handle>,
    /// Creates the view before its first change.
    make_view: Box<dyn Fn() -> V + Send + Sync>,
    shared: Arc<Shared<V>>,
    /// Second copy of the view, with the same content. `None` if it must be cloned first.
    spare: Option<Arc<V>>,
    /// Objects that made the view panic, with their revisions.
    excluded: HashMap<Box<str>, i64>,
}

/// Reason to compile a view again.
type RebuildReason = String;

impl<V: Projection> InformerTask<V> {
    /// Keeps the view up to date until this is dropped. Spawns no task.
    pub async fn run(mut self) {
        loop {
            let Err(reason) = self.follow_changes().await;
            // Nothing is lost: the previous view stays visible. A panic was already logged.
            tracing::info!(view = self.description, reason, "rebuilding the view of an informer");
            sleep(REBUILD_PAUSE).await;
        }
    }

    /// Compiles a view from the start and keeps it up to date until changes were missed.
    async fn follow_changes(&mut self) -> Result<Infallible, RebuildReason> {
        let source = |row: &Handle| Source::new(self.registry.clone(), row.clone()).items();
        let sources: Vec<BoxStream<'static, Item>> = self.rows.iter().map(source).collect();
        let mut incomplete = sources.len();
        let mut items = select_all(sources).ready_chunks(BATCH_MAX);
        let mut view = (self.make_view)();
        while incomplete > 0 {
            for item in items.next().await.unwrap_or_default() {
                match item {
                    Item::Change(change) => self.process(&mut view, &change)?,
                    Item::Complete => incomplete -= 1,
                    Item::Gap(reason) => return Err(reason),
                }
            }
        }
        self.spare = None;
        self.publish(Arc::new(view));
        while let Some(batch) = items.next().await {
            let changes = batch.into_iter().filter_map(|item| match item {
                Item::Change(change) => Some(Ok(change)),
                Item::Complete => None,
                Item::Gap(reason) => Some(Err(reason)),
            });
            self.advance(&changes.collect::<Result<Vec<_>, _>>()?)?;
        }
        // Sources end with a gap. Without sources no change ever comes.
        std::future::pending().await
    }

    /// Publishes the view with more changes applied.
    fn advance(&mut self, changes: &[ObjectChange]) -> Result<(), RebuildReason> {
        let spare = self.spare.take();
        let mut next = spare.unwrap_or_else(|| Arc::new(V::clone(&self.shared.view.load())));
        let view = Arc::make_mut(&mut next);
        changes.iter().try_for_each(|change| self.process(view, change))?;
        let mut former = self.publish(next);
        if let Some(view) = Arc::get_mut(&mut former) {
            changes.iter().try_for_each(|change| self.apply(view, change))?;
            self.spare = Some(former);
        }
        Ok(())
    }

    fn publish(&self, view: Arc<V>) -> Arc<V> {
        let former = self.shared.view.swap(view);
        self.shared.ready.store(true, Ordering::Release);
        self.shared.published.send_replace(());
        former
    }

    /// Applies a change that arrived, and records it.
    fn process(&mut self, view: &mut V, change: &ObjectChange) -> Result<(), RebuildReason> {
        let start = Instant::now();
        self.apply(view, change)?;
        let metrics = change.queued.metrics();
        metrics.record_processing(start.elapsed());
        metrics.record_revision(change.store_revision);
        Ok(())
    }

    /// Applies a change, unless the view panicked for it before.
    fn apply(&mut self, view: &mut V, change: &ObjectChange) -> Result<(), RebuildReason> {
        let key = change.element.key();
        let revision = change.element.revision();
        if change.deleted {
            self.excluded.remove(key);
        } else if self.excluded.get(key) == Some(&revision) {
            return Ok(());
        }
        // The view is discarded after a panic.
        catch_unwind(AssertUnwindSafe(|| view.apply(change))).map_err(|_| {
            tracing::error!(
                view = self.description,
                key,
                "a view panicked over an object, which is left out"
            );
            self.excluded.insert(key.into(), revision);
            "it panicked over an object".to_owned()
        })
    }
}

#[cfg(test)]
mod tests;
