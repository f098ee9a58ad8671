//! Secrets of bootstrap tokens, for authentication.

use api::tree;
use async_trait::async_trait;
use authentication::{BootstrapSecret, BootstrapSecrets};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use registry::client::{Client, LookupError, ReadFreshness};
use registry::{Registry, meta};

const NAMESPACE: &str = "kube-system";

/// Looks up Secrets in the watch cache.
pub struct StoredBootstrapSecrets(Client);

impl StoredBootstrapSecrets {
    /// # Errors
    /// Secrets are not served.
    pub fn new(registry: &Registry) -> Result<Self, LookupError> {
        Client::find(registry, "", "secrets").map(StoredBootstrapSecrets)
    }
}

#[async_trait]
impl BootstrapSecrets for StoredBootstrapSecrets {
    async fn secret(&self, name: &str) -> Result<Option<BootstrapSecret>, authentication::Error> {
        let secret = self.0.get(NAMESPACE, name, ReadFreshness::Cached).await;
        let secret = secret.map_err(|status| authentication::Error::Unavailable(status.message.into()))?;
        let Some(secret) = secret else { return Ok(None) };
        let members = tree::child(&secret, "data").into_iter().flatten();
        let data = members.filter_map(|(key, value)| {
            let bytes = STANDARD.decode(value.as_str().unwrap_or_default()).ok()?;
            Some((key.to_string(), bytes))
        });
        Ok(Some(BootstrapSecret {
            deleting: meta::deletion_seconds(&secret).is_some(),
            kind: tree::text(&secret, "type").to_owned(),
            data: data.collect(),
        }))
    }
}
