//! `EncryptionConfiguration` (`apiserver.config.k8s.io/v1`): which resources are encrypted, and by which
//! providers.

mod decode;
mod validate;

#[cfg(test)]
mod tests;

use std::fmt;

use apimachinery::time::DurationError;
use schema::configuration::ReadError;

use crate::Kms;

/// A validated configuration. Secrets are decoded and defaults are filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    /// Rules in order of precedence.
    pub rules: Vec<Rule>,
}

/// The providers of some resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Resource patterns: `resource.group`, `resource`, `*.group`, `*.` (the core group), `*.*`.
    pub resources: Vec<Pattern>,
    /// The first provider writes; all of them read.
    pub providers: Vec<Provider>,
}

/// Resource pattern of a rule. `*` matches any group or resource.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pattern {
    /// The API group; empty for the core group.
    pub group: String,
    /// Plural resource name.
    pub resource: String,
}

impl Pattern {
    /// Parses the text before the first dot as the resource, and the rest as its group.
    pub fn parse(text: &str) -> Self {
        let (resource, group) = text.split_once('.').unwrap_or((text, ""));
        Pattern { group: group.to_owned(), resource: resource.to_owned() }
    }

    /// Returns the pattern that matches everything.
    pub(crate) fn all() -> Self {
        Pattern { group: "*".to_owned(), resource: "*".to_owned() }
    }
}

impl fmt::Display for Pattern {
    /// Formats the pattern as in a configuration file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&*self.resource, &*self.group) {
            ("*", "") => f.write_str("*."),
            (resource, "") => f.write_str(resource),
            (resource, group) => write!(f, "{resource}.{group}"),
        }
    }
}

/// A provider of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Provider {
    /// No encryption.
    Identity,
    /// AES-GCM with random nonces.
    AesGcm(Vec<Key>),
    /// AES-CBC with random initialization vectors, without authentication.
    AesCbc(Vec<Key>),
    /// XSalsa20 and Poly1305.
    Secretbox(Vec<Key>),
    /// KMS plugin.
    Kms(Kms),
}

/// A named key. The name is part of the prefix of every value that the key encrypts.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    /// Name from the configuration, never empty.
    pub name: String,
    /// The decoded key.
    pub secret: Vec<u8>,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Name: {}, Secret: [REDACTED]", self.name)
    }
}

/// Configuration error, in upstream's words and without the secrets of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncryptionConfigurationError {
    /// The file cannot be decoded.
    #[error(transparent)]
    Decode(#[from] ReadError),
    /// The timeout of a plugin is no duration.
    #[error(transparent)]
    Timeout(#[from] DurationError),
    /// The timeout of a plugin has the wrong JSON type.
    #[error("json: cannot unmarshal {0} into Go value of type string")]
    TimeoutType(&'static str),
    /// The file fails validation.
    #[error("{0}")]
    Invalid(String),
}

impl Configuration {
    /// Parses and validates a configuration in YAML or JSON. With `reload`, plugin names must be unique for
    /// v1 too.
    ///
    /// # Errors
    /// [`EncryptionConfigurationError`].
    pub fn read(text: &[u8], reload: bool) -> Result<Self, EncryptionConfigurationError> {
        let rules = decode::file(text)?;
        validate::configuration(rules, reload)
    }
}
