//! Loads the encryption configuration.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

use apimachinery::go_quote::quote;
use encryption::configuration::{Configuration, EncryptionConfigurationError};
use encryption::{EncryptionMetrics, KmsFactory, ProviderDeps, Random, Rules};

use super::key_rules::EncryptionRules;

/// Maximum size of the configuration in bytes.
const FILE_BYTES_MAX: u64 = 3 << 20;

/// Error of the configuration, in upstream's wording. Paths are quoted.
#[derive(Debug, thiserror::Error)]
pub enum EncryptionLoadError {
    #[error("error reading encryption provider configuration file {path}: {source}")]
    Read { path: String, source: io::Error },
    #[error("encryption provider configuration file {0} is empty")]
    Empty(String),
    #[error("encryption provider configuration file {0} is larger than {FILE_BYTES_MAX} bytes")]
    TooLarge(String),
    #[error(
        "error while parsing file: error decoding encryption provider configuration file {path}: {source}"
    )]
    Decode { path: String, source: EncryptionConfigurationError },
    #[error("error while parsing file: {0}")]
    Invalid(#[source] EncryptionConfigurationError),
    #[error("error while building transformers: {0}")]
    Build(#[source] encryption::Error),
}

/// Dependencies of the rules, apart from their text.
pub(super) struct Loader {
    pub(super) file: PathBuf,
    pub(super) reload: bool,
    /// The key prefix.
    pub(super) prefix: String,
    pub(super) factory: Arc<dyn KmsFactory>,
    pub(super) random: Random,
    pub(super) metrics: Arc<EncryptionMetrics>,
}

impl Loader {
    /// Reads the file.
    ///
    /// # Errors
    /// It is missing, empty or too large.
    pub(super) fn read(&self) -> Result<Vec<u8>, EncryptionLoadError> {
        let shown = quote(&self.file.to_string_lossy());
        let failed = |source: io::Error| EncryptionLoadError::Read { path: shown.clone(), source };
        let mut text = Vec::new();
        let file = File::open(&self.file).map_err(failed)?;
        file.take(FILE_BYTES_MAX + 1).read_to_end(&mut text).map_err(failed)?;
        if text.is_empty() {
            return Err(EncryptionLoadError::Empty(shown));
        }
        // Checks the bytes that were read, not the file size, because the file may change in between.
        if u64::try_from(text.len()).is_ok_and(|length| length > FILE_BYTES_MAX) {
            return Err(EncryptionLoadError::TooLarge(shown));
        }
        Ok(text)
    }

    /// Builds the rules of a text.
    ///
    /// # Errors
    /// Upstream's error message.
    pub(super) async fn build_rules(&self, text: &[u8]) -> Result<EncryptionRules, EncryptionLoadError> {
        let configuration = Configuration::read(text, self.reload).map_err(|error| match error {
            EncryptionConfigurationError::Invalid(_) => EncryptionLoadError::Invalid(error),
            _ => EncryptionLoadError::Decode { path: quote(&self.file.to_string_lossy()), source: error },
        })?;
        let random = Arc::clone(&self.random);
        let metrics = Arc::clone(&self.metrics);
        let deps = ProviderDeps { factory: &*self.factory, random, metrics };
        let rules = Rules::new(&configuration, deps).await;
        let rules = rules.map_err(EncryptionLoadError::Build)?;
        Ok(EncryptionRules::new(rules, &self.prefix))
    }
}
