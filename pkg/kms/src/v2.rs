//! KMS v2: the keys of values are derived from a seed, which a plugin has sealed.

mod object;
mod probe;
mod sources;

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use encryption::{DecryptedValue, Direction, Error, KmsProvider, Transformer};
use tokio_util::task::AbortOnDropHandle;

use crate::plugin::v2::{DecryptRequest, Plugin};
use crate::single_flight::SingleFlight;
use crate::{Fingerprint, KmsMetrics, Plugins};
use component_base::clock::Clock;
use object::{EncryptedObject, Kind, Source};
use probe::Probe;
use sources::{Dek, Sources};

/// Growth of encrypted data in bytes: derivation input, nonce and tag.
const OVERHEAD: usize = 32 + 12 + 16;

/// v2 provider. It checks its plugin periodically until it is dropped.
pub(crate) struct Provider {
    name: Arc<str>,
    plugin: Arc<dyn Plugin>,
    probe: Arc<Probe>,
    sources: Arc<Sources>,
    /// In-flight decrypt calls.
    opening: SingleFlight<Fingerprint, Arc<Dek>>,
    clock: Arc<dyn Clock>,
    random: encryption::Random,
    metrics: Arc<KmsMetrics>,
    _watch: AbortOnDropHandle<()>,
}

impl Provider {
    /// Creates a provider and checks its plugin once.
    pub(crate) async fn start(name: &str, plugin: Arc<dyn Plugin>, plugins: &Plugins) -> Self {
        let name: Arc<str> = name.into();
        let probe = Arc::new(Probe::new(&name, Arc::clone(&plugin), plugins));
        // The first round of the watch reports the error.
        let _ = probe.check().await;
        let watch = AbortOnDropHandle::new(tokio::spawn(Arc::clone(&probe).watch()));
        let metrics = Arc::clone(&plugins.metrics);
        Provider {
            sources: Arc::new(Sources::new(Arc::clone(&name), Arc::clone(&metrics))),
            name,
            plugin,
            probe,
            opening: SingleFlight::default(),
            clock: Arc::clone(&plugins.clock),
            random: Arc::clone(&plugins.random),
            metrics,
            _watch: watch,
        }
    }

    /// Decrypts a source with the plugin. Concurrent callers share the call.
    async fn decrypt_source(&self, source: &Source<'_>, fingerprint: Fingerprint) -> Result<Arc<Dek>, Error> {
        self.metrics.record_cache_miss();
        let kind = source.kind;
        let key_id = source.key_id.to_owned();
        let request = DecryptRequest {
            ciphertext: source.encrypted.to_vec(),
            uid: self.probe.uid(),
            key_id: key_id.clone(),
            annotations: source.annotations(),
        };
        let plugin = Arc::clone(&self.plugin);
        let sources = Arc::clone(&self.sources);
        let work = async move {
            let plain = plugin.decrypt(request).await;
            let plain = plain.map_err(|error| error.context("failed to decrypt DEK, error"))?;
            let dek = Arc::new(Dek::new(kind, &plain, &key_id)?);
            sources.put(fingerprint, Arc::clone(&dek));
            Ok(dek)
        };
        self.opening.join(fingerprint, work).await
    }

    fn decrypt_object(
        &self,
        object: &EncryptedObject<'_>,
        dek: &Dek,
        context: &[u8],
    ) -> Result<DecryptedValue, Error> {
        self.metrics.record_use(Direction::FromStorage, &self.name, &dek.key_id_hash, self.clock.now());
        let plain = dek.open(object.data, context)?.into();
        let current = &self.probe.state()?.source.key_id;
        Ok(DecryptedValue {
            plain,
            stale: object.source.kind != Kind::Seed || object.source.key_id != current,
        })
    }
}

#[async_trait]
impl Transformer for Provider {
    fn try_decrypt(&self, stored: &[u8], context: &[u8]) -> Option<Result<DecryptedValue, Error>> {
        let object = EncryptedObject::parse(stored).and_then(|object| {
            self.probe.state()?;
            Ok(object)
        });
        match object {
            Ok(object) => {
                let dek = self.sources.get(&object.source.fingerprint())?;
                Some(self.decrypt_object(&object, &dek, context))
            }
            Err(error) => Some(Err(error)),
        }
    }

    async fn open(&self, stored: &[u8], context: &[u8]) -> Result<DecryptedValue, Error> {
        let object = EncryptedObject::parse(stored)?;
        self.probe.state()?;
        let fingerprint = object.source.fingerprint();
        let dek = match self.sources.get(&fingerprint) {
            Some(dek) => dek,
            None => self.decrypt_source(&object.source, fingerprint).await?,
        };
        self.decrypt_object(&object, &dek, context)
    }

    async fn seal(&self, plain: &[u8], context: &[u8]) -> Result<Bytes, Error> {
        let state = self.probe.write_state()?;
        let source = &state.source;
        // A later read of this value then needs no call.
        self.sources.extend_lifetime(&source.fingerprint, &source.dek);
        let length = OVERHEAD + plain.len();
        let mut out = Vec::with_capacity(object::head_length(length) + length + source.encoded.len());
        object::put_head(&mut out, length);
        source.seed.seal(&mut out, plain, context, &*self.random)?;
        out.extend_from_slice(&source.encoded);
        self.metrics.record_use(Direction::ToStorage, &self.name, &source.dek.key_id_hash, self.clock.now());
        Ok(out.into())
    }
}

#[async_trait]
impl KmsProvider for Provider {
    async fn healthy(&self) -> Result<(), Error> {
        self.probe.check().await
    }
}

#[cfg(test)]
mod tests;
