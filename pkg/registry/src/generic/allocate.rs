//! Allocation from shared pools, for example addresses: before an object is written, with rollback if the
//! write fails.

use apimachinery::status::Reason;
use async_trait::async_trait;
use schema::object::Object;

use super::{Registry, Result};

/// Allocator of values that only one object may use, such as the addresses and node ports of Services.
#[async_trait]
pub trait Allocator: Send + Sync {
    /// Fills in fields from the pools in a stored object before a write, and fields that were unknown when
    /// the object was written.
    fn default_on_read(&self, _object: &mut Object) {}

    /// Allocates the values that `new` needs and writes them into it, before its strategy prepares and
    /// validates it. `old` is `None` for a create. With `dry_run` everything is checked and nothing is
    /// allocated.
    ///
    /// # Errors
    /// A Status for an allocation that fails; then nothing stays allocated.
    async fn allocate(
        &self,
        new: &mut Object,
        old: Option<&Object>,
        dry_run: bool,
    ) -> Result<Option<Box<dyn Claim>>>;

    /// Releases the allocations of a removed object.
    async fn release(&self, object: &Object, dry_run: bool);
}

/// Allocations of a pending write. One of the two methods is called when the result is known. If the store
/// did not respond, neither is called: allocations that may be in use are never released, and repair
/// controllers find the leaks.
#[async_trait]
pub trait Claim: Send {
    /// The object was written: releases the allocations that it no longer uses.
    async fn commit(self: Box<Self>);

    /// The write failed: releases the new allocations.
    async fn revert(self: Box<Self>);
}

/// Result of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteResult {
    Written,
    NotWritten,
    /// The store did not respond.
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

/// Completes an optional claim.
pub(super) async fn finish_claim(claim: Option<Box<dyn Claim>>, ending: WriteResult) {
    match (claim, ending) {
        (Some(claim), WriteResult::Written) => claim.commit().await,
        (Some(claim), WriteResult::NotWritten) => claim.revert().await,
        (Some(_), WriteResult::Unknown) | (None, _) => {}
    }
}

impl Registry {
    /// Returns the allocator of a stored resource, by storage prefix.
    pub(super) fn allocator(&self, prefix: &str) -> Option<&dyn Allocator> {
        self.allocators.get(prefix).map(|allocator| &**allocator)
    }
}
