//! Client for the documents of an issuer: the discovery document and the keys.

use std::sync::{Arc, Mutex as SyncMutex, PoisonError};
use std::time::Duration;

use apimachinery::foreign_text::ForeignText;
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
use crate::Error;

/// Limits of a response. The timeout is that of Go's client as upstream configures it.
const LIMITS: Limits =
    Limits { total: Duration::from_secs(30), response_bytes_max: 1 << 20, redirects_max: 10 };
/// Minimum interval between two key fetches. A client can trigger a fetch with any token that no known key
/// verifies.
const FETCH_PAUSE: Duration = Duration::from_secs(1);
/// Maximum number of tokens that wait for keys. It is below the limit of concurrent authentications, so that
/// tokens with known keys are not rejected because of others.
const WAITERS_MAX: usize = 256;
const DISCOVERY_PATH: &str = "/.well-known/openid-configuration";

/// An issuer and the client for it.
#[derive(Clone)]
pub(super) struct Provider {
    client: Client,
    issuer: String,
    /// URL of its discovery document.
    discovery: Uri,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct DiscoveryDocument {
    issuer: String,
    jwks_uri: String,
}

impl Provider {
    /// Creates a client for an issuer, through `dialer` if there is one. Sends nothing yet.
    ///
    /// # Errors
    /// An unusable CA bundle or an invalid URL.
    pub(super) fn new(issuer: &Issuer, dialer: Option<Dialer>) -> Result<Self, Error> {
        let trust = match issuer.certificate_authority.as_str() {
            "" => Trust::System,
            pem => Trust::Bundle(Source::Inline(Arc::from(pem.as_bytes()))),
        };
        let options = Options { tls: Tls { trust, ..Tls::default() }, dialer, ..Options::default() };
        let client = Client::new(options)
            .map_err(|error| Error::Configuration(format!("Failed to read the CA contents: {error}")))?;
        Self::with_client(client, &issuer.url, &issuer.discovery_url)
    }

    /// Creates a provider for another issuer with the same client.
    pub(super) fn of_other(&self, issuer: &str) -> Result<Self, Error> {
        Self::with_client(self.client.clone(), issuer, "")
    }

    fn with_client(client: Client, issuer: &str, discovery: &str) -> Result<Self, Error> {
        let below = || format!("{}{DISCOVERY_PATH}", issuer.strip_suffix('/').unwrap_or(issuer));
        let discovery = if discovery.is_empty() { below() } else { discovery.to_owned() };
        let discovery = Uri::try_from(discovery)
            .map_err(|error| Error::Configuration(format!("oidc: invalid discovery URL: {error}")))?;
        Ok(Provider { client, issuer: issuer.to_owned(), discovery })
    }

    /// Fetches the discovery document, which contains the URL of the keys.
    ///
    /// # Errors
    /// The request failed, or the document belongs to another issuer.
    pub(super) async fn discover(&self, metrics: Arc<Metrics>) -> Result<RemoteKeys, Error> {
        let body = self.get(&self.discovery, None).await?;
        let document: DiscoveryDocument = serde_json::from_slice(&body).map_err(|error| {
            Error::unavailable(format!("oidc: failed to decode provider discovery object: {error}"))
        })?;
        if document.issuer != self.issuer {
            let expected = &self.issuer;
            let got = &document.issuer;
            return Err(Error::unavailable(format!(
                "oidc: issuer did not match the issuer returned by provider, expected {expected:?} got {got:?}"
            )));
        }
        if document.jwks_uri.is_empty() {
            return Err(Error::unavailable("provider did not return JWKS URL".to_owned()));
        }
        let keys_uri = Uri::try_from(document.jwks_uri)
            .map_err(|error| Error::unavailable(format!("oidc: invalid JWKS URL: {error}")))?;
        Ok(RemoteKeys {
            provider: self.clone(),
            keys_uri,
            metrics,
            current_keys: SyncMutex::default(),
            fetches: Mutex::default(),
            waiting: Semaphore::new(WAITERS_MAX),
        })
    }

    /// Fetches a document, optionally with a bearer token.
    pub(super) async fn get(&self, uri: &Uri, bearer: Option<&str>) -> Result<Bytes, Error> {
        let mut request = Request::get(uri);
        if let Some(token) = bearer {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let request = request.body(Bytes::new()).map_err(|error| Error::unavailable(error.to_string()))?;
        let response = self.client.call(request, &LIMITS).await;
        let response = response.map_err(|error| Error::unavailable(error.of_request(&Method::GET, uri)))?;
        match response.status() {
            StatusCode::OK => Ok(response.into_body()),
            code => Err(Error::unavailable(format!("{code}: {}", ForeignText::from_bytes(response.body())))),
        }
    }
}

/// The keys of an issuer. They are fetched when a key is missing.
pub(super) struct RemoteKeys {
    provider: Provider,
    keys_uri: Uri,
    metrics: Arc<Metrics>,
    current_keys: SyncMutex<Arc<KeySet>>,
    fetches: Mutex<Fetches>,
    waiting: Semaphore,
}

#[derive(Default)]
struct Fetches {
    /// Time of the last fetch, regardless of its result.
    last_attempt: Option<Instant>,
    /// Start and result of the last finished fetch.
    last: Option<(Instant, Result<(), Error>)>,
}

impl RemoteKeys {
    /// Returns the last fetched keys.
    pub(super) fn current_keys(&self) -> Arc<KeySet> {
        Arc::clone(&self.current_keys.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns keys that were fetched after this call. All waiting callers share one fetch, and there is at
    /// most one per second.
    ///
    /// # Errors
    /// The reason why there are none.
    pub(super) async fn refetch(&self) -> Result<Arc<KeySet>, Error> {
        let called = Instant::now();
        let Ok(_place) = self.waiting.try_acquire() else {
            return Err(Error::unavailable("too many tokens wait for keys".to_owned()));
        };
        let mut fetches = self.fetches.lock().await;
        if let Some((_, outcome)) = fetches.last.as_ref().filter(|(start, _)| *start >= called) {
            return outcome.clone().map(|()| self.current_keys());
        }
        if let Some(last_attempt) = fetches.last_attempt {
            sleep_until(last_attempt + FETCH_PAUSE).await;
        }
        let start = Instant::now();
        fetches.last_attempt = Some(start);
        let outcome = self.fetch().await;
        fetches.last = Some((start, outcome.clone()));
        outcome.map(|()| self.current_keys())
    }

    async fn fetch(&self) -> Result<(), Error> {
        let fetched = self.provider.get(&self.keys_uri, None).await;
        let read = fetched.and_then(|body| KeySet::parse(&body).map(|keys| (keys, body)));
        self.metrics.record_fetch(&self.provider.issuer, read.as_ref().ok().map(|(_, body)| &**body));
        let (keys, _) = read?;
        *self.current_keys.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(keys);
        Ok(())
    }
}
