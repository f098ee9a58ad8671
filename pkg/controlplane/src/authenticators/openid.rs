//! JWT issuers and anonymous access, configured by flags or by a reloadable file.

mod reload;

use std::path::Path;
use std::sync::Arc;

use apimachinery::field::{self, Error};
use authentication::Anonymous;
use authentication::oidc::{
    AnonymousAuth, AuthenticationConfiguration, IssuerEgress, IssuerOptions, Issuers, Metrics, OidcTokens,
    SIGNING_ALGORITHMS, validate,
};
use component_base::clock::Clock;
use component_base::features::Gate;
use egress::{Egress, Network};

use crate::config::{AuthenticationConfig, Config, OidcConfig};
use crate::error::RunError;
use crate::identity;
use crate::process::Monitoring;
pub(super) use reload::Reloader;

/// Result of `--authentication-config` and `--oidc-*`.
pub(super) struct OpenId {
    pub(super) tokens: OidcTokens,
    pub(super) anonymous: Anonymous,
    /// Task that reloads the file, if there is one.
    pub(super) reloader: Option<Reloader>,
}

impl OpenId {
    /// Reads the file or the flags.
    ///
    /// # Errors
    /// Upstream's message about an invalid configuration.
    pub(super) fn new(
        config: &Config,
        clock: &Arc<dyn Clock>,
        monitoring: Monitoring<'_>,
    ) -> Result<Self, RunError> {
        let authentication = &config.authentication;
        let (read, text) = read(authentication)?;
        let anonymous = anonymous(authentication, read.anonymous.as_ref())?;
        let egress = config.gates.enabled(Gate::StructuredAuthenticationConfigurationEgressSelector);
        // Upstream checks its own issuers again when it creates the authenticators.
        let invalid = |errors: Vec<Error>| {
            let errors = field::aggregate(&errors).unwrap_or_default();
            RunError::AuthenticationRules(errors)
        };
        validate(&read, &[], egress).map_err(invalid)?;
        let server = identity::of_this_machine();
        let keys = config.gates.enabled(Gate::StructuredAuthenticationConfigurationJWKSMetrics);
        let metrics = Arc::new(Metrics::new(monitoring.metrics, Arc::clone(clock), &server, keys));
        let algorithms = match (&authentication.configuration_file, &authentication.oidc) {
            (None, Some(oidc)) => oidc.signing_algorithms.clone(),
            _ => SIGNING_ALGORITHMS.map(str::to_owned).to_vec(),
        };
        let options = IssuerOptions {
            algorithms,
            own_issuers: config.service_accounts.issuers.clone(),
            egress,
            issuer_egress: issuer_egress(&config.egress),
            clock: Arc::clone(clock),
            metrics,
        };
        let issuers = Issuers::new(&read, &options)?;
        let tokens = OidcTokens::new(issuers);
        let reloader = authentication
            .configuration_file
            .clone()
            .map(|path| Reloader::new(path, text, read.anonymous, tokens.clone(), options, monitoring));
        Ok(OpenId { tokens, anonymous, reloader })
    }
}

/// Returns the egress proxies that a configuration can select.
fn issuer_egress(egress: &Egress) -> Option<IssuerEgress> {
    let dial_path = |network| egress.dial_path(network).cloned();
    let issuer_egress = || IssuerEgress {
        control_plane: dial_path(Network::ControlPlane),
        cluster: dial_path(Network::Cluster),
    };
    egress.is_configured().then(issuer_egress)
}

/// Reads the configuration and the text of its file.
fn read(config: &AuthenticationConfig) -> Result<(AuthenticationConfiguration, Vec<u8>), RunError> {
    match (&config.configuration_file, &config.oidc) {
        (Some(path), _) => of_file(path).map_err(|error| {
            let path = path.display().to_string();
            error.within(format!("failed to load authentication configuration from file {path:?}"))
        }),
        (None, Some(oidc)) => Ok((of_flags(oidc)?, Vec::new())),
        (None, None) => Ok((AuthenticationConfiguration::default(), Vec::new())),
    }
}

fn of_file(path: &Path) -> Result<(AuthenticationConfiguration, Vec<u8>), RunError> {
    let text = std::fs::read(path).map_err(RunError::System)?;
    Ok((AuthenticationConfiguration::read(&text)?, text))
}

fn of_flags(oidc: &OidcConfig) -> Result<AuthenticationConfiguration, RunError> {
    let mut flags = oidc.flags.clone();
    if let Some(path) = &oidc.ca_file {
        flags.authorities = std::fs::read_to_string(path).map_err(|source| RunError::read(path, source))?;
    }
    Ok(AuthenticationConfiguration { jwt: vec![flags.authenticator()], anonymous: None })
}

/// Returns the anonymous access of the file, or else of the flag.
fn anonymous(
    config: &AuthenticationConfig,
    configured: Option<&AnonymousAuth>,
) -> Result<Anonymous, RunError> {
    match configured {
        Some(_) if config.anonymous_is_given => Err(RunError::AnonymousTwice),
        Some(configured) if configured.enabled && !configured.conditions.is_empty() => Ok(Anonymous::Paths(
            configured.conditions.iter().map(|condition| condition.path.clone()).collect(),
        )),
        Some(configured) if configured.enabled => Ok(Anonymous::AllPaths),
        Some(_) => Ok(Anonymous::Disabled),
        None => Ok(config.anonymous.clone()),
    }
}

#[cfg(test)]
mod tests;
