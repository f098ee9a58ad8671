//! What objects take from pools that they share, for example addresses: taken before the object is
//! written, given back if it is not.

use async_trait::async_trait;
use schema::object::Object;

use super::{Registry, Result};

/// A kind's pools.
#[async_trait]
pub trait Allocator: Send + Sync {
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

/// What was taken for a write whose end is open. Exactly one of the two is called.
#[async_trait]
pub trait Claim: Send {
    /// The object was written: gives back what it does not hold any more.
    async fn commit(self: Box<Self>);

    /// It was not: gives back what was taken for it.
    async fn revert(self: Box<Self>);
}

/// The end of an optional claim.
pub(super) async fn settle(claim: Option<Box<dyn Claim>>, written: bool) {
    match claim {
        Some(claim) if written => claim.commit().await,
        Some(claim) => claim.revert().await,
        None => {}
    }
}

impl Registry {
    /// The pools of a stored resource, named by its storage prefix.
    pub(super) fn allocator(&self, prefix: &str) -> Option<&dyn Allocator> {
        self.allocators.get(prefix).map(|allocator| &**allocator)
    }
}
