//! Health checks of KMS plugins.

use std::sync::Arc;

use async_trait::async_trait;
use server::health::{Check, CheckError};

use super::CurrentRules;
use super::key_rules::EncryptionRules;

/// Name of the common check of all plugins. It exists even without plugins if the configuration is
/// reloadable.
const ALL: &str = "kms-providers";

/// Returns one check for all plugins if they are reloadable or all use v2; otherwise one for each.
pub(super) fn checks(current: &CurrentRules, reloaded: bool) -> Vec<Arc<dyn Check>> {
    let covers = current.load();
    if reloaded || covers.rules().has_single_health_check() {
        return vec![Arc::new(AllProviders(Arc::clone(current)))];
    }
    let check =
        |index| Arc::new(SingleProvider { name: name(index), index, current: Arc::clone(current) }) as _;
    (0..covers.rules().plugins_count()).map(check).collect()
}

fn name(index: usize) -> String {
    format!("kms-provider-{index}")
}

/// Errors of unhealthy plugins, by name.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub(super) struct UnhealthyError(String);

/// Checks all plugins, one after the other.
///
/// # Errors
/// The errors by plugin, joined in Go's format.
pub(super) async fn all(covers: &EncryptionRules) -> Result<(), UnhealthyError> {
    let mut errors = Vec::new();
    for (index, plugin) in covers.rules().plugins().enumerate() {
        if let Err(error) = plugin.healthy().await {
            errors.push(format!("{}: {error}", name(index)));
        }
    }
    match &*errors {
        [] => Ok(()),
        [error] => Err(UnhealthyError(error.clone())),
        errors => Err(UnhealthyError(format!("[{}]", errors.join(", ")))),
    }
}

struct AllProviders(CurrentRules);

#[async_trait]
impl Check for AllProviders {
    fn name(&self) -> &str {
        ALL
    }

    async fn check(&self) -> Result<(), CheckError> {
        all(&self.0.load_full()).await.map_err(CheckError::new)
    }
}

struct SingleProvider {
    name: String,
    index: usize,
    current: CurrentRules,
}

#[async_trait]
impl Check for SingleProvider {
    fn name(&self) -> &str {
        &self.name
    }

    async fn check(&self) -> Result<(), CheckError> {
        let covers = self.current.load_full();
        match covers.rules().plugins().nth(self.index) {
            Some(plugin) => plugin.healthy().await.map_err(CheckError::new),
            None => Ok(()),
        }
    }
}
