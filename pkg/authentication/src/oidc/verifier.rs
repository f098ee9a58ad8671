//! Verifies the tokens of one issuer. Its keys become available after discovery.

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
use crate::Error;

/// Back-off between discovery attempts. It doubles up to the maximum.
const PAUSE_FIRST: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// Requirements for all tokens.
#[derive(Clone)]
pub(super) struct TokenRequirements {
    pub(super) audiences: Vec<String>,
    /// Allowed signing algorithms.
    pub(super) algorithms: Vec<String>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) metrics: Arc<Metrics>,
}

/// Verifier for the tokens of an issuer.
pub(super) struct Verifier {
    shared: Arc<Shared>,
    start_task: AbortHandle,
}

struct Shared {
    issuer: String,
    requirements: TokenRequirements,
    provider: Provider,
    keys: OnceLock<RemoteKeys>,
    /// Reason why there are no keys yet.
    problem: Mutex<String>,
}

impl Verifier {
    /// Starts the discovery. It is retried until it succeeds or the verifier is dropped.
    pub(super) fn new(issuer: &str, requirements: TokenRequirements, provider: Provider) -> Self {
        let problem = format!("oidc: authenticator for issuer {issuer:?} is not initialized");
        let shared = Arc::new(Shared {
            issuer: issuer.to_owned(),
            requirements,
            provider,
            keys: OnceLock::new(),
            problem: Mutex::new(problem),
        });
        let start_task = tokio::spawn(Arc::clone(&shared).fetch_initial_keys()).abort_handle();
        Verifier { shared, start_task }
    }

    /// Returns the reason why tokens cannot be verified now, if any.
    pub(super) fn problem(&self) -> Option<String> {
        let problem = || self.shared.problem.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.shared.keys.get().is_none().then(problem)
    }

    /// True if the discovery has succeeded.
    pub(super) fn is_ready(&self) -> bool {
        self.shared.keys.get().is_some()
    }

    /// Verifies a token and returns its claims.
    ///
    /// # Errors
    /// Upstream's message.
    pub(super) async fn verify(&self, token: &str) -> Result<Claims, Error> {
        let Shared { issuer, requirements, keys, .. } = &*self.shared;
        let keys =
            keys.get().ok_or_else(|| Error::credential("oidc: authenticator not initialized".to_owned()))?;
        if token.matches('.').count() > 2 {
            return Err(Error::credential("oidc: malformed jwt".to_owned()));
        }
        let header = Header::of(token, &requirements.algorithms)?;
        let failed = |error: Error| error.context("failed to verify signature");
        let claims = match keys.current_keys().verified(token, &header.algorithm, &header.key) {
            Some(claims) => claims,
            None => {
                let newer =
                    keys.refetch().await.map_err(|error| failed(Error::FetchKeys(Box::new(error))))?;
                newer.verified(token, &header.algorithm, &header.key).ok_or_else(|| {
                    failed(Error::credential("failed to verify id token signature".to_owned()))
                })?
            }
        };
        let Value::Object(claims) = claims else {
            return Err(Error::credential("oidc: failed to unmarshal claims: they are no object".to_owned()));
        };
        check(&claims, issuer, &requirements.audiences, requirements.clock.now())?;
        Ok(claims)
    }
}

impl Drop for Verifier {
    fn drop(&mut self) {
        self.start_task.abort();
    }
}

impl Shared {
    async fn fetch_initial_keys(self: Arc<Self>) {
        let mut pause = PAUSE_FIRST;
        loop {
            match self.provider.discover(Arc::clone(&self.requirements.metrics)).await {
                Ok(keys) => {
                    let _ = self.keys.set(keys);
                    return;
                }
                Err(error) => {
                    tracing::error!(issuer = self.issuer, %error, "oidc authenticator: initializing plugin");
                    *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = error.to_string();
                }
            }
            sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }
}
