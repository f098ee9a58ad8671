//! An authorizer that is replaced as a whole when its configuration changes (upstream's
//! `pkg/kubeapiserver/authorizer/reload.go`).

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use apimachinery::user_info::UserInfo;
use arc_swap::ArcSwap;
use async_trait::async_trait;

use crate::config::Configuration;
use crate::{Attributes, Authorizer, AuthorizerDeps, Decision, Error, Mode, Rules, Union};

/// Result of a reload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reload {
    /// The file has not changed, and is active.
    Unchanged,
    /// The new configuration is active.
    Replaced,
    /// The new configuration is invalid, with the reason. The previous one remains active.
    Invalid(String),
    /// The file has not changed since its configuration was found to be invalid, with the reason.
    StillInvalid(String),
}

/// The last text and the active configuration.
struct LastConfiguration {
    text: Vec<u8>,
    config: Configuration,
    /// Reason why `text` cannot be parsed.
    parse_error: Option<String>,
    /// Reason why `config` is not active.
    build_error: Option<String>,
}

impl LastConfiguration {
    /// Returns the result for a text without a new configuration.
    fn unchanged(&self) -> Reload {
        let error = self.parse_error.as_ref().or(self.build_error.as_ref());
        error.map_or(Reload::Unchanged, |error| Reload::StillInvalid(error.clone()))
    }
}

/// Authorizer with a reloadable configuration.
pub struct Reloadable {
    deps: AuthorizerDeps,
    /// Modes that every configuration must contain: those of the first one.
    required: BTreeSet<Mode>,
    last: Mutex<LastConfiguration>,
    current: ArcSwap<Union>,
}

impl Reloadable {
    /// Creates the authorizer from a configuration that was read as `text`.
    ///
    /// # Errors
    /// See [`AuthorizerDeps::authorizer`].
    pub fn new(deps: AuthorizerDeps, config: Configuration, text: Vec<u8>) -> Result<Self, Error> {
        let current = ArcSwap::from_pointee(deps.authorizer(&config)?);
        let required = config.modes();
        let last = LastConfiguration { text, config, parse_error: None, build_error: None };
        Ok(Reloadable { deps, required, last: Mutex::new(last), current })
    }

    /// Reloads the configuration if `text` has changed.
    pub fn reload(&self, text: Vec<u8>) -> Reload {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if text == last.text {
            return last.unchanged();
        }
        last.text = text;
        last.parse_error = None;
        let config = match Configuration::parse(&last.text, &self.required) {
            Ok(config) if config == last.config => return last.unchanged(),
            Ok(config) => config,
            Err(error) => {
                let error = error.to_string();
                last.parse_error = Some(error.clone());
                return Reload::Invalid(error);
            }
        };
        last.config = config;
        last.build_error = None;
        match self.deps.authorizer(&last.config) {
            Ok(union) => {
                self.current.store(Arc::new(union));
                Reload::Replaced
            }
            Err(error) => {
                let error = error.to_string();
                last.build_error = Some(error.clone());
                Reload::Invalid(error)
            }
        }
    }
}

#[async_trait]
impl Authorizer for Reloadable {
    async fn decide(&self, attributes: Attributes<'_>) -> Decision {
        self.current.load_full().decide(attributes).await
    }

    async fn rules(&self, user: &UserInfo, namespace: &str) -> Rules {
        self.current.load_full().rules(user, namespace).await
    }
}

impl fmt::Debug for Reloadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reloadable").field("required", &self.required).finish_non_exhaustive()
    }
}
