//! `--encryption-provider-config`: objects are encrypted on their way to the store and decrypted on their way from
//! it, below the watch cache, so that each value is decrypted once. Put together as upstream's
//! `server/options/encryptionconfig` does.

mod covers;
mod health;
mod load;
mod patience;
mod reload;
mod store;
mod value;

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
use covers::Covers;
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
/// Upstream starts to follow the file in a hook of this name.
const RELOAD_HOOK: &str = "start-encryption-provider-config-automatic-reload";

/// The configuration that counts, which a newer one may replace.
type Current = Arc<ArcSwap<Covers>>;

/// What a server gets of encryption; nothing but its store, where nothing is encrypted.
pub(crate) struct EncryptionAtRest {
    /// The store as everybody sees it who is not to know of encryption.
    pub(crate) storage: Arc<dyn Storage>,
    /// What health pages say of plugins, but for `/livez`: a server without them is no better for a restart.
    pub(crate) checks: Vec<Arc<dyn Check>>,
    /// The hook that upstream has, where the file is followed.
    pub(crate) hook: Option<PostStartHook>,
    /// What is counted.
    pub(crate) collectors: Vec<Arc<dyn Collector>>,
    /// Follows the file, where that is wanted.
    pub(crate) following: BoxFuture<'static, ()>,
}

impl EncryptionAtRest {
    /// Reads the configuration, if there is one, looks at its plugins, and puts itself before `storage`.
    ///
    /// # Errors
    /// [`RunError::Configuration`], in upstream's words.
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
        let covers = loader.covers(&text).await.map_err(RunError::Configuration)?;
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

/// What is counted of values.
struct OfValues(Arc<Figures>);

impl Collector for OfValues {
    fn collect(&self, out: &mut String) {
        self.0.write(out);
    }
}

/// What is counted of plugins.
struct OfPlugins(Arc<kms::Figures>);

impl Collector for OfPlugins {
    fn collect(&self, out: &mut String) {
        self.0.write(out);
    }
}
