//! Health of a plugin, and the current write seed.
//!
//! The times are upstream's (`server/options/encryptionconfig/config.go`). The plugin's status is requested
//! every minute, every ten seconds while the plugin is unhealthy, and for health endpoints. A seed can be
//! used for writes until three minutes after the last status that confirmed its key. Three minutes after a
//! key rotation, nothing is written under the old key any more. A plugin can be unavailable for two minutes
//! before writes fail. Reads of cached seeds never fail because of that.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use apimachinery::field::joined;
use apimachinery::foreign_text::ForeignText;
use apimachinery::time::{GO_ZERO_TIME, UnixTime};
use arc_swap::ArcSwapOption;
use component_base::clock::Clock;
use encryption::cipher::ExtendedGcm;
use encryption::{Error, Random};
use smallvec::SmallVec;
use tokio::time::Instant;

use super::object::{Kind, Source, key_id_errors};
use super::sources::Dek;
use crate::health::{Health, Unhealthy};
use crate::plugin::v2::{EncryptRequest, EncryptResponse, Plugin, StatusResponse};
use crate::{Fingerprint, KmsMetrics, Plugins, hash_if_any};

/// Intervals between status calls for a healthy and for an unhealthy plugin.
const HEALTHY_INTERVAL: Duration = Duration::from_secs(60);
const UNHEALTHY_INTERVAL: Duration = Duration::from_secs(10);
/// Time for which a seed can be used for writes after a confirmation, in seconds.
const WRITE_SECONDS_MAX: u32 = 3 * 60;

/// Seed for writes.
pub(super) struct WriteSource {
    pub(super) seed: Arc<ExtendedGcm>,
    /// The same seed, for reads.
    pub(super) dek: Arc<Dek>,
    pub(super) key_id: String,
    pub(super) fingerprint: Fingerprint,
    /// Fields that follow the data of a value ([`Source::encoded`]).
    pub(super) encoded: Vec<u8>,
}

/// The current seed and its expiry.
#[derive(Clone)]
pub(super) struct State {
    pub(super) source: Arc<WriteSource>,
    expires: Instant,
    /// The expiry by the wall clock, for messages.
    expires_at: UnixTime,
}

/// Plugin with its last status and write seed.
pub(super) struct Probe {
    name: Arc<str>,
    plugin: Arc<dyn Plugin>,
    clock: Arc<dyn Clock>,
    random: Random,
    metrics: Arc<KmsMetrics>,
    state: ArcSwapOption<State>,
    /// First version that the plugin reported. It must not change.
    version: OnceLock<String>,
    health: Arc<Health>,
}

impl Probe {
    pub(super) fn new(name: &Arc<str>, plugin: Arc<dyn Plugin>, plugins: &Plugins) -> Self {
        Probe {
            name: Arc::clone(name),
            plugin,
            clock: Arc::clone(&plugins.clock),
            random: Arc::clone(&plugins.random),
            metrics: Arc::clone(&plugins.metrics),
            state: ArcSwapOption::empty(),
            version: OnceLock::new(),
            health: Arc::new(Health::new(name)),
        }
    }

    /// Returns the current seed, also if it has expired. Reads need it to recognize stale values.
    ///
    /// # Errors
    /// The plugin has never provided one.
    pub(super) fn state(&self) -> Result<Arc<State>, Error> {
        self.state.load_full().ok_or_else(|| Error::unavailable(NO_STATE))
    }

    /// Returns the current seed if it can still be used for writes.
    ///
    /// # Errors
    /// There is no seed, or the plugin's last confirmation is too old.
    pub(super) fn write_state(&self) -> Result<Arc<State>, Error> {
        let state = self.state()?;
        if Instant::now() > state.expires {
            return Err(Error::new(format!(
                "encryptedDEKSource with keyID hash {:?} expired at {} (current time is {})",
                hash_if_any(&state.source.key_id),
                state.expires_at.rfc3339(),
                self.clock.now().rfc3339()
            )));
        }
        Ok(state)
    }

    /// Checks the health of the plugin.
    ///
    /// # Errors
    /// The reason why the plugin is unhealthy.
    pub(super) async fn check(self: &Arc<Self>) -> Result<(), Error> {
        let probe = Arc::clone(self);
        self.health.check(async move { probe.check_status().await }).await
    }

    /// Checks the plugin periodically. The interval depends on the last result.
    pub(super) async fn watch(self: Arc<Self>) {
        loop {
            let well = self.check().await.inspect_err(|error| {
                tracing::warn!(provider = &*self.name, %error, "KMS plugin failed its health check");
            });
            tokio::time::sleep(if well.is_ok() { HEALTHY_INTERVAL } else { UNHEALTHY_INTERVAL }).await;
        }
    }

    async fn check_status(&self) -> Result<(), Unhealthy> {
        match self.plugin.status().await {
            Ok(status) => self.validate_status(&status).await.map_err(Unhealthy::from_plugin),
            Err(error) => Err(Unhealthy::of("status", error)),
        }
    }

    /// Validates a status response, and replaces the seed if the key has changed.
    async fn validate_status(&self, status: &StatusResponse) -> Result<(), Error> {
        let StatusResponse { version, healthz, key_id } = status;
        let mut errors = Vec::new();
        if healthz != "ok" {
            errors.push(format!("got unexpected healthz status: {}", ForeignText::new(healthz)));
        }
        errors.extend(self.version_error(version));
        if let Some((code, error)) = key_id_errors(key_id) {
            self.metrics.invalid_key_id(&self.name, code);
            let hash = hash_if_any(key_id);
            errors.push(format!("got invalid KMSv2 KeyID hash {hash:?}: {error}"));
        } else {
            self.metrics.record_status_key(&self.name, key_id, self.clock.now());
            let confirmed = self.confirm_or_replace_seed(key_id).await;
            errors.extend(confirmed.err().map(|error| error.to_string()));
        }
        match joined(errors) {
            None => Ok(()),
            Some(errors) => {
                Err(Error::new(format!("kmsv2 Provider {} is not healthy, error: {errors}", self.name)))
            }
        }
    }

    fn version_error(&self, version: &str) -> Option<String> {
        if !matches!(version, "v2" | "v2beta1") {
            return Some(format!("expected KMSv2 API version v2, got {}", ForeignText::new(version)));
        }
        let first = self.version.get_or_init(|| version.to_owned());
        (first != version).then(|| {
            format!(
                "KMSv2 API version should not change after the initial status response version {first}, got {version}"
            )
        })
    }

    /// Confirms the seed, or makes another if the plugin has a new key. If that fails, the old seed stays
    /// until it expires.
    async fn confirm_or_replace_seed(&self, key_id: &str) -> Result<(), Error> {
        let old = self.state.load_full();
        // The lifetime starts before the call that seals the seed.
        let expires = Instant::now() + Duration::from_secs(u64::from(WRITE_SECONDS_MAX));
        let mut expires_at = self.clock.now();
        expires_at.seconds = expires_at.seconds.saturating_add(i64::from(WRITE_SECONDS_MAX));
        if let Some(old) = &old
            && old.source.key_id == key_id
        {
            let source = Arc::clone(&old.source);
            self.state.store(Some(Arc::new(State { source, expires, expires_at })));
            return Ok(());
        }
        let uid = self.uid();
        let made = self.generate_seed(uid.clone()).await;
        let (error, sealed_with) = match made {
            Ok(source) if source.key_id == key_id => {
                tracing::info!(provider = &*self.name, uid, "KMS provider uses a new write seed");
                self.state.store(Some(Arc::new(State { source: Arc::new(source), expires, expires_at })));
                return Ok(());
            }
            Ok(source) => ("<nil>".to_owned(), source.key_id),
            Err(error) => (error.to_string(), String::new()),
        };
        let expires_at = old.as_ref().map_or(GO_ZERO_TIME, |old| old.expires_at).rfc3339();
        Err(Error::new(format!(
            "failed to rotate DEK uid={uid:?}, useSeed=true, errState={}, errGen={error}, statusKeyIDHash={:?}, \
             encryptKeyIDHash={:?}, stateKeyIDHash={:?}, expirationTimestamp={expires_at}",
            if old.is_some() { "<nil>" } else { NO_STATE },
            hash_if_any(key_id),
            hash_if_any(&sealed_with),
            hash_if_any(old.as_ref().map_or("", |old| &old.source.key_id)),
        )))
    }

    /// Generates a seed and seals it with the plugin.
    async fn generate_seed(&self, uid: String) -> Result<WriteSource, Error> {
        let mut seed = [0; ExtendedGcm::SEED_LENGTH_MIN];
        self.metrics.time_key_generation(|| (self.random)(&mut seed));
        let request = EncryptRequest { plaintext: seed.to_vec(), uid };
        let sealed = self.plugin.encrypt(request).await;
        let sealed = sealed.map_err(|error| error.context("failed to encrypt DEK, error"))?;
        let EncryptResponse { ciphertext, key_id, annotations } = sealed;
        let annotations: SmallVec<_> =
            annotations.iter().map(|(name, value)| (name.as_str(), value.as_slice())).collect();
        let source = Source::new(Kind::Seed, &ciphertext, &key_id, annotations);
        let (fingerprint, encoded) = source.map(|source| (source.fingerprint(), source.encoded()))?;
        let seed = Arc::new(ExtendedGcm::new(&seed)?);
        let dek = Arc::new(Dek::of_seed(Arc::clone(&seed), &key_id));
        Ok(WriteSource { seed, dek, key_id, fingerprint, encoded })
    }

    /// Generates an id for a call.
    pub(super) fn uid(&self) -> String {
        let mut bytes = [0; 16];
        (self.random)(&mut bytes);
        uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
    }
}

/// Error until the plugin has been healthy once.
const NO_STATE: &str = "got unexpected nil transformer";

#[cfg(test)]
mod tests;
