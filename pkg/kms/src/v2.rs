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
use component_base::trace::Span;
use object::{EncryptedObject, Kind, Source};
use probe::Probe;
use sources::{Dek, Sources};

/// Upstream's name of the span of a decryption.
const FROM_STORAGE: &str = "TransformFromStorage with envelopeTransformer";
/// Upstream's events around the decoding of an encrypted value.
const DECODING: [&str; 2] = ["About to decode encrypted object", "Decoded encrypted object"];

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

    /// Starts a span, with upstream's attributes.
    fn span(&self, name: &str) -> Span {
        Span::current().child(name, || vec![("transformer.provider.name", self.name.to_string().into())])
    }

    /// Decrypts a value within the current span.
    async fn open_traced(&self, stored: &[u8], context: &[u8]) -> Result<DecryptedValue, Error> {
        let span = Span::current();
        let [about_to_decode, decoded] = DECODING;
        span.event(about_to_decode);
        let object =
            EncryptedObject::parse(stored).inspect_err(|_| span.event("Decoding encrypted object failed"))?;
        span.event(decoded);
        self.probe.state()?;
        let fingerprint = object.source.fingerprint();
        let dek = match self.sources.get(&fingerprint) {
            Some(dek) => dek,
            None => {
                span.event("About to decrypt DEK using remote service");
                let dek = self.decrypt_source(&object.source, fingerprint).await;
                span.event(if dek.is_ok() { "DEK decryption succeeded" } else { "DEK decryption failed" });
                dek?
            }
        };
        self.decrypt_object(&object, &dek, context, &span)
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
        span: &Span,
    ) -> Result<DecryptedValue, Error> {
        self.metrics.record_use(Direction::FromStorage, &self.name, &dek.key_id_hash, self.clock.now());
        span.event("About to decrypt data using DEK");
        let plain =
            dek.open(object.data, context).inspect_err(|_| span.event("Data decryption failed"))?.into();
        span.event("Data decryption succeeded");
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
                let span = self.span(FROM_STORAGE);
                DECODING.iter().for_each(|event| span.event(event));
                Some(self.decrypt_object(&object, &dek, context, &span))
            }
            Err(error) => Some(Err(error)),
        }
    }

    async fn open(&self, stored: &[u8], context: &[u8]) -> Result<DecryptedValue, Error> {
        let span = self.span(FROM_STORAGE);
        span.instrument(Box::pin(self.open_traced(stored, context))).await
    }

    async fn seal(&self, plain: &[u8], context: &[u8]) -> Result<Bytes, Error> {
        let span = self.span("TransformToStorage with envelopeTransformer");
        let state = self.probe.write_state()?;
        let source = &state.source;
        // A later read of this value then needs no call.
        self.sources.extend_lifetime(&source.fingerprint, &source.dek);
        let length = OVERHEAD + plain.len();
        let mut out = Vec::with_capacity(object::head_length(length) + length + source.encoded.len());
        object::put_head(&mut out, length);
        span.event("About to encrypt data using DEK");
        let sealed = source.seed.seal(&mut out, plain, context, &*self.random);
        sealed.inspect_err(|_| span.event("Data encryption failed"))?;
        span.event("Data encryption succeeded");
        span.event("About to encode encrypted object");
        out.extend_from_slice(&source.encoded);
        span.event("Encoded encrypted object");
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
