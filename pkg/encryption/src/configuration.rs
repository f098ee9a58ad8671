//! `EncryptionConfiguration` (`apiserver.config.k8s.io/v1`): which resources are encrypted how.

mod decode;
mod validate;

#[cfg(test)]
mod tests;

use std::fmt;

use crate::Kms;

/// A configuration that makes sense. Secrets are decoded, defaults filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    /// Its rules, in their order: an earlier one comes first.
    pub rules: Vec<Rule>,
}

/// How some resources are encrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// What it is about: `resource.group`, `resource`, `*.group`, `*.` (the core group), `*.*`.
    pub resources: Vec<Pattern>,
    /// The first one writes; all of them read.
    pub providers: Vec<Provider>,
}

/// What a rule is about. `*` stands for any.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pattern {
    /// The API group; empty for the core group.
    pub group: String,
    /// The plural name.
    pub resource: String,
}

impl Pattern {
    /// Reads what is before the first dot as a resource, and the rest as its group.
    pub fn parse(text: &str) -> Self {
        let (resource, group) = text.split_once('.').unwrap_or((text, ""));
        Pattern { group: group.to_owned(), resource: resource.to_owned() }
    }

    /// Everything.
    pub(crate) fn all() -> Self {
        Pattern { group: "*".to_owned(), resource: "*".to_owned() }
    }
}

impl fmt::Display for Pattern {
    /// As configurations have it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&*self.resource, &*self.group) {
            ("*", "") => f.write_str("*."),
            (resource, "") => f.write_str(resource),
            (resource, group) => write!(f, "{resource}.{group}"),
        }
    }
}

/// Who encrypts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Provider {
    /// Nobody.
    Identity,
    /// AES-GCM with random nonces.
    AesGcm(Vec<Key>),
    /// AES-CBC.
    AesCbc(Vec<Key>),
    /// XSalsa20 and Poly1305.
    Secretbox(Vec<Key>),
    /// A plugin.
    Kms(Kms),
}

/// A key with a name, which is in the prefix of what it seals.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    /// Its name.
    pub name: String,
    /// The key itself, decoded.
    pub secret: Vec<u8>,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Name: {}, Secret: [REDACTED]", self.name)
    }
}

/// What is wrong with a configuration, in upstream's words, without the secrets that it has in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// It cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// It makes no sense.
    #[error("{0}")]
    Invalid(String),
}

impl Configuration {
    /// Reads a text, YAML or JSON. With `reload`, names of plugins have to differ in any case.
    ///
    /// # Errors
    /// [`Wrong`].
    pub fn read(text: &[u8], reload: bool) -> Result<Self, Wrong> {
        let rules = decode::file(text).map_err(Wrong::Unreadable)?;
        validate::configuration(rules, reload).map_err(Wrong::Invalid)
    }
}
