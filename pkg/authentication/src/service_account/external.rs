//! Keys and signatures of a signer outside of this process (KEP-740; upstream's
//! `pkg/serviceaccount/externaljwt/plugin`): a key never leaves the signer, this server asks for each signature
//! and follows the public keys.

use std::sync::Arc;
use std::time::Duration;

use apimachinery::go_quote::quote;
use arc_swap::ArcSwap;
use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::PublicKeys;
use super::keys::PublicKey;

/// Longest id of a key, in bytes.
const KEY_ID_BYTES_MAX: usize = 1024;
/// How long a failed refresh is left alone before the next one.
const REFRESH_AFTER_FAILURE: Duration = Duration::from_secs(10);
/// The least time between two refreshes that a signer may ask for.
const REFRESH_MIN: Duration = Duration::from_secs(1);
/// Algorithms that this server verifies, and so may be signed with.
const ALGORITHMS: [&str; 4] = ["RS256", "ES256", "ES384", "ES512"];

/// A public key, as a signer describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalKey {
    /// What tokens name it by (`kid`).
    pub id: String,
    /// The key: a SubjectPublicKeyInfo in DER.
    pub spki: Vec<u8>,
    /// Whether it is for tokens of the past alone: they are verified with it, others are not told of it.
    pub excluded_from_discovery: bool,
}

/// The public keys of a signer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalKeySet {
    /// All keys that tokens may be signed with.
    pub keys: Vec<ExternalKey>,
    /// When they should be asked for again, in seconds.
    pub refresh_after_seconds: i64,
}

/// A signature, as a signer gives it: the first and the last part of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalSignature {
    /// The head, in URL-safe base64.
    pub header: String,
    /// The signature, in URL-safe base64.
    pub signature: String,
}

/// Who signs tokens in another process. Calls end by themselves within a minute or so.
#[async_trait]
pub trait ExternalSigner: Send + Sync + 'static {
    /// Signs what a token says, given in URL-safe base64.
    ///
    /// # Errors
    /// Why there is no signature.
    async fn sign(&self, claims: &str) -> Result<ExternalSignature, String>;

    /// The keys of now.
    ///
    /// # Errors
    /// Why they are not known.
    async fn keys(&self) -> Result<ExternalKeySet, String>;
}

/// A signer, and its keys as they were last fetched.
pub struct ExternalKeys {
    signer: Arc<dyn ExternalSigner>,
    current: ArcSwap<Snapshot>,
    /// Held while a fetch is under way.
    last_fetch: Mutex<Option<Fetch>>,
}

/// Keys that were fetched together.
struct Snapshot {
    keys: Arc<PublicKeys>,
    refresh_at: Instant,
}

/// How a fetch ended.
struct Fetch {
    ended: Instant,
    outcome: Result<(), String>,
}

/// The head of a token that a signer made. Nothing else may stand in it.
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
    /// Asks a signer for its keys for the first time.
    ///
    /// # Errors
    /// Why it has none that can be used; the server does not start then.
    pub async fn fetch(signer: Arc<dyn ExternalSigner>) -> Result<Self, String> {
        let failed = |error| {
            format!("while initially filling key cache: while performing initial cache fill: {error}")
        };
        let first = fetch(&*signer).await.map_err(failed)?;
        Ok(ExternalKeys { signer, current: ArcSwap::from_pointee(first), last_fetch: Mutex::default() })
    }

    /// The keys as they were last fetched.
    pub(super) fn current(&self) -> Arc<PublicKeys> {
        Arc::clone(&self.current.load().keys)
    }

    /// In how many seconds the keys may be others.
    pub(super) fn seconds_to_refresh(&self) -> u64 {
        self.current.load().refresh_at.saturating_duration_since(Instant::now()).as_secs()
    }

    /// The keys, fetched anew unless one has `id`. Empty if they could not be fetched.
    pub(super) async fn holding(&self, id: &str) -> Arc<PublicKeys> {
        let known = self.current();
        if known.with_id(id).next().is_some() {
            return known;
        }
        match self.refresh().await {
            Ok(()) => self.current(),
            Err(error) => {
                tracing::error!(error, "the keys of the external signer of tokens cannot be fetched");
                Arc::default()
            }
        }
    }

    /// Fetches the keys. Callers who come while a fetch is under way share how it ends, so that tokens with
    /// invented keys cost the signer one call at a time.
    async fn refresh(&self) -> Result<(), String> {
        let asked = Instant::now();
        let mut last = self.last_fetch.lock().await;
        if let Some(fetch) = last.as_ref().filter(|fetch| fetch.ended >= asked) {
            return fetch.outcome.clone();
        }
        let outcome = fetch(&*self.signer).await.map(|fetched| self.current.store(Arc::new(fetched)));
        *last = Some(Fetch { ended: Instant::now(), outcome: outcome.clone() });
        outcome
    }

    /// Fetches the keys again whenever the signer says that it is time. Never ends.
    pub async fn keep_fresh(&self) {
        let mut pause = self.pause();
        loop {
            tokio::time::sleep(pause).await;
            pause = match self.refresh().await {
                Ok(()) => self.pause(),
                Err(error) => {
                    tracing::error!(error, "the keys of the external signer of tokens stay as they were");
                    REFRESH_AFTER_FAILURE
                }
            };
        }
    }

    fn pause(&self) -> Duration {
        self.current.load().refresh_at.saturating_duration_since(Instant::now()).max(REFRESH_MIN)
    }

    /// A token that says `claims`.
    ///
    /// # Errors
    /// Why it could not be signed, in upstream's words.
    pub(super) async fn issue(&self, claims: &impl Serialize) -> Result<String, String> {
        let payload = serde_json::to_vec(claims).map_err(|error| format!("while merging claims: {error}"))?;
        let payload = URL_SAFE_NO_PAD.encode(payload);
        let signed =
            self.signer.sign(&payload).await.map_err(|error| format!("while signing jwt: {error}"))?;
        self.check(&signed.header).await.map_err(|error| format!("while validating header: {error}"))?;
        if signed.signature.is_empty() {
            return Err("empty signature returned".to_owned());
        }
        Ok(format!("{}.{payload}.{}", signed.header, signed.signature))
    }

    /// Whether a head is one that this server would accept.
    async fn check(&self, header: &str) -> Result<(), String> {
        let json =
            URL_SAFE_NO_PAD.decode(header).map_err(|error| format!("while unwrapping header: {error}"))?;
        let header: Header =
            serde_json::from_slice(&json).map_err(|error| format!("while parsing header JSON: {error}"))?;
        match () {
            () if header.typ != "JWT" => return Err("bad type".to_owned()),
            () if header.kid.is_empty() => return Err("key id missing".to_owned()),
            () if header.kid.len() > KEY_ID_BYTES_MAX => return Err("key id longer than 1 kb".to_owned()),
            () if !ALGORITHMS.contains(&&*header.alg) => {
                return Err(format!("bad signing algorithm {}", quote(&header.alg)));
            }
            () => {}
        }
        let keys = self.holding(&header.kid).await;
        if keys.with_id(&header.kid).any(|key| !key.discoverable) {
            let kid = header.kid;
            return Err(format!(
                "key used for signing JWT (kid: {kid}) is excluded from OIDC discovery docs"
            ));
        }
        Ok(())
    }
}

/// Asks for the keys and reads them.
async fn fetch(signer: &dyn ExternalSigner) -> Result<Snapshot, String> {
    let failed = |error: String| format!("while fetching token verification keys: {error}");
    let set = signer.keys().await;
    let set =
        set.map_err(|error| failed(format!("while getting externally supported jwt signing keys: {error}")))?;
    let (keys, pause) = read(&set).map_err(failed)?;
    let now = Instant::now();
    let refresh_at = now.checked_add(pause).unwrap_or(now);
    Ok(Snapshot { keys: Arc::new(keys), refresh_at })
}

fn read(set: &ExternalKeySet) -> Result<(PublicKeys, Duration), String> {
    let seconds = u64::try_from(set.refresh_after_seconds).ok().filter(|&seconds| seconds > 0);
    let Some(seconds) = seconds else {
        return Err(format!("found invalid refresh hint ({}s)", set.refresh_after_seconds));
    };
    if set.keys.is_empty() {
        return Err("found no keys".to_owned());
    }
    let mut keys = PublicKeys::default();
    for key in &set.keys {
        if key.id.is_empty() || key.id.len() > KEY_ID_BYTES_MAX {
            return Err(format!("found invalid public key id {}", quote(&key.id)));
        }
        if key.spki.is_empty() {
            return Err("found empty public key".to_owned());
        }
        let read = PublicKey::of_spki(&key.spki)
            .ok_or("while parsing external public keys: not an RSA or ECDSA key")?;
        keys.add(PublicKey { id: key.id.clone(), discoverable: !key.excluded_from_discovery, ..read });
    }
    // A day is soon enough for any hint.
    Ok((keys, Duration::from_secs(seconds.min(24 * 60 * 60))))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
