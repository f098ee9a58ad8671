//! Opens and closes the configured store.

mod measured_store;
mod size;

use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use client::{Address, Dialer};
use component_base::features::Gate;
use component_base::metrics::MetricsRegistry;
use server::TakeSnapshot;
use storage::memory::Memory;
use storage::mvcc::{Archive, Image};
use storage::{RoutedStorage, Storage};
use storage_embedded::snapshot::{self, Snapshot};
use storage_embedded::{EmbeddedStore, LockedDirectory};
use storage_etcd3::{Compactor, CustomDialer, DialFuture, Etcd, LeaseMetrics, TlsFiles};
use tokio::task::{JoinHandle, JoinSet, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval};

use self::measured_store::MeasuredStore;
pub(super) use self::measured_store::StoreTimes;
pub(super) use self::size::Size;
use crate::config::{Config, EtcdConfig, MemoryConfig, StorageConfig};
use crate::console::StoreConsoleSource;
use crate::error::RunError;

/// Timeout of a connection to etcd through a proxy, which opens a second connection.
const PROXIED_DIAL_TIMEOUT: Duration = Duration::from_secs(5);

/// Function that returns an image of the store. It may wait for a disk.
pub(crate) type TakeImage = Arc<dyn Fn() -> Result<Image, storage::Error> + Send + Sync>;

/// Initial snapshot, opened in the background, or none.
pub(super) struct InitialSnapshot(Option<JoinHandle<Result<Snapshot, storage::Error>>>);

impl InitialSnapshot {
    /// Starts to open the configured snapshot, if any.
    pub(super) fn of(config: &StorageConfig) -> Self {
        let from = match config {
            StorageConfig::Memory(config) => config.from.clone(),
            StorageConfig::Embedded { from, .. } => from.clone(),
            StorageConfig::Etcd(_) => None,
        };
        InitialSnapshot(from.map(|path| spawn_blocking(move || Snapshot::open(&path))))
    }

    /// Returns the opened snapshot.
    ///
    /// # Errors
    /// [`RunError::Store`].
    async fn finish(self) -> Result<Option<Arc<dyn Archive>>, RunError> {
        let Some(opening) = self.0 else { return Ok(None) };
        let opened = opening.await.map_err(|error| storage::Error::Internal(error.to_string()))?;
        Ok(Some(Arc::new(opened?)))
    }
}

/// The directory of a server's data. No other server uses it until this value, or the store opened in it, is
/// dropped. A server writes its first file after it has this value. A store outside of this process, or
/// without a permanent directory, has none.
pub(super) struct DataDirectory(Option<LockedDirectory>);

impl DataDirectory {
    /// Locks the directory.
    ///
    /// # Errors
    /// [`RunError::Store`] if another process uses it.
    pub(super) fn lock(config: &StorageConfig) -> Result<Self, RunError> {
        let dir = match config {
            StorageConfig::Embedded { dir, .. } => Some(dir),
            StorageConfig::Memory(config) => config.dir.as_ref(),
            StorageConfig::Etcd(_) => None,
        };
        Ok(DataDirectory(dir.map(|dir| LockedDirectory::lock(dir)).transpose()?))
    }
}

/// An open store with its background tasks.
pub(super) struct Store {
    pub(super) storage: RoutedStorage,
    /// The etcd clusters of the store, the main one first.
    pub(super) clusters: Vec<Arc<dyn Storage>>,
    /// Size metrics.
    pub(super) size: Arc<Size>,
    /// Latency metrics of etcd.
    pub(super) times: Arc<StoreTimes>,
    /// Returns the contents, if the whole store is in this process.
    pub(super) image: Option<TakeImage>,
    embedded: Option<Arc<EmbeddedStore>>,
    /// Lock of the directory of an in-memory server's files. An embedded store holds its own.
    _directory: Option<LockedDirectory>,
    /// Background tasks, until the store is closed.
    background: JoinSet<()>,
}

impl Store {
    /// Opens the configured store with the initial snapshot, in `directory` if it has one. If `traced`, calls are recorded
    /// as spans of their requests. `dialer` is the egress proxy to etcd, if there is one. An unresponsive etcd
    /// is not an error at this point.
    ///
    /// # Errors
    /// [`RunError::Store`].
    pub(super) async fn open(
        config: &Config,
        DataDirectory(directory): DataDirectory,
        initial: InitialSnapshot,
        traced: bool,
        dialer: Option<Dialer>,
        metrics: &MetricsRegistry,
    ) -> Result<Self, RunError> {
        let initial = initial.finish().await?;
        match &config.storage {
            StorageConfig::Memory(MemoryConfig { shared: Some(memory), .. }) => {
                Ok(Store::of(Arc::clone(memory) as _, Size::Unknown))
            }
            StorageConfig::Memory(config) => {
                let memory = initial.map_or_else(Memory::new, Memory::from_archive);
                let store = Store::in_memory(memory, config.compaction_interval);
                Ok(Store { _directory: directory, ..store })
            }
            StorageConfig::Embedded { dir, compaction_interval, .. } => {
                #[allow(clippy::disallowed_methods, reason = "the store is given the machine's clock here")]
                let mut options = storage_embedded::Options::new(Arc::new(SystemTime::now));
                options.compaction_interval = *compaction_interval;
                options.begin = initial;
                let directory = directory.map_or_else(|| LockedDirectory::lock(dir), Ok)?;
                let embedded = EmbeddedStore::open_locked(directory, options)?;
                let held = Arc::clone(&embedded);
                let mut store = Store::of(Arc::clone(&embedded) as _, Size::Directory(dir.clone()));
                store.embedded = Some(embedded);
                store.image = Some(Arc::new(move || Ok(held.image())));
                Ok(store)
            }
            StorageConfig::Etcd(etcd) => {
                let range_stream = config.gates.enabled(Gate::EtcdRangeStream);
                Store::etcd(etcd, range_stream, traced, dialer.as_ref(), metrics).await
            }
        }
    }

    /// Registers the metrics of the store.
    pub(super) fn register_metrics(&self, registry: &MetricsRegistry) {
        self.size.register(registry);
        self.times.register(registry);
    }

    /// Returns the data for the console. An in-process store has no pending remote calls.
    pub(super) fn console_source(&self) -> StoreConsoleSource {
        let times = Arc::clone(&self.times);
        let waiting = Arc::clone(&self.times);
        let name = match *self.size {
            _ if self.embedded.is_some() => "embedded",
            Size::Unknown => "memory",
            _ => "etcd",
        };
        StoreConsoleSource {
            name,
            durations: Arc::new(move || times.durations()),
            waiting: Arc::new(move || waiting.active_operations()),
        }
    }

    /// Creates the store of a fork from its parent's image.
    pub(super) fn fork(image: &Image, config: &StorageConfig) -> Self {
        match config {
            StorageConfig::Memory(config) => {
                Store::in_memory(Memory::from_image(image), config.compaction_interval)
            }
            StorageConfig::Etcd(_) | StorageConfig::Embedded { .. } => {
                Store::in_memory(Memory::from_image(image), None)
            }
        }
    }

    /// Returns the snapshot function, if the store is in this process.
    pub(super) fn snapshots(&self) -> Option<TakeSnapshot> {
        let image = self.image.clone()?;
        Some(Arc::new(move || {
            let pieces = image().and_then(|image| snapshot::encode(&image));
            Ok(Box::new(pieces.map_err(|error| error.to_string())?) as server::SnapshotChunks)
        }))
    }

    /// Writes a snapshot to the configured file, if any.
    pub(super) async fn write_snapshot(&self, config: &Config) {
        let (Some(path), Some(image)) = (config.snapshot_file.clone(), self.image.clone()) else { return };
        let written = spawn_blocking(move || {
            image()
                .and_then(|image| snapshot::write(&image, &path))
                .map(|()| tracing::info!(path = %path.display(), "wrote a snapshot"))
        });
        match written.await.map_err(|error| error.to_string()).map(|done| done.map_err(|e| e.to_string())) {
            Ok(Ok(())) => {}
            Ok(Err(error)) | Err(error) => tracing::error!(error, "failed to write a snapshot"),
        }
    }

    fn in_memory(memory: Memory, compaction_interval: Option<Duration>) -> Self {
        let memory = Arc::new(memory);
        memory.start_expiring();
        let mut store = Store::of(Arc::clone(&memory) as _, Size::Unknown);
        if let Some(every) = compaction_interval {
            store.background.spawn(compact_history(Arc::clone(&memory), every));
        }
        store.image = Some(Arc::new(move || memory.image()));
        store
    }

    fn of(storage: Arc<dyn Storage>, size: Size) -> Self {
        let clusters = vec![Arc::clone(&storage)];
        let size = Arc::new(size);
        Store {
            storage: RoutedStorage::new(storage),
            clusters,
            size,
            times: Arc::default(),
            image: None,
            embedded: None,
            _directory: None,
            background: JoinSet::new(),
        }
    }

    /// Opens the main cluster and those of the overrides, each once.
    async fn etcd(
        config: &EtcdConfig,
        range_stream: bool,
        traced: bool,
        dialer: Option<&Dialer>,
        metrics: &MetricsRegistry,
    ) -> Result<Self, RunError> {
        let mut background = JoinSet::new();
        let leases = LeaseMetrics::new(metrics);
        let mut clusters: Vec<(Vec<String>, Arc<Etcd>)> = Vec::new();
        let mut open = async |endpoints: &[String]| -> Result<Arc<dyn Storage>, RunError> {
            let mut members = endpoints.to_vec();
            members.sort_unstable();
            if let Some((_, etcd)) = clusters.iter().find(|(key, _)| *key == members) {
                return Ok(Arc::clone(etcd) as _);
            }
            let options = options(config, endpoints, traced, dialer, &leases);
            let etcd = Arc::new(Etcd::new(storage_etcd3::Options { range_stream, ..options }).await?);
            if let Some(every) = config.compaction_interval {
                background.spawn(compact(Arc::clone(&etcd), every));
            }
            clusters.push((members, Arc::clone(&etcd)));
            Ok(etcd as Arc<dyn Storage>)
        };
        let main = open(&config.endpoints).await?;
        let mut storage = RoutedStorage::new(main);
        for other in &config.overrides {
            let store = open(&other.endpoints).await?;
            storage = storage.with_route(format!("{}/{}/", config.prefix, other.directory()), store);
        }
        let times = Arc::<StoreTimes>::default();
        let storage = storage
            .map(|_, store| Arc::new(MeasuredStore::new(store, &config.prefix, Arc::clone(&times))) as _);
        let size = Arc::new(Size::of(clusters.len()));
        for (number, (_, etcd)) in clusters.iter().enumerate().filter(|_| !config.size_interval.is_zero()) {
            background.spawn(size::poll(Arc::clone(etcd), Arc::clone(&size), number, config.size_interval));
        }
        let stores = clusters.into_iter().map(|(_, etcd)| etcd as Arc<dyn Storage>).collect();
        Ok(Store {
            storage,
            clusters: stores,
            size,
            times,
            image: None,
            embedded: None,
            _directory: None,
            background,
        })
    }

    /// Stops the background tasks and flushes everything to disk.
    pub(super) async fn close(mut self) {
        self.background.abort_all();
        if let Some(embedded) = self.embedded {
            embedded.close().await;
        }
    }
}

fn options(
    config: &EtcdConfig,
    endpoints: &[String],
    traced: bool,
    dialer: Option<&Dialer>,
    leases: &LeaseMetrics,
) -> storage_etcd3::Options {
    let mut options = storage_etcd3::Options::new(endpoints);
    if config.ca.is_some() || config.certificate.is_some() || config.key.is_some() {
        let ca = config.ca.clone();
        let cert = config.certificate.clone();
        let key = config.key.clone();
        options.tls = Some(TlsFiles { ca, cert, key });
    }
    options.health_timeout = config.health_timeout;
    options.health_key = format!("{}/health", config.prefix);
    options.lease_reuse = config.lease_reuse;
    options.traced = traced;
    options.leases = leases.clone();
    if let Some(dialer) = dialer {
        options.dialer = Some(CustomDialer::new(member_dialer(dialer)));
        options.dial_timeout = PROXIED_DIAL_TIMEOUT;
    }
    options
}

/// Returns the connector to members through a proxy.
fn member_dialer(dialer: &Dialer) -> impl Fn(String, u16) -> DialFuture + Send + Sync + use<> {
    let dialer = Arc::clone(dialer);
    move |host, port| {
        let dialer = Arc::clone(&dialer);
        Box::pin(async move {
            let stream = dialer.dial(&Address { host, port }).await.map_err(io::Error::other)?;
            Ok(Box::new(stream) as Box<dyn storage_etcd3::Io>)
        })
    }
}

/// Compacts history like the embedded store: between one and two intervals remain.
async fn compact_history(memory: Arc<Memory>, every: Duration) {
    let mut before = None;
    loop {
        tokio::time::sleep(every).await;
        // Both revisions are the store's own, and it always responds.
        if let Some(revision) = before {
            let _ = memory.compact(revision).await;
        }
        before = memory.current_revision().await.ok();
    }
}

/// Participates in the compaction that all servers of one etcd share.
async fn compact(etcd: Arc<Etcd>, every: Duration) {
    let mut compactor = Compactor::default();
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if let Err(error) = compactor.round(&etcd).await {
            tracing::warn!(%error, "failed to compact etcd");
        }
    }
}
