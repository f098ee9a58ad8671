//! Authentication, authorization and service account tokens.

use std::sync::Arc;
use std::time::Duration;

use authentication::Authenticator;
use authentication::service_account::{Issuer, OpenIdMetadata, VerificationKeys};
use authorization::Authorizer;
use component_base::weakened::WeakenedDecisions;
use endpoints::api::TokenRequests;
use endpoints::openid::OpenId;
use endpoints::routing::served::ServedApi;
use futures::future::BoxFuture;
use registry::Registry;

use super::tasks::ApiTasks;
use crate::authenticators::{Authenticators, authenticators};
use crate::authorizers::Authorizers;
use crate::config::Config;
use crate::error::RunError;
use crate::metrics::ApiMetrics;
use crate::process::ProcessContext;
use crate::roles::StoredRoles;
use crate::run::service_account_keys::{self, ServiceAccountKeys};
use crate::system::SystemEntropy;

/// Authentication and authorization of requests, and the issuer of service account tokens.
pub(super) struct Access {
    pub(super) authenticator: Authenticator,
    /// Shared by the chain, access reviews and admission.
    pub(super) authorizer: Arc<dyn Authorizer>,
    pub(super) roles: StoredRoles,
    /// Completes when all data that decisions do not wait for is loaded.
    pub(super) ready: BoxFuture<'static, ()>,
    /// OpenID discovery documents.
    pub(super) openid: Option<OpenId>,
    /// Issuer of service account tokens.
    pub(super) token_requests: Option<TokenRequests>,
}

impl Access {
    pub(super) async fn build(
        config: &Config,
        registry: &Registry,
        served: &Arc<ServedApi>,
        address: &str,
        metrics: &ApiMetrics,
        process: &ProcessContext,
        tasks: &mut ApiTasks,
    ) -> Result<Self, RunError> {
        let keys = service_account_keys::load(config, &process.metrics).await?;
        let Authenticators { authenticator, background } = authenticators(
            config,
            &keys,
            registry,
            &process.loopback,
            &metrics.webhooks,
            process.monitoring(),
        )?;
        tasks.add_background(background);
        let openid = openid(config, address, &keys);
        let authorizers = Authorizers::new(config, registry, served, process, &metrics.webhooks)?;
        let Authorizers { authorizer, roles, ready, background } = authorizers;
        tasks.add_background(background);
        tasks.add_background(refresh_keys(keys.verifying.clone(), process.weakened.clone()));
        let token_requests = token_requests(config, keys)?;
        Ok(Access { authenticator, authorizer, roles, ready, openid, token_requests })
    }
}

/// Builds the OpenID discovery documents. `None`, with the reason in the log, if the issuer is not a valid
/// URL, because it may be any text.
fn openid(config: &Config, address: &str, keys: &ServiceAccountKeys) -> Option<OpenId> {
    let accounts = &config.service_accounts;
    let issuer = accounts.issuers.first().cloned().unwrap_or_default();
    let keys = keys.verifying.clone();
    let address = address.to_owned();
    match OpenIdMetadata::new(issuer, accounts.jwks_uri.clone(), address, keys) {
        Ok(metadata) => Some(OpenId::new(metadata)),
        Err(error) => {
            tracing::error!(%error, "the OpenID discovery documents are not served");
            None
        }
    }
}

/// Refreshes the keys of an external signer.
async fn refresh_keys(keys: VerificationKeys, weakened: WeakenedDecisions) {
    if let VerificationKeys::External(keys) = keys {
        keys.refresh_periodically(&weakened).await;
    }
}

/// Builds the issuer for token requests, if configured.
fn token_requests(config: &Config, keys: ServiceAccountKeys) -> Result<Option<TokenRequests>, RunError> {
    let accounts = &config.service_accounts;
    let lifetime_max = keys.token_lifetime_max(accounts.token_expiration_max)?;
    let seconds = |time: Duration| i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    let issuer = accounts.issuers.first().cloned();
    let signer = keys.signing;
    Ok(issuer.zip(signer).map(|(issuer, signer)| TokenRequests {
        issuer: Issuer::new(issuer, signer),
        api_audiences: accounts.api_audiences().to_vec(),
        lifetime_max: seconds(lifetime_max),
        extend: accounts.extend_expiration,
        extended_max: keys.lifetime_max.map_or(i64::MAX, seconds),
        entropy: Arc::new(SystemEntropy),
    }))
}
