//! KMS v1: each value has its own key. The key is sealed by the plugin and stored before the value.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use encryption::cipher::{Cbc, Gcm};
use encryption::{DecryptedValue, Direction, Error, KmsProvider, Random, Transformer};
use lru::LruCache;
use sha2::{Digest, Sha256};

use crate::health::{Health, Unhealthy};
use crate::plugin::v1::Plugin;
use crate::single_flight::SingleFlight;
use crate::{Fingerprint, KmsMetrics, Plugins};

/// Length of a key in bytes.
const KEY_LENGTH: usize = 32;

/// Decrypted data encryption key.
struct Dek {
    gcm: Gcm,
    /// Raw key, for values that were written before v1.25.
    key: Vec<u8>,
}

impl Dek {
    /// # Errors
    /// The plugin returned bytes that are not a valid key.
    fn new(key: Vec<u8>) -> Result<Self, Error> {
        Ok(Dek { gcm: Gcm::new(&key)?, key })
    }

    /// Decrypts a value. A value under AES-CBC is stale.
    fn open(&self, data: &[u8], context: &[u8]) -> Result<DecryptedValue, Error> {
        let new = match self.gcm.open(data, context) {
            Ok(plain) => return Ok(DecryptedValue::current(plain.into())),
            Err(error) => error,
        };
        match Cbc::new(&self.key).and_then(|cbc| cbc.open(data)) {
            Ok(plain) => Ok(DecryptedValue { plain: plain.into(), stale: true }),
            Err(old) if old == new => Err(new),
            Err(old) => Err(Error::new(format!("[{new}, {old}]"))),
        }
    }
}

/// Cache of the most recently used keys.
struct Keys {
    keys: Mutex<LruCache<Fingerprint, Arc<Dek>>>,
    metrics: Arc<KmsMetrics>,
}

impl Keys {
    fn new(max: NonZeroUsize, metrics: &Arc<KmsMetrics>) -> Arc<Self> {
        // A bounded constructor would allocate the memory of a full cache.
        let mut keys = LruCache::unbounded();
        keys.resize(max);
        Arc::new(Keys { keys: Mutex::new(keys), metrics: Arc::clone(metrics) })
    }

    fn keys(&self) -> MutexGuard<'_, LruCache<Fingerprint, Arc<Dek>>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, fingerprint: &Fingerprint) -> Option<Arc<Dek>> {
        self.keys().get(fingerprint).cloned()
    }

    fn put(&self, fingerprint: Fingerprint, dek: Arc<Dek>) {
        let mut keys = self.keys();
        keys.put(fingerprint, dek);
        self.metrics.set_cache_fill(keys.len(), keys.cap().get());
    }
}

pub(crate) struct Provider {
    plugin: Arc<dyn Plugin>,
    /// `None` if the key cache is disabled.
    keys: Option<Arc<Keys>>,
    /// In-flight decrypt calls.
    opening: SingleFlight<Fingerprint, Arc<Dek>>,
    health: Arc<Health>,
    random: Random,
    metrics: Arc<KmsMetrics>,
}

impl Provider {
    /// Creates a provider. Its cache holds at most `keys_max` keys.
    pub(crate) fn new(
        name: &str,
        plugin: Arc<dyn Plugin>,
        keys_max: Option<usize>,
        plugins: &Plugins,
    ) -> Self {
        let metrics = Arc::clone(&plugins.metrics);
        Provider {
            plugin,
            keys: keys_max.and_then(NonZeroUsize::new).map(|max| Keys::new(max, &metrics)),
            opening: SingleFlight::default(),
            health: Arc::new(Health::new(&name.into())),
            random: Arc::clone(&plugins.random),
            metrics,
        }
    }

    fn cached_key(&self, fingerprint: &Fingerprint) -> Option<Arc<Dek>> {
        self.keys.as_ref()?.get(fingerprint)
    }

    /// Decrypts a key with the plugin. Concurrent callers share the call.
    async fn decrypt_key(&self, sealed: &[u8], fingerprint: Fingerprint) -> Result<Arc<Dek>, Error> {
        if self.keys.is_some() {
            self.metrics.record_cache_miss();
        }
        let plugin = Arc::clone(&self.plugin);
        let keys = self.keys.clone();
        let sealed = sealed.to_vec();
        let work = async move {
            let dek = Arc::new(Dek::new(plugin.decrypt(sealed).await?)?);
            if let Some(keys) = keys {
                keys.put(fingerprint, Arc::clone(&dek));
            }
            Ok(dek)
        };
        self.opening.join(fingerprint, work).await
    }
}

/// Splits a stored value into the sealed key and the data.
fn split(stored: &[u8]) -> Result<(&[u8], &[u8]), Error> {
    let split = stored.split_first_chunk().and_then(|(length, rest)| {
        let length = u16::from_be_bytes(*length);
        rest.split_at_checked(usize::from(length))
    });
    split.ok_or_else(|| {
        Error::new(
            "invalid data encountered by envelope transformer: failed to read uint16 length prefixed data",
        )
    })
}

#[async_trait]
impl Transformer for Provider {
    fn try_decrypt(&self, stored: &[u8], context: &[u8]) -> Option<Result<DecryptedValue, Error>> {
        let (sealed, data) = match split(stored) {
            Ok(parts) => parts,
            Err(error) => return Some(Err(error)),
        };
        let dek = self.cached_key(&Sha256::digest(sealed).into())?;
        self.metrics.record_transformation(Direction::FromStorage);
        Some(dek.open(data, context))
    }

    async fn open(&self, stored: &[u8], context: &[u8]) -> Result<DecryptedValue, Error> {
        self.metrics.record_transformation(Direction::FromStorage);
        let (sealed, data) = split(stored)?;
        let fingerprint = Sha256::digest(sealed).into();
        let dek = match self.cached_key(&fingerprint) {
            Some(dek) => dek,
            None => self.decrypt_key(sealed, fingerprint).await?,
        };
        dek.open(data, context)
    }

    async fn seal(&self, plain: &[u8], context: &[u8]) -> Result<Bytes, Error> {
        self.metrics.record_transformation(Direction::ToStorage);
        let mut key = vec![0; KEY_LENGTH];
        self.metrics.time_key_generation(|| (self.random)(&mut key));
        let sealed = self.plugin.encrypt(key.clone()).await?;
        let length = u16::try_from(sealed.len()).map_err(|_| {
            let length = sealed.len();
            Error::new(format!("cryptobyte: pending child length {length} exceeds 2-byte length prefix"))
        })?;
        let dek = Arc::new(Dek::new(key)?);
        if let Some(keys) = &self.keys {
            keys.put(Sha256::digest(&sealed).into(), Arc::clone(&dek));
        }
        let mut out = length.to_be_bytes().to_vec();
        out.extend_from_slice(&sealed);
        dek.gcm.seal(&mut out, plain, context, &*self.random)?;
        Ok(out.into())
    }
}

#[async_trait]
impl KmsProvider for Provider {
    async fn healthy(&self) -> Result<(), Error> {
        let plugin = Arc::clone(&self.plugin);
        let look = async move {
            let sealed = plugin.encrypt(b"ping".to_vec()).await;
            let sealed = sealed.map_err(|error| Unhealthy::of("encrypt", error))?;
            plugin.decrypt(sealed).await.map_err(|error| Unhealthy::of("decrypt", error))?;
            Ok(())
        };
        self.health.check(look).await
    }
}

#[cfg(test)]
mod tests;
