//! The providers of a rule: the first one writes, all of them read.

mod keys;
mod opening;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::Bytes;
use tokio::time::Instant;

use crate::metrics::{Direction, EncryptionMetrics, ProviderCounters};
use crate::{DecryptedValue, Error, KmsProvider, Random};
use opening::{Decryption, Step};

pub(crate) use keys::{Algorithm, Keys};

/// Prefix of every encrypted value.
const ENCRYPTED: &[u8] = b"k8s:enc:";

/// A provider and the prefix of the values that it encrypts.
pub(crate) struct RuleProvider {
    prefix: String,
    work: ProviderImpl,
}

enum ProviderImpl {
    Identity,
    Keys(Keys),
    Kms(Arc<dyn KmsProvider>),
}

impl RuleProvider {
    /// Creates the provider that does not encrypt. It rejects encrypted values.
    pub(crate) fn identity() -> Self {
        RuleProvider { prefix: String::new(), work: ProviderImpl::Identity }
    }

    /// Creates a provider whose keys are in this process.
    pub(crate) fn keys(keys: Keys) -> Self {
        RuleProvider { prefix: keys.prefix().to_owned(), work: ProviderImpl::Keys(keys) }
    }

    pub(crate) fn kms(prefix: String, provider: Arc<dyn KmsProvider>) -> Self {
        RuleProvider { prefix, work: ProviderImpl::Kms(provider) }
    }
}

/// The providers of one resource, with its metrics.
#[derive(Clone)]
pub struct Protection(Arc<Inner>);

struct Inner {
    parts: Vec<ProviderMetrics>,
    metrics: Arc<EncryptionMetrics>,
    random: Random,
}

struct ProviderMetrics {
    member: Arc<RuleProvider>,
    counters: Arc<ProviderCounters>,
    /// Counters, one per key.
    keys: Vec<Arc<ProviderCounters>>,
}

impl Protection {
    /// Creates the providers of a resource. `resource` is its label in metrics (`deployments.apps`).
    pub(crate) fn new(
        resource: String,
        members: &[Arc<RuleProvider>],
        metrics: &Arc<EncryptionMetrics>,
        random: &Random,
    ) -> Self {
        let part = |member: &Arc<RuleProvider>| {
            let keys = match &member.work {
                ProviderImpl::Keys(keys) => {
                    keys.names().map(|name| metrics.counters(&resource, name)).collect()
                }
                ProviderImpl::Identity | ProviderImpl::Kms(_) => Vec::new(),
            };
            ProviderMetrics {
                member: Arc::clone(member),
                counters: metrics.counters(&resource, &member.prefix),
                keys,
            }
        };
        let parts = members.iter().map(part).collect();
        let metrics = Arc::clone(metrics);
        let random = Arc::clone(random);
        Protection(Arc::new(Inner { parts, metrics, random }))
    }

    /// Decrypts a value without waiting. Returns `None` if a plugin must be called, as [`open`](Self::open)
    /// does. `context` is the value's key in the store.
    ///
    /// Every provider with a matching prefix is tried, because several may have keys of one name. A value is
    /// stale unless the first key of the first provider wrote it.
    pub fn open_now(&self, stored: &Bytes, context: &[u8]) -> Option<Result<DecryptedValue, Error>> {
        let mut opening = Decryption::new(&self.0, stored, context);
        loop {
            match opening.step() {
                Step::Done(done) => return Some(done),
                Step::CallPlugin(provider, sealed) => {
                    let result = provider.try_decrypt(sealed, context)?;
                    opening.record_result(result);
                }
            }
        }
    }

    /// Decrypts a value, calling plugins if necessary.
    ///
    /// # Errors
    /// The errors of all providers with a matching prefix, or an error that no prefix matches.
    pub async fn open(&self, stored: &Bytes, context: &[u8]) -> Result<DecryptedValue, Error> {
        let mut opening = Decryption::new(&self.0, stored, context);
        loop {
            match opening.step() {
                Step::Done(done) => return done,
                Step::CallPlugin(provider, sealed) => {
                    let result = provider.open(sealed, context).await;
                    opening.record_result(result);
                }
            }
        }
    }

    /// Encrypts a value with the first key of the first provider.
    ///
    /// # Errors
    /// The provider's.
    pub async fn seal(&self, plain: Bytes, context: &[u8]) -> Result<Bytes, Error> {
        let Some(part) = self.0.parts.first() else { return Ok(plain) };
        let start = Instant::now();
        let prefix = part.member.prefix.as_bytes();
        let sealed = match &part.member.work {
            ProviderImpl::Identity => Ok(plain),
            ProviderImpl::Keys(keys) => {
                let sealed = keys.seal(&plain, context, &*self.0.random);
                if let Some(counters) = part.keys.first() {
                    self.record_encryption(counters, start, &sealed);
                }
                sealed
            }
            ProviderImpl::Kms(provider) => provider.seal(&plain, context).await.map(|sealed| {
                let mut stored = Vec::with_capacity(prefix.len() + sealed.len());
                stored.extend_from_slice(prefix);
                stored.extend_from_slice(&sealed);
                stored.into()
            }),
        };
        self.record_encryption(&part.counters, start, &sealed);
        sealed
    }

    fn record_encryption(&self, counters: &ProviderCounters, start: Instant, sealed: &Result<Bytes, Error>) {
        let result = sealed.as_ref().map(drop);
        self.0.metrics.record_transformation(counters, Direction::ToStorage, start.elapsed(), result);
    }
}

/// Returns true if a value is encrypted, by any provider.
pub fn is_encrypted(stored: &[u8]) -> bool {
    stored.starts_with(ENCRYPTED)
}

/// Upstream's error for an encrypted value of a resource without a rule.
pub const NOT_EXPECTED: &str = "identity transformer tried to read encrypted data";
