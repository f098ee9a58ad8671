//! From a file to rules that work.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

use apimachinery::go_quote::quote;
use encryption::configuration::{Configuration, Wrong};
use encryption::{Figures, KmsFactory, Means, Random, Rules};

use super::covers::Covers;

/// How large a configuration may be, in bytes.
const FILE_BYTES_MAX: u64 = 3 << 20;

/// What rules are made of, besides a text.
pub(super) struct Loader {
    pub(super) file: PathBuf,
    pub(super) reload: bool,
    /// What keys begin with.
    pub(super) prefix: String,
    pub(super) factory: Arc<dyn KmsFactory>,
    pub(super) random: Random,
    pub(super) figures: Arc<Figures>,
}

impl Loader {
    /// Reads the file.
    ///
    /// # Errors
    /// It is not there, or empty, or much too large.
    pub(super) fn read(&self) -> Result<Vec<u8>, String> {
        let shown = quote(&self.file.to_string_lossy());
        let failed = |error: io::Error| {
            format!("error reading encryption provider configuration file {shown}: {error}")
        };
        let mut text = Vec::new();
        let file = File::open(&self.file).map_err(failed)?;
        file.take(FILE_BYTES_MAX + 1).read_to_end(&mut text).map_err(failed)?;
        if text.is_empty() {
            return Err(format!("encryption provider configuration file {shown} is empty"));
        }
        // What was read counts, not what the file is now: half of a text may make sense, too.
        if u64::try_from(text.len()).is_ok_and(|length| length > FILE_BYTES_MAX) {
            return Err(format!(
                "encryption provider configuration file {shown} is larger than {FILE_BYTES_MAX} bytes"
            ));
        }
        Ok(text)
    }

    /// Puts a text to work.
    ///
    /// # Errors
    /// What upstream says of it.
    pub(super) async fn covers(&self, text: &[u8]) -> Result<Covers, String> {
        let configuration = Configuration::read(text, self.reload).map_err(|wrong| {
            let said = match wrong {
                Wrong::Invalid(text) => text,
                Wrong::Unreadable(text) => format!(
                    "error decoding encryption provider configuration file {}: {text}",
                    quote(&self.file.to_string_lossy())
                ),
            };
            format!("error while parsing file: {said}")
        })?;
        let (random, figures) = (Arc::clone(&self.random), Arc::clone(&self.figures));
        let means = Means { factory: &*self.factory, random, figures };
        let rules = Rules::new(&configuration, means).await;
        let rules = rules.map_err(|error| format!("error while building transformers: {error}"))?;
        Ok(Covers::new(rules, &self.prefix))
    }
}
