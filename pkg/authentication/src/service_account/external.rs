//! Keys and signatures of a signer outside of this process (KEP-740; upstream's
//! `pkg/serviceaccount/externaljwt/plugin`): a key never leaves the signer, this server asks for each signature
//! and follows the public keys.

mod figures;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use apimachinery::go_quote::quote;
use apimachinery::time::UnixTime;
use arc_swap::ArcSwap;
use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use component_base::clock::Clock;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::PublicKeys;
use super::keys::PublicKey;
pub use figures::SignerFigures;

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
    /// Of when they are, by the signer's clock.
    pub data: UnixTime,
}

/// Why a signer did not do what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignerError {
    /// The code of a failed call, as gRPC names it.
    pub code: &'static str,
    /// What went wrong.
    pub text: String,
}

impl SignerError {
    fn within(self, what: &str) -> Self {
        SignerError { text: format!("{what}: {}", self.text), ..self }
    }
}

/// What has nothing to do with a call.
impl From<String> for SignerError {
    fn from(text: String) -> Self {
        SignerError { code: "unknown-non-grpc", text }
    }
}

impl fmt::Display for SignerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
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
    async fn sign(&self, claims: &str) -> Result<ExternalSignature, SignerError>;

    /// The keys of now.
    ///
    /// # Errors
    /// Why they are not known.
    async fn keys(&self) -> Result<ExternalKeySet, SignerError>;
}

/// A signer, and its keys as they were last fetched.
pub struct ExternalKeys {
    signer: Arc<dyn ExternalSigner>,
    figures: Arc<SignerFigures>,
    clock: Arc<dyn Clock>,
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
    pub async fn fetch(
        signer: Arc<dyn ExternalSigner>,
        figures: Arc<SignerFigures>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, String> {
        let failed = |error| {
            format!("while initially filling key cache: while performing initial cache fill: {error}")
        };
        let first = fetch(&*signer, &figures, &*clock).await.map_err(failed)?;
        let (current, last_fetch) = (ArcSwap::from_pointee(first), Mutex::default());
        Ok(ExternalKeys { signer, figures, clock, current, last_fetch })
    }

    /// What is counted of the signer.
    pub fn figures(&self) -> Arc<SignerFigures> {
        Arc::clone(&self.figures)
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
        let fetched = fetch(&*self.signer, &self.figures, &*self.clock).await;
        let outcome = fetched.map(|fetched| self.current.store(Arc::new(fetched)));
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
        let token = self.token(claims).await;
        self.figures.signed(&token);
        token.map_err(|error| error.text)
    }

    async fn token(&self, claims: &impl Serialize) -> Result<String, SignerError> {
        let payload = serde_json::to_vec(claims).map_err(|error| format!("while merging claims: {error}"))?;
        let payload = URL_SAFE_NO_PAD.encode(payload);
        let signed = self.signer.sign(&payload).await.map_err(|error| error.within("while signing jwt"))?;
        self.check(&signed.header).await.map_err(|error| format!("while validating header: {error}"))?;
        if signed.signature.is_empty() {
            return Err("empty signature returned".to_owned().into());
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
async fn fetch(
    signer: &dyn ExternalSigner,
    figures: &SignerFigures,
    clock: &dyn Clock,
) -> Result<Snapshot, String> {
    let set = signer.keys().await;
    let set = set.map_err(|error| error.within("while getting externally supported jwt signing keys"));
    let read = set.and_then(|set| Ok((read(&set)?, set.data)));
    figures.fetched(&read.as_ref().map(|(_, data)| *data).map_err(Clone::clone), clock.now());
    let ((keys, pause), _) =
        read.map_err(|error| format!("while fetching token verification keys: {error}"))?;
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
