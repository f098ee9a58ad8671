//! Genuine tokens of one issuer, whose keys come when the issuer is there.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use component_base::clock::Clock;
use jsontree::Value;
use tokio::task::AbortHandle;
use tokio::time::sleep;

use super::claims::Claims;
use super::metrics::Metrics;
use super::provider::{Provider, RemoteKeys};
use super::token::{Header, check};

/// How soon an issuer that cannot be reached is asked again; each pause is twice the one before, up to the last.
const PAUSE_FIRST: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// What tokens have to be like, whoever issued them.
#[derive(Clone)]
pub(super) struct TokenRequirements {
    pub(super) audiences: Vec<String>,
    /// What they may be signed with.
    pub(super) algorithms: Vec<String>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) metrics: Arc<Metrics>,
}

/// Verifies the tokens of an issuer.
pub(super) struct Verifier {
    shared: Arc<Shared>,
    beginning: AbortHandle,
}

struct Shared {
    issuer: String,
    demands: TokenRequirements,
    provider: Provider,
    keys: OnceLock<RemoteKeys>,
    /// Why there are no keys.
    problem: Mutex<String>,
}

impl Verifier {
    /// Begins to look for the issuer, and goes on until it is found or this is dropped.
    pub(super) fn new(issuer: &str, demands: TokenRequirements, provider: Provider) -> Self {
        let problem = format!("oidc: authenticator for issuer {issuer:?} is not initialized");
        let shared = Arc::new(Shared {
            issuer: issuer.to_owned(),
            demands,
            provider,
            keys: OnceLock::new(),
            problem: Mutex::new(problem),
        });
        let beginning = tokio::spawn(Arc::clone(&shared).begin()).abort_handle();
        Verifier { shared, beginning }
    }

    /// Why tokens cannot be verified now, if they cannot.
    pub(super) fn problem(&self) -> Option<String> {
        let problem = || self.shared.problem.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.shared.keys.get().is_none().then(problem)
    }

    /// Whether the issuer was found.
    pub(super) fn is_ready(&self) -> bool {
        self.shared.keys.get().is_some()
    }

    /// What a token says.
    ///
    /// # Errors
    /// Why it is not accepted, in upstream's words.
    pub(super) async fn verify(&self, token: &str) -> Result<Claims, String> {
        let Shared { issuer, demands, keys, .. } = &*self.shared;
        let keys = keys.get().ok_or("oidc: authenticator not initialized")?;
        if token.matches('.').count() > 2 {
            return Err("oidc: malformed jwt".to_owned());
        }
        let header = Header::of(token, &demands.algorithms)?;
        let failed = |error: &str| format!("failed to verify signature: {error}");
        let claims = match keys.known().verified(token, &header.algorithm, &header.key) {
            Some(claims) => claims,
            None => {
                let newer = keys.newer().await.map_err(|error| failed(&format!("fetching keys {error}")))?;
                newer
                    .verified(token, &header.algorithm, &header.key)
                    .ok_or_else(|| failed("failed to verify id token signature"))?
            }
        };
        let Value::Object(claims) = claims else {
            return Err("oidc: failed to unmarshal claims: they are no object".to_owned());
        };
        check(&claims, issuer, &demands.audiences, demands.clock.now())?;
        Ok(claims)
    }
}

impl Drop for Verifier {
    fn drop(&mut self) {
        self.beginning.abort();
    }
}

impl Shared {
    async fn begin(self: Arc<Self>) {
        let mut pause = PAUSE_FIRST;
        loop {
            match self.provider.discover(Arc::clone(&self.demands.metrics)).await {
                Ok(keys) => {
                    let _ = self.keys.set(keys);
                    return;
                }
                Err(error) => {
                    tracing::error!(issuer = self.issuer, error, "oidc authenticator: initializing plugin");
                    *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = error;
                }
            }
            sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }
}
