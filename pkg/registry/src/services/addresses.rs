//! Service addresses, each allocated by creating the IPAddress object of its name (KEP-1880; upstream's
//! `ipallocator.go` and `cidrallocator.go`). The creator owns the address, even with several servers.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use api::options::Preconditions;
use api::tree;
use apimachinery::status::Reason;
use jsontree::{Value, json};
use schema::object::Object;
use tokio::time::{Instant, timeout};

use super::address_bitmap::AddressBitmap;
use super::address_error::AddressError;
use super::metrics::{AllocatorMetrics, Scope};
use super::range::{AddressRange, Family, parse_address};
use crate::client::LookupError;
use crate::client::{Client, ReadFreshness};
use crate::generic::{Entropy, Registry, Result};
use crate::informer::{Informer, InformerTask, ObjectChange, Projection};
use crate::meta;

/// Manager of the IPAddress objects for services.
pub(super) const MANAGED_BY: &str = "ipallocator.k8s.io";
/// Label with the manager.
pub(super) const MANAGED_BY_LABEL: &str = "ipaddress.kubernetes.io/managed-by";
pub(super) const FAMILY_LABEL: &str = "ipaddress.kubernetes.io/ip-family";

/// Number of candidates to check before yielding the thread.
const CANDIDATES_AT_ONCE: usize = 1024;

/// Maximum number of addresses to reserve in a bitmap for one allocation. More than one is only necessary if another
/// server allocates the same address.
const RESERVATIONS_MAX: usize = 16;

/// Maximum wait for the ranges, which are known soon after startup or not at all.
const RANGES_TIMEOUT: Duration = Duration::from_secs(5);

/// Range, with its readiness for allocations.
#[derive(Clone)]
pub(super) struct RangeState {
    pub(super) range: AddressRange,
    ready: bool,
}

/// Address ranges of all ServiceCIDR objects, ready for allocations or not.
#[derive(Clone, Default)]
pub struct Ranges(BTreeMap<Box<str>, Vec<RangeState>>);

impl Projection for Ranges {
    fn apply(&mut self, change: &ObjectChange) {
        match change.object() {
            Some(object) => self.insert(object),
            None => _ = self.0.remove(change.name()),
        }
    }
}

impl Ranges {
    fn insert(&mut self, object: &Object) {
        self.0.insert(meta::text(object, "name").into(), ranges_of(object));
    }

    /// Returns all ranges. A range in several objects counts once, and is ready if one of the objects is.
    fn distinct(&self) -> Vec<RangeState> {
        let mut ranges: Vec<RangeState> = Vec::new();
        for range in self.0.values().flatten() {
            match ranges.iter_mut().find(|range_state| range_state.range.text == range.range.text) {
                Some(range_state) => range_state.ready |= range.ready,
                None => ranges.push(range.clone()),
            }
        }
        ranges
    }

    /// True if an object of this name exists.
    #[cfg(test)]
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}

fn ranges_of(object: &Object) -> Vec<RangeState> {
    let ready = is_ready(object) && !meta::is_deleting(object);
    let texts = tree::child(object, "spec").into_iter().flat_map(|spec| tree::texts(spec, "cidrs"));
    texts.filter_map(AddressRange::parse).map(|range| RangeState { range, ready }).collect()
}

/// Address allocator of a cluster's services.
pub(super) struct Addresses {
    addresses: Client,
    cidrs: Client,
    ranges: Informer<Ranges>,
    /// Bitmaps that older servers allocate from, at most one per family; none unless the gate requires them.
    bitmaps: Vec<AddressBitmap>,
    entropy: Arc<dyn Entropy>,
    metrics: Arc<AllocatorMetrics>,
}

impl Addresses {
    /// Creates the allocator, and the task that keeps its ranges up to date.
    ///
    /// # Errors
    /// The name of a resource that is not built in.
    pub(super) fn new(
        registry: &Registry,
        bitmaps: Vec<AddressBitmap>,
        entropy: Arc<dyn Entropy>,
        metrics: Arc<AllocatorMetrics>,
    ) -> std::result::Result<(Self, InformerTask<Ranges>), LookupError> {
        let client = |plural| Client::find(registry, "networking.k8s.io", plural);
        let addresses = client("ipaddresses")?;
        let cidrs = client("servicecidrs")?;
        let (ranges, following) = Informer::new(registry, "ranges of services", vec![cidrs.row().into()]);
        Ok((Addresses { addresses, cidrs, ranges, bitmaps, entropy, metrics }, following))
    }

    /// Returns all IPAddress objects from the store.
    pub(super) async fn all(&self) -> Result<Vec<Object>> {
        self.addresses.list("", ReadFreshness::Latest).await
    }

    /// Returns one IPAddress object from the cache; `None` if it does not exist.
    pub(super) async fn cached(&self, name: &str) -> Result<Option<Object>> {
        self.addresses.get("", name, ReadFreshness::Cached).await
    }

    /// Returns the ranges of the informer; none after a timeout.
    async fn informer_ranges(&self) -> Vec<RangeState> {
        _ = timeout(RANGES_TIMEOUT, self.ranges.ready()).await;
        self.ranges.read(Ranges::distinct)
    }

    /// Returns the ranges from the store.
    pub(super) async fn ranges(&self) -> Result<Vec<RangeState>> {
        let mut ranges = Ranges::default();
        self.cidrs.list("", ReadFreshness::Latest).await?.iter().for_each(|object| ranges.insert(object));
        Ok(ranges.distinct())
    }

    /// Waits until a condition on the ranges holds.
    #[cfg(test)]
    pub(super) async fn wait_for_ranges(&self, holds: impl Fn(&Ranges) -> bool) {
        self.ranges.wait_for(holds).await;
    }

    /// Allocates an address for a service: `wanted`, or any of the family. As in upstream, a dry run
    /// allocates none, checks less than a real allocation, and returns the network address if any address
    /// would do.
    ///
    /// A range in the store is always considered, even if it was just created, or by another server. If the family has
    /// a bitmap, the address is reserved in it first.
    pub(super) async fn allocate(
        &self,
        service: &Object,
        family: Family,
        requested: Option<IpAddr>,
        dry_run: bool,
    ) -> std::result::Result<IpAddr, AddressError> {
        match self.bitmaps.iter().find(|bitmap| bitmap.family() == family && !dry_run) {
            Some(bitmap) => self.allocate_reserved(service, bitmap, requested).await,
            None => self.allocate_object(service, family, requested, dry_run).await,
        }
    }

    /// Reserves an address in a bitmap and allocates it. If no reservation succeeds, allocates any address of the family
    /// without a reservation.
    async fn allocate_reserved(
        &self,
        service: &Object,
        bitmap: &AddressBitmap,
        requested: Option<IpAddr>,
    ) -> std::result::Result<IpAddr, AddressError> {
        let family = bitmap.family();
        if let Some(address) = requested {
            bitmap.reserve(address).await?;
            let allocated = self.allocate_object(service, family, requested, false).await;
            // An address that a server without bitmaps allocated stays reserved.
            if allocated.as_ref().is_err_and(|error| !matches!(error, AddressError::Allocated)) {
                bitmap.release(address).await;
            }
            return allocated;
        }
        let is_taken = |address: IpAddr| self.addresses.is_cached("", &address.to_string());
        for _ in 0..RESERVATIONS_MAX {
            let Ok(address) = bitmap.reserve_any(is_taken).await else { break };
            match self.allocate_object(service, family, Some(address), false).await {
                // A server without bitmaps allocated the address. It stays reserved.
                Err(AddressError::Allocated) => {}
                Err(error) => {
                    bitmap.release(address).await;
                    return Err(error);
                }
                allocated => return allocated,
            }
        }
        self.allocate_object(service, family, None, false).await
    }

    /// Allocates an address by creating its object.
    async fn allocate_object(
        &self,
        service: &Object,
        family: Family,
        requested: Option<IpAddr>,
        dry_run: bool,
    ) -> std::result::Result<IpAddr, AddressError> {
        let mut ranges = self.informer_ranges().await;
        ranges.retain(|state| state.range.family == family);
        let missing = match self.allocate_in_ranges(service, &ranges, requested, dry_run).await {
            Err(error @ (AddressError::NoRange | AddressError::NotReady | AddressError::Full)) => error,
            outcome => return outcome,
        };
        let mut remaining = self.ranges().await?;
        let was_tried = |range: &RangeState| {
            ranges.iter().any(|range_state| range_state.ready && range_state.range.text == range.range.text)
        };
        remaining.retain(|range| range.range.family == family && range.ready && !was_tried(range));
        if remaining.is_empty() {
            Err(missing)
        } else {
            self.allocate_in_ranges(service, &remaining, requested, dry_run).await
        }
    }

    /// Allocates an address from one of these ranges.
    async fn allocate_in_ranges(
        &self,
        service: &Object,
        ranges: &[RangeState],
        requested: Option<IpAddr>,
        dry_run: bool,
    ) -> std::result::Result<IpAddr, AddressError> {
        match requested {
            _ if dry_run => dry_run_address(ranges, requested),
            Some(address) => {
                let range = ranges
                    .iter()
                    .find(|range_state| range_state.ready && range_state.range.is_usable(address));
                let Some(RangeState { range, .. }) = range else { return Err(AddressError::NoRange) };
                let start = Instant::now();
                let created = self.create(service, address).await;
                self.metrics.address(range, Scope::Static, created.is_ok(), start.elapsed());
                created.map(|_| address)
            }
            None => self.allocate_any(service, ranges).await,
        }
    }

    async fn allocate_any(
        &self,
        service: &Object,
        ranges: &[RangeState],
    ) -> std::result::Result<IpAddr, AddressError> {
        for RangeState { range, .. } in ranges.iter().filter(|state| state.ready) {
            let start = Instant::now();
            let result = self.allocate_in_range(service, range).await;
            self.metrics.address(range, Scope::Dynamic, result.is_ok(), start.elapsed());
            match result {
                Err(AddressError::Full) => {}
                result => return result,
            }
        }
        Err(AddressError::Full)
    }

    /// Allocates any address of a range.
    async fn allocate_in_range(
        &self,
        service: &Object,
        range: &AddressRange,
    ) -> std::result::Result<IpAddr, AddressError> {
        let random = || (u64::from(self.entropy.number()) << 32) | u64::from(self.entropy.number());
        let candidates = range.candidates([random(), random()]);
        for (count, address) in candidates.enumerate() {
            if count % CANDIDATES_AT_ONCE == CANDIDATES_AT_ONCE - 1 {
                tokio::task::yield_now().await;
            }
            if self.addresses.is_cached("", &address.to_string()) {
                continue;
            }
            match self.create(service, address).await {
                Ok(_) => return Ok(address),
                Err(AddressError::Allocated) => {}
                Err(other) => return Err(other),
            }
        }
        Err(AddressError::Full)
    }

    /// Returns the current ranges and all allocated addresses, from the cache.
    pub(super) fn snapshot(&self) -> (Vec<AddressRange>, Vec<IpAddr>) {
        let ranges = self.ranges.read(Ranges::distinct).into_iter().map(|state| state.range).collect();
        let mut allocated = Vec::new();
        self.addresses.visit_cached_names(|name| allocated.extend(parse_address(name)));
        (ranges, allocated)
    }

    /// Creates and returns the IPAddress object for an address of a service.
    pub(super) async fn create(
        &self,
        service: &Object,
        address: IpAddr,
    ) -> std::result::Result<Object, AddressError> {
        let name = address.to_string();
        let created = self.addresses.create(ip_address_object(service, &name, Family::of(address))).await;
        created.map_err(|status| match status.reason {
            Reason::AlreadyExists => AddressError::Allocated,
            _ => status.into(),
        })
    }

    /// Releases an address. After a failure a repair releases it.
    pub(super) async fn release(&self, address: &str) {
        let Some(address) = parse_address(address) else { return };
        let name = address.to_string();
        for bitmap in &self.bitmaps {
            bitmap.release(address).await;
        }
        if let Err(status) = self.addresses.delete("", &name, Preconditions::default()).await {
            tracing::warn!(name, error = %status.message, "cannot release an address");
        }
    }

    /// Deletes an IPAddress object, unless it has changed. Returns false if the address has another object now.
    ///
    /// # Errors
    /// The Status of a failed deletion.
    pub(super) async fn delete_unchanged(&self, object: &Object) -> Result<bool> {
        match self.addresses.delete_exact(object).await {
            Ok(_) => Ok(true),
            Err(status) if status.reason == Reason::Conflict => Ok(false),
            Err(status) => Err(status),
        }
    }
}

/// Result of a dry run: uses only the first range.
fn dry_run_address(
    ranges: &[RangeState],
    requested: Option<IpAddr>,
) -> std::result::Result<IpAddr, AddressError> {
    let Some(RangeState { range, .. }) = ranges.first().filter(|state| state.ready) else {
        return Err(AddressError::NotReady);
    };
    match requested {
        None => Ok(range.network()),
        Some(address) if range.is_usable(address) => Ok(address),
        Some(address) => Err(AddressError::NotInRange { address, range: range.text.clone() }),
    }
}

/// Ranges are ready unless their controller has marked them as not ready.
fn is_ready(range: &Object) -> bool {
    let status = tree::child(range, "status");
    let mut conditions = status.into_iter().flat_map(|status| tree::children(status, "conditions"));
    let ready = conditions.find(|condition| tree::text(condition, "type") == "Ready");
    ready.is_none_or(|ready| tree::text(ready, "status") == "True")
}

/// Returns the IPAddress object for an address of a service.
fn ip_address_object(service: &Object, name: &str, family: Family) -> Object {
    let object = json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "IPAddress",
        "metadata": {"name": name, "labels": {FAMILY_LABEL: family.name(), MANAGED_BY_LABEL: MANAGED_BY}},
        "spec": {"parentRef": {
            "resource": "services",
            "namespace": meta::text(service, "namespace"),
            "name": meta::text(service, "name"),
        }},
    });
    match object {
        Value::Object(object) => object,
        _ => Object::new(),
    }
}
