//! `--encryption-provider-config`: a storage layer below the watch cache that encrypts and decrypts objects.
//! Each value is decrypted only once. Assembled as in upstream's `server/options/encryptionconfig`.

mod health;
mod key_rules;
pub(crate) mod load;
mod reload;
mod store;
mod value;
mod watch_decryptor;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use arc_swap::ArcSwap;
use component_base::features::Gate;
use component_base::metrics::{Counter, Family, Gauge, Stability};
use encryption::EncryptionMetrics;
use futures::future::BoxFuture;
use server::health::Check;
use storage::RoutedStorage;

use crate::config::{Config, EncryptionConfig};
use crate::error::RunError;
use crate::identity;
use crate::process::Monitoring;
use crate::reloads::{ReloadFamilies, ReloadMetrics};
use crate::system::SystemClock;
use controllers::hook::PostStartHook;
use key_rules::EncryptionRules;

use load::Loader;
use store::EncryptedStore;

const LAST_TIMESTAMP: Family<Gauge, 2> = Family::gauge(
    Stability::Alpha,
    "apiserver_encryption_config_controller_automatic_reload_last_timestamp_seconds",
    "Timestamp of the last successful or failed automatic reload of encryption configuration split by apiserver identity.",
    ["apiserver_id_hash", "status"],
);
const TOTAL: Family<Counter, 2> = Family::counter(
    Stability::Alpha,
    "apiserver_encryption_config_controller_automatic_reloads_total",
    "Total number of reload successes and failures of encryption configuration split by apiserver identity.",
    ["apiserver_id_hash", "status"],
);
const LAST_CONFIG: Family<Gauge, 2> = Family::gauge(
    Stability::Alpha,
    "apiserver_encryption_config_controller_last_config_info",
    "Information about the last applied encryption configuration with hash as label, split by apiserver identity.",
    ["apiserver_id_hash", "hash"],
);
const FAMILIES: ReloadFamilies =
    ReloadFamilies { last_timestamp: &LAST_TIMESTAMP, total: &TOTAL, last_config: &LAST_CONFIG };
/// Upstream's name of the hook that starts to watch the file.
const RELOAD_HOOK: &str = "start-encryption-provider-config-automatic-reload";

/// The active configuration. It can be replaced.
type CurrentRules = Arc<ArcSwap<EncryptionRules>>;

/// Encryption components of a server. Without encryption only the store is set.
pub(crate) struct EncryptionAtRest {
    /// The store with transparent encryption.
    pub(crate) storage: RoutedStorage,
    /// Health checks of plugins, except for `/livez`: a restart does not repair a failed plugin.
    pub(crate) checks: Vec<Arc<dyn Check>>,
    /// Upstream's hook, if the file is watched.
    pub(crate) hook: Option<PostStartHook>,
    /// Task that watches the file, if enabled.
    pub(crate) background: BoxFuture<'static, ()>,
}

impl EncryptionAtRest {
    /// Reads the configuration, if any, checks its plugins, and wraps `storage`.
    ///
    /// # Errors
    /// [`RunError::Encryption`] with upstream's message.
    pub(crate) async fn wrap(
        storage: &RoutedStorage,
        config: &Config,
        random: &encryption::Random,
        monitoring: Monitoring<'_>,
    ) -> Result<EncryptionAtRest, RunError> {
        let Some(EncryptionConfig { file, automatic_reload }) = &config.encryption else {
            let background = Box::pin(async {});
            return Ok(EncryptionAtRest {
                storage: storage.clone(),
                checks: Vec::new(),
                hook: None,
                background,
            });
        };
        let registry = monitoring.metrics;
        let metrics = Arc::new(EncryptionMetrics::new(registry));
        let plugin_metrics = Arc::new(kms::KmsMetrics::new(registry, &identity::of_this_machine()));
        let plugins = kms::Plugins {
            clock: Arc::new(SystemClock),
            random: Arc::clone(random),
            metrics: plugin_metrics,
            v1: config.gates.enabled(Gate::KMSv1),
        };
        let loader = Loader {
            file: file.clone(),
            reload: *automatic_reload,
            prefix: config.storage.prefix().to_owned(),
            factory: Arc::new(plugins),
            random: Arc::clone(random),
            metrics,
        };
        let text = loader.read().map_err(|error| {
            RunError::from(error).within("error while parsing file: error while loading file")
        })?;
        let covers = loader.build_rules(&text).await?;
        let reloads = ReloadMetrics::new(monitoring, &FAMILIES, file, &text);
        let current: CurrentRules = Arc::new(ArcSwap::from_pointee(covers));
        let reloader = automatic_reload.then(|| {
            let storage = storage.clone();
            let current = Arc::clone(&current);
            reload::ConfigReloader::new(loader, &text, storage, current, reloads)
        });
        Ok(EncryptionAtRest {
            checks: health::checks(&current, *automatic_reload),
            hook: automatic_reload
                .then(|| PostStartHook { name: RELOAD_HOOK, work: Box::pin(async { Ok(()) }) }),
            background: Box::pin(async move {
                if let Some(reloader) = reloader {
                    reloader.run().await;
                }
            }),
            storage: storage
                .clone()
                .map(|index, store| Arc::new(EncryptedStore::new(store, index, Arc::clone(&current))) as _),
        })
    }
}
