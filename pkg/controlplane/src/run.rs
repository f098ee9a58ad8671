//! From a configuration to a running server, and down again.

mod audit;
mod certificates;
mod error;
mod hooks;
mod kubeconfig;
pub(crate) mod service_account_keys;
mod signals;
mod store;
mod traces;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use futures::future::{BoxFuture, join};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use authorization::Authorizer;
use endpoints::discovery::VersionInfo;
use endpoints::heavy::HeavyPool;
use server::health::{Check, Grace, Group, Health, Log, NamedCheck, Ping, Shutdown};
use server::metrics::{Collector, Metrics, ResourceLabels};
use server::tls::{Tls, TlsContents, TlsFiles, keep_fresh};
use server::{Auditor, BindOptions, Chain, ConnectionOptions, Env, Lifecycle, Services};

use crate::api::{self, Process};
use crate::config::Config;
use crate::system::{SystemClock, heavy_pool};
use crate::tasks::Tasks;
pub use error::RunError;
use hooks::Hooks;
use store::Store;
use traces::Recorder;

/// How long requests under way may take to end once the server goes down, beyond their own deadline
/// (upstream's default for its wait groups).
const DRAIN_MAX: Duration = Duration::from_secs(60);
/// How long rounds of background work that are under way may take to end.
const TASKS_END_MAX: Duration = Duration::from_secs(10);

/// Which release of Kubernetes this is, and who made it.
pub fn version() -> VersionInfo {
    VersionInfo::of_this_build()
}

/// A server that has begun to listen.
pub struct Running {
    /// Where it listens.
    pub address: SocketAddr,
    /// PEM of the certificates that a client of this server may trust.
    pub trust: String,
    lifecycle: Lifecycle,
    serving: JoinHandle<()>,
    ready: JoinHandle<Result<(), RunError>>,
    cache: JoinHandle<()>,
    tasks: Tasks,
    before_stop: BoxFuture<'static, ()>,
    heavy: HeavyPool,
    store: Store,
    recorder: Option<telemetry::Provider>,
    auditor: Option<Arc<Auditor>>,
    config: Config,
}

/// Runs a server until it is told to stop by SIGTERM or SIGINT; a second signal ends the process at
/// once.
///
/// # Errors
/// Whatever keeps a server from starting, in words for its operator.
pub async fn run(config: Config) -> Result<(), RunError> {
    let mut stop = signals::stop()?;
    let mut running = start(config, system_env()).await?;
    tokio::select! {
        ready = &mut running.ready => {
            ready.map_err(|_| RunError::Bootstrap("a start hook panicked".to_owned()))??;
            running.announce();
            stop.recv().await;
        }
        _ = stop.recv() => {}
    }
    running.stop().await;
    Ok(())
}

/// Starts a server and returns when it listens; it becomes ready some moments later.
///
/// # Errors
/// As [`run`].
pub async fn start(config: Config, env: Env) -> Result<Running, RunError> {
    start_under(None, config, env).await
}

/// As [`start`], with an authorizer that the configuration does not choose. The chain, reviews and admission
/// all ask this one.
pub(crate) async fn start_under(
    authorizer: Option<Arc<dyn Authorizer>>,
    mut config: Config,
    env: Env,
) -> Result<Running, RunError> {
    let now = env.clock.now().seconds;
    let credentials = certificates::prepare(&config, now)?;
    let contents = credentials.files.read()?;
    let tls = Arc::new(ArcSwap::from_pointee(Tls::new(&contents, &config.serving.tls)?));
    let (listener, address) = listen(config.serving.bind)?;
    // Where the system chose a port, everyone is told which.
    config.serving.bind.address.set_port(address.port());
    certificates::write_kubeconfig(&config, &credentials, address, now)?;
    let recorder = Recorder::of(&config)?;
    let figures = Arc::default();
    let auditor = audit::auditor(&config.audit, &env.clock, &figures)?;
    let store = Store::open(&config.storage, recorder.is_some()).await?;
    let (lifecycle, watches) = (Lifecycle::new(), CancellationToken::new());
    let tasks = Tasks::new(lifecycle.terminating().clone());
    let heavy = heavy_pool().map_err(RunError::Threads)?;
    let process = Process {
        shutdown: watches.clone(),
        client_authorities: credentials.files.client_authorities.clone(),
        tasks: tasks.clone(),
        authorizer,
        heavy: heavy.clone(),
    };
    let api = api::build(&config, Arc::clone(&store.storage), process).await?;
    let hooks = Hooks::new(api.hooks);
    let health = health(&config, &store, &lifecycle, &hooks);
    let services = Services {
        authenticator: api.authenticator,
        authorizer: api.authorizer,
        dispatch: api.dispatch,
        heavy: heavy.clone(),
        api_paths: api.paths,
        health: Arc::new(health),
        metrics: Arc::new(metrics(now, api.collectors, figures)),
        traces: recorder.as_ref().map(|recorder| recorder.traces.clone()),
        auditor: auditor.clone(),
    };
    let chain = Chain::new(services, config.chain.clone(), env);
    tracing::info!(%address, "serving securely");
    let serving = serve(listener, &config, tls, credentials.files, contents, chain, &lifecycle, watches);
    let (cache, background) = (api.cache_driver.run(), api.background);
    let cache = tokio::spawn(async move {
        tokio::join!(cache, background);
    });
    let wait_max = config.serving.storage_wait_max;
    let ready = hooks.run(Arc::clone(&store.storage), wait_max, api.cache_filled, tasks.clone());
    Ok(Running {
        address,
        trust: credentials.trust,
        lifecycle,
        serving,
        ready: tokio::spawn(ready),
        cache,
        tasks,
        before_stop: api.before_stop,
        heavy,
        store,
        recorder: recorder.map(|recorder| recorder.provider),
        auditor,
        config,
    })
}

/// Listens, and says where: the system may have chosen the port.
fn listen(options: BindOptions) -> Result<(TcpListener, SocketAddr), RunError> {
    let failed = |source| RunError::Listen { address: options.address, source };
    let listener = server::bind(options).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

/// Serves in the background until the lifecycle says drain, renewing TLS meanwhile.
#[allow(clippy::too_many_arguments)]
fn serve(
    listener: TcpListener,
    config: &Config,
    tls: Arc<ArcSwap<Tls>>,
    files: TlsFiles,
    contents: TlsContents,
    chain: Arc<Chain>,
    lifecycle: &Lifecycle,
    watches: CancellationToken,
) -> JoinHandle<()> {
    let options = ConnectionOptions { http2_streams_max: config.serving.http2_streams_max };
    let drain_max = DRAIN_MAX.max(config.serving.watch_grace) + config.chain.request_timeout;
    let (watch_grace, tls_options) = (config.serving.watch_grace, config.serving.tls.clone());
    let lifecycle = lifecycle.clone();
    tokio::spawn(async move {
        let end_watches = async {
            lifecycle.draining().cancelled().await;
            sleep(watch_grace).await;
            watches.cancel();
            std::future::pending::<()>().await;
        };
        let serving = server::serve(listener, Arc::clone(&tls), chain, options, lifecycle.clone(), drain_max);
        tokio::select! {
            () = serving => {}
            () = end_watches => {}
            () = keep_fresh(tls, files, tls_options, contents) => {}
        }
    })
}

impl Running {
    /// Waits until every start hook has finished.
    ///
    /// # Errors
    /// The first hook's that failed.
    pub async fn ready(&mut self) -> Result<(), RunError> {
        (&mut self.ready).await.map_err(|_| RunError::Bootstrap("a start hook panicked".to_owned()))?
    }

    /// The store, for tests that look behind the server's back.
    pub(crate) fn storage(&self) -> &Arc<dyn storage::Storage> {
        &self.store.storage
    }

    /// The threads of heavy requests, for tests that keep them busy.
    pub(crate) fn heavy(&self) -> &HeavyPool {
        &self.heavy
    }

    /// Goes down in order: not ready, out of the cluster's lists of its servers, no new connections, watches
    /// told to end, requests finished, store closed.
    pub async fn stop(self) {
        tracing::info!("shutting down");
        self.lifecycle.terminate();
        join(sleep(self.config.serving.shutdown_delay), self.before_stop).await;
        self.lifecycle.drain();
        let _ = self.serving.await;
        self.ready.abort();
        self.tasks.finish(TASKS_END_MAX).await;
        self.cache.abort();
        self.store.close().await;
        if let Some(recorder) = self.recorder {
            recorder.shutdown().await;
        }
        if let Some(auditor) = self.auditor {
            // It may wait for a disk, so it is no work for a thread that others wait for.
            let _ = tokio::task::spawn_blocking(move || auditor.sink().finish()).await;
        }
        tracing::info!("stopped");
    }

    /// Tells whoever started the server by hand how to use it.
    fn announce(&self) {
        tracing::info!(address = %self.address, "ready");
        if let Some(path) = &self.config.serving.admin_kubeconfig {
            println!("export KUBECONFIG={}", path.display());
        }
    }
}

/// The real clock, and the system's randomness.
pub fn system_env() -> Env {
    Env { clock: Arc::new(SystemClock), random: Arc::new(|bytes| rand::fill(bytes)) }
}

/// What is counted, from `now` on.
fn metrics(now: i64, mut collectors: Vec<Arc<dyn Collector>>, of_audit: Arc<::audit::Figures>) -> Metrics {
    collectors.push(Arc::new(audit::OfAudit(of_audit)));
    Metrics::new(version(), now, collectors).with_resources(resource_labels())
}

/// What requests are counted by: every resource and subresource that there is.
fn resource_labels() -> impl Iterator<Item = ResourceLabels<'static>> {
    ::api::resources::all().map(|row| ResourceLabels {
        group: row.group,
        version: row.version,
        resource: row.plural,
        subresource: row.subresource,
    })
}

/// Upstream's checks in upstream's order, as far as what they check exists here.
fn health(config: &Config, store: &Store, lifecycle: &Lifecycle, hooks: &Hooks) -> Health {
    let log: Arc<dyn Check> = Arc::new(Log::default());
    let storage = Arc::clone(&store.storage);
    let etcd: Arc<dyn Check> = Arc::new(NamedCheck("etcd", move || {
        let storage = Arc::clone(&storage);
        async move { storage.healthy().await.map_err(|error| error.to_string()) }
    }));
    let listed = || hooks.listed.iter().map(|hook| Arc::clone(hook) as Arc<dyn Check>).collect::<Vec<_>>();
    let group = |mid: Vec<Arc<dyn Check>>, hooks: Vec<Arc<dyn Check>>, end: Vec<Arc<dyn Check>>| {
        let begin: Vec<Arc<dyn Check>> = vec![Arc::new(Ping), Arc::clone(&log)];
        Group::new(begin.into_iter().chain(mid).chain(hooks).chain(end).collect())
    };
    let patient = |check| Arc::new(Grace::new(check, config.serving.livez_grace)) as Arc<dyn Check>;
    Health {
        healthz: group(vec![Arc::clone(&etcd)], listed(), Vec::new()),
        livez: group(vec![etcd], listed().into_iter().map(patient).collect(), Vec::new()),
        readyz: group(
            vec![Arc::clone(&hooks.informers) as Arc<dyn Check>],
            listed(),
            vec![Arc::new(Shutdown(lifecycle.terminating().clone()))],
        ),
    }
}

#[cfg(test)]
mod tests;
