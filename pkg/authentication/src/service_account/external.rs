//! External signer of service account tokens (KEP-740; upstream's `pkg/serviceaccount/externaljwt/plugin`).
//! The key never leaves the signer: this server requests each signature and refreshes the public keys.

mod metrics;

use std::sync::Arc;
use std::time::Duration;

use apimachinery::go_quote::quote;
use apimachinery::time::UnixTime;
use arc_swap::ArcSwap;
use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use component_base::clock::Clock;
use component_base::weakened::{WeakenedDecisions, WeakenedKind};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::PublicKeys;
use super::keys::PublicKey;
pub use metrics::SignerMetrics;

/// Maximum length of a key id in bytes.
const KEY_ID_BYTES_MAX: usize = 1024;
/// Subject of weakened decisions: the flag of the signer.
const SIGNER: &str = "--service-account-signing-endpoint";
/// Delay after a failed refresh.
const REFRESH_AFTER_FAILURE: Duration = Duration::from_secs(10);
/// Minimum interval between refreshes, regardless of the signer's hint.
const REFRESH_MIN: Duration = Duration::from_secs(1);
/// Supported signing algorithms.
const ALGORITHMS: [&str; 4] = ["RS256", "ES256", "ES384", "ES512"];

/// A public key of the signer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalKey {
    /// Key id (`kid` in tokens).
    pub id: String,
    /// SubjectPublicKeyInfo in DER.
    pub spki: Vec<u8>,
    /// True if the key only verifies old tokens and is not published.
    pub excluded_from_discovery: bool,
}

/// The public keys of a signer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalKeySet {
    pub keys: Vec<ExternalKey>,
    /// Seconds until the next refresh.
    pub refresh_after_seconds: i64,
    /// Timestamp of the keys, by the signer's clock.
    pub data: UnixTime,
}

/// Error of a signer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct SignerError {
    /// gRPC status code name.
    pub code: &'static str,
    /// Error message.
    pub text: String,
}

impl SignerError {
    /// Creates an error of this server or of an unusable response, with upstream's code for it.
    pub fn local(text: String) -> Self {
        SignerError { code: "unknown-non-grpc", text }
    }

    fn context(self, action: &str) -> Self {
        SignerError { text: format!("{action}: {}", self.text), ..self }
    }
}

/// A signature: first and last part of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalSignature {
    /// The header in base64url.
    pub header: String,
    /// The signature in base64url.
    pub signature: String,
}

/// Client of an external signer. Calls time out by themselves after about a minute.
#[async_trait]
pub trait ExternalSigner: Send + Sync + 'static {
    /// Signs claims, given in base64url.
    ///
    /// # Errors
    /// The error of the call.
    async fn sign(&self, claims: &str) -> Result<ExternalSignature, SignerError>;

    /// Returns the current keys.
    ///
    /// # Errors
    /// The error of the call.
    async fn keys(&self) -> Result<ExternalKeySet, SignerError>;
}

/// A signer with its last fetched keys.
pub struct ExternalKeys {
    signer: Arc<dyn ExternalSigner>,
    metrics: Arc<SignerMetrics>,
    clock: Arc<dyn Clock>,
    current: ArcSwap<Snapshot>,
    /// Locked during a fetch.
    last_fetch: Mutex<Option<Fetch>>,
}

/// Keys of one fetch.
struct Snapshot {
    keys: Arc<PublicKeys>,
    refresh_at: Instant,
}

/// Result of a fetch.
struct Fetch {
    ended_at: Instant,
    outcome: Result<(), SignerError>,
}

/// Header of a token from the signer. Unknown fields are rejected.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    #[serde(default)]
    alg: String,
    #[serde(default)]
    kid: String,
    #[serde(default)]
    typ: String,
}

impl ExternalKeys {
    /// Fetches the keys of a signer for the first time.
    ///
    /// # Errors
    /// The signer has no usable keys. The server does not start in that case.
    pub async fn fetch(
        signer: Arc<dyn ExternalSigner>,
        metrics: Arc<SignerMetrics>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, SignerError> {
        let failed = |error: SignerError| {
            error.context("while initially filling key cache: while performing initial cache fill")
        };
        let first = fetch(&*signer, &metrics, &*clock).await.map_err(failed)?;
        let current = ArcSwap::from_pointee(first);
        let last_fetch = Mutex::default();
        Ok(ExternalKeys { signer, metrics, clock, current, last_fetch })
    }

    /// Returns the last fetched keys.
    pub(super) fn current(&self) -> Arc<PublicKeys> {
        Arc::clone(&self.current.load().keys)
    }

    /// Returns the seconds until the next refresh.
    pub(super) fn seconds_to_refresh(&self) -> u64 {
        self.current.load().refresh_at.saturating_duration_since(Instant::now()).as_secs()
    }

    /// Returns the keys. Fetches them again if none has `id`. Empty if that fails.
    pub(super) async fn keys_with_id(&self, id: &str) -> Arc<PublicKeys> {
        let current = self.current();
        if current.with_id(id).next().is_some() {
            return current;
        }
        match self.refresh().await {
            Ok(()) => self.current(),
            Err(error) => {
                tracing::error!(%error, "failed to fetch the keys of the external token signer");
                Arc::default()
            }
        }
    }

    /// Fetches the keys. Concurrent callers share the result, so that tokens with invented key ids cause at
    /// most one call at a time.
    async fn refresh(&self) -> Result<(), SignerError> {
        let start = Instant::now();
        let mut last = self.last_fetch.lock().await;
        if let Some(fetch) = last.as_ref().filter(|fetch| fetch.ended_at >= start) {
            return fetch.outcome.clone();
        }
        let fetched = fetch(&*self.signer, &self.metrics, &*self.clock).await;
        let outcome = fetched.map(|fetched| self.current.store(Arc::new(fetched)));
        *last = Some(Fetch { ended_at: Instant::now(), outcome: outcome.clone() });
        outcome
    }

    /// Refreshes the keys at the times that the signer requests. Never returns. While that fails, the previous
    /// keys remain, which is recorded in `weakened`: the signer may have revoked one.
    pub async fn refresh_periodically(&self, weakened: &WeakenedDecisions) {
        let mut pause = self.pause();
        loop {
            tokio::time::sleep(pause).await;
            pause = match self.refresh().await {
                Ok(()) => self.pause(),
                Err(error) => {
                    weakened.record(WeakenedKind::StaleConfiguration, SIGNER, &error);
                    REFRESH_AFTER_FAILURE
                }
            };
        }
    }

    fn pause(&self) -> Duration {
        self.current.load().refresh_at.saturating_duration_since(Instant::now()).max(REFRESH_MIN)
    }

    /// Issues a token with these claims.
    ///
    /// # Errors
    /// Upstream's message about a failed signature.
    pub(super) async fn issue(&self, claims: &impl Serialize) -> Result<String, SignerError> {
        let token = self.token(claims).await;
        self.metrics.record_signature(&token);
        token
    }

    async fn token(&self, claims: &impl Serialize) -> Result<String, SignerError> {
        let payload = serde_json::to_vec(claims)
            .map_err(|error| SignerError::local(format!("while merging claims: {error}")))?;
        let payload = URL_SAFE_NO_PAD.encode(payload);
        let signed = self.signer.sign(&payload).await.map_err(|error| error.context("while signing jwt"))?;
        self.check(&signed.header).await.map_err(|error| error.context("while validating header"))?;
        if signed.signature.is_empty() {
            return Err(SignerError::local("empty signature returned".to_owned()));
        }
        Ok(format!("{}.{payload}.{}", signed.header, signed.signature))
    }

    /// Checks that this server would accept a token header.
    async fn check(&self, header: &str) -> Result<(), SignerError> {
        let json = URL_SAFE_NO_PAD
            .decode(header)
            .map_err(|error| SignerError::local(format!("while unwrapping header: {error}")))?;
        let header: Header = serde_json::from_slice(&json)
            .map_err(|error| SignerError::local(format!("while parsing header JSON: {error}")))?;
        match () {
            () if header.typ != "JWT" => return Err(SignerError::local("bad type".to_owned())),
            () if header.kid.is_empty() => return Err(SignerError::local("key id missing".to_owned())),
            () if header.kid.len() > KEY_ID_BYTES_MAX => {
                return Err(SignerError::local("key id longer than 1 kb".to_owned()));
            }
            () if !ALGORITHMS.contains(&&*header.alg) => {
                return Err(SignerError::local(format!("bad signing algorithm {}", quote(&header.alg))));
            }
            () => {}
        }
        let keys = self.keys_with_id(&header.kid).await;
        if keys.with_id(&header.kid).any(|key| !key.discoverable) {
            let kid = header.kid;
            return Err(SignerError::local(format!(
                "key used for signing JWT (kid: {kid}) is excluded from OIDC discovery docs"
            )));
        }
        Ok(())
    }
}

/// Fetches and parses the keys.
async fn fetch(
    signer: &dyn ExternalSigner,
    metrics: &SignerMetrics,
    clock: &dyn Clock,
) -> Result<Snapshot, SignerError> {
    let set = signer.keys().await;
    let set = set.map_err(|error| error.context("while getting externally supported jwt signing keys"));
    let read = set.and_then(|set| Ok((read(&set)?, set.data)));
    metrics.record_fetch(&read.as_ref().map(|(_, data)| *data).map_err(Clone::clone), clock.now());
    let ((keys, pause), _) = read.map_err(|error| error.context("while fetching token verification keys"))?;
    let now = Instant::now();
    let refresh_at = now.checked_add(pause).unwrap_or(now);
    Ok(Snapshot { keys: Arc::new(keys), refresh_at })
}

fn read(set: &ExternalKeySet) -> Result<(PublicKeys, Duration), SignerError> {
    let seconds = u64::try_from(set.refresh_after_seconds).ok().filter(|&seconds| seconds > 0);
    let Some(seconds) = seconds else {
        return Err(SignerError::local(format!(
            "found invalid refresh hint ({}s)",
            set.refresh_after_seconds
        )));
    };
    if set.keys.is_empty() {
        return Err(SignerError::local("found no keys".to_owned()));
    }
    let mut keys = PublicKeys::default();
    for key in &set.keys {
        if key.id.is_empty() || key.id.len() > KEY_ID_BYTES_MAX {
            return Err(SignerError::local(format!("found invalid public key id {}", quote(&key.id))));
        }
        if key.spki.is_empty() {
            return Err(SignerError::local("found empty public key".to_owned()));
        }
        let read = PublicKey::of_spki(&key.spki).ok_or_else(|| {
            SignerError::local("while parsing external public keys: not an RSA or ECDSA key".to_owned())
        })?;
        keys.add(PublicKey { id: key.id.clone(), discoverable: !key.excluded_from_discovery, ..read });
    }
    // A refresh once a day is frequent enough for any hint.
    Ok((keys, Duration::from_secs(seconds.min(24 * 60 * 60))))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
