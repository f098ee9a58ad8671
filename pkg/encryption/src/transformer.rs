//! What a provider does.

use std::borrow::Cow;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

/// Fills a buffer with random bytes that nobody can predict: nonces and keys come from it. Tests choose them.
pub type Random = Arc<dyn Fn(&mut [u8]) + Send + Sync>;

/// A value as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// The value in plain.
    pub plain: Bytes,
    /// It was written under something else than what writes now, so it should be written anew even if it does not
    /// change.
    pub stale: bool,
}

impl Opened {
    /// A value that was written by what writes now.
    pub fn current(plain: Bytes) -> Self {
        Self { plain, stale: false }
    }
}

/// Why a value could not be opened or sealed, in upstream's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Error {
    /// What went wrong. Has nothing of keys or values in it.
    text: Cow<'static, str>,
    /// The name of the gRPC code, if it was a call that failed.
    code: Option<&'static str>,
    /// It was no call, but for want of somebody who does not answer.
    away: bool,
}

impl Error {
    /// A failure in this process.
    pub fn new(text: impl Into<Cow<'static, str>>) -> Self {
        Self { text: text.into(), code: None, away: false }
    }

    /// A failure in this process, for want of somebody who does not answer.
    pub fn away(text: impl Into<Cow<'static, str>>) -> Self {
        Self { text: text.into(), code: None, away: true }
    }

    /// A failed call of another process. `code` is the name of its gRPC code as Go spells it (`Unavailable`,
    /// `DeadlineExceeded`).
    pub fn grpc(text: impl Into<Cow<'static, str>>, code: &'static str) -> Self {
        Self { text: text.into(), code: Some(code), away: false }
    }

    /// The same failure, told with what was to be done.
    #[must_use]
    pub fn within(self, what: &str) -> Self {
        Self { text: format!("{what}: {}", self.text).into(), ..self }
    }

    /// Several failures as one, in the form in which Go joins them. There is at least one.
    pub(crate) fn all(errors: Vec<Error>) -> Self {
        let code = errors.iter().find_map(|error| error.code);
        let away = errors.iter().any(|error| error.away);
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
        Self { text: text.into(), code, away }
    }

    /// Whether it may be gone soon: somebody else did not answer. One that refuses has answered.
    pub fn is_transient(&self) -> bool {
        let codes = ["Aborted", "Canceled", "DeadlineExceeded", "ResourceExhausted", "Unavailable"];
        self.away || self.code.is_some_and(|code| codes.contains(&code))
    }

    /// What metrics call it: the gRPC code, or that it was none.
    pub fn status(&self) -> &'static str {
        self.code.unwrap_or("unknown-non-grpc")
    }
}

/// One provider: opens what it has sealed before, and seals.
///
/// `context` is bound to the value where the algorithm can do that: a value that was moved to another place does not
/// open there. It is the key in the store.
///
/// Values come and go without the provider's prefix (`k8s:enc:…:`), which whoever holds the providers writes and
/// strips.
#[async_trait]
pub trait Transformer: Send + Sync {
    /// Opens a value without waiting. `None`: [`open`](Self::open) has to be asked, which may wait for somebody else.
    fn open_now(&self, stored: &[u8], context: &[u8]) -> Option<Result<Opened, Error>>;

    /// Opens a value, and may wait for somebody else to do so, for a bounded time.
    ///
    /// # Errors
    /// The value is not what this provider seals, was changed, or stood somewhere else; or whoever has to be asked does
    /// not answer.
    async fn open(&self, stored: &[u8], context: &[u8]) -> Result<Opened, Error> {
        self.open_now(stored, context)
            .unwrap_or_else(|| Err(Error::new("the value cannot be opened without waiting")))
    }

    /// Seals a value.
    ///
    /// # Errors
    /// Whoever has to be asked does not answer, or refuses.
    async fn seal(&self, plain: &[u8], context: &[u8]) -> Result<Bytes, Error>;
}
