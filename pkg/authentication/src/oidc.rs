//! JSON Web Tokens of OpenID Connect issuers, as configured by `--oidc-*` flags or an
//! `AuthenticationConfiguration` (upstream's `token/oidc`).
//!
//! `claims`, `token` and `keys` perform no I/O. `provider` fetches the documents of an issuer as soon as it
//! is configured. Tokens are rejected until the issuer has been reached.

mod claims;
mod config;
mod distributed;
mod expressions;
mod flags;
mod keys;
mod metrics;
mod provider;
mod token;
mod validate;
mod verifier;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use apimachinery::field::{self, Path, aggregate};
use apimachinery::request_notes::Notes;
use arc_swap::ArcSwap;
use async_trait::async_trait;
use client::{DialPath, Dialer};
use component_base::clock::Clock;
use tokio::time::Instant;

use crate::Error;
use crate::chain::{TokenAuthenticator, TokenUser};
use claims::ClaimMapper;
pub use config::{
    AnonymousAuth, AnonymousCondition, AuthenticationConfiguration, ClaimMappings, ClaimValidationRule,
    Issuer, JwtAuthenticator, PrefixedClaimOrExpression,
};
use distributed::DistributedClaims;
use expressions::Compiler;
pub use flags::OidcFlags;
pub use keys::SIGNING_ALGORITHMS;
pub use metrics::{Metrics, label_hash};
use provider::Provider;
use token::untrusted_issuer;
use validate::Limits;
use verifier::{TokenRequirements, Verifier};

/// Server-wide options of all issuers.
#[derive(Clone)]
pub struct IssuerOptions {
    /// Allowed signing algorithms.
    pub algorithms: Vec<String>,
    /// The issuers of this server's own tokens. A configuration cannot use them.
    pub own_issuers: Vec<String>,
    /// True if a configuration may select an egress proxy for an issuer
    /// (`StructuredAuthenticationConfigurationEgressSelector`).
    pub egress: bool,
    /// The available egress proxies; `None` if egress selection is not configured.
    pub issuer_egress: Option<IssuerEgress>,
    /// Clock for token expiry.
    pub clock: Arc<dyn Clock>,
    pub metrics: Arc<Metrics>,
}

/// Egress proxies for issuers; `None` for an unconfigured one.
#[derive(Debug, Clone, Default)]
pub struct IssuerEgress {
    pub control_plane: Option<DialPath>,
    pub cluster: Option<DialPath>,
}

impl IssuerOptions {
    /// Returns the egress proxy with the given valid name.
    ///
    /// # Errors
    /// The selected proxy is not configured. There is no fallback to a direct connection.
    fn dialer(&self, selector: &str) -> Result<Option<Dialer>, Error> {
        if selector.is_empty() {
            return Ok(None);
        }
        let required = || {
            Error::Configuration(format!(
                "oidc: egress lookup required with egress selector type {selector:?}"
            ))
        };
        let egress = self.issuer_egress.as_ref().ok_or_else(required)?;
        match if selector == "cluster" { &egress.cluster } else { &egress.control_plane } {
            None => {
                Err(Error::Configuration(format!("oidc: egress lookup for {selector:?} is not configured")))
            }
            Some(DialPath::Direct) => Ok(None),
            Some(DialPath::Proxy(dialer)) => Ok(Some(Arc::clone(dialer))),
        }
    }
}

/// Validates a configuration and returns all errors as one message. `own_issuers` are the issuers of this
/// server's own tokens.
///
/// # Errors
/// Upstream's error messages.
pub fn validate(
    config: &AuthenticationConfiguration,
    own_issuers: &[String],
    egress: bool,
) -> Result<(), Vec<field::Error>> {
    let limits = Limits { disallowed: own_issuers.to_vec(), egress };
    let errors = validate::validate(config, &limits);
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// The issuers of one configuration. Dropping them stops their background tasks.
pub struct Issuers {
    issuers: Vec<IssuerAuthenticator>,
    metrics: Arc<Metrics>,
}

struct IssuerAuthenticator {
    url: String,
    claim_mapper: ClaimMapper,
    verifier: Verifier,
    distributed: Option<DistributedClaims>,
}

impl Issuers {
    /// Starts the discovery of all issuers. Must be called within a Tokio runtime.
    ///
    /// # Errors
    /// An error in an issuer's configuration.
    pub fn new(config: &AuthenticationConfiguration, options: &IssuerOptions) -> Result<Self, Error> {
        let compiler = Compiler::new();
        let limits = Limits { disallowed: options.own_issuers.clone(), egress: options.egress };
        let issuers = config.jwt.iter().map(|jwt| IssuerAuthenticator::new(&compiler, jwt, &limits, options));
        Ok(Issuers { issuers: issuers.collect::<Result<_, _>>()?, metrics: Arc::clone(&options.metrics) })
    }

    /// Returns an error if an issuer has not been reached.
    ///
    /// # Errors
    /// Upstream's message about these issuers.
    pub fn health(&self) -> Result<(), Error> {
        let problem = |issuer: &IssuerAuthenticator| {
            let problem = issuer.verifier.problem()?;
            Some(format!("oidc: authenticator for issuer {:?} is not healthy: {problem}", issuer.url))
        };
        let mut problems: Vec<String> = self.issuers.iter().filter_map(problem).collect();
        match problems.len() {
            0 => Ok(()),
            1 => Err(Error::unavailable(problems.swap_remove(0))),
            _ => Err(Error::unavailable(format!("[{}]", problems.join(", ")))),
        }
    }

    async fn authenticate(&self, token: &str) -> Result<Option<TokenUser>, Error> {
        let Some(claimed) = untrusted_issuer(token) else { return Ok(None) };
        let Some(issuer) = self.issuers.iter().find(|issuer| issuer.url == claimed) else { return Ok(None) };
        let start = Instant::now();
        let user = issuer.user(token).await;
        self.metrics.record_verification(&issuer.url, user.is_ok(), start.elapsed());
        user.map(Some)
    }
}

impl IssuerAuthenticator {
    fn new(
        compiler: &Compiler,
        jwt: &JwtAuthenticator,
        limits: &Limits,
        options: &IssuerOptions,
    ) -> Result<Self, Error> {
        let (expressions, errors) = validate::authenticator(compiler, jwt, &Path::NIL, limits);
        if let Some(errors) = aggregate(&errors) {
            return Err(Error::Configuration(errors));
        }
        let unsupported = options.algorithms.iter().find(|name| !SIGNING_ALGORITHMS.contains(&name.as_str()));
        if let Some(name) = unsupported {
            return Err(Error::Configuration(format!("oidc: unsupported signing alg: {name:?}")));
        }
        let dialer = options.dialer(&jwt.issuer.egress_selector_type)?;
        let provider = Provider::new(&jwt.issuer, dialer)?;
        let requirements = TokenRequirements {
            audiences: jwt.issuer.audiences.clone(),
            algorithms: options.algorithms.clone(),
            clock: Arc::clone(&options.clock),
            metrics: Arc::clone(&options.metrics),
        };
        let claim = jwt.claim_mappings.groups.claim.clone();
        let distributed = (!claim.is_empty()).then(|| DistributedClaims {
            claim,
            provider: provider.clone(),
            requirements: requirements.clone(),
            verifiers: Mutex::new(HashMap::new()),
        });
        let url = jwt.issuer.url.clone();
        let verifier = Verifier::new(&url, requirements, provider);
        Ok(IssuerAuthenticator {
            url,
            claim_mapper: ClaimMapper { config: jwt.clone(), expressions },
            verifier,
            distributed,
        })
    }

    async fn user(&self, token: &str) -> Result<TokenUser, Error> {
        if !self.verifier.is_ready() {
            return Err(Error::credential("oidc: authenticator not initialized".to_owned()));
        }
        let verified = self.verifier.verify(token).await;
        let mut claims = verified.map_err(|error| error.context("oidc: verify token"))?;
        if let Some(distributed) = &self.distributed {
            let expanded = distributed.expand(&mut claims).await;
            expanded.map_err(|error| error.context("oidc: could not expand distributed claims"))?;
        }
        Ok(TokenUser { user: self.claim_mapper.user(&claims)?, audiences: Vec::new() })
    }
}

/// Authenticator for tokens of the current issuers. Clones share them.
#[derive(Clone)]
pub struct OidcTokens(Arc<ArcSwap<Issuers>>);

impl OidcTokens {
    /// Creates the authenticator with these issuers.
    pub fn new(issuers: Issuers) -> Self {
        OidcTokens(Arc::new(ArcSwap::from_pointee(issuers)))
    }

    /// Replaces the issuers. In-flight tokens are still verified by the previous ones.
    pub fn replace(&self, issuers: Issuers) {
        let issuers = Arc::new(issuers);
        let former = self.0.swap(Arc::clone(&issuers));
        for old in &former.issuers {
            if !issuers.issuers.iter().any(|issuer| issuer.url == old.url) {
                issuers.metrics.forget(&old.url);
            }
        }
    }
}

#[async_trait]
impl TokenAuthenticator for OidcTokens {
    async fn authenticate(&self, token: &str, _: &[String], _: &Notes) -> Result<Option<TokenUser>, Error> {
        // Clones the pointer, because verification may take long.
        let issuers = self.0.load_full();
        issuers.authenticate(token).await
    }
}
