//! Configuration of authorizers and their order: `--authorization-mode`, or an `AuthorizationConfiguration`
//! of `apiserver.config.k8s.io` (upstream's `pkg/kubeapiserver/authorizer`, apiserver
//! `apis/apiserver/validation`).

mod decode;
mod validate;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use apimachinery::field;

use crate::webhook::Options;
use crate::{Error, Mode};

/// Authorizers in the order of evaluation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    /// At least one.
    pub authorizers: Vec<AuthorizerConfig>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorizerConfig {
    pub mode: Mode,
    /// The name in metrics.
    pub name: String,
    /// Configuration of the webhook for [`Mode::Webhook`].
    pub webhook: Option<WebhookConfiguration>,
}

/// Configuration of an authorization webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookConfiguration {
    /// The kubeconfig with its address.
    pub kubeconfig: PathBuf,
    /// Timeout of a call.
    pub timeout: Duration,
    /// Protocol version, caching and failure policy.
    pub options: Options,
}

impl Configuration {
    /// Builds the configuration of `--authorization-mode`. `webhook` contains the webhook flags.
    pub fn of_modes(modes: &[Mode], webhook: Option<&WebhookConfiguration>) -> Self {
        let configured = |mode: &Mode| {
            let webhook = webhook.filter(|_| *mode == Mode::Webhook).cloned();
            let name = if webhook.is_some() { "default".to_owned() } else { mode.default_name() };
            AuthorizerConfig { mode: *mode, name, webhook }
        };
        Configuration { authorizers: modes.iter().map(configured).collect() }
    }

    /// Parses and validates a YAML or JSON file. `required` are modes that it must contain.
    ///
    /// # Errors
    /// Upstream's error message.
    pub fn parse(text: &[u8], required: &BTreeSet<Mode>) -> Result<Self, Error> {
        let file = decode::file(text).map_err(|error| {
            Error::Invalid(format!("failed to load AuthorizationConfiguration from file: {error}"))
        })?;
        let config = validate::checked(&file)
            .map_err(|errors| {
                field::aggregate(&errors).unwrap_or_else(|| "the configuration is invalid".to_owned())
            })
            .map_err(Error::Invalid)?;
        let mut errors = config.name_errors();
        let missing: Vec<&str> = required
            .difference(&config.modes())
            .filter(|mode| **mode != Mode::Webhook)
            .map(|mode| mode.name())
            .collect();
        if !missing.is_empty() {
            let mut missing = missing;
            missing.sort_unstable();
            errors.push(format!("missing required types: [{}]", missing.join(" ")));
        }
        match errors.as_slice() {
            [] => Ok(config),
            [one] => Err(Error::Invalid(one.clone())),
            many => Err(Error::Invalid(format!("[{}]", many.join(", ")))),
        }
    }

    pub fn modes(&self) -> BTreeSet<Mode> {
        self.authorizers.iter().map(|configured| configured.mode).collect()
    }

    /// True if an authorizer has this mode.
    pub fn has(&self, mode: Mode) -> bool {
        self.authorizers.iter().any(|configured| configured.mode == mode)
    }

    /// Returns errors about custom names. Only webhooks may have one.
    fn name_errors(&self) -> Vec<String> {
        let named = self.authorizers.iter().filter(|configured| configured.mode != Mode::Webhook);
        let wrong = named.filter(|configured| configured.name != configured.mode.default_name());
        wrong
            .map(|AuthorizerConfig { mode, name, .. }| {
                format!(
                    "expected name {} for authorizer {} instead of {name}",
                    mode.default_name(),
                    mode.name()
                )
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
