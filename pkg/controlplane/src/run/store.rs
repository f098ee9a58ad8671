//! Opening and closing the store that the configuration names.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use storage::Storage;
use storage::memory::Memory;
use storage_embedded::Embedded;
use storage_etcd3::{Compactor, Etcd, TlsFiles};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use super::RunError;
use crate::config::{EtcdConfig, StorageConfig};

/// An open store, and what has to be done to it in the end.
pub(super) struct Store {
    /// The store.
    pub(super) storage: Arc<dyn Storage>,
    embedded: Option<Arc<Embedded>>,
    compaction: Option<JoinHandle<()>>,
}

impl Store {
    /// Opens the store; if it is `traced`, its calls are recorded with the requests that they are made for. An
    /// etcd that does not answer is no error yet.
    ///
    /// # Errors
    /// [`RunError::Store`].
    pub(super) async fn open(config: &StorageConfig, traced: bool) -> Result<Self, RunError> {
        match config {
            StorageConfig::Memory => {
                Ok(Store { storage: Arc::new(Memory::new()), embedded: None, compaction: None })
            }
            StorageConfig::Embedded { dir, compaction_interval } => {
                #[allow(clippy::disallowed_methods, reason = "the store is given the machine's clock here")]
                let mut options = storage_embedded::Options::new(Arc::new(SystemTime::now));
                options.compaction_interval = *compaction_interval;
                let embedded = Embedded::open(dir, options)?;
                Ok(Store { storage: Arc::clone(&embedded) as _, embedded: Some(embedded), compaction: None })
            }
            StorageConfig::Etcd(config) => {
                let etcd = Arc::new(Etcd::new(options(config, traced)).await?);
                let compaction =
                    config.compaction_interval.map(|every| tokio::spawn(compact(Arc::clone(&etcd), every)));
                Ok(Store { storage: etcd, embedded: None, compaction })
            }
        }
    }

    /// Ends what runs in the background and makes sure that everything is on disk.
    pub(super) async fn close(self) {
        if let Some(compaction) = self.compaction {
            compaction.abort();
        }
        if let Some(embedded) = self.embedded {
            embedded.close().await;
        }
    }
}

fn options(config: &EtcdConfig, traced: bool) -> storage_etcd3::Options {
    let mut options = storage_etcd3::Options::new(&config.endpoints);
    if config.ca.is_some() || config.certificate.is_some() || config.key.is_some() {
        let (ca, cert, key) = (config.ca.clone(), config.certificate.clone(), config.key.clone());
        options.tls = Some(TlsFiles { ca, cert, key });
    }
    options.health_timeout = config.health_timeout;
    options.health_key = format!("{}/health", config.prefix);
    options.lease_reuse = config.lease_reuse;
    options.traced = traced;
    options
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
