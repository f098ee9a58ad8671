//! Everything that can prove an identity, in upstream's order. Of certificates the transport knows.

use std::path::Path;
use std::sync::Arc;

use apimachinery::clock::Clock;
use authentication::service_account::{BoundTokens, LegacyTokens, TokenObjects};
use authentication::{
    Authenticator, BootstrapTokens, Cached, RequestHeaders, TokenAuthenticator, TokenFile, WebhookTokens,
};
use client::kubeconfig::Kubeconfig;
use client::webhook::Webhook;
use registry::Registry;

use crate::bootstrap_secrets::StoredBootstrapSecrets;
use crate::config::{Config, RequestHeaderConfig, TokenWebhookConfig};
use crate::run::RunError;
use crate::run::service_account_keys::ServiceAccountKeys;
use crate::system::SystemClock;
use crate::token_objects::StoredTokenObjects;

/// How long to wait before a webhook is asked again, in milliseconds, at first.
const WEBHOOK_WAIT_MS: u64 = 500;

/// What the configuration asks for.
///
/// # Errors
/// A file that cannot be used.
pub(crate) fn authenticator(
    config: &Config,
    keys: &ServiceAccountKeys,
    registry: &Registry,
) -> Result<Authenticator, RunError> {
    let mut tokens: Vec<Arc<dyn TokenAuthenticator>> = Vec::new();
    let (authentication, accounts) = (&config.authentication, &config.service_accounts);
    if let Some(path) = &authentication.token_file {
        tokens.push(Arc::new(token_file(path)?));
    }
    let (keys, api_audiences) = (&keys.verifying, accounts.api_audiences().to_vec());
    let objects: Arc<dyn TokenObjects> =
        Arc::new(StoredTokenObjects::new(registry).map_err(RunError::Bootstrap)?);
    let looked_up = accounts.lookup.then(|| Arc::clone(&objects));
    tokens.push(Arc::new(LegacyTokens::new(keys.clone(), api_audiences.clone(), looked_up)));
    let (issuers, clock): (_, Arc<dyn Clock>) = (accounts.issuers.clone(), Arc::new(SystemClock));
    let bound = BoundTokens::new(issuers, keys.clone(), api_audiences.clone(), objects, Arc::clone(&clock));
    tokens.push(Arc::new(bound));
    if authentication.bootstrap_tokens {
        let secrets = StoredBootstrapSecrets::new(registry).map_err(RunError::Bootstrap)?;
        tokens.push(Arc::new(BootstrapTokens::new(Arc::new(secrets), clock)));
    }
    if let Some(webhook) = &authentication.webhook {
        tokens.push(Arc::new(webhook_tokens(webhook, api_audiences.clone())?));
    }
    Ok(Authenticator {
        tokens,
        api_audiences,
        request_headers: request_headers(&authentication.request_header),
        anonymous: authentication.anonymous,
    })
}

fn token_file(path: &Path) -> Result<TokenFile, RunError> {
    let text = std::fs::read_to_string(path).map_err(|source| RunError::read(path, source))?;
    let file = TokenFile::parse(&path.display().to_string(), &text);
    file.map_err(|error| RunError::Credentials(error.to_string()))
}

/// Only what costs a call is remembered: all else is judged anew by objects in memory, so that a token ends with
/// what it was made for.
fn webhook_tokens(config: &TokenWebhookConfig, api_audiences: Vec<String>) -> Result<Cached, RunError> {
    let kubeconfig = Kubeconfig::read(&config.config_file).map_err(RunError::Credentials)?;
    let chance = Arc::new(|| rand::random_range(0.0..1.0));
    let webhook = Webhook::new(kubeconfig, std::time::Duration::from_millis(WEBHOOK_WAIT_MS), chance)
        .map_err(|error| RunError::Credentials(error.to_string()))?;
    let tokens =
        WebhookTokens::new(webhook, &config.version, api_audiences).map_err(RunError::Credentials)?;
    Ok(Cached::new(Arc::new(tokens), config.cache_ttl, config.cache_ttl))
}

/// Without an authority no proxy is believed.
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
