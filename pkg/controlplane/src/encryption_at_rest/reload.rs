//! Reloads the encryption configuration without a restart (upstream's `encryptionconfig/controller`).

use std::sync::Arc;
use std::time::Duration;

use storage::{Revision, RoutedStorage};
use tokio::time::{Instant, sleep, timeout};

use super::health::{self, UnhealthyError};
use super::load::{EncryptionLoadError, Loader};
use super::{CurrentRules, EncryptionRules};
use crate::reloads::{FileIdentity, ReloadMetrics, hash, identify};

/// Interval of checks for a changed file.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Interval of unconditional reads.
const READ_INTERVAL: Duration = Duration::from_secs(60);
/// Delay after the first failed reload. It doubles with each further failure, up to `READ_INTERVAL`.
const RETRY_FIRST: Duration = Duration::from_secs(1);
/// Poll interval for unhealthy plugins.
const HEALTH_INTERVAL: Duration = Duration::from_millis(100);
/// Minimum time for new plugins to become healthy.
const HEALTH_MIN: Duration = Duration::from_secs(10);

/// Reason why a changed configuration is unusable.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReloadError {
    #[error(transparent)]
    Load(#[from] EncryptionLoadError),
    #[error(transparent)]
    Task(#[from] tokio::task::JoinError),
    #[error(transparent)]
    Storage(#[from] storage::Error),
    /// A plugin did not become healthy in time.
    #[error("health check for new transformers failed, polling error timed out: {}", last_text(.last.as_ref()))]
    Unhealthy {
        /// Result of the last check; `None` if no check ended in time.
        #[source]
        last: Option<UnhealthyError>,
    },
}

fn last_text(last: Option<&UnhealthyError>) -> String {
    last.map_or_else(String::new, ToString::to_string)
}

/// Reload task of the configuration file.
pub(super) struct ConfigReloader {
    loader: Arc<Loader>,
    storage: RoutedStorage,
    current: CurrentRules,
    metrics: ReloadMetrics,
    /// Hash of the active text. The text itself contains keys, so it is not kept.
    hash: String,
}

impl ConfigReloader {
    /// Creates the task. `current` was built from `text` of the file.
    pub(super) fn new(
        loader: Loader,
        text: &[u8],
        storage: RoutedStorage,
        current: CurrentRules,
        metrics: ReloadMetrics,
    ) -> Self {
        ConfigReloader { loader: Arc::new(loader), storage, current, metrics, hash: hash(text) }
    }

    /// Watches the file. Never returns.
    pub(super) async fn run(mut self) {
        // The first round always reads the file, because it may have changed since the start.
        let mut last: FileIdentity = None;
        let mut next = Instant::now();
        let mut retry = RETRY_FIRST;
        loop {
            let identity = identify(&self.loader.file);
            if identity != last || next <= Instant::now() {
                last = identity;
                match self.reload_if_changed().await {
                    Ok(()) => (next, retry) = (Instant::now() + READ_INTERVAL, RETRY_FIRST),
                    Err(error) => {
                        self.metrics.failed(&error);
                        (next, retry) = (Instant::now() + retry, (retry * 2).min(READ_INTERVAL));
                    }
                }
            }
            sleep(CHECK_INTERVAL).await;
        }
    }

    /// Reads the file and applies it if it has changed. Operations in progress continue with the previous
    /// configuration.
    ///
    /// # Errors
    /// The reason why it is unusable.
    pub(super) async fn reload_if_changed(&mut self) -> Result<(), ReloadError> {
        let loader = Arc::clone(&self.loader);
        let text = tokio::task::spawn_blocking(move || loader.read()).await;
        let text = text??;
        let hash = hash(&text);
        if hash == self.hash {
            return Ok(());
        }
        let mut covers = self.loader.build_rules(&text).await?;
        becomes_healthy(&covers).await?;
        let revisions = revisions(&self.storage).await?;
        covers.follow_rules(&self.current.load(), revisions);
        self.current.store(Arc::new(covers));
        self.metrics.succeeded(hash.clone());
        self.hash = hash;
        tracing::info!("reloaded the encryption configuration");
        Ok(())
    }
}

/// Returns the revision of each store. If a store other than the main one does not respond, all of its values count as old:
/// it must not keep the former keys in use.
async fn revisions(storage: &RoutedStorage) -> Result<Vec<Revision>, storage::Error> {
    let mut revisions = vec![storage.main().current_revision().await?];
    for store in storage.stores().iter().skip(1) {
        revisions.push(store.current_revision().await.unwrap_or(Revision::MAX));
    }
    Ok(revisions)
}

/// Waits until all plugins are healthy, for a limited time.
async fn becomes_healthy(covers: &EncryptionRules) -> Result<(), ReloadError> {
    let mut last = None;
    let healthy = async {
        while let Err(error) = health::all(covers).await {
            last = Some(error);
            sleep(HEALTH_INTERVAL).await;
        }
    };
    match timeout(covers.rules().grace().max(HEALTH_MIN), healthy).await {
        Ok(()) => Ok(()),
        Err(_) => Err(ReloadError::Unhealthy { last }),
    }
}
