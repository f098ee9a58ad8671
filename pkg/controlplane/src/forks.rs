//! Forks: complete servers in this process that start with the current state of a parent server.
//!
//! ```text
//! parent ── Template (one for each of its revisions that is forked) ──┬── Fork: port, history, caches, tasks
//!             image   keys and values of the store                    ├── Fork
//!             seed    the states of its watch caches                  └── …
//!             served  served CRDs, compiled
//! ```
//!
//! The parent serves no request of a fork, and no fork sees the writes of another. Forks share a template's
//! data until they change it; trees are copied path by path. Forks use the CPU pool, the CA and the
//! certificate of their parent, so that one administrator's certificate is valid for all of them. Each fork has
//! its own key of service account tokens, unless flags give all of them one.

mod listen;

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use endpoints::cpu_pool::CpuPool;
use jsontree::Value;
use server::tls::CertificateFiles;
use server::{BindOptions, Env};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use crate::config::{AuditConfig, Config, EndpointReconciler, MemoryConfig, ServerRole, StorageConfig};
use crate::error::RunError;
use crate::run::{RunningServer, StartOverrides, TakeImage, start_as, system_env};
use crate::template::{ForkState, InheritedState, Template};
pub use listen::{Listen, serve};

/// Maximum time for the graceful shutdown of a fork.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum attempts to build a template while the parent keeps changing, and the delay between them. Without
/// a template, a fork fills its own caches.
const ATTEMPTS: usize = 5;
const ATTEMPT_PAUSE: Duration = Duration::from_millis(2);

/// A server that can be forked. It also serves requests itself.
pub struct Parent {
    /// The lock lets `stop` take the server apart exclusively.
    running: std::sync::Mutex<RunningServer>,
    source: Source,
    /// Configuration of forks.
    config: Config,
    env: Env,
    /// The latest template.
    template: Mutex<Option<Arc<Template>>>,
    kubeconfig: Value,
    permits: Arc<Semaphore>,
}

/// Sources of a parent's template data.
struct Source {
    image: TakeImage,
    forkable: ForkState,
    cpu_pool: CpuPool,
}

/// A forked server. Stop it with [`end`](Self::end).
pub struct Fork {
    running: RunningServer,
    /// The administrator's kubeconfig as one line of JSON.
    pub kubeconfig: String,
    _permit: OwnedSemaphorePermit,
}

impl Parent {
    /// Starts a server with at most `forks_max` concurrent forks, and waits until it is ready.
    ///
    /// # Errors
    /// An error that prevents a server's start. The parent must use in-memory storage, like its forks, and an
    /// authentication setup in which it creates the administrator's kubeconfig.
    pub async fn start(mut config: Config, forks_max: usize) -> Result<Self, RunError> {
        if !matches!(config.storage, StorageConfig::Memory(_)) || config.encryption.is_some() {
            return Err(RunError::ForkStorage);
        }
        if config.authentication.client_ca_file.is_some() {
            return Err(RunError::ForkAuthority);
        }
        let path = config.serving.cert_dir.join("admin.kubeconfig");
        config.serving.admin_kubeconfig = Some(path.clone());
        config.role = ServerRole::Standalone;
        let env = system_env();
        let mut running = start_as(StartOverrides::default(), config.clone(), env.clone()).await?;
        running.ready().await?;
        let text = std::fs::read_to_string(&path).map_err(|source| RunError::read(&path, source))?;
        let kubeconfig = serde_json::from_str(&text).map_err(RunError::Kubeconfig)?;
        Ok(Parent {
            source: Source {
                image: running.image(),
                forkable: running.forkable().clone(),
                cpu_pool: running.cpu_pool().clone(),
            },
            running: std::sync::Mutex::new(running),
            config: config_of_forks(config),
            env,
            template: Mutex::default(),
            kubeconfig,
            permits: Arc::new(Semaphore::new(forks_max.min(Semaphore::MAX_PERMITS))),
        })
    }

    /// Returns the administrator's kubeconfig of the parent, as one line of JSON.
    pub fn kubeconfig(&self) -> String {
        self.kubeconfig.to_string()
    }

    /// Forks the current state of the parent and waits until the fork is ready.
    ///
    /// # Errors
    /// There are too many forks, or an error prevents a server's start.
    pub async fn fork(&self) -> Result<Fork, RunError> {
        let permit = Arc::clone(&self.permits).try_acquire_owned();
        let permit = permit.map_err(|_| RunError::ForksMax)?;
        let inherited =
            InheritedState { template: self.template().await?, cpu_pool: self.source.cpu_pool.clone() };
        let overrides = StartOverrides { inherited: Some(inherited), ..StartOverrides::default() };
        let mut running = start_as(overrides, self.config.clone(), self.env.clone()).await?;
        running.ready().await?;
        let mut kubeconfig = self.kubeconfig.clone();
        if let Some(server) = kubeconfig.pointer_mut("/clusters/0/cluster/server") {
            *server = Value::from(format!("https://{}", running.address));
        }
        Ok(Fork { running, kubeconfig: kubeconfig.to_string(), _permit: permit })
    }

    /// Returns the current template. It is reused until the parent's next write.
    ///
    /// # Errors
    /// The initial snapshot of the parent is unreadable.
    async fn template(&self) -> Result<Arc<Template>, RunError> {
        let mut cached = self.template.lock().await;
        let mut attempt = 1;
        loop {
            // Taken first, so that nothing in it is newer than the image. Otherwise a fork could assign the
            // same generations to different contents.
            let ForkState { delegator, kinds, builtin } = &self.source.forkable;
            let kinds = kinds.now();
            let revision = delegator.storage().current_revision().await.ok();
            if let Some(cached) = cached.as_ref().filter(|cached| Some(cached.image.revision()) == revision) {
                return Ok(Arc::clone(cached));
            }
            let take = Arc::clone(&self.source.image);
            let image = spawn_blocking(move || take()).await;
            let image = image.unwrap_or_else(|error| Err(storage::Error::Internal(error.to_string())))?;
            let seed = delegator.seed(image.revision()).await.map(Arc::new);
            if seed.is_some() || attempt == ATTEMPTS {
                let template = Arc::new(Template { image, seed, kinds, builtin: builtin.clone() });
                *cached = Some(Arc::clone(&template));
                return Ok(template);
            }
            attempt += 1;
            sleep(ATTEMPT_PAUSE).await;
        }
    }

    /// Stops the parent. Forks continue.
    pub async fn stop(self) {
        let running = self.running.into_inner().unwrap_or_else(PoisonError::into_inner);
        running.stop().await;
    }
}

impl Fork {
    /// Stops the server and drops its state.
    pub async fn end(self) {
        if timeout(SHUTDOWN_TIMEOUT, self.running.stop()).await.is_err() {
            tracing::warn!("fork did not stop before the deadline");
        }
    }
}

/// Returns the configuration of forks: an own port, the parent's CAs, no registration in the cluster, and no
/// persistence.
fn config_of_forks(parent: Config) -> Config {
    let mut config = parent;
    let dir = &config.serving.cert_dir;
    let generated =
        CertificateFiles { certificate: dir.join("apiserver.crt"), key: dir.join("apiserver.key") };
    config.authentication.client_ca_file = Some(dir.join("mainstay-ca.crt"));
    config.serving.certificate.get_or_insert(generated);
    config.serving.admin_kubeconfig = None;
    let ip = config.serving.bind.address.ip();
    config.serving.bind = BindOptions { address: (ip, 0).into(), share_port: false };
    (config.serving.shutdown_delay, config.serving.watch_grace) = (Duration::ZERO, Duration::ZERO);
    config.services.endpoint_reconciler = EndpointReconciler::None;
    config.audit = AuditConfig::default();
    config.snapshot_file = None;
    // The parent has reported them.
    config.ignored_settings = Vec::new();
    config.role = ServerRole::Fork;
    let StorageConfig::Memory(MemoryConfig { compaction_interval, .. }) = &config.storage else {
        return config;
    };
    config.storage = StorageConfig::Memory(MemoryConfig {
        compaction_interval: *compaction_interval,
        ..MemoryConfig::default()
    });
    config
}

#[cfg(test)]
mod tests;
