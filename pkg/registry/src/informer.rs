//! Views compiled from stored objects and kept current: who may do what by all roles there are, which
//! ranges addresses are from, whatever is asked too often to be read from objects each time.
//!
//! ```text
//! store ── watch cache ──┬── changes of resource 1 ──┐
//!                        └── changes of resource 2 ──┴── Following ── publishes ──▶ Follower ── read(|view| …)
//! ```
//!
//! A [`View`] is pure: it takes one change at a time, in order. [`Following`] is the one task that feeds it;
//! [`Follower`]s, as many as one likes, read what was published last and take no lock. Nobody ever sees
//! a view that is half filled: the first one is published when the initial state of all its resources is in,
//! and if changes were missed a new one is compiled from the beginning while the former is still shown.
//!
//! There are two copies of a view: readers look at one while the other takes the next batch of changes; then
//! they change places, and what was the first takes the batch, too. So a batch costs what its changes
//! cost, whatever the size of the view. A copy is made only when a reader still holds on to the one that
//! has to change.

mod asked;
mod source;

use std::collections::HashMap;
use std::convert::Infallible;
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
use tokio::time::sleep;

use crate::{Registry, StoredRef, codec};
pub use asked::WhenAsked;
use source::{Item, Source};

/// How many changes are published together at most.
const BATCH_MAX: usize = 256;
/// The pause before a view is compiled anew.
const PAUSE: Duration = Duration::from_millis(100);

/// What is compiled from objects. A clone must behave as the original does, and so must one that took the same
/// changes.
pub trait Projection: Clone + Default + Send + Sync + 'static {
    /// Takes a change in. Most begin so:
    ///
    /// ```text
    /// match change.object() {
    ///     Some(object) => self.insert(change.name(), compiled(object)),
    ///     None => self.remove(change.name()),
    /// }
    /// ```
    ///
    /// The same change may come twice in a row. If this panics, the object is left out of the view until it is changed, and the view is compiled anew.
    fn apply(&mut self, change: &ObjectChange);
}

/// One object appeared, changed or went.
#[derive(Debug)]
pub struct ObjectChange {
    row: Handle,
    element: Arc<Element>,
    gone: bool,
    /// Decoded when somebody asks.
    object: OnceLock<Option<Object>>,
}

impl ObjectChange {
    fn new(row: Handle, element: Arc<Element>, gone: bool) -> Self {
        ObjectChange { row, element, gone, object: OnceLock::new() }
    }

    /// The row of its resource, as it was asked for.
    pub fn row(&self) -> &Resource<'_> {
        self.row.row()
    }

    /// The namespace of the object; empty if it is in none.
    pub fn namespace(&self) -> &str {
        if self.row().namespaced { self.element.namespace() } else { "" }
    }

    /// The name of the object.
    pub fn name(&self) -> &str {
        self.element.name()
    }

    /// The revision of the change.
    pub fn revision(&self) -> Revision {
        self.element.revision()
    }

    /// Whether the object is gone. What is neither gone nor has [bytes](Self::bytes) cannot be read.
    pub fn is_gone(&self) -> bool {
        self.gone
    }

    /// The object as it is now, in its storage version; `None` if it is gone. One that cannot be read is as
    /// good as gone, which the log is told. For objects that are many, [`bytes`](Self::bytes) cost less.
    pub fn object(&self) -> Option<&Object> {
        self.object.get_or_init(|| self.decode()).as_ref()
    }

    /// The stored form of the object as it is now: canonical, complete, of its storage version; `None` if it
    /// is gone or cannot be read.
    pub fn bytes(&self) -> Option<&Bytes> {
        self.element.value().ok().filter(|_| !self.gone)
    }

    fn decode(&self) -> Option<Object> {
        if self.gone {
            return None;
        }
        let stored = || match self.element.value() {
            Ok(_) => Ok(StoredRef::element(&self.element)),
            Err(message) => Err(message.to_owned()),
        };
        let storage = self.row().storage.as_ref()?;
        let decoded = stored().and_then(|stored| codec::decode(storage, stored));
        decoded
            .inspect_err(|error| tracing::error!(key = self.element.key(), error, "an object is left out"))
            .ok()
    }
}

/// Reads a view. Cheap to clone.
pub struct Informer<V>(Arc<Shared<V>>);

impl<V> Clone for Informer<V> {
    fn clone(&self) -> Self {
        Informer(Arc::clone(&self.0))
    }
}

/// What readers and the one writer share.
struct Shared<V> {
    view: ArcSwap<V>,
    /// Whether one was ever published.
    ready: AtomicBool,
    /// Told whenever one is.
    published: watch::Sender<()>,
}

impl<V: Projection> Informer<V> {
    /// A view of `rows`, which have to be stored, and what keeps it current while it runs. `what` names it
    /// in the log.
    pub fn new(registry: &Registry, what: &'static str, rows: Vec<Handle>) -> (Self, InformerTask<V>) {
        Informer::beginning_with(V::default, registry, what, rows)
    }

    /// As [`new`](Self::new), of a view that is what `empty` makes before it takes the first change, whenever it
    /// is compiled.
    pub fn beginning_with(
        empty: impl Fn() -> V + Send + Sync + 'static,
        registry: &Registry,
        what: &'static str,
        rows: Vec<Handle>,
    ) -> (Self, InformerTask<V>) {
        let view = ArcSwap::from_pointee(empty());
        let (ready, published) = (AtomicBool::new(false), watch::Sender::new(()));
        let shared = Arc::new(Shared { view, ready, published });
        let following = InformerTask {
            registry: registry.clone(),
            what,
            rows,
            empty: Box::new(empty),
            shared: Arc::clone(&shared),
            spare: None,
            left_out: HashMap::new(),
        };
        (Informer(shared), following)
    }

    /// Looks at the view, which is empty until it is [ready](Self::is_ready). What `look` returns should not
    /// be the view itself, lest the next change cost a copy; for that there is
    /// [`snapshot`](Self::snapshot).
    pub fn read<T>(&self, look: impl FnOnce(&V) -> T) -> T {
        look(&self.0.view.load())
    }

    /// The view as it is now, to be held on to.
    pub fn snapshot(&self) -> Arc<V> {
        self.0.view.load_full()
    }

    /// Whether the view has been complete once. It stays ready: after a gap the former view is shown until the
    /// next one is complete.
    pub fn is_ready(&self) -> bool {
        self.0.ready.load(Ordering::Acquire)
    }

    /// Waits until the view is ready, which may take for ever.
    pub async fn ready(&self) {
        self.wait_for(|_| true).await;
    }

    /// Waits until the view is ready and something is true of it.
    pub async fn wait_for(&self, holds: impl Fn(&V) -> bool) {
        let mut published = self.0.published.subscribe();
        // The sender lives as long as `self`, so there is no error.
        while !(self.is_ready() && self.read(&holds)) && published.changed().await.is_ok() {}
    }
}

/// Keeps a view current while it runs.
#[must_use = "a view that is not kept current never becomes ready"]
pub struct InformerTask<V> {
    registry: Registry,
    what: &'static str,
    rows: Vec<Handle>,
    /// What a view is before its first change.
    empty: Box<dyn Fn() -> V + Send + Sync>,
    shared: Arc<Shared<V>>,
    /// What readers do not see and is the same. `None` when it has to be copied first.
    spare: Option<Arc<V>>,
    /// Objects over which the view panicked, with their revisions.
    left_out: HashMap<Box<str>, i64>,
}

/// Why a view has to be compiled anew.
type Gap = String;

impl<V: Projection> InformerTask<V> {
    /// Keeps the view current until this is dropped. Spawns nothing.
    pub async fn run(mut self) {
        loop {
            let Err(reason) = self.live().await;
            // Nothing is lost: the former view is shown meanwhile. A panic has been told before.
            tracing::info!(view = self.what, reason, "a view is compiled anew");
            sleep(PAUSE).await;
        }
    }

    /// Compiles a view from the beginning and keeps it current until changes were missed.
    async fn live(&mut self) -> Result<Infallible, Gap> {
        let source = |row: &Handle| Source::new(self.registry.clone(), row.clone()).items();
        let sources: Vec<BoxStream<'static, Item>> = self.rows.iter().map(source).collect();
        let mut incomplete = sources.len();
        let mut items = select_all(sources).ready_chunks(BATCH_MAX);
        let mut view = (self.empty)();
        while incomplete > 0 {
            for item in items.next().await.unwrap_or_default() {
                match item {
                    Item::Change(change) => self.apply(&mut view, &change)?,
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
        // Sources end with a gap; without any there is nothing to come.
        std::future::pending().await
    }

    /// Publishes the view with some changes more.
    fn advance(&mut self, changes: &[ObjectChange]) -> Result<(), Gap> {
        let spare = self.spare.take();
        let mut next = spare.unwrap_or_else(|| Arc::new(V::clone(&self.shared.view.load())));
        let view = Arc::make_mut(&mut next);
        changes.iter().try_for_each(|change| self.apply(view, change))?;
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

    /// Has a view take a change in, unless it has panicked over it before.
    fn apply(&mut self, view: &mut V, change: &ObjectChange) -> Result<(), Gap> {
        let (key, revision) = (change.element.key(), change.element.revision());
        if change.gone {
            self.left_out.remove(key);
        } else if self.left_out.get(key) == Some(&revision) {
            return Ok(());
        }
        // What a panic leaves of the view is thrown away.
        catch_unwind(AssertUnwindSafe(|| view.apply(change))).map_err(|_| {
            tracing::error!(view = self.what, key, "a view panicked over an object, which is left out");
            self.left_out.insert(key.into(), revision);
            "it panicked over an object".to_owned()
        })
    }
}

#[cfg(test)]
mod tests;
