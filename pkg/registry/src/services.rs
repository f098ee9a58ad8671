//! Allocation of addresses and node ports for Services, and their IP families. After upstream's
//! `pkg/registry/core/service`.
//!
//! An address is allocated by creating its IPAddress object, a node port by setting its bit in one
//! RangeAllocation object. Both happen before the service is written, and are rolled back if the write fails.
//! [Repairs](Services::repair_ports) find leaks after a crash in between. Pure functions compute the fields
//! of a service; only allocation accesses the store.

mod address_bitmap;
mod address_error;
mod address_plan;
mod addresses;
mod bitmap;
mod error;
mod families;
mod metrics;
mod port_store;
mod ports;
mod range;
mod repair;

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::sync::Arc;

use api::options::Preconditions;
use api::tree;
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::gvk::GroupKind;
use apimachinery::status::Status;
use async_trait::async_trait;
use component_base::metrics::MetricsRegistry;
use kinds::validation::Spelling;
use schema::object::Object;
use storage::Storage;

use self::address_bitmap::AddressBitmap;
use self::address_error::AddressError;
use self::addresses::Addresses;
use self::bitmap::PortRange;
use self::metrics::AllocatorMetrics;
use self::port_store::PortStore;
use crate::client::LookupError;
use crate::generic::{Allocator, Claim, Entropy, Registry, Result};
use crate::informer::InformerTask;
use crate::{Client, meta};
use kinds::strategy::service_fields as fields;

pub use addresses::Ranges;
pub use error::{AllocationError, RepairError};
pub use families::Families;
pub use range::Family;
pub use repair::Leaks;

/// Storage prefix of services, for [`Registry::with_allocators`].
pub const STORAGE_PREFIX: &str = "services/specs";

/// Options of service allocation.
pub struct Options {
    /// IP families of the cluster.
    pub families: Families,
    /// Range of node ports (`--service-node-port-range`).
    pub node_ports: RangeInclusive<u16>,
    /// Address ranges, primary family first, whose allocations are also written to bitmaps for older servers.
    pub bitmap_ranges: Vec<String>,
    /// Storage of the node port allocation and of the bitmaps.
    pub storage: Arc<dyn Storage>,
    /// Key prefix, for example `/registry`.
    pub prefix: String,
    /// Randomness for the choice of free ports and addresses.
    pub entropy: Arc<dyn Entropy>,
}

/// Allocator of services.
pub struct Services {
    pools: Arc<Pools>,
    services: Client,
    endpoints: Client,
    families: Families,
    spelling: Spelling,
    metrics: Arc<AllocatorMetrics>,
}

struct Pools {
    addresses: Addresses,
    ports: PortStore,
}

impl Services {
    /// Creates the allocators over a registry, which itself needs none, and the task that keeps the address
    /// ranges up to date.
    ///
    /// # Errors
    /// The name of a resource that is not built in.
    pub fn new(
        registry: Registry,
        options: Options,
        metrics: &MetricsRegistry,
    ) -> std::result::Result<(Self, InformerTask<Ranges>), LookupError> {
        let Options { families, node_ports, bitmap_ranges, storage, prefix, entropy } = options;
        let counts = Arc::new(AllocatorMetrics::new(metrics));
        let bitmaps = AddressBitmap::of_ranges(&bitmap_ranges, &storage, &prefix, &entropy);
        let (addresses, following) =
            Addresses::new(&registry, bitmaps, Arc::clone(&entropy), Arc::clone(&counts))?;
        let range = PortRange::new(&node_ports);
        let ports = PortStore::new(storage, &prefix, range, entropy, Arc::clone(&counts));
        let spelling = Spelling::of(registry.gates());
        let client = |plural| Client::find(&registry, "", plural);
        let services = client("services")?;
        let endpoints = client("endpoints")?;
        let pools = Arc::new(Pools { addresses, ports });
        let read = Arc::clone(&pools);
        counts.register_free(metrics, pools.ports.range().size(), move || read.addresses.snapshot());
        Ok((Services { pools, services, endpoints, families, spelling, metrics: counts }, following))
    }

    /// Deletes the endpoints of a removed service, so that a new service of the same name does not inherit
    /// them.
    async fn delete_endpoints(&self, service: &Object) {
        let namespace = meta::text(service, "namespace");
        let name = meta::text(service, "name");
        if let Err(status) = self.endpoints.delete(namespace, name, Preconditions::default()).await {
            let message = status.message;
            tracing::warn!(
                namespace,
                name,
                error = message,
                "cannot delete the endpoints of a removed service"
            );
        }
    }
}

#[async_trait]
impl Allocator for Services {
    fn default_on_read(&self, service: &mut Object) {
        families::default_on_read(service, self.families);
    }

    async fn allocate(
        &self,
        new: &mut Object,
        old: Option<&Object>,
        dry_run: bool,
    ) -> Result<Option<Box<dyn Claim>>> {
        fields::complete(new, old);
        let filled_in = families::fill_in(new, old, self.families, self.spelling);
        filled_in.map_err(|errors| invalid(meta::text(new, "name"), &errors))?;
        let mut claim = self.pools.take_addresses(new, old, dry_run).await?;
        match self.pools.take_ports(new, old, dry_run).await {
            Ok((allocated, released)) => {
                (claim.allocated.ports, claim.released.ports) = (allocated, released)
            }
            Err(status) => {
                self.pools.release(&claim.allocated).await;
                return Err(status);
            }
        }
        let no_effect = dry_run || (claim.allocated.is_empty() && claim.released.is_empty());
        Ok((!no_effect).then(|| Box::new(claim) as _))
    }

    async fn release(&self, object: &Object, dry_run: bool) {
        if dry_run {
            return;
        }
        self.delete_endpoints(object).await;
        let Some(spec) = tree::child(object, "spec") else { return };
        let allocations =
            Allocations { addresses: address_plan::cluster_ips(spec), ports: ports::allocated_ports(spec) };
        self.pools.release(&allocations).await;
    }
}

/// Allocations of a service.
#[derive(Debug, Default, PartialEq, Eq)]
struct Allocations {
    addresses: Vec<String>,
    ports: Vec<i64>,
}

impl Allocations {
    fn is_empty(&self) -> bool {
        self.addresses.is_empty() && self.ports.is_empty()
    }
}

/// Allocations and releases of one write.
struct PendingAllocations {
    pools: Arc<Pools>,
    allocated: Allocations,
    released: Allocations,
}

#[async_trait]
impl Claim for PendingAllocations {
    async fn commit(self: Box<Self>) {
        self.pools.release(&self.released).await;
    }

    async fn revert(self: Box<Self>) {
        self.pools.release(&self.allocated).await;
    }
}

impl Pools {
    async fn release(&self, allocations: &Allocations) {
        for address in &allocations.addresses {
            self.addresses.release(address).await;
        }
        self.ports.release(&allocations.ports).await;
    }

    /// Allocates the addresses that a service needs in addition to those of `old`: all of them or none.
    async fn take_addresses(
        self: &Arc<Self>,
        service: &mut Object,
        old: Option<&Object>,
        dry_run: bool,
    ) -> Result<PendingAllocations> {
        let mut claim = PendingAllocations {
            pools: Arc::clone(self),
            allocated: Allocations::default(),
            released: Allocations::default(),
        };
        let old = old.and_then(|old| tree::child(old, "spec"));
        let Some(spec) = tree::child_mut(service, "spec") else { return Ok(claim) };
        let plan = address_plan::plan(spec, old);
        claim.released.addresses = plan.to_release;
        let mut addresses = Vec::new();
        for (index, family, requested) in plan.to_allocate {
            match self.take_address(service, family, &requested, dry_run).await {
                Ok(address) => {
                    if !dry_run {
                        claim.allocated.addresses.push(address.to_string());
                    }
                    let text = if requested.is_empty() { address.to_string() } else { requested };
                    addresses.push((index, text));
                }
                Err(status) => {
                    self.release(&claim.allocated).await;
                    return Err(status);
                }
            }
        }
        if let Some(spec) = tree::child_mut(service, "spec") {
            addresses.iter().for_each(|(index, address)| address_plan::set_cluster_ip(spec, *index, address));
        }
        Ok(claim)
    }

    async fn take_address(
        &self,
        service: &Object,
        family: Family,
        requested: &str,
        dry_run: bool,
    ) -> Result<IpAddr> {
        let name = meta::text(service, "name");
        let address = match requested {
            "" => None,
            text => {
                let unreadable = || Status::internal_error(format!("failed to parse service IP {text:?}"));
                Some(range::parse_address(text).ok_or_else(unreadable)?)
            }
        };
        let error = match self.addresses.allocate(service, family, address, dry_run).await {
            Ok(address) => return Ok(address),
            Err(AddressError::Failed(status)) => return Err(status),
            Err(error) => error,
        };
        let text = error.to_string();
        if matches!(error, AddressError::Full) && address.is_none() {
            let text = format!("failed to allocate a serviceIP for Service {name:?}: {text}");
            return Err(Status::internal_error(text).into());
        }
        let detail = match requested {
            "" => format!("failed to allocate IP: {text}"),
            requested => format!("failed to allocate IP {requested}: {text}"),
        };
        let listed = tree::child(service, "spec").map(|spec| fields::listed(spec, "clusterIPs"));
        let listed = listed.unwrap_or(apimachinery::field::BadValue::Omitted);
        Err(invalid(name, &[Error::invalid(&Path::root("spec.clusterIPs"), listed, detail)].into()))
    }

    /// Allocates the ports that a service needs in addition to those of `old`. Returns them, with the ports
    /// to release.
    async fn take_ports(
        &self,
        service: &mut Object,
        old: Option<&Object>,
        dry_run: bool,
    ) -> Result<(Vec<i64>, Vec<i64>)> {
        let Some(spec) = tree::child(service, "spec") else { return Ok((Vec::new(), Vec::new())) };
        let old_spec = old.and_then(|old| tree::child(old, "spec"));
        let released = old_spec.map_or_else(Vec::new, |old_spec| ports::ports_to_release(spec, old_spec));
        let allocated = if ports::needs_allocation(spec, old_spec) {
            self.ports.allocate(service, old, dry_run).await?
        } else {
            Vec::new()
        };
        Ok((allocated, released))
    }
}

fn invalid(name: &str, errors: &ErrorList) -> Box<Status> {
    Status::invalid(&GroupKind::new("", "Service"), name, errors).into()
}

#[cfg(test)]
mod tests;
