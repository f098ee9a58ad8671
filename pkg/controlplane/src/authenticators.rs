//! Builds all configured authenticators, in upstream's order. Client certificates are verified by the
//! transport.

mod openid;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use authentication::service_account::{BoundTokens, LegacyTokens, TokenMetrics, TokenObjects};
use authentication::{
    Authenticator, BootstrapTokens, CachedAuthenticator, RequestHeaders, TokenAuthenticator,
    TokenCacheMetrics, TokenFile, WebhookTokens,
};
use client::kubeconfig::Kubeconfig;
use client::webhook::Webhook;
use component_base::clock::Clock;
use component_base::features::Gate;
use egress::Network;
use futures::future::BoxFuture;
use registry::Registry;

use crate::config::{Config, RequestHeaderConfig, TokenWebhookConfig};
use crate::error::RunError;
use crate::loopback::Loopback;
use crate::process::Monitoring;
use crate::run::service_account_keys::ServiceAccountKeys;
use crate::system::{self, SystemClock};
use crate::token_objects::StoredTokenObjects;
use controllers::bootstrap_secrets::StoredBootstrapSecrets;
use openid::OpenId;

/// Cache lifetime of third-party tokens (as in upstream).
const TOKEN_CACHE_TTL: Duration = Duration::from_secs(10);
/// Initial retry back-off of the token webhook in milliseconds.
const WEBHOOK_WAIT_MS: u64 = 500;

/// The authenticator with its background task and metrics.
pub(crate) struct Authenticators {
    pub(crate) authenticator: Authenticator,
    /// Task that watches reloadable files.
    pub(crate) background: BoxFuture<'static, ()>,
}

/// Builds the configured authenticators. Webhook calls are counted in `webhooks`. Must be called within a
/// Tokio runtime.
///
/// # Errors
/// An unusable file.
pub(crate) fn authenticators(
    config: &Config,
    keys: &ServiceAccountKeys,
    registry: &Registry,
    loopback: &Loopback,
    webhooks: &client::webhook::ClientMetrics,
    monitoring: Monitoring<'_>,
) -> Result<Authenticators, RunError> {
    let mut tokens: Vec<Arc<dyn TokenAuthenticator>> = vec![Arc::new(loopback.tokens())];
    let authentication = &config.authentication;
    let accounts = &config.service_accounts;
    if let Some(path) = &authentication.token_file {
        tokens.push(Arc::new(token_file(path)?));
    }
    let keys = &keys.verifying;
    let api_audiences = accounts.api_audiences().to_vec();
    let objects: Arc<dyn TokenObjects> = Arc::new(StoredTokenObjects::new(registry)?);
    let looked_up = accounts.lookup.then(|| Arc::clone(&objects));
    let counters = Arc::new(TokenMetrics::new(monitoring.metrics));
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let counted = || Arc::clone(&counters);
    let time = || Arc::clone(&clock);
    let legacy = LegacyTokens::new(keys.clone(), api_audiences.clone(), looked_up, time(), counted());
    tokens.push(Arc::new(legacy));
    let issuers = accounts.issuers.clone();
    let bound = BoundTokens::new(issuers, keys.clone(), api_audiences.clone(), objects, time(), counted());
    let accepts_webhook_tokens = config.gates.enabled(Gate::APIServerWebhookAuthenticationToken);
    tokens.push(Arc::new(bound.accepting_webhook_tokens(accepts_webhook_tokens)));
    if authentication.bootstrap_tokens {
        let secrets = StoredBootstrapSecrets::new(registry)?;
        tokens.push(Arc::new(BootstrapTokens::new(Arc::new(secrets), Arc::clone(&clock))));
    }
    let OpenId { tokens: of_issuers, anonymous, reloader } = OpenId::new(config, &clock, monitoring)?;
    let cache = Arc::clone(&counters.cache);
    let remembered = || Arc::clone(&cache);
    // After this server's own tokens, which need no remote call.
    tokens.push(Arc::new(CachedAuthenticator::new(
        Arc::new(of_issuers),
        TOKEN_CACHE_TTL,
        Duration::ZERO,
        remembered(),
    )));
    if let Some(webhook) = &authentication.webhook {
        let remembered = remembered();
        tokens.push(Arc::new(webhook_tokens(config, webhook, api_audiences.clone(), remembered, webhooks)?));
    }
    let request_headers = request_headers(&authentication.request_header);
    let authenticator = Authenticator { tokens, api_audiences, request_headers, anonymous };
    let background: BoxFuture<'static, ()> = match reloader {
        Some(reloader) => Box::pin(reloader.run()),
        None => Box::pin(std::future::ready(())),
    };
    Ok(Authenticators { authenticator, background })
}

fn token_file(path: &Path) -> Result<TokenFile, RunError> {
    let text = std::fs::read_to_string(path).map_err(|source| RunError::read(path, source))?;
    Ok(TokenFile::parse(&path.display().to_string(), &text)?)
}

/// Builds the token webhook with its cache. Results for this server's own tokens are not cached, because they
/// depend on objects in memory and must end with them. Only their signatures are cached.
fn webhook_tokens(
    server: &Config,
    config: &TokenWebhookConfig,
    api_audiences: Vec<String>,
    counters: Arc<TokenCacheMetrics>,
    calls: &client::webhook::ClientMetrics,
) -> Result<CachedAuthenticator, RunError> {
    let mut kubeconfig = Kubeconfig::read(&config.config_file, &system::clock())?;
    kubeconfig.options.dialer = server.egress.dialer(Network::ControlPlane);
    let chance = Arc::new(|| rand::random_range(0.0..1.0));
    let webhook = Webhook::new(kubeconfig, Duration::from_millis(WEBHOOK_WAIT_MS), chance)?;
    let tokens = WebhookTokens::new(webhook.with_metrics(calls), &config.version, api_audiences)?;
    Ok(CachedAuthenticator::new(Arc::new(tokens), config.cache_ttl, config.cache_ttl, counters))
}

/// Builds the proxy configuration. Without a CA no proxy is trusted.
fn request_headers(config: &RequestHeaderConfig) -> Option<Arc<RequestHeaders>> {
    config.ca_file.as_ref()?;
    Some(Arc::new(RequestHeaders {
        allowed_names: config.allowed_names.clone(),
        username: config.username_headers.clone(),
        uid: config.uid_headers.clone(),
        groups: config.group_headers.clone(),
        extra_prefixes: config.extra_prefixes.clone(),
    }))
}

#[cfg(test)]
mod tests;
