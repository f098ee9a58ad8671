//! The providers of a rule: the first one writes, all of them read.

mod keys;
mod opening;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::Bytes;
use tokio::time::Instant;

use crate::figures::{Cell, Direction, Figures};
use crate::{Error, KmsProvider, Opened, Random};
use opening::{Opening, Step};

pub(crate) use keys::{Algorithm, Keys};

/// What begins every value that is encrypted.
const ENCRYPTED: &[u8] = b"k8s:enc:";

/// A provider, and what begins the values that it has sealed.
pub(crate) struct Member {
    prefix: String,
    work: Work,
}

enum Work {
    Identity,
    Keys(Keys),
    Kms(Arc<dyn KmsProvider>),
}

impl Member {
    /// Who leaves values as they are, and reads none that are encrypted.
    pub(crate) fn identity() -> Self {
        Member { prefix: String::new(), work: Work::Identity }
    }

    /// Who has keys in this process.
    pub(crate) fn keys(keys: Keys) -> Self {
        Member { prefix: keys.prefix().to_owned(), work: Work::Keys(keys) }
    }

    /// A plugin.
    pub(crate) fn kms(prefix: String, provider: Arc<dyn KmsProvider>) -> Self {
        Member { prefix, work: Work::Kms(provider) }
    }
}

/// The providers of a resource, and where what they do for it is counted.
#[derive(Clone)]
pub struct Protection(Arc<Inner>);

struct Inner {
    parts: Vec<Part>,
    figures: Arc<Figures>,
    random: Random,
}

struct Part {
    member: Arc<Member>,
    cell: Arc<Cell>,
    /// One for each key.
    keys: Vec<Arc<Cell>>,
}

impl Protection {
    /// Puts providers to work for a resource, which metrics call by this name (`deployments.apps`).
    pub(crate) fn new(
        resource: String,
        members: &[Arc<Member>],
        figures: &Arc<Figures>,
        random: &Random,
    ) -> Self {
        let part = |member: &Arc<Member>| {
            let keys = match &member.work {
                Work::Keys(keys) => keys.names().map(|name| figures.cell(&resource, name)).collect(),
                Work::Identity | Work::Kms(_) => Vec::new(),
            };
            Part { member: Arc::clone(member), cell: figures.cell(&resource, &member.prefix), keys }
        };
        let parts = members.iter().map(part).collect();
        let (figures, random) = (Arc::clone(figures), Arc::clone(random));
        Protection(Arc::new(Inner { parts, figures, random }))
    }

    /// Opens a value without waiting; `None` if a plugin has to be asked, which [`open`](Self::open) does. `context` is
    /// the value's key in the store.
    ///
    /// Every provider whose prefix the value has is tried, for keys of one name may stand in several. What the first
    /// provider's first key did not write is stale.
    pub fn open_now(&self, stored: &Bytes, context: &[u8]) -> Option<Result<Opened, Error>> {
        let mut opening = Opening::new(&self.0, stored, context);
        loop {
            match opening.step() {
                Step::Done(done) => return Some(done),
                Step::Ask(provider, sealed) => {
                    let answer = provider.open_now(sealed, context)?;
                    opening.answered(answer);
                }
            }
        }
    }

    /// Opens a value, and asks plugins if it has to.
    ///
    /// # Errors
    /// Nobody could open it: what those said whose prefix it has, or that there are none.
    pub async fn open(&self, stored: &Bytes, context: &[u8]) -> Result<Opened, Error> {
        let mut opening = Opening::new(&self.0, stored, context);
        loop {
            match opening.step() {
                Step::Done(done) => return done,
                Step::Ask(provider, sealed) => {
                    let answer = provider.open(sealed, context).await;
                    opening.answered(answer);
                }
            }
        }
    }

    /// Seals a value under the first provider and its first key.
    ///
    /// # Errors
    /// The provider's.
    pub async fn seal(&self, plain: Bytes, context: &[u8]) -> Result<Bytes, Error> {
        let Some(part) = self.0.parts.first() else { return Ok(plain) };
        let (began, prefix) = (Instant::now(), part.member.prefix.as_bytes());
        let sealed = match &part.member.work {
            Work::Identity => Ok(plain),
            Work::Keys(keys) => {
                let sealed = keys.seal(&plain, context, &*self.0.random);
                if let Some(cell) = part.keys.first() {
                    self.ended(cell, began, &sealed);
                }
                sealed
            }
            Work::Kms(provider) => provider.seal(&plain, context).await.map(|sealed| {
                let mut whole = Vec::with_capacity(prefix.len() + sealed.len());
                whole.extend_from_slice(prefix);
                whole.extend_from_slice(&sealed);
                whole.into()
            }),
        };
        self.ended(&part.cell, began, &sealed);
        sealed
    }

    fn ended(&self, cell: &Cell, began: Instant, sealed: &Result<Bytes, Error>) {
        let how = sealed.as_ref().map(drop);
        self.0.figures.ended(cell, Direction::ToStorage, began.elapsed(), how);
    }
}

/// Whether a value is encrypted, by whomever.
pub fn is_encrypted(stored: &[u8]) -> bool {
    stored.starts_with(ENCRYPTED)
}

/// What upstream says of an encrypted value of a resource for which there is no rule.
pub const NOT_EXPECTED: &str = "identity transformer tried to read encrypted data";
