//! Forks: servers of their own in this process, which begin with what a parent holds at that time.
//!
//! ```text
//! parent ── Template (one for each of its revisions that is forked) ──┬── Fork: port, history, caches, tasks
//!             image   keys and values of the store                    ├── Fork
//!             seed    the states of its watch caches                  └── …
//!             served  what is served by definitions, compiled
//! ```
//!
//! A fork is a whole server: nothing is answered by the parent, and nobody sees what another one writes. What is in
//! a template is shared by all forks of it for as long as they do not change it; trees are copied path by path. The
//! threads of heavy requests are the parent's, and so are the authority and the certificate: a fork differs from its
//! parent in its port alone.

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

use crate::config::{AuditConfig, Config, EndpointReconciler, MemoryConfig, Standing, StorageConfig};
use crate::error::RunError;
use crate::run::{Running, TakeImage, start_as, system_env};
use crate::template::{Forkable, Inherited, Template};
pub use listen::{Listen, serve};

/// How long a fork may take to end in order.
const END_MAX: Duration = Duration::from_secs(10);
/// How often a template is tried while the parent goes on changing, and the pause in between. Without one a fork
/// fills its caches itself.
const ATTEMPTS: usize = 5;
const ATTEMPT_PAUSE: Duration = Duration::from_millis(2);

/// A server that others are forked from. It can be used like any other meanwhile.
pub struct Parent {
    /// Behind a lock because it is taken apart by one alone, in the end.
    running: std::sync::Mutex<Running>,
    source: Source,
    /// What forks are configured with.
    config: Config,
    env: Env,
    /// The last one.
    template: Mutex<Option<Arc<Template>>>,
    kubeconfig: Value,
    room: Arc<Semaphore>,
}

/// Where a parent's templates are from.
struct Source {
    image: TakeImage,
    forkable: Forkable,
    heavy: CpuPool,
}

/// A server that ends with its value: [`end`](Self::end) it.
pub struct Fork {
    running: Running,
    /// An administrator's, as one line of JSON.
    pub kubeconfig: String,
    _room: OwnedSemaphorePermit,
}

impl Parent {
    /// Starts a server, of whose forks there are at most `forks_max` at a time, and waits until it is ready.
    ///
    /// # Errors
    /// What keeps a server from starting. Forks are in memory, and so is their parent; and its administrator's
    /// kubeconfig is what is handed out, so it must be one that makes it.
    pub async fn start(mut config: Config, forks_max: usize) -> Result<Self, RunError> {
        if !matches!(config.storage, StorageConfig::Memory(_)) || config.encryption.is_some() {
            return Err(RunError::Configuration("forks need a parent in memory, unencrypted".to_owned()));
        }
        if config.authentication.client_ca_file.is_some() {
            return Err(RunError::Configuration(
                "the authority of clients is of a parent's own making".to_owned(),
            ));
        }
        let path = config.serving.cert_dir.join("admin.kubeconfig");
        config.serving.admin_kubeconfig = Some(path.clone());
        config.standing = Standing::Alone;
        let env = system_env();
        let mut running = start_as((None, None), config.clone(), env.clone()).await?;
        running.ready().await?;
        let text = std::fs::read_to_string(&path).map_err(|source| RunError::read(&path, source))?;
        let kubeconfig = serde_json::from_str(&text).map_err(|e| RunError::Credentials(e.to_string()))?;
        Ok(Parent {
            source: Source {
                image: running.image(),
                forkable: running.forkable().clone(),
                heavy: running.heavy().clone(),
            },
            running: std::sync::Mutex::new(running),
            config: config_of_forks(config),
            env,
            template: Mutex::default(),
            kubeconfig,
            room: Arc::new(Semaphore::new(forks_max.min(Semaphore::MAX_PERMITS))),
        })
    }

    /// The parent's own administrator, as one line of JSON.
    pub fn kubeconfig(&self) -> String {
        self.kubeconfig.to_string()
    }

    /// A fork of what the parent holds now, which is ready.
    ///
    /// # Errors
    /// There are too many already, or what keeps a server from starting.
    pub async fn fork(&self) -> Result<Fork, RunError> {
        let room = Arc::clone(&self.room).try_acquire_owned();
        let room =
            room.map_err(|_| RunError::Bootstrap("there are as many forks as there may be".to_owned()))?;
        let inherited = Inherited { template: self.template().await?, heavy: self.source.heavy.clone() };
        let mut running = start_as((None, Some(inherited)), self.config.clone(), self.env.clone()).await?;
        running.ready().await?;
        let mut kubeconfig = self.kubeconfig.clone();
        if let Some(server) = kubeconfig.pointer_mut("/clusters/0/cluster/server") {
            *server = Value::from(format!("https://{}", running.address));
        }
        Ok(Fork { running, kubeconfig: kubeconfig.to_string(), _room: room })
    }

    /// What the parent holds now. One template serves until the parent is written to.
    ///
    /// # Errors
    /// The snapshot that the parent began with cannot be read.
    async fn template(&self) -> Result<Arc<Template>, RunError> {
        let mut known = self.template.lock().await;
        let mut attempt = 1;
        loop {
            // Asked first, so that nothing in it is newer than the image: a fork that goes on from there would make
            // other things of the same generations.
            let Forkable { delegator, kinds, builtin } = &self.source.forkable;
            let kinds = kinds.now();
            let revision = delegator.storage().current_revision().await.ok();
            if let Some(known) = known.as_ref().filter(|known| Some(known.image.revision()) == revision) {
                return Ok(Arc::clone(known));
            }
            let take = Arc::clone(&self.source.image);
            let image = spawn_blocking(move || take()).await;
            let image = image.unwrap_or_else(|error| Err(storage::Error::Internal(error.to_string())))?;
            let seed = delegator.seed(image.revision()).await.map(Arc::new);
            if seed.is_some() || attempt == ATTEMPTS {
                let template = Arc::new(Template { image, seed, kinds, builtin: builtin.clone() });
                *known = Some(Arc::clone(&template));
                return Ok(template);
            }
            attempt += 1;
            sleep(ATTEMPT_PAUSE).await;
        }
    }

    /// Ends the parent. Forks go on.
    pub async fn stop(self) {
        let running = self.running.into_inner().unwrap_or_else(PoisonError::into_inner);
        running.stop().await;
    }
}

impl Fork {
    /// Ends the server; what it held is gone.
    pub async fn end(self) {
        if timeout(END_MAX, self.running.stop()).await.is_err() {
            tracing::warn!("a fork did not end in time");
        }
    }
}

/// What forks of a server with this configuration are configured with: it listens on a port of its own, believes
/// whom its parent believes, and neither says that it is there nor keeps anything.
fn config_of_forks(parent: Config) -> Config {
    let mut config = parent;
    let dir = &config.serving.cert_dir;
    let made = CertificateFiles { certificate: dir.join("apiserver.crt"), key: dir.join("apiserver.key") };
    config.authentication.client_ca_file = Some(dir.join("mainstay-ca.crt"));
    config.serving.certificate.get_or_insert(made);
    config.serving.admin_kubeconfig = None;
    let ip = config.serving.bind.address.ip();
    config.serving.bind = BindOptions { address: (ip, 0).into(), share_port: false };
    (config.serving.shutdown_delay, config.serving.watch_grace) = (Duration::ZERO, Duration::ZERO);
    config.services.endpoint_reconciler = EndpointReconciler::None;
    config.audit = AuditConfig::default();
    config.snapshot_file = None;
    config.standing = Standing::Fork;
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
