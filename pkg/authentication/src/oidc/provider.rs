//! What an issuer publishes: its discovery document, and its keys.

use std::sync::{Arc, Mutex as SyncMutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use client::{Client, Dialer, Limits, Options, Source, Tls, Trust};
use http::header::AUTHORIZATION;
use http::{Method, Request, StatusCode, Uri};
use serde::Deserialize;
use tokio::sync::{Mutex, Semaphore};
use tokio::time::{Instant, sleep_until};

use super::config::Issuer;
use super::keys::KeySet;
use super::metrics::Metrics;

/// What an answer may cost; the time is Go's client's as upstream configures it.
const LIMITS: Limits =
    Limits { total: Duration::from_secs(30), response_bytes_max: 1 << 20, redirects_max: 10 };
/// The least time between two requests for keys. Whoever shows a token with a signature that no key has made can
/// cause one.
const FETCH_PAUSE: Duration = Duration::from_secs(1);
/// How many tokens may wait for keys: fewer than are looked at at the same time, so that those whose key is known are
/// not refused because of others.
const WAITERS_MAX: usize = 256;
const DISCOVERY_PATH: &str = "/.well-known/openid-configuration";

/// Where an issuer is.
#[derive(Clone)]
pub(super) struct Provider {
    client: Client,
    issuer: String,
    /// Where its discovery document is.
    discovery: Uri,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Discovered {
    issuer: String,
    jwks_uri: String,
}

impl Provider {
    /// The way to an issuer, through `dialer` if there is one. Nothing is sent yet.
    ///
    /// # Errors
    /// A bundle of authorities that cannot be used, or a URL that is none.
    pub(super) fn new(issuer: &Issuer, dialer: Option<Dialer>) -> Result<Self, String> {
        let trust = match issuer.certificate_authority.as_str() {
            "" => Trust::System,
            pem => Trust::Bundle(Source::Inline(Arc::from(pem.as_bytes()))),
        };
        let options = Options { tls: Tls { trust, ..Tls::default() }, dialer, ..Options::default() };
        let client =
            Client::new(options).map_err(|error| format!("Failed to read the CA contents: {error}"))?;
        Self::at(client, &issuer.url, &issuer.discovery_url)
    }

    /// Another issuer, reached in the same way.
    pub(super) fn of_other(&self, issuer: &str) -> Result<Self, String> {
        Self::at(self.client.clone(), issuer, "")
    }

    fn at(client: Client, issuer: &str, discovery: &str) -> Result<Self, String> {
        let below = || format!("{}{DISCOVERY_PATH}", issuer.strip_suffix('/').unwrap_or(issuer));
        let discovery = if discovery.is_empty() { below() } else { discovery.to_owned() };
        let discovery =
            Uri::try_from(discovery).map_err(|error| format!("oidc: invalid discovery URL: {error}"))?;
        Ok(Provider { client, issuer: issuer.to_owned(), discovery })
    }

    /// Asks where the keys are.
    ///
    /// # Errors
    /// There is no answer, or it is another issuer's.
    pub(super) async fn discover(&self, metrics: Arc<Metrics>) -> Result<RemoteKeys, String> {
        let body = self.get(&self.discovery, None).await?;
        let found: Discovered = serde_json::from_slice(&body)
            .map_err(|error| format!("oidc: failed to decode provider discovery object: {error}"))?;
        if found.issuer != self.issuer {
            let (expected, got) = (&self.issuer, &found.issuer);
            return Err(format!(
                "oidc: issuer did not match the issuer returned by provider, expected {expected:?} got {got:?}"
            ));
        }
        if found.jwks_uri.is_empty() {
            return Err("provider did not return JWKS URL".to_owned());
        }
        let keys_at =
            Uri::try_from(found.jwks_uri).map_err(|error| format!("oidc: invalid JWKS URL: {error}"))?;
        Ok(RemoteKeys {
            provider: self.clone(),
            keys_at,
            metrics,
            known: SyncMutex::default(),
            fetches: Mutex::default(),
            waiting: Semaphore::new(WAITERS_MAX),
        })
    }

    /// What is at a place, perhaps only for those who have a token.
    pub(super) async fn get(&self, uri: &Uri, bearer: Option<&str>) -> Result<Bytes, String> {
        let mut request = Request::get(uri);
        if let Some(token) = bearer {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let request = request.body(Bytes::new()).map_err(|error| error.to_string())?;
        let answer = self.client.call(request, &LIMITS).await;
        let answer = answer.map_err(|error| error.of_request(&Method::GET, uri))?;
        match answer.status() {
            StatusCode::OK => Ok(answer.into_body()),
            code => Err(format!("{code}: {}", shown(answer.body()))),
        }
    }
}

/// The beginning of a body, for a log.
fn shown(body: &[u8]) -> String {
    String::from_utf8_lossy(body.get(..1024).unwrap_or(body)).into_owned()
}

/// The keys of an issuer, fetched when one is missing.
pub(super) struct RemoteKeys {
    provider: Provider,
    keys_at: Uri,
    metrics: Arc<Metrics>,
    known: SyncMutex<Arc<KeySet>>,
    fetches: Mutex<Fetches>,
    waiting: Semaphore,
}

#[derive(Default)]
struct Fetches {
    /// When keys were asked for last, whatever became of it.
    asked: Option<Instant>,
    /// When the last request that has an outcome began, and the outcome.
    last: Option<(Instant, Result<(), String>)>,
}

impl RemoteKeys {
    /// The keys that were fetched last.
    pub(super) fn known(&self) -> Arc<KeySet> {
        Arc::clone(&self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Keys that are fetched after this call. All who wait share a fetch, and there is at most one in a second.
    ///
    /// # Errors
    /// Why there are none.
    pub(super) async fn newer(&self) -> Result<Arc<KeySet>, String> {
        let called = Instant::now();
        let Ok(_place) = self.waiting.try_acquire() else {
            return Err("too many tokens wait for keys".to_owned());
        };
        let mut fetches = self.fetches.lock().await;
        if let Some((_, outcome)) = fetches.last.as_ref().filter(|(began, _)| *began >= called) {
            return outcome.clone().map(|()| self.known());
        }
        if let Some(asked) = fetches.asked {
            sleep_until(asked + FETCH_PAUSE).await;
        }
        let began = Instant::now();
        fetches.asked = Some(began);
        let outcome = self.fetch().await;
        fetches.last = Some((began, outcome.clone()));
        outcome.map(|()| self.known())
    }

    async fn fetch(&self) -> Result<(), String> {
        let fetched = self.provider.get(&self.keys_at, None).await;
        let read = fetched.and_then(|body| KeySet::parse(&body).map(|keys| (keys, body)));
        self.metrics.keys_fetched(&self.provider.issuer, read.as_ref().ok().map(|(_, body)| &**body));
        let (keys, _) = read?;
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(keys);
        Ok(())
    }
}
