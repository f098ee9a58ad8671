//! Cache of decrypted seeds and keys.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use encryption::Error;
use encryption::cipher::{ExtendedGcm, Gcm};
use tokio::time::Instant;

use super::object::Kind;
use crate::{Fingerprint, KmsMetrics, hash};

/// Lifetime of a source that is not used for writes (upstream's value). There is one source for each server
/// start and each key of the plugin, as long as the store has values under it.
pub(super) const TTL: Duration = Duration::from_secs(24 * 60 * 60);
/// Limit of cached sources. Each takes about a kilobyte.
const SOURCES_MAX: usize = 16_384;

enum Cipher {
    Key(Gcm),
    Seed(Arc<ExtendedGcm>),
}

/// Decrypted source and the hash of the key id that sealed it.
pub(super) struct Dek {
    cipher: Cipher,
    /// Hash of the plugin's key id, as in metric labels.
    pub(super) key_id_hash: Arc<str>,
}

impl Dek {
    /// # Errors
    /// The plugin returned bytes that are not a valid key.
    pub(super) fn new(kind: Kind, plain: &[u8], key_id: &str) -> Result<Self, Error> {
        let cipher = match kind {
            Kind::Key => Cipher::Key(Gcm::new(plain)?),
            Kind::Seed => Cipher::Seed(Arc::new(ExtendedGcm::new(plain)?)),
        };
        Ok(Dek { cipher, key_id_hash: hash(key_id).into() })
    }

    pub(super) fn of_seed(seed: Arc<ExtendedGcm>, key_id: &str) -> Self {
        Dek { cipher: Cipher::Seed(seed), key_id_hash: hash(key_id).into() }
    }

    pub(super) fn open(&self, data: &[u8], context: &[u8]) -> Result<Vec<u8>, Error> {
        match &self.cipher {
            Cipher::Key(key) => key.open(data, context),
            Cipher::Seed(seed) => seed.open(data, context),
        }
    }
}

struct Entry {
    dek: Arc<Dek>,
    expires: Instant,
}

/// Cache of decrypted sources, by fingerprint.
///
/// An expired source stays usable until the next insertion sweeps it. The key of a stored value never
/// changes, so an expired source is still correct. While the plugin is unavailable nothing is inserted, and
/// values stay readable.
pub(super) struct Sources {
    provider: Arc<str>,
    metrics: Arc<KmsMetrics>,
    entries: RwLock<HashMap<Fingerprint, Entry>>,
}

impl Sources {
    pub(super) fn new(provider: Arc<str>, metrics: Arc<KmsMetrics>) -> Self {
        Sources { provider, metrics, entries: RwLock::default() }
    }

    pub(super) fn get(&self, source: &Fingerprint) -> Option<Arc<Dek>> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        entries.get(source).map(|entry| Arc::clone(&entry.dek))
    }

    /// Inserts a source. Removes expired sources, and the one that expires first if the cache is full.
    pub(super) fn put(&self, source: Fingerprint, dek: Arc<Dek>) {
        let now = Instant::now();
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|_, entry| entry.expires > now);
        if entries.len() >= SOURCES_MAX {
            let oldest = entries.iter().min_by_key(|(_, entry)| entry.expires).map(|(source, _)| *source);
            oldest.and_then(|source| entries.remove(&source));
        }
        entries.insert(source, Entry { dek, expires: now + TTL });
        self.metrics.sources(&self.provider, entries.len());
    }

    /// Extends the lifetime of a source that is used for writes.
    pub(super) fn extend_lifetime(&self, source: &Fingerprint, dek: &Arc<Dek>) {
        let fresh = |entry: &Entry| entry.expires.duration_since(Instant::now()) > TTL / 2;
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        if !entries.get(source).is_some_and(fresh) {
            drop(entries);
            self.put(*source, Arc::clone(dek));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dek() -> Arc<Dek> {
        Arc::new(Dek::of_seed(Arc::new(ExtendedGcm::new(&[7; 32]).unwrap()), "key"))
    }

    fn id(number: usize) -> Fingerprint {
        let mut id = [0; 32];
        id[..8].copy_from_slice(&number.to_be_bytes());
        id
    }

    #[tokio::test(start_paused = true)]
    async fn expired_source_is_usable_until_next_insert() {
        let sources = Sources::new("p".into(), Arc::default());
        sources.put(id(1), dek());
        tokio::time::advance(TTL * 2).await;
        assert!(sources.get(&id(1)).is_some());
        sources.put(id(2), dek());
        assert!(sources.get(&id(1)).is_none() && sources.get(&id(2)).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_source_in_use_does_not_expire() {
        let sources = Sources::new("p".into(), Arc::default());
        let used = dek();
        sources.put(id(1), Arc::clone(&used));
        for number in 2..5 {
            tokio::time::advance(TTL * 2 / 3).await;
            sources.extend_lifetime(&id(1), &used);
            sources.put(id(number), dek());
            assert!(sources.get(&id(1)).is_some());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn full_cache_drops_oldest_source() {
        let sources = Sources::new("p".into(), Arc::default());
        let dek = dek();
        let mut entries = sources.entries.write().unwrap();
        for number in 0..SOURCES_MAX {
            let expires = Instant::now() + TTL + Duration::from_nanos(u64::try_from(number).unwrap());
            entries.insert(id(number), Entry { dek: Arc::clone(&dek), expires });
        }
        drop(entries);
        sources.put(id(SOURCES_MAX), dek);
        assert!(sources.get(&id(0)).is_none() && sources.get(&id(1)).is_some());
        assert_eq!(sources.entries.read().unwrap().len(), SOURCES_MAX);
    }
}
