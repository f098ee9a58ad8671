//! Who decides what users may do.

use std::path::PathBuf;

use authorization::Mode;
use authorization::config::Configuration;

/// Who decides what users may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorizationConfig {
    /// Whom to ask, in order.
    pub configuration: Configuration,
    /// `--authorization-config`: the file that says so, which is followed. `None` where flags say so.
    pub file: Option<ConfigurationFile>,
    /// `--authorization-policy-file`: the policies of the mode ABAC.
    pub policy_file: Option<PathBuf>,
}

/// A file as it was when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigurationFile {
    /// Where it is.
    pub path: PathBuf,
    /// What it said.
    pub text: Vec<u8>,
}

impl AuthorizationConfig {
    /// Modes in order, without a webhook.
    pub fn of_modes(modes: &[Mode]) -> Self {
        let configuration = Configuration::of_modes(modes, None);
        AuthorizationConfig { configuration, file: None, policy_file: None }
    }
}
