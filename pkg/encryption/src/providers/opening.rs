//! Opening a value, one provider after the other.

use bytes::Bytes;
use tokio::time::Instant;

use super::{Inner, Part, Work, is_encrypted};
use crate::figures::Direction;
use crate::{Error, KmsProvider, Opened};

/// What comes next.
pub(super) enum Step<'a> {
    /// Nothing.
    Done(Result<Opened, Error>),
    /// Somebody else has to be asked to open this; the answer is for [`Opening::answered`].
    Ask(&'a dyn KmsProvider, &'a [u8]),
}

/// How far a value has come.
pub(super) struct Opening<'a> {
    of: &'a Inner,
    stored: &'a Bytes,
    context: &'a [u8],
    began: Instant,
    /// How many providers have had their turn.
    tried: usize,
    opened: Option<Opened>,
    errors: Vec<Error>,
}

impl<'a> Opening<'a> {
    pub(super) fn new(of: &'a Inner, stored: &'a Bytes, context: &'a [u8]) -> Self {
        Opening { of, stored, context, began: Instant::now(), tried: 0, opened: None, errors: Vec::new() }
    }

    /// Goes on until somebody has opened the value, or all have been tried, or somebody has to be asked.
    pub(super) fn step(&mut self) -> Step<'a> {
        loop {
            if let Some(opened) = self.opened.take() {
                return Step::Done(Ok(opened));
            }
            let Some(part) = self.of.parts.get(self.tried) else { return Step::Done(Err(self.failure())) };
            self.tried += 1;
            let Some(sealed) = self.stored.strip_prefix(part.member.prefix.as_bytes()) else { continue };
            match &part.member.work {
                // Whoever moves away from encryption has this one first, and others behind it.
                Work::Identity if is_encrypted(self.stored) => {}
                Work::Identity => self.answered(Ok(Opened::current(self.stored.clone()))),
                Work::Keys(keys) => {
                    let opened = keys.open(sealed, self.context, |key, how| self.tried_key(part, key, how));
                    self.answered(opened);
                }
                Work::Kms(provider) => return Step::Ask(&**provider, sealed),
            }
        }
    }

    /// What the provider said whose turn it was.
    pub(super) fn answered(&mut self, answer: Result<Opened, Error>) {
        let Some(part) = self.tried.checked_sub(1).and_then(|at| self.of.parts.get(at)) else { return };
        let how = answer.as_ref().map(drop);
        self.of.figures.ended(&part.cell, Direction::FromStorage, self.began.elapsed(), how);
        match answer {
            Ok(Opened { plain, stale }) => {
                self.opened = Some(Opened { plain, stale: stale || self.tried > 1 });
            }
            Err(error) => self.errors.push(error),
        }
    }

    /// Counts what a key did; `None` stands for no key at all.
    fn tried_key(&self, part: &Part, key: Option<usize>, how: Result<(), &Error>) {
        match (key.and_then(|key| part.keys.get(key)), how) {
            (Some(cell), how) => {
                self.of.figures.ended(cell, Direction::FromStorage, self.began.elapsed(), how);
            }
            (None, Err(error)) => self.of.figures.unknown(&part.cell, error),
            (None, Ok(())) => {}
        }
    }

    fn failure(&mut self) -> Error {
        let errors = std::mem::take(&mut self.errors);
        if errors.is_empty() {
            let error = Error::new("no matching prefix found");
            if let Some(part) = self.of.parts.first() {
                self.of.figures.unknown(&part.cell, &error);
            }
            return error;
        }
        Error::all(errors)
    }
}
