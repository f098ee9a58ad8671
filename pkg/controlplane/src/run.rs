//! Start and shutdown of a server.

mod audit;
mod certificate_expiry;
mod certificates;
mod health;
mod hooks;
mod kubeconfig;
pub(crate) mod service_account_keys;
mod serving_socket;
mod signals;
mod store;
mod traces;

use std::mem;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, join};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use ::audit::AuditMetrics;
use authorization::Authorizer;
use client::webhook::ClientMetrics;
use component_base::metrics::MetricsRegistry;
use component_base::weakened::{WeakenedDecisions, WeakenedKind};
use egress::Network;
use endpoints::cpu_pool::CpuPool;
use endpoints::discovery::VersionInfo;
use endpoints::routing::dispatch::Dispatch;
use endpoints::watch::drain::WatchDrain;
use server::health::Check;
use server::limits::memory::MemoryBudget;
use server::metrics::{Metrics, ResourceLabels};
use server::tls::reload_files;
use server::{Auditor, Chain, ChainOptions, ConnectionOptions, Env, Lifecycle, Services};
use storage::mvcc::Image;

use crate::api::Api;
use crate::config::{Config, IgnoredSetting, StorageConfig};
use crate::console::{self, ConsoleSources};
use crate::encryption_at_rest::EncryptionAtRest;
pub use crate::encryption_at_rest::load::EncryptionLoadError;
pub use crate::error::{ConfigurationError, RunError};
use crate::loopback::Loopback;
use crate::process::{Monitoring, ProcessContext};
use crate::system::{SystemClock, start_cpu_pool};
use crate::template::{ForkState, InheritedState, Template};
use crate::{api, huge_pages, memory, system};
use certificate_expiry::CertificateExpiry;
use controllers::tasks::Tasks;
use hooks::Hooks;
use serving_socket::ServingSocket;
pub(crate) use store::TakeImage;
use store::{DataDirectory, InitialSnapshot, Store};
use traces::Recorder;

/// Maximum wait for requests in progress at shutdown, beyond their own deadlines (default of upstream's wait
/// groups).
const DRAIN_MAX: Duration = Duration::from_secs(60);
/// Interval of checks for remaining watches.
const WATCH_POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Maximum wait for background work in progress at shutdown.
const TASKS_END_MAX: Duration = Duration::from_secs(10);

/// Returns the Kubernetes version and the build information.
pub fn version() -> VersionInfo {
    VersionInfo::of_this_build()
}

/// A running server.
pub struct RunningServer {
    /// The listening address.
    pub address: SocketAddr,
    /// PEM certificates that clients can use to verify this server.
    pub ca_certificates: String,
    lifecycle: Lifecycle,
    serving: JoinHandle<()>,
    chain: Arc<Chain>,
    watch_drain: WatchDrain,
    ready: JoinHandle<Result<(), RunError>>,
    /// Background tasks. They run as long as requests are served.
    background: JoinSet<()>,
    tasks: Tasks,
    before_stop: BoxFuture<'static, ()>,
    /// CPU pool and request dispatcher, for tests.
    internals: (CpuPool, Arc<dyn Dispatch>),
    store: Store,
    forkable: ForkState,
    recorder: Option<telemetry::Provider>,
    auditor: Option<Arc<Auditor>>,
    config: Config,
}

/// Runs a server until SIGTERM or SIGINT. A second signal terminates the process immediately.
///
/// # Errors
/// An error that prevents the server's start, with a message for its operator.
pub async fn run(config: Config) -> Result<(), RunError> {
    let mut stop = signals::stop()?;
    let mut snapshot = signals::snapshot()?;
    let limit = memory::limit(config.memory_limit);
    let mut running = start(config, system_env()).await?;
    running.background.spawn(huge_pages::adjust_to_size(limit));
    tokio::select! {
        ready = &mut running.ready => {
            ready.map_err(|_| RunError::HookPanic)??;
            running.print_usage();
            loop {
                tokio::select! {
                    _ = stop.recv() => break,
                    _ = snapshot.recv() => running.store.write_snapshot(&running.config).await,
                }
            }
        }
        _ = stop.recv() => {}
    }
    running.stop().await;
    Ok(())
}

/// Returns a token that SIGTERM or SIGINT cancels. A second signal terminates the process immediately.
///
/// # Errors
/// [`RunError::Signals`].
pub fn stopped() -> Result<CancellationToken, RunError> {
    let mut stop = signals::stop()?;
    let stopped = CancellationToken::new();
    let token = stopped.clone();
    tokio::spawn(async move {
        stop.recv().await;
        token.cancel();
    });
    Ok(stopped)
}

/// Starts a server. Returns when it listens; it becomes ready shortly afterwards.
///
/// # Errors
/// See [`run`].
pub async fn start(config: Config, env: Env) -> Result<RunningServer, RunError> {
    start_as(StartOverrides::default(), config, env).await
}

/// Options outside of the configuration.
#[derive(Default)]
pub(crate) struct StartOverrides {
    /// Authorizer for the chain, reviews and admission, instead of the configured ones.
    pub(crate) authorizer: Option<Arc<dyn Authorizer>>,
    /// Inherited state of a fork.
    pub(crate) inherited: Option<InheritedState>,
}

/// Like [`start`], with options outside of the configuration. The server is prepared first, then its API is built,
/// then it is served.
pub(crate) async fn start_as(
    overrides: StartOverrides,
    mut config: Config,
    env: Env,
) -> Result<RunningServer, RunError> {
    let StartOverrides { authorizer, inherited } = overrides;
    let prepared = PreparedServer::open(&mut config, &env, inherited.as_ref()).await?;
    let process = prepared.process(authorizer, inherited.map(|inherited| inherited.template));
    let api = api::build(&config, prepared.encryption.storage.clone(), process).await?;
    Ok(prepared.serve(api, config, env))
}

/// Parts of a server that exist before its API.
struct PreparedServer {
    /// Start of the server in Unix seconds.
    started: i64,
    front: ServingSocket,
    loopback: Loopback,
    loopback_check: Arc<dyn Check>,
    recorder: Option<Recorder>,
    metrics: MetricsRegistry,
    weakened: WeakenedDecisions,
    webhook_metrics: Arc<ClientMetrics>,
    auditor: Option<Arc<Auditor>>,
    store: Store,
    cpu_pool: CpuPool,
    encryption: EncryptionAtRest,
    signals: ShutdownSignals,
    tasks: Tasks,
    memory: MemoryBudget,
}

impl PreparedServer {
    /// Locks the data directory, then opens the listener, the audit outputs, the store and its encryption, in this
    /// order. Store and CPU pool of a fork are derived from its parent's.
    async fn open(
        config: &mut Config,
        env: &Env,
        inherited: Option<&InheritedState>,
    ) -> Result<Self, RunError> {
        let started = env.clock.now().seconds;
        let initial_snapshot = InitialSnapshot::of(&config.storage);
        let directory = DataDirectory::lock(&config.storage)?;
        let (front, loopback) = ServingSocket::open(config, &directory, started)?;
        let recorder = Recorder::of(config)?;
        let metrics = MetricsRegistry::default();
        let weakened = WeakenedDecisions::new(&metrics, Arc::clone(&env.clock));
        for IgnoredSetting { name, reason } in &config.ignored_settings {
            weakened.record(WeakenedKind::IgnoredSetting, name, reason);
        }
        let audit_metrics = Arc::new(AuditMetrics::new(&metrics, &weakened));
        let webhook_metrics = Arc::new(ClientMetrics::new(&metrics, &env.clock));
        let to_control_plane = config.egress.dialer(Network::ControlPlane);
        let auditor =
            audit::auditor(&config.audit, &env.clock, &audit_metrics, &webhook_metrics, to_control_plane)?;
        let cpu_pool = match inherited {
            Some(inherited) => inherited.cpu_pool.clone(),
            None => start_cpu_pool().map_err(RunError::Threads)?,
        };
        let store = match inherited {
            Some(inherited) => Store::fork(&inherited.template.image, &config.storage),
            None => {
                let dialer = config.egress.dialer(Network::Etcd);
                Store::open(config, directory, initial_snapshot, recorder.is_some(), dialer, &metrics).await?
            }
        };
        store.register_metrics(&metrics);
        let monitoring = Monitoring { metrics: &metrics, weakened: &weakened };
        let encryption = EncryptionAtRest::wrap(&store.storage, config, &env.random, monitoring).await?;
        let signals = ShutdownSignals::default();
        let memory = memory::memory_budget(config.memory_limit);
        memory.register(&metrics);
        Ok(PreparedServer {
            started,
            loopback_check: loopback.check(Arc::clone(&env.clock)),
            front,
            loopback,
            recorder,
            webhook_metrics,
            auditor,
            store,
            cpu_pool,
            encryption,
            tasks: signals.tasks(&metrics),
            signals,
            memory,
            metrics,
            weakened,
        })
    }

    /// Returns what the API shares with the rest of the server.
    fn process(
        &self,
        authorizer: Option<Arc<dyn Authorizer>>,
        template: Option<Arc<Template>>,
    ) -> ProcessContext {
        ProcessContext {
            watch_drain: self.signals.watches.clone(),
            shutdown: self.signals.streams.clone(),
            client_authorities: self.front.credentials.files.client_authorities.clone(),
            ca_certificates: self.front.credentials.ca_certificates.as_str().into(),
            tasks: self.tasks.clone(),
            authorizer,
            cpu_pool: self.cpu_pool.clone(),
            memory_limit: self.memory.limit(),
            loopback: self.loopback.clone(),
            metrics: self.metrics.clone(),
            weakened: self.weakened.clone(),
            webhooks: Arc::clone(&self.webhook_metrics),
            template,
        }
    }

    /// Serves an API: builds the handler chain, and starts the post-start hooks and the background tasks.
    fn serve(mut self, mut api: Api, config: Config, env: Env) -> RunningServer {
        let hooks = mem::take(&mut api.hooks).into_iter().chain(self.encryption.hook.take());
        let hooks = Hooks::new(&config.gates, hooks.collect());
        let chain = self.chain(&api, &hooks, &config, env.clone());
        let PreparedServer { front, recorder, auditor, store, cpu_pool, .. } = self;
        let PreparedServer { encryption, signals, tasks, memory, weakened, .. } = self;
        let address = front.address;
        let ca_certificates = front.credentials.ca_certificates.clone();
        tracing::info!(%address, fips = server::tls::is_fips().then_some(true), "serving securely");
        let expiry = CertificateExpiry::new(&config, &front.credentials.files, &env.clock, &weakened);
        let serving = serve(front, &config, Arc::clone(&chain), signals.clone(), weakened.clone());
        let mut background: JoinSet<()> = api.background.into_iter().chain([encryption.background]).collect();
        background.spawn(expiry.run());
        let recorded = Arc::clone(&chain);
        background.spawn(async move { recorded.record_history().await });
        background.spawn(api.cache_driver.run());
        background.spawn(async move { memory.poll_meter(&weakened).await });
        let storage_wait = config.serving.storage_wait_max;
        let ready =
            hooks.run(store.storage.clone().into_store(), storage_wait, api.cache_filled, tasks.clone());
        RunningServer {
            address,
            ca_certificates,
            lifecycle: signals.lifecycle,
            serving,
            chain,
            watch_drain: signals.watches,
            ready: tokio::spawn(ready),
            background,
            tasks,
            before_stop: api.before_stop,
            internals: (cpu_pool, api.dispatch),
            store,
            forkable: api.forkable,
            recorder: recorder.map(|recorder| recorder.provider),
            auditor,
            config,
        }
    }

    /// Builds the handler chain in front of an API.
    fn chain(&self, api: &Api, hooks: &Hooks, config: &Config, env: Env) -> Arc<Chain> {
        let plugins = self.encryption.checks.clone();
        let loopback_check = Arc::clone(&self.loopback_check);
        let health =
            health::health(config, &self.store, &self.signals.lifecycle, hooks, loopback_check, plugins);
        let services = Services {
            authenticator: api.authenticator.clone(),
            authorizer: Arc::clone(&api.authorizer),
            dispatch: Arc::clone(&api.dispatch),
            cpu_pool: self.cpu_pool.clone(),
            api_paths: Arc::clone(&api.paths),
            health: Arc::new(health),
            metrics: Arc::new(Metrics::new(&self.metrics, version(), self.started, resource_labels())),
            registry: self.metrics.clone(),
            traces: self.recorder.as_ref().map(|recorder| recorder.traces.clone()),
            auditor: self.auditor.clone(),
            fairness: api.fairness.clone(),
        };
        Chain::new(services, self.chain_options(config, &api.console), env)
    }

    /// Builds the options of the handler chain: life cycle, memory limit and console.
    fn chain_options(&self, config: &Config, sources: &ConsoleSources) -> ChainOptions {
        let lifecycle = &self.signals.lifecycle;
        let mut options = ChainOptions {
            disconnecting: lifecycle.disconnecting().clone(),
            rejecting: lifecycle.rejecting().clone(),
            memory: self.memory.clone(),
            ..config.chain.clone()
        };
        options.pages.snapshot = self.store.snapshots().filter(|_| config.snapshot_endpoint);
        if let Some(debugging) = &mut options.pages.debugging {
            debugging.replica = format!("{} ({})", system::host_name(), self.front.address);
            let store = self.store.console_source();
            debugging.sections.extend(console::sections(sources, store, &self.memory, &self.weakened));
        }
        options
    }
}

/// Shutdown signals.
#[derive(Clone, Default)]
struct ShutdownSignals {
    lifecycle: Lifecycle,
    watches: WatchDrain,
    /// Upgraded connections, which do not end by themselves.
    streams: CancellationToken,
}

impl ShutdownSignals {
    /// Creates background tasks that run until shutdown.
    fn tasks(&self, metrics: &MetricsRegistry) -> Tasks {
        Tasks::new(self.lifecycle.terminating().clone(), metrics)
    }
}

/// Serves in the background until the life cycle reaches the drain phase. Reloads TLS files meanwhile.
fn serve(
    socket: ServingSocket,
    config: &Config,
    chain: Arc<Chain>,
    signals: ShutdownSignals,
    weakened: WeakenedDecisions,
) -> JoinHandle<()> {
    let ServingSocket { listener, credentials, contents, tls, .. } = socket;
    let options = ConnectionOptions { http2_streams_max: config.serving.http2_streams_max };
    let drain_max = DRAIN_MAX.max(config.serving.watch_grace) + config.chain.request_timeout;
    let watch_grace = config.serving.watch_grace;
    let tls_options = config.serving.tls.clone();
    let ShutdownSignals { lifecycle, watches, streams } = signals;
    tokio::spawn(async move {
        let end_streams = async {
            lifecycle.draining().cancelled().await;
            // Has no effect if the watches end already, because requests were rejected before.
            watches.begin(watch_grace);
            sleep(watch_grace).await;
            streams.cancel();
            std::future::pending::<()>().await;
        };
        let serving = server::serve(listener, Arc::clone(&tls), chain, options, lifecycle.clone(), drain_max);
        tokio::select! {
            () = serving => {}
            () = end_streams => {}
            () = reload_files(tls, credentials.files, tls_options, contents, weakened) => {}
        }
    })
}

impl RunningServer {
    /// Waits until all start hooks have finished.
    ///
    /// # Errors
    /// The error of the first failed hook.
    pub async fn ready(&mut self) -> Result<(), RunError> {
        (&mut self.ready).await.map_err(|_| RunError::HookPanic)?
    }

    /// Returns the main store, for tests that bypass the server.
    pub(crate) fn storage(&self) -> &Arc<dyn storage::Storage> {
        self.store.storage.main()
    }

    /// Returns a function that takes an image of the store. The image is empty for a store outside of this
    /// process.
    pub(crate) fn image(&self) -> TakeImage {
        self.store.image.clone().unwrap_or_else(|| Arc::new(|| Ok(Image::default())))
    }

    /// Returns the state for forks.
    pub(crate) fn forkable(&self) -> &ForkState {
        &self.forkable
    }

    /// Returns the CPU pool, for forks and for tests that keep it busy.
    pub(crate) fn cpu_pool(&self) -> &CpuPool {
        &self.internals.0
    }

    /// Returns the request dispatcher, for tests that bypass the chain.
    pub(crate) fn dispatch(&self) -> &Arc<dyn Dispatch> {
        &self.internals.1
    }

    /// Shuts down in order:
    ///
    /// - reports not ready, and removes its entries from the cluster
    /// - after half of the delay, makes responses close their connections, so that clients reconnect to other
    ///   servers
    /// - rejects new requests
    /// - ends watches
    /// - finishes requests in progress
    /// - closes the store
    ///
    /// With `--shutdown-send-retry-after`, it listens until all requests in progress are finished. Otherwise
    /// it stops listening first.
    pub async fn stop(mut self) {
        tracing::info!("shutting down");
        self.lifecycle.terminate();
        let balancers = self.config.serving.shutdown_delay / 2;
        let delay = async {
            sleep(balancers).await;
            self.lifecycle.disconnect_clients();
            sleep(self.config.serving.shutdown_delay - balancers).await;
        };
        join(delay, self.before_stop).await;
        if self.config.serving.send_retry_after {
            tracing::info!("refusing new requests");
            self.lifecycle.reject_requests();
            let watches = end_watches(&self.watch_drain, &self.config);
            finish(self.chain.wait_for_responses(), watches, self.config.chain.request_timeout).await;
        }
        self.lifecycle.drain();
        let _ = self.serving.await;
        self.ready.abort();
        self.tasks.finish(TASKS_END_MAX).await;
        self.background.shutdown().await;
        self.store.write_snapshot(&self.config).await;
        self.store.close().await;
        if let Some(recorder) = self.recorder {
            recorder.shutdown().await;
        }
        if let Some(auditor) = self.auditor {
            // This may wait for a disk, so it runs on a blocking thread.
            let _ = tokio::task::spawn_blocking(move || auditor.sink().finish()).await;
        }
        tracing::info!("stopped");
    }

    /// Prints usage instructions after a manual start. The text is valid shell input, and its last line selects
    /// the kubeconfig.
    fn print_usage(&self) {
        tracing::info!(address = %self.address, "ready");
        if let Some(path) = &self.config.serving.admin_kubeconfig {
            println!("{}{}", usage(self.address, &self.config), kubeconfig::export(path));
        }
    }
}

/// Returns the usage instructions as comments of a shell: address, console, and what this server does not do.
fn usage(address: SocketAddr, config: &Config) -> String {
    let url = certificates::local_url(address);
    let mut text = format!("# Kubernetes {} at {url}\n", version().git_version);
    if config.chain.pages.debugging.is_some() {
        text.push_str("# console: kubectl proxy, then http://127.0.0.1:8001/debug/console\n");
    }
    if config.builtin_controllers {
        text.push_str("# Deployments create no Pods without kube-controller-manager\n");
    } else if !matches!(config.storage, StorageConfig::Etcd(_)) {
        text.push_str("# no namespace is deleted and no Pod is created without kube-controller-manager\n");
    }
    if !matches!(config.storage, StorageConfig::Etcd(_)) {
        text.push_str("# Pods stay Pending without a scheduler and kubelets\n");
    }
    text
}

/// Waits until requests and watches have ended, each with its own deadline.
async fn finish(
    requests: impl Future<Output = ()>,
    watches: impl Future<Output = ()>,
    request_max: Duration,
) {
    let requests = async {
        if timeout(request_max, requests).await.is_err() {
            tracing::warn!("some requests did not finish before the deadline");
        }
    };
    join(requests, watches).await;
}

/// Ends watches and waits for them within the grace period.
async fn end_watches(watches: &WatchDrain, config: &Config) {
    let grace = config.serving.watch_grace;
    watches.begin(grace);
    let ended = async {
        while watches.watches() > 0 {
            sleep(WATCH_POLL_INTERVAL).await;
        }
    };
    // Remaining watches end with their connections.
    let _ = timeout(grace, ended).await;
}

/// Returns the real clock and random number generator.
pub fn system_env() -> Env {
    Env { clock: Arc::new(SystemClock), random: Arc::new(|bytes| rand::fill(bytes)) }
}

/// Returns the metric labels of all resources and subresources.
fn resource_labels() -> impl Iterator<Item = ResourceLabels<'static>> {
    ::api::resources::all().map(|row| ResourceLabels {
        group: row.group,
        version: row.version,
        resource: row.plural,
        subresource: row.subresource,
    })
}

#[cfg(test)]
mod tests;
