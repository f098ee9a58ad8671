//! What objects take from pools that they share, for example addresses: taken before the object is
//! written, given back if it is not.

use apimachinery::status::Reason;
use async_trait::async_trait;
use schema::object::Object;

use super::{Registry, Result};

/// A kind's pools.
#[async_trait]
pub trait Allocator: Send + Sync {
    /// Fills in what follows from the pools in a stored object that is about to be changed, and what it may
    /// lack because it was written before there was such a thing.
    fn default_on_read(&self, _object: &mut Object) {}

    /// Takes what `new` needs and writes it into it, before its strategy prepares and validates it. `old` is
    /// `None` when the object is created. With `dry_run` everything is checked and nothing is taken.
    ///
    /// # Errors
    /// A Status for what cannot be had; then nothing stays taken.
    async fn allocate(
        &self,
        new: &mut Object,
        old: Option<&Object>,
        dry_run: bool,
    ) -> Result<Option<Box<dyn Claim>>>;

    /// Gives back what an object held that is gone.
    async fn release(&self, object: &Object, dry_run: bool);
}

/// What was taken for a write whose end is open. One of the two is called when the end is known. Where it is
/// not, because the store did not answer, neither is: what may be held is never given back, and what is
/// left over is for those who repair the pools.
#[async_trait]
pub trait Claim: Send {
    /// The object was written: gives back what it does not hold any more.
    async fn commit(self: Box<Self>);

    /// It was not: gives back what was taken for it.
    async fn revert(self: Box<Self>);
}

/// How a write ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteResult {
    Written,
    NotWritten,
    /// The store did not answer.
    Unknown,
}

impl WriteResult {
    pub(super) fn of<T>(result: &Result<T>) -> Self {
        match result {
            Ok(_) => WriteResult::Written,
            Err(status) if status.reason == Reason::ServerTimeout => WriteResult::Unknown,
            Err(_) => WriteResult::NotWritten,
        }
    }
}

/// The end of an optional claim.
pub(super) async fn settle(claim: Option<Box<dyn Claim>>, ending: WriteResult) {
    match (claim, ending) {
        (Some(claim), WriteResult::Written) => claim.commit().await,
        (Some(claim), WriteResult::NotWritten) => claim.revert().await,
        (Some(_), WriteResult::Unknown) | (None, _) => {}
    }
}

impl Registry {
    /// The pools of a stored resource, named by its storage prefix.
    pub(super) fn allocator(&self, prefix: &str) -> Option<&dyn Allocator> {
        self.allocators.get(prefix).map(|allocator| &**allocator)
    }
}
