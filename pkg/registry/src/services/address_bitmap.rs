//! Bitmap of allocated addresses beside the IPAddress objects, for older servers of the same cluster that allocate from
//! it (gate `DisableAllocatorDualWrite` off; upstream's `ipallocator/bitmap.go`).

use std::net::IpAddr;
use std::sync::Arc;

use apimachinery::gvk::GroupResource;
use apimachinery::status::Status;
use storage::{KeyQueues, KeyValue, Storage, Update};

use super::address_error::AddressError;
use super::bitmap::Bitmap;
use super::error::AllocationError;
use super::port_store::Allocation;
use super::range::{AddressRange, Family};
use crate::generic::{Entropy, error as storage_error};

const RESOURCE: &str = "serviceipallocations";
/// Keys below the prefix of the store, for the primary and the secondary family.
const KEYS: [&str; 2] = ["ranges/serviceips", "ranges/secondaryserviceips"];

/// Maximum number of positions that one update tries.
const CANDIDATES_MAX: usize = 1024;

/// Error of an update of a bitmap.
#[derive(Debug, thiserror::Error)]
enum BitmapError {
    #[error(transparent)]
    Storage(#[from] storage::Error),
    #[error(transparent)]
    Address(AddressError),
}

impl From<BitmapError> for AddressError {
    fn from(error: BitmapError) -> Self {
        match error {
            BitmapError::Address(error) => error,
            BitmapError::Storage(error) => {
                let resource = GroupResource::new("", RESOURCE);
                AddressError::Failed(storage_error::storage(&resource, "update", error))
            }
        }
    }
}

/// Stored bitmap of one address range.
pub(super) struct AddressBitmap {
    storage: Arc<dyn Storage>,
    write_queues: KeyQueues,
    key: String,
    range: AddressRange,
    entropy: Arc<dyn Entropy>,
}

impl AddressBitmap {
    /// Returns the bitmaps of the ranges of `--service-cluster-ip-range`.
    pub(super) fn of_ranges(
        ranges: &[String],
        storage: &Arc<dyn Storage>,
        prefix: &str,
        entropy: &Arc<dyn Entropy>,
    ) -> Vec<Self> {
        let bitmap = |(name, range): (&&str, &String)| {
            Some(AddressBitmap {
                storage: Arc::clone(storage),
                write_queues: KeyQueues::default(),
                key: format!("/{}/{name}", prefix.trim_matches('/')),
                range: AddressRange::parse(range)?,
                entropy: Arc::clone(entropy),
            })
        };
        KEYS.iter().zip(ranges).filter_map(bitmap).collect()
    }

    pub(super) fn family(&self) -> Family {
        self.range.family
    }

    /// Reserves an address. Does nothing for an address that the bitmap does not cover.
    ///
    /// # Errors
    /// The address is reserved, or the bitmap cannot be written.
    pub(super) async fn reserve(&self, address: IpAddr) -> Result<(), AddressError> {
        let Some(position) = self.range.position(address) else { return Ok(()) };
        self.update(|bitmap| bitmap.insert(position).then_some(()).ok_or(AddressError::Allocated)).await
    }

    /// Reserves a free address. Taken addresses that the search meets are reserved too, because the bitmap lacks them.
    ///
    /// # Errors
    /// None was found, or the bitmap cannot be written.
    pub(super) async fn reserve_any(
        &self,
        is_taken: impl Fn(IpAddr) -> bool + Send + Sync,
    ) -> Result<IpAddr, AddressError> {
        let mut chosen = None;
        self.update(|bitmap| {
            let random = || self.entropy.number();
            let candidates = std::iter::from_fn(|| {
                let position = bitmap.free(self.range.positions(), self.range.static_band(), random)?;
                bitmap.insert(position);
                self.range.at(position)
            });
            chosen = candidates.take(CANDIDATES_MAX).find(|address| !is_taken(*address));
            Ok(())
        })
        .await?;
        chosen.ok_or(AddressError::Full)
    }

    /// Releases an address. A failure leaves it reserved.
    pub(super) async fn release(&self, address: IpAddr) {
        let Some(position) = self.range.position(address) else { return };
        let released = self.update(|bitmap| {
            bitmap.remove(position);
            Ok(())
        });
        if let Err(error) = released.await {
            tracing::warn!(%address, %error, "cannot release an address in the bitmap");
        }
    }

    /// Applies a change to the stored bitmap, and creates the bitmap if it is missing.
    async fn update(
        &self,
        mut change: impl FnMut(&mut Bitmap) -> Result<(), AddressError> + Send,
    ) -> Result<(), AddressError> {
        let corrupt = |error: &AllocationError| {
            BitmapError::Address(AddressError::Failed(storage_error::corrupt(&self.key, &error.to_string())))
        };
        let updated = self.write_queues.guaranteed_update(
            &*self.storage,
            &self.key,
            None,
            |current: Option<&KeyValue>| {
                let mut stored = match current {
                    Some(kv) => Allocation::decode(&kv.value).map_err(|error| corrupt(&error))?,
                    None => Allocation::new(self.range.text.clone(), Bitmap::default()),
                };
                if stored.range != self.range.text {
                    let text = "the provided range does not match the current range";
                    return Err(BitmapError::Address(AddressError::Failed(
                        Status::internal_error(text).into(),
                    )));
                }
                change(&mut stored.allocated).map_err(BitmapError::Address)?;
                let value = stored.encode().map_err(|error| corrupt(&error))?;
                Ok::<_, BitmapError>(Update::Write(value, None))
            },
        );
        updated.await.map(drop).map_err(AddressError::from)
    }
}
