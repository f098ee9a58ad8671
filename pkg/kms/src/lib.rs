//! Encryption at rest with keys of another process (`kms` in `EncryptionConfiguration`): envelopes whose keys (DEKs,
//! data encryption keys) a plugin seals with a key of its own (KEK), which never leaves it. The plugin is asked by
//! gRPC over a Unix socket, `k8s.io/kms/apis/v1beta1` and `v2`.
//!
//! * [`v1`]: a key for each value, and a call for each write. Off unless the gate `KMSv1` is on.
//! * [`v2`] (KEP-3299): a seed for as long as the plugin keeps its key, from which one key per value is derived. Calls
//!   are for seeds that are not known yet, and for the question which key the plugin has.
//!
//! What stands in the store are upstream's bytes (`apiserver/pkg/storage/value/encrypt/envelope`). What opens and seals
//! them are `encryption`'s ciphers; this crate knows whom to ask for keys, how long what was answered holds, and that
//! nobody waits for a plugin longer than its configuration says.

mod endpoint;
mod figures;
mod health;
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

pub use figures::Figures;
use plugin::PluginConnection;

/// The longest answer of a plugin. The longest good one is about 35 KB: a sealed key, a key id, annotations.
const ANSWER_BYTES_MAX: usize = 128 << 10;

/// What knows a key without being it.
type Fingerprint = [u8; 32];

/// Makes providers that ask plugins at sockets.
pub struct Plugins {
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where keys and nonces come from.
    pub random: Random,
    /// Where calls are counted.
    pub figures: Arc<Figures>,
    /// Whether v1 may be used (the gate `KMSv1`).
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
            error.within(&format!("could not configure KMSv{number}-Plugin's probe {name:?}, error"))
        })?;
        let calls = PluginConnection::new(Socket::new(&socket, ANSWER_BYTES_MAX), kms.timeout);
        Ok(match kms.version {
            KmsVersion::V1 => {
                tracing::info!(
                    "KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead."
                );
                let plugin = Arc::new(plugin::v1::SocketPlugin::new(calls));
                Arc::new(v1::Provider::new(name, plugin, kms.cache_size, self))
            }
            KmsVersion::V2 => {
                let plugin = plugin::v2::SocketPlugin::new(name, calls, Arc::clone(&self.figures));
                Arc::new(v2::Provider::start(name, Arc::new(plugin), self).await)
            }
        })
    }
}

/// A text's hash, as labels and errors have it that must not show the text; empty for none.
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
