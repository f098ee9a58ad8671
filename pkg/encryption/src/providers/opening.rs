//! State machine that tries the providers of a value one after the other.

use bytes::Bytes;
use tokio::time::Instant;

use super::{Inner, ProviderImpl, ProviderMetrics, is_encrypted};
use crate::metrics::Direction;
use crate::{DecryptedValue, Error, KmsProvider};

/// Next step of decryption.
pub(super) enum Step<'a> {
    Done(Result<DecryptedValue, Error>),
    /// A plugin must be called. Pass its result to [`Decryption::record_result`].
    CallPlugin(&'a dyn KmsProvider, &'a [u8]),
}

/// Decryption state of one value.
pub(super) struct Decryption<'a> {
    of: &'a Inner,
    stored: &'a Bytes,
    context: &'a [u8],
    started_at: Instant,
    /// Number of providers tried so far.
    tried: usize,
    decrypted: Option<DecryptedValue>,
    errors: Vec<Error>,
}

impl<'a> Decryption<'a> {
    pub(super) fn new(of: &'a Inner, stored: &'a Bytes, context: &'a [u8]) -> Self {
        Decryption {
            of,
            stored,
            context,
            started_at: Instant::now(),
            tried: 0,
            decrypted: None,
            errors: Vec::new(),
        }
    }

    /// Continues until a provider has decrypted the value, all have been tried, or a plugin must be called.
    pub(super) fn step(&mut self) -> Step<'a> {
        loop {
            if let Some(opened) = self.decrypted.take() {
                return Step::Done(Ok(opened));
            }
            let Some(part) = self.of.parts.get(self.tried) else { return Step::Done(Err(self.failure())) };
            self.tried += 1;
            let Some(sealed) = self.stored.strip_prefix(part.member.prefix.as_bytes()) else { continue };
            match &part.member.work {
                // During a migration away from encryption, the identity provider is first and the others
                // follow.
                ProviderImpl::Identity if is_encrypted(self.stored) => {}
                ProviderImpl::Identity => {
                    self.record_result(Ok(DecryptedValue::current(self.stored.clone())))
                }
                ProviderImpl::Keys(keys) => {
                    let opened = keys
                        .open(sealed, self.context, |key, result| self.record_key_result(part, key, result));
                    self.record_result(opened);
                }
                ProviderImpl::Kms(provider) => return Step::CallPlugin(&**provider, sealed),
            }
        }
    }

    /// Records the result of the provider that was just tried.
    pub(super) fn record_result(&mut self, result: Result<DecryptedValue, Error>) {
        let Some(part) = self.tried.checked_sub(1).and_then(|at| self.of.parts.get(at)) else { return };
        self.of.metrics.record_transformation(
            &part.counters,
            Direction::FromStorage,
            self.started_at.elapsed(),
            result.as_ref().map(drop),
        );
        match result {
            Ok(DecryptedValue { plain, stale }) => {
                self.decrypted = Some(DecryptedValue { plain, stale: stale || self.tried > 1 });
            }
            Err(error) => self.errors.push(error),
        }
    }

    /// Counts the result of a key; `None` means that no key matched.
    fn record_key_result(&self, part: &ProviderMetrics, key: Option<usize>, result: Result<(), &Error>) {
        match (key.and_then(|key| part.keys.get(key)), result) {
            (Some(counters), result) => {
                self.of.metrics.record_transformation(
                    counters,
                    Direction::FromStorage,
                    self.started_at.elapsed(),
                    result,
                );
            }
            (None, Err(error)) => self.of.metrics.unknown(&part.counters, error),
            (None, Ok(())) => {}
        }
    }

    fn failure(&mut self) -> Error {
        let errors = std::mem::take(&mut self.errors);
        if errors.is_empty() {
            let error = Error::new("no matching prefix found");
            if let Some(part) = self.of.parts.first() {
                self.of.metrics.unknown(&part.counters, &error);
            }
            return error;
        }
        Error::all(errors)
    }
}
