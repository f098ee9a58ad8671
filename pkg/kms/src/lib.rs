//! Encryption at rest with keys of another process (`kms` in `EncryptionConfiguration`). Values are stored in
//! envelopes: a plugin seals the data encryption keys (DEKs) with its own key (KEK), which never leaves the
//! plugin. The plugin is called by gRPC over a Unix socket, with `k8s.io/kms/apis/v1beta1` or `v2`.
//!
//! * [`v1`]: one key for each value and one call for each write. Disabled unless the feature gate `KMSv1` is
//!   on.
//! * [`v2`] (KEP-3299): one seed for as long as the plugin keeps its key. Each value has its own key, derived
//!   from the seed. The plugin is called only for seeds that are not cached and for its status.
//!
//! The stored bytes are the same as upstream's (`apiserver/pkg/storage/value/encrypt/envelope`). The ciphers
//! are in the crate `encryption`. This crate calls the plugins, caches their results, and limits each call to
//! the configured timeout.

mod endpoint;
mod health;
mod metrics;
mod plugin;
mod single_flight;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod v1;
mod v2;

use std::sync::Arc;

use async_trait::async_trait;
use component_base::clock::Clock;
use encryption::{Error, Kms, KmsFactory, KmsProvider, KmsVersion, Random};
use grpc::Socket;
use sha2::{Digest, Sha256};

pub use metrics::KmsMetrics;
use plugin::PluginConnection;

/// Limit for a plugin's response. The longest valid one is about 35 KB: a sealed key, a key id and
/// annotations.
const RESPONSE_BYTES_MAX: usize = 128 << 10;

/// Hash that identifies a sealed key.
type Fingerprint = [u8; 32];

/// Factory for providers whose plugins listen on sockets.
pub struct Plugins {
    pub clock: Arc<dyn Clock>,
    /// Source of keys and nonces.
    pub random: Random,
    pub metrics: Arc<KmsMetrics>,
    /// True if v1 is allowed (feature gate `KMSv1`).
    pub v1: bool,
}

#[async_trait]
impl KmsFactory for Plugins {
    async fn provider(&self, kms: &Kms) -> Result<Arc<dyn KmsProvider>, Error> {
        let name = &kms.name;
        if kms.version == KmsVersion::V1 && !self.v1 {
            return Err(Error::new(
                "KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead.  Set \
                 --feature-gates=KMSv1=true to use the deprecated KMSv1 feature.",
            ));
        }
        let number = if kms.version == KmsVersion::V1 { 1 } else { 2 };
        let socket = endpoint::socket(&kms.endpoint).map_err(|error| {
            error.context(&format!("could not configure KMSv{number}-Plugin's probe {name:?}, error"))
        })?;
        let calls = PluginConnection::new(Socket::new(&socket, RESPONSE_BYTES_MAX), kms.timeout);
        Ok(match kms.version {
            KmsVersion::V1 => {
                tracing::info!(
                    "KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead."
                );
                let plugin = Arc::new(plugin::v1::SocketPlugin::new(calls));
                Arc::new(v1::Provider::new(name, plugin, kms.cache_size, self))
            }
            KmsVersion::V2 => {
                let plugin = plugin::v2::SocketPlugin::new(name, calls, Arc::clone(&self.metrics));
                Arc::new(v2::Provider::start(name, Arc::new(plugin), self).await)
            }
        })
    }
}

/// Returns the hash of a text that labels and errors must not show; empty for an empty text.
fn hash_if_any(text: &str) -> String {
    if text.is_empty() { String::new() } else { hash(text) }
}

fn hash(text: &str) -> String {
    use std::fmt::Write;
    Sha256::digest(text).iter().fold("sha256:".to_owned(), |mut hash, byte| {
        // Writing to a string cannot fail.
        let _ = write!(hash, "{byte:02x}");
        hash
    })
}
