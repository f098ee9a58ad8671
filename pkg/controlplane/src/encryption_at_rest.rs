//! `--encryption-provider-config`: a storage layer below the watch cache that encrypts and decrypts objects.
//! Each value is decrypted only once. Assembled as in upstream's `server/options/encryptionconfig`.

mod health;
mod key_rules;
mod load;
mod reload;
mod store;
mod value;
mod watch_decryptor;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use arc_swap::ArcSwap;
use component_base::features::Gate;
use encryption::Figures;
use futures::future::BoxFuture;
use server::health::Check;
use server::metrics::Collector;
use storage::Storage;

use crate::config::{Config, EncryptionConfig};
use crate::error::RunError;
use crate::identity;
use crate::reloads::{ReloadFigures, ReloadNames};
use crate::system::SystemClock;
use controllers::hook::PostStartHook;
use key_rules::EncryptionRules;
use load::Loader;
use store::Encrypted;

const NAMES: ReloadNames = ReloadNames {
    prefix: "apiserver_encryption_config_controller",
    last_timestamp: "[ALPHA] Timestamp of the last successful or failed automatic reload of encryption configuration split by \
                     apiserver identity.",
    total: "[ALPHA] Total number of reload successes and failures of encryption configuration split by apiserver \
            identity.",
    last_config: "[ALPHA] Information about the last applied encryption configuration with hash as label, split by \
                  apiserver identity.",
};
/// Upstream's name of the hook that starts to watch the file.
const RELOAD_HOOK: &str = "start-encryption-provider-config-automatic-reload";

/// The active configuration. It can be replaced.
type Current = Arc<ArcSwap<EncryptionRules>>;

/// Encryption components of a server. Without encryption only the store is set.
pub(crate) struct EncryptionAtRest {
    /// The store with transparent encryption.
    pub(crate) storage: Arc<dyn Storage>,
    /// Health checks of plugins, except for `/livez`: a restart does not repair a failed plugin.
    pub(crate) checks: Vec<Arc<dyn Check>>,
    /// Upstream's hook, if the file is watched.
    pub(crate) hook: Option<PostStartHook>,
    pub(crate) collectors: Vec<Arc<dyn Collector>>,
    /// Task that watches the file, if enabled.
    pub(crate) following: BoxFuture<'static, ()>,
}

impl EncryptionAtRest {
    /// Reads the configuration, if any, checks its plugins, and wraps `storage`.
    ///
    /// # Errors
    /// [`RunError::Configuration`] with upstream's message.
    pub(crate) async fn over(
        storage: &Arc<dyn Storage>,
        config: &Config,
        random: &encryption::Random,
    ) -> Result<EncryptionAtRest, RunError> {
        let Some(EncryptionConfig { file, automatic_reload }) = &config.encryption else {
            let following = Box::pin(async {});
            return Ok(EncryptionAtRest {
                storage: Arc::clone(storage),
                checks: Vec::new(),
                hook: None,
                collectors: Vec::new(),
                following,
            });
        };
        let figures = Arc::new(Figures::default());
        let plugin_figures = Arc::new(kms::Figures::new(&identity::of_this_machine()));
        let plugins = kms::Plugins {
            clock: Arc::new(SystemClock),
            random: Arc::clone(random),
            figures: Arc::clone(&plugin_figures),
            v1: config.gates.enabled(Gate::KMSv1),
        };
        let loader = Loader {
            file: file.clone(),
            reload: *automatic_reload,
            prefix: config.storage.prefix().to_owned(),
            factory: Arc::new(plugins),
            random: Arc::clone(random),
            figures: Arc::clone(&figures),
        };
        let text = loader.read().map_err(|error| {
            RunError::Configuration(format!("error while parsing file: error while loading file: {error}"))
        })?;
        let covers = loader.covers(&text).await;
        let covers = covers.map_err(|error| RunError::Configuration(error.to_string()))?;
        let reloads = Arc::new(ReloadFigures::new(&NAMES, &text));
        let current: Current = Arc::new(ArcSwap::from_pointee(covers));
        let follower = automatic_reload.then(|| {
            let (storage, current) = (Arc::clone(storage), Arc::clone(&current));
            reload::Follower::new(loader, &text, storage, current, Arc::clone(&reloads))
        });
        Ok(EncryptionAtRest {
            checks: health::checks(&current, *automatic_reload),
            hook: automatic_reload
                .then(|| PostStartHook { name: RELOAD_HOOK, work: Box::pin(async { Ok(()) }) }),
            collectors: vec![Arc::new(OfValues(figures)), Arc::new(OfPlugins(plugin_figures)), reloads],
            following: Box::pin(async move {
                if let Some(follower) = follower {
                    follower.run().await;
                }
            }),
            storage: Arc::new(Encrypted::new(Arc::clone(storage), current)),
        })
    }
}

/// Metrics of encrypted values.
struct OfValues(Arc<Figures>);

impl Collector for OfValues {
    fn collect(&self, out: &mut String) {
        self.0.write(out);
    }
}

struct OfPlugins(Arc<kms::Figures>);

impl Collector for OfPlugins {
    fn collect(&self, out: &mut String) {
        self.0.write(out);
    }
}
