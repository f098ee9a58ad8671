//! From a configuration to a running server, and down again.

mod certificates;
mod error;
mod kubeconfig;
pub(crate) mod service_account_keys;
mod signals;
mod store;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use futures::future::BoxFuture;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use authorization::Mode;
use endpoints::discovery::VersionInfo;
use server::health::{Check, Grace, Group, Health, Hook, Log, NamedCheck, Ping, Shutdown};
use server::metrics::{Metrics, ResourceLabels};
use server::tls::{Tls, TlsContents, TlsFiles, keep_fresh};
use server::{Chain, ConnectionOptions, Env, Lifecycle, Services};

use crate::api::{self, PostStartHook};
use crate::config::Config;
use crate::system::SystemClock;
pub use error::RunError;
use store::Store;

/// How long requests under way may take to end once the server goes down, beyond their own deadline
/// (upstream's default for its wait groups).
const DRAIN_MAX: Duration = Duration::from_secs(60);
/// How long the watch cache may take to be filled before storage counts as ready without it (upstream's
/// `StorageReadinessHook`). The check `informer-sync` of `/readyz` goes on waiting.
const CACHE_WAIT_MAX: Duration = Duration::from_secs(60);
/// How often a store that does not answer yet is asked again at start.
const STORE_RETRY: Duration = Duration::from_millis(250);

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
    store: Store,
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
    let now = env.clock.now().seconds;
    let credentials = certificates::prepare(&config, now)?;
    let contents = credentials.files.read()?;
    let tls = Arc::new(ArcSwap::from_pointee(Tls::new(&contents, &config.serving.tls)?));
    let listener = server::bind(config.serving.bind)
        .map_err(|source| RunError::Listen { address: config.serving.bind.address, source })?;
    let address = listener
        .local_addr()
        .map_err(|source| RunError::Listen { address: config.serving.bind.address, source })?;
    certificates::write_kubeconfig(&config, &credentials, address, now)?;
    let store = Store::open(&config.storage).await?;
    let lifecycle = Lifecycle::new();
    let watches = CancellationToken::new();
    let api = api::build(&config, Arc::clone(&store.storage), watches.clone()).await?;
    let hooks: Vec<Arc<Hook>> = api.hooks.iter().map(|hook| Hook::new(hook.name)).collect();
    let storage_ready = Hook::new("storage-readiness");
    let informers = Hook::listed_as("informer-sync");
    let health = health(&config, &store, &lifecycle, &informers, &storage_ready, &hooks);
    let metrics = Arc::new(Metrics::new(version(), now, api.collectors).with_resources(resource_labels()));
    let services = Services {
        authenticator: api.authenticator,
        authorizer: Mode::authorizer(&config.authorization_modes),
        dispatch: api.dispatch,
        api_paths: api.paths,
        health,
        metrics,
    };
    let chain = Chain::new(services, config.chain.clone(), env);
    tracing::info!(%address, "serving securely");
    let serving = serve(listener, &config, tls, credentials.files, contents, chain, &lifecycle, watches);
    let (cache, background) = (api.cache_driver.run(), api.background);
    let cache = tokio::spawn(async move {
        tokio::join!(cache, background);
    });
    let ready = tokio::spawn(become_ready(
        Arc::clone(&store.storage),
        config.serving.storage_wait_max,
        (api.cache_filled, informers, storage_ready),
        api.hooks.into_iter().zip(hooks).collect(),
    ));
    Ok(Running { address, trust: credentials.trust, lifecycle, serving, ready, cache, store, config })
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

    /// Goes down in order: not ready, no new connections, watches told to end, requests finished,
    /// store closed.
    pub async fn stop(self) {
        tracing::info!("shutting down");
        self.lifecycle.terminate();
        sleep(self.config.serving.shutdown_delay).await;
        self.lifecycle.drain();
        let _ = self.serving.await;
        self.ready.abort();
        self.cache.abort();
        self.store.close().await;
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
fn health(
    config: &Config,
    store: &Store,
    lifecycle: &Lifecycle,
    informers: &Arc<Hook>,
    storage_ready: &Arc<Hook>,
    hooks: &[Arc<Hook>],
) -> Health {
    let log: Arc<dyn Check> = Arc::new(Log::default());
    let storage = Arc::clone(&store.storage);
    let etcd: Arc<dyn Check> = Arc::new(NamedCheck("etcd", move || {
        let storage = Arc::clone(&storage);
        async move { storage.healthy().await.map_err(|error| error.to_string()) }
    }));
    let hooks = || {
        let all = std::iter::once(storage_ready).chain(hooks);
        all.map(|hook| Arc::clone(hook) as Arc<dyn Check>).collect::<Vec<_>>()
    };
    let group = |mid: Vec<Arc<dyn Check>>, hooks: Vec<Arc<dyn Check>>, end: Vec<Arc<dyn Check>>| {
        let begin: Vec<Arc<dyn Check>> = vec![Arc::new(Ping), Arc::clone(&log)];
        Group::new(begin.into_iter().chain(mid).chain(hooks).chain(end).collect())
    };
    let patient = |check| Arc::new(Grace::new(check, config.serving.livez_grace)) as Arc<dyn Check>;
    Health {
        healthz: group(vec![Arc::clone(&etcd)], hooks(), Vec::new()),
        livez: group(vec![etcd], hooks().into_iter().map(patient).collect(), Vec::new()),
        readyz: group(
            vec![Arc::clone(informers) as Arc<dyn Check>],
            hooks(),
            vec![Arc::new(Shutdown(lifecycle.terminating().clone()))],
        ),
    }
}

/// Waits for the store, then runs the start hooks, all at once, one of which waits until the watch cache
/// is filled.
async fn become_ready(
    storage: Arc<dyn storage::Storage>,
    wait_max: Duration,
    (mut cache_filled, informers, storage_ready): (BoxFuture<'static, ()>, Arc<Hook>, Arc<Hook>),
    hooks: Vec<(PostStartHook, Arc<Hook>)>,
) -> Result<(), RunError> {
    let answers = async {
        while let Err(error) = storage.healthy().await {
            tracing::warn!(%error, "waiting for the store");
            sleep(STORE_RETRY).await;
        }
    };
    timeout(wait_max, answers).await.map_err(|_| RunError::StoreSilent(wait_max))?;
    let filling = async {
        if timeout(CACHE_WAIT_MAX, &mut cache_filled).await.is_err() {
            tracing::warn!("the watch cache is not filled yet");
            storage_ready.done();
            cache_filled.await;
        }
        storage_ready.done();
        informers.done();
        Ok(())
    };
    let running = hooks.into_iter().map(|(hook, state)| async move {
        let name = hook.name;
        hook.work
            .await
            .map_err(|reason| RunError::Bootstrap(format!("PostStartHook \"{name}\" failed: {reason}")))?;
        state.done();
        Ok(())
    });
    futures::try_join!(futures::future::try_join_all(running), filling).map(|(_, ()): (Vec<()>, ())| ())
}

#[cfg(test)]
mod tests;
