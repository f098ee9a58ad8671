//! The interface of a provider.

use std::borrow::Cow;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

/// Fills a buffer with unpredictable random bytes, for nonces and keys. Tests supply fixed bytes.
pub type Random = Arc<dyn Fn(&mut [u8]) + Send + Sync>;

/// A decrypted value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecryptedValue {
    /// The plaintext.
    pub plain: Bytes,
    /// True if the value was not written by the current write key. A stale value should be rewritten even if
    /// it does not change.
    pub stale: bool,
}

impl DecryptedValue {
    /// Creates a value that the current write key wrote.
    pub fn current(plain: Bytes) -> Self {
        Self { plain, stale: false }
    }
}

/// Encryption or decryption error, in upstream's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Error {
    /// Error text. Contains no part of a key or value.
    text: Cow<'static, str>,
    /// Name of the gRPC code of a failed call.
    code: Option<&'static str>,
    /// True if the error is local but caused by a plugin that does not respond.
    unavailable: bool,
}

impl Error {
    /// Creates an error of this process.
    pub fn new(text: impl Into<Cow<'static, str>>) -> Self {
        Self { text: text.into(), code: None, unavailable: false }
    }

    /// Creates an error of this process, caused by a plugin that does not respond.
    pub fn unavailable(text: impl Into<Cow<'static, str>>) -> Self {
        Self { text: text.into(), code: None, unavailable: true }
    }

    /// Creates an error of a failed call. `code` is the gRPC code in Go's spelling (`Unavailable`,
    /// `DeadlineExceeded`).
    pub fn grpc(text: impl Into<Cow<'static, str>>, code: &'static str) -> Self {
        Self { text: text.into(), code: Some(code), unavailable: false }
    }

    /// Prefixes the error text with the operation that failed.
    #[must_use]
    pub fn context(self, operation: &str) -> Self {
        Self { text: format!("{operation}: {}", self.text).into(), ..self }
    }

    /// Joins several errors in Go's format. There is at least one.
    pub(crate) fn all(errors: Vec<Error>) -> Self {
        let code = errors.iter().find_map(|error| error.code);
        let unavailable = errors.iter().any(|error| error.unavailable);
        let mut texts: Vec<&str> = Vec::with_capacity(errors.len());
        for error in &errors {
            if !texts.contains(&&*error.text) {
                texts.push(&error.text);
            }
        }
        let text = match *texts {
            [one] => one.to_owned(),
            _ => format!("[{}]", texts.join(", ")),
        };
        Self { text: text.into(), code, unavailable }
    }

    /// Returns true if a retry may help because a plugin did not respond. A plugin's refusal is not
    /// transient.
    pub fn is_transient(&self) -> bool {
        let codes = ["Aborted", "Canceled", "DeadlineExceeded", "ResourceExhausted", "Unavailable"];
        self.unavailable || self.code.is_some_and(|code| codes.contains(&code))
    }

    /// Returns the metric label: the gRPC code, or `unknown-non-grpc`.
    pub fn status(&self) -> &'static str {
        self.code.unwrap_or("unknown-non-grpc")
    }
}

/// One provider: decrypts the values that it has encrypted.
///
/// `context` is the key in the store. It is bound to the value where the algorithm supports that: such a
/// value cannot be decrypted under another key.
///
/// Values are passed without the provider's prefix (`k8s:enc:…:`). The caller writes and strips it.
#[async_trait]
pub trait Transformer: Send + Sync {
    /// Decrypts a value without waiting. Returns `None` if [`open`](Self::open) must be called, which may
    /// wait for another process.
    fn try_decrypt(&self, stored: &[u8], context: &[u8]) -> Option<Result<DecryptedValue, Error>>;

    /// Decrypts a value. May wait for another process for a bounded time.
    ///
    /// # Errors
    /// The value was not encrypted by this provider, was changed, or was moved from another key; or the other
    /// process does not respond.
    async fn open(&self, stored: &[u8], context: &[u8]) -> Result<DecryptedValue, Error> {
        self.try_decrypt(stored, context)
            .unwrap_or_else(|| Err(Error::new("the value cannot be opened without waiting")))
    }

    /// Encrypts a value.
    ///
    /// # Errors
    /// The other process does not respond, or refuses.
    async fn seal(&self, plain: &[u8], context: &[u8]) -> Result<Bytes, Error>;
}
