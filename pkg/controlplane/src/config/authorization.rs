//! Configuration of authorization.

use std::path::PathBuf;

use authorization::Mode;
use authorization::config::Configuration;

/// Configuration of authorization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorizationConfig {
    /// Authorizers in order.
    pub configuration: Configuration,
    /// `--authorization-config`: the reloadable file. `None` if flags set the modes.
    pub file: Option<ConfigurationFile>,
    /// `--authorization-policy-file`: policies for the mode ABAC.
    pub policy_file: Option<PathBuf>,
}

/// A file with its contents at the time of reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigurationFile {
    pub path: PathBuf,
    pub text: Vec<u8>,
}

impl AuthorizationConfig {
    /// Creates a configuration with modes in order, without a webhook.
    pub fn of_modes(modes: &[Mode]) -> Self {
        let configuration = Configuration::of_modes(modes, None);
        AuthorizationConfig { configuration, file: None, policy_file: None }
    }
}
