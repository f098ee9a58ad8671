//! Opening and closing the store that the configuration names.

mod size;
mod timed;

use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use client::{Address, Dialer};
use server::TakeSnapshot;
use server::metrics::Collector;
use storage::memory::Memory;
use storage::mvcc::{Archive, Image};
use storage::{Routed, Storage};
use storage_embedded::Embedded;
use storage_embedded::snapshot::{self, Snapshot};
use storage_etcd3::{Compactor, CustomDialer, Dialing, Etcd, LeaseFigures, TlsFiles};
use tokio::task::{JoinHandle, JoinSet, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval};

pub(super) use self::size::Size;
pub(super) use self::timed::StoreTimes;
use self::timed::Timed;
use crate::config::{Config, EtcdConfig, MemoryConfig, StorageConfig};
use crate::console::StoreLooks;
use crate::error::RunError;

/// How long a connection to etcd may take where a proxy is on the way, which makes a second one.
const PROXIED_DIAL_TIMEOUT: Duration = Duration::from_secs(5);

/// Tells what a store holds now. It may wait for a disk.
pub(crate) type TakeImage = Arc<dyn Fn() -> Result<Image, storage::Error> + Send + Sync>;

/// What a store begins with: a snapshot that is opened while the rest of a start goes on, or nothing.
pub(super) struct Beginning(Option<JoinHandle<Result<Snapshot, storage::Error>>>);

impl Beginning {
    /// Begins to open the snapshot that the configuration names, if it names one.
    pub(super) fn of(config: &StorageConfig) -> Self {
        let from = match config {
            StorageConfig::Memory(config) => config.from.clone(),
            StorageConfig::Embedded { from, .. } => from.clone(),
            StorageConfig::Etcd(_) => None,
        };
        Beginning(from.map(|path| spawn_blocking(move || Snapshot::open(&path))))
    }

    /// What was opened.
    ///
    /// # Errors
    /// [`RunError::Store`].
    async fn opened(self) -> Result<Option<Arc<dyn Archive>>, RunError> {
        let Some(opening) = self.0 else { return Ok(None) };
        let opened = opening.await.map_err(|error| storage::Error::Internal(error.to_string()))?;
        Ok(Some(Arc::new(opened?)))
    }
}

/// An open store, and what has to be done to it in the end.
pub(super) struct Store {
    /// The store.
    pub(super) storage: Arc<dyn Storage>,
    /// The clusters that it is made of, the main one first.
    pub(super) clusters: Vec<Arc<dyn Storage>>,
    /// How large they are, for the metrics page.
    pub(super) size: Arc<Size>,
    /// How long etcd took, for the metrics page.
    pub(super) times: Arc<StoreTimes>,
    /// What is counted of leases of etcd.
    pub(super) leases: Arc<LeaseFigures>,
    /// What is in it, where the whole store is in this process.
    pub(super) image: Option<TakeImage>,
    embedded: Option<Arc<Embedded>>,
    /// What goes on as long as it is open.
    background: JoinSet<()>,
}

impl Store {
    /// Opens the store, which begins with what is being read; if it is `traced`, its calls are recorded with the requests
    /// that they are made for. `dialer` is the way to etcd, if not through this machine's own network. An etcd that does
    /// not answer is no error yet.
    ///
    /// # Errors
    /// [`RunError::Store`].
    pub(super) async fn open(
        config: &StorageConfig,
        begin: Beginning,
        traced: bool,
        dialer: Option<Dialer>,
    ) -> Result<Self, RunError> {
        let begin = begin.opened().await?;
        match config {
            StorageConfig::Memory(MemoryConfig { shared: Some(memory), .. }) => {
                Ok(Store::of(Arc::clone(memory) as _, Size::Unknown))
            }
            StorageConfig::Memory(config) => {
                let memory = begin.map_or_else(Memory::new, Memory::over);
                Ok(Store::in_memory(memory, config.compaction_interval))
            }
            StorageConfig::Embedded { dir, compaction_interval, .. } => {
                #[allow(clippy::disallowed_methods, reason = "the store is given the machine's clock here")]
                let mut options = storage_embedded::Options::new(Arc::new(SystemTime::now));
                options.compaction_interval = *compaction_interval;
                options.begin = begin;
                let embedded = Embedded::open(dir, options)?;
                let held = Arc::clone(&embedded);
                let mut store = Store::of(Arc::clone(&embedded) as _, Size::Directory(dir.clone()));
                store.embedded = Some(embedded);
                store.image = Some(Arc::new(move || Ok(held.image())));
                Ok(store)
            }
            StorageConfig::Etcd(config) => Store::etcd(config, traced, dialer.as_ref()).await,
        }
    }

    /// What the console looks at. A store of this process has no calls that wait for somebody else.
    pub(super) fn looks(&self) -> StoreLooks {
        let (times, waiting) = (Arc::clone(&self.times), Arc::clone(&self.times));
        let name = match *self.size {
            _ if self.embedded.is_some() => "embedded",
            Size::Unknown => "memory",
            _ => "etcd",
        };
        StoreLooks { name, times, waiting: Arc::new(move || waiting.waiting()) }
    }

    /// A store of a fork: what its parent held.
    pub(super) fn fork(image: &Image, config: &StorageConfig) -> Self {
        match config {
            StorageConfig::Memory(config) => Store::in_memory(Memory::of(image), config.compaction_interval),
            StorageConfig::Etcd(_) | StorageConfig::Embedded { .. } => {
                Store::in_memory(Memory::of(image), None)
            }
        }
    }

    /// What takes snapshots of it, where it is in this process.
    pub(super) fn snapshots(&self) -> Option<TakeSnapshot> {
        let image = self.image.clone()?;
        Some(Arc::new(move || {
            let pieces = image().and_then(|image| snapshot::pieces(&image));
            Ok(Box::new(pieces.map_err(|error| error.to_string())?) as server::Pieces)
        }))
    }

    /// Writes a snapshot to the file that is configured, if one is.
    pub(super) async fn write_snapshot(&self, config: &Config) {
        let (Some(path), Some(image)) = (config.snapshot_file.clone(), self.image.clone()) else { return };
        let written = spawn_blocking(move || {
            image()
                .and_then(|image| snapshot::write(&image, &path))
                .map(|()| tracing::info!(path = %path.display(), "wrote a snapshot"))
        });
        match written.await.map_err(|error| error.to_string()).map(|done| done.map_err(|e| e.to_string())) {
            Ok(Ok(())) => {}
            Ok(Err(error)) | Err(error) => tracing::error!(error, "no snapshot was written"),
        }
    }

    /// A store in memory.
    fn in_memory(memory: Memory, compaction_interval: Option<Duration>) -> Self {
        let memory = Arc::new(memory);
        memory.start_expiring();
        let mut store = Store::of(Arc::clone(&memory) as _, Size::Unknown);
        if let Some(every) = compaction_interval {
            store.background.spawn(forget(Arc::clone(&memory), every));
        }
        store.image = Some(Arc::new(move || memory.image()));
        store
    }

    fn of(storage: Arc<dyn Storage>, size: Size) -> Self {
        let (clusters, size) = (vec![Arc::clone(&storage)], Arc::new(size));
        Store {
            storage,
            clusters,
            size,
            times: Arc::default(),
            leases: Arc::default(),
            image: None,
            embedded: None,
            background: JoinSet::new(),
        }
    }

    /// The main cluster, and those of the overrides, each once.
    async fn etcd(config: &EtcdConfig, traced: bool, dialer: Option<&Dialer>) -> Result<Self, RunError> {
        let (mut background, leases) = (JoinSet::new(), Arc::default());
        let mut known: Vec<(Vec<String>, Arc<Etcd>)> = Vec::new();
        let mut open = async |endpoints: &[String]| -> Result<Arc<dyn Storage>, RunError> {
            let mut members = endpoints.to_vec();
            members.sort_unstable();
            if let Some((_, etcd)) = known.iter().find(|(known, _)| *known == members) {
                return Ok(Arc::clone(etcd) as _);
            }
            let options = options(config, endpoints, traced, (dialer, &leases));
            let etcd = Arc::new(Etcd::new(options).await?);
            if let Some(every) = config.compaction_interval {
                background.spawn(compact(Arc::clone(&etcd), every));
            }
            known.push((members, Arc::clone(&etcd)));
            Ok(etcd as Arc<dyn Storage>)
        };
        let main = open(&config.endpoints).await?;
        let mut elsewhere = Vec::new();
        for other in &config.overrides {
            let store = open(&other.endpoints).await?;
            // As upstream, a resource that is not known here is nobody's error.
            if let Some(directory) = other.directory() {
                elsewhere.push((format!("{}/{directory}/", config.prefix), store));
            }
        }
        let storage = if elsewhere.is_empty() { main } else { Arc::new(Routed::new(main, elsewhere)) };
        let times = Arc::<StoreTimes>::default();
        let storage = Arc::new(Timed::new(storage, &config.prefix, Arc::clone(&times)));
        let size = Arc::new(Size::of(known.len()));
        for (number, (_, etcd)) in known.iter().enumerate().filter(|_| !config.size_interval.is_zero()) {
            background.spawn(size::ask(Arc::clone(etcd), Arc::clone(&size), number, config.size_interval));
        }
        let clusters = known.into_iter().map(|(_, etcd)| etcd as Arc<dyn Storage>).collect();
        Ok(Store { storage, clusters, size, times, leases, image: None, embedded: None, background })
    }

    /// Ends what runs in the background and makes sure that everything is on disk.
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
    (dialer, leases): (Option<&Dialer>, &Arc<LeaseFigures>),
) -> storage_etcd3::Options {
    let mut options = storage_etcd3::Options::new(endpoints);
    if config.ca.is_some() || config.certificate.is_some() || config.key.is_some() {
        let (ca, cert, key) = (config.ca.clone(), config.certificate.clone(), config.key.clone());
        options.tls = Some(TlsFiles { ca, cert, key });
    }
    options.health_timeout = config.health_timeout;
    options.health_key = format!("{}/health", config.prefix);
    options.lease_reuse = config.lease_reuse;
    options.traced = traced;
    options.leases = Arc::clone(leases);
    if let Some(dialer) = dialer {
        options.way = Some(CustomDialer::new(way(dialer)));
        options.dial_timeout = PROXIED_DIAL_TIMEOUT;
    }
    options
}

/// What is counted of leases.
pub(super) struct OfLeases(pub(super) Arc<LeaseFigures>);

impl Collector for OfLeases {
    fn collect(&self, out: &mut String) {
        self.0.write(out);
    }
}

/// What connects to members through a proxy.
fn way(dialer: &Dialer) -> impl Fn(String, u16) -> Dialing + Send + Sync + use<> {
    let dialer = Arc::clone(dialer);
    move |host, port| {
        let dialer = Arc::clone(&dialer);
        Box::pin(async move {
            let stream = dialer.dial(&Address { host, port }).await.map_err(io::Error::other)?;
            Ok(Box::new(stream) as Box<dyn storage_etcd3::Io>)
        })
    }
}

/// Forgets history as the embedded store does: between one and two intervals of it remain.
async fn forget(memory: Arc<Memory>, every: Duration) {
    let mut before = None;
    loop {
        tokio::time::sleep(every).await;
        // Both are its own revisions, and it answers always.
        if let Some(revision) = before {
            let _ = memory.compact(revision).await;
        }
        before = memory.current_revision().await.ok();
    }
}

/// Takes part in the compaction that all servers on one etcd share.
async fn compact(etcd: Arc<Etcd>, every: Duration) {
    let mut compactor = Compactor::default();
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if let Err(error) = compactor.round(&etcd).await {
            tracing::warn!(%error, "etcd was not compacted");
        }
    }
}
