//! Repairs inconsistencies between services and allocations. They arise when a server crashes between two
//! writes, or when a user edits either object (upstream's `portallocator/controller/repair.go` and
//! `ipallocator/controller/repairip.go`). The services are authoritative.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use api::tree;
use apimachinery::time::{UnixTime, parse_time};
use futures::StreamExt;
use schema::object::Object;
use tokio::time::Instant;

use super::address_error::AddressError;
use super::addresses::{FAMILY_LABEL, MANAGED_BY, MANAGED_BY_LABEL, RangeState};
use super::bitmap::{Bitmap, PortRange};
use super::error::RepairError;
use super::families::default_on_read;
use super::port_store::Allocation;
use super::range::{Family, parse_address};
use super::{Services, address_plan};
use crate::client::ReadFreshness;
use crate::generic::{EventType, WatchEvent, WatchEvents};
use crate::{Element, StoredRef, codec, meta};

/// A port must be found without a service this many times before it is released. It may be allocated for a
/// service that is being written.
const LEAK_SIGHTINGS_MIN: u8 = 3;
/// Grace period for an address without a service, in seconds, for the same reason: the maximum duration of a
/// request, as in upstream.
const ADDRESS_GRACE: i64 = 60;
/// Maximum attempts of a port repair, if other writers allocate or release ports meanwhile.
const ATTEMPTS: usize = 5;

/// Ports without a service, with the number of consecutive sightings.
#[derive(Debug, Default)]
pub struct Leaks(HashMap<i64, u8>);

/// The services in the store.
struct ReadServices {
    items: Vec<Object>,
    /// False if unreadable services are missing. Their addresses and ports must not be released.
    complete: bool,
}

impl Services {
    /// Makes the stored port allocation consistent with the services. Adds missing ports, and releases ports
    /// that had no service in this and the two previous repairs. No port can be allocated before the first
    /// repair.
    ///
    /// # Errors
    /// A message if the store cannot be read.
    pub async fn repair_ports(&self, leaks: &mut Leaks) -> Result<(), RepairError> {
        self.run_port_repair(leaks).await.inspect_err(|_| self.metrics.repair_failed())
    }

    async fn run_port_repair(&self, leaks: &mut Leaks) -> Result<(), RepairError> {
        let range = self.pools.ports.range();
        for _ in 0..ATTEMPTS {
            // Ports are allocated before their service is written, so they must be read first.
            let (stored, revision) = self.pools.ports.read().await?;
            let ReadServices { items: services, complete } = self.all_services().await?;
            if !complete {
                // A port that seems unused may belong to the missing service. Counting starts again.
                tracing::warn!("no node port is released while a stored service is unreadable");
                *leaks = Leaks::default();
            }
            let current = stored.as_ref();
            let allocated = current.filter(|stored| !stored.range.is_empty());
            let allocated = match allocated {
                None => Vec::new(),
                Some(stored) => {
                    let range = PortRange::parse(&stored.range)
                        .ok_or_else(|| RepairError::Range(stored.range.clone()))?;
                    stored.allocated.members().map(|position| range.port(position)).collect()
                }
            };
            let (bitmap, current_leaks) = rebuild(range, &allocated, &services, leaks);
            let rebuilt = Allocation::new(range.to_string(), bitmap);
            let unchanged =
                current.is_some_and(|b| b.range == rebuilt.range && b.allocated == rebuilt.allocated);
            if unchanged || self.pools.ports.replace(&rebuilt, revision).await? {
                *leaks = current_leaks;
                return Ok(());
            }
        }
        Err(RepairError::Conflict)
    }

    /// Makes the IPAddress objects consistent with the services: creates missing ones, and deletes those
    /// without a service.
    ///
    /// # Errors
    /// A message if the store cannot be read.
    pub async fn repair_addresses(&self) -> Result<(), RepairError> {
        // As with ports: addresses are allocated first, so they are read first.
        let addresses = self.pools.addresses.all().await?;
        let ReadServices { items: services, complete } = self.all_services().await?;
        let ranges = self.pools.addresses.ranges().await?;
        let by_name: HashMap<&str, &Object> =
            addresses.iter().map(|address| (meta::text(address, "name"), address)).collect();
        let holders: HashSet<ServiceAddress> = services.iter().flat_map(service_addresses).collect();
        for service in &services {
            for holding in service_addresses(service) {
                let object = by_name.get(&*holding.address).copied();
                self.repair_address(service, &holding, object, &holders, &ranges).await?;
            }
        }
        if !complete {
            tracing::warn!("no service address is released while a stored service is unreadable");
            return Ok(());
        }
        let now = self.services.now();
        for address in addresses.iter().filter(|address| is_leaked(address, &holders, now)) {
            tracing::warn!(name = meta::text(address, "name"), "releasing an address without a service");
            self.pools.addresses.delete_unchanged(address).await?;
        }
        Ok(())
    }

    /// True if a service has an address although there is no range.
    ///
    /// # Errors
    /// A message if the store cannot be read.
    pub async fn has_unallocated_addresses(&self) -> Result<bool, RepairError> {
        let ranges = self.pools.addresses.ranges().await?;
        Ok(ranges.is_empty()
            && self.all_services().await?.items.iter().any(|service| !service_addresses(service).is_empty()))
    }

    /// Watches the services from now on, until `deadline`.
    ///
    /// # Errors
    /// A message if the watch fails.
    pub async fn watch(&self, deadline: Instant) -> Result<WatchEvents, RepairError> {
        Ok(self.services.watch(deadline).await?)
    }

    /// Waits for a write of a service with an address but without a matching IPAddress object. Returns false
    /// at the end of the watch.
    pub async fn next_without_address(&self, changes: &mut WatchEvents) -> bool {
        while let Some(WatchEvent::Event(event)) = changes.next().await {
            let is_write = matches!(event.kind, EventType::Added | EventType::Modified);
            if let Some(element) = event.element.filter(|_| is_write)
                && !self.has_allocated_addresses(&element).await
            {
                return true;
            }
        }
        false
    }

    /// True if the addresses of a service are allocated. Errors are left to the next repair.
    async fn has_allocated_addresses(&self, service: &Element) -> bool {
        let storage = self.services.row().stored_form();
        let Ok(mut service) = codec::decode(storage, StoredRef::element(service)) else { return true };
        default_on_read(&mut service, self.families);
        for holding in service_addresses(&service) {
            let object = match self.pools.addresses.cached(&holding.address).await {
                Ok(object) => object,
                Err(_) => continue,
            };
            if address_state(&holding, object.as_ref(), &HashSet::new()) != AddressState::Correct {
                return false;
            }
        }
        true
    }

    /// Returns all services. Families are filled in for services from before they existed.
    async fn all_services(&self) -> Result<ReadServices, RepairError> {
        let (mut items, left_out) = self.services.list_counted("", ReadFreshness::Latest).await?;
        items.iter_mut().for_each(|service| default_on_read(service, self.families));
        Ok(ReadServices { items, complete: left_out == 0 })
    }

    /// Repairs the IPAddress object for one address of a service.
    async fn repair_address(
        &self,
        service: &Object,
        holding: &ServiceAddress,
        object: Option<&Object>,
        holders: &HashSet<ServiceAddress>,
        ranges: &[RangeState],
    ) -> Result<(), RepairError> {
        let ServiceAddress { namespace, name, address } = holding;
        let Some(number) = parse_address(address) else { return Ok(()) };
        if !ranges.iter().any(|state| state.range.is_usable(number)) {
            tracing::warn!(namespace, name, address, "service address is in no range");
            return Ok(());
        }
        match address_state(holding, object, holders) {
            AddressState::Correct => return Ok(()),
            AddressState::Missing | AddressState::Wrong => {}
            AddressState::Duplicate => {
                tracing::warn!(
                    namespace,
                    name,
                    address,
                    "several services have one address: create this anew"
                );
                return Ok(());
            }
        }
        // The service may have been deleted since it was read.
        if !self.is_held(holding).await? {
            return Ok(());
        }
        if let Some(object) = object
            && !self.pools.addresses.delete_unchanged(object).await?
        {
            return Ok(());
        }
        self.restore_address(service, holding, number).await
    }

    /// Creates the IPAddress object for an address of a service. If the service is deleted meanwhile, its
    /// deletion may have missed the new object, so it is deleted here.
    async fn restore_address(
        &self,
        service: &Object,
        holding: &ServiceAddress,
        number: IpAddr,
    ) -> Result<(), RepairError> {
        let created = match self.pools.addresses.create(service, number).await {
            Ok(created) => created,
            // The service was written after the addresses were read.
            Err(AddressError::Allocated) => return Ok(()),
            Err(error) => return Err(RepairError::Address(error.to_string())),
        };
        if self.is_held(holding).await? {
            let ServiceAddress { namespace, name, address } = holding;
            tracing::warn!(namespace, name, address, "allocated an unallocated service address");
        } else {
            self.pools.addresses.delete_unchanged(&created).await?;
        }
        Ok(())
    }

    /// True if the stored service has this address now.
    async fn is_held(&self, holding: &ServiceAddress) -> Result<bool, RepairError> {
        let ServiceAddress { namespace, name, .. } = holding;
        let service = self.services.get(namespace, name, ReadFreshness::Latest).await?;
        Ok(service.is_some_and(|mut service| {
            default_on_read(&mut service, self.families);
            service_addresses(&service).contains(holding)
        }))
    }
}

/// Address of a service.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ServiceAddress {
    namespace: String,
    name: String,
    /// As in the names of IPAddress objects.
    address: String,
}

fn service_addresses(service: &Object) -> Vec<ServiceAddress> {
    let addresses = tree::child(service, "spec").map(address_plan::cluster_ips).unwrap_or_default();
    let holding = |address: String| ServiceAddress {
        namespace: meta::text(service, "namespace").to_owned(),
        name: meta::text(service, "name").to_owned(),
        address: parse_address(&address).map_or(address, |address| address.to_string()),
    };
    addresses.into_iter().filter(|address| !address.is_empty()).map(holding).collect()
}

/// Returns the service of an IPAddress object; `None` if it belongs to any other object.
fn owner(address: &Object) -> Option<ServiceAddress> {
    let parent = tree::child(address, "spec").and_then(|spec| tree::child(spec, "parentRef"))?;
    let is_service = tree::text(parent, "group").is_empty() && tree::text(parent, "resource") == "services";
    is_service.then(|| ServiceAddress {
        namespace: tree::text(parent, "namespace").to_owned(),
        name: tree::text(parent, "name").to_owned(),
        address: meta::text(address, "name").to_owned(),
    })
}

fn label<'o>(address: &'o Object, name: &str) -> &'o str {
    let labels = meta::metadata(address).and_then(|metadata| tree::child(metadata, "labels"));
    labels.map_or("", |labels| tree::text(labels, name))
}

/// State of a service address.
#[derive(Debug, PartialEq, Eq)]
enum AddressState {
    /// The IPAddress object refers to the service.
    Correct,
    /// There is no IPAddress object.
    Missing,
    /// The IPAddress object has other content.
    Wrong,
    /// The IPAddress object refers to another service with the same address.
    Duplicate,
}

fn address_state(
    holding: &ServiceAddress,
    cached: Option<&Object>,
    holders: &HashSet<ServiceAddress>,
) -> AddressState {
    let Some(object) = cached else { return AddressState::Missing };
    match owner(object) {
        None => AddressState::Wrong,
        Some(owner) if owner != *holding && holders.contains(&owner) => AddressState::Duplicate,
        Some(owner) if owner != *holding => AddressState::Wrong,
        Some(_) => {
            let family = Family::of_text(&holding.address).map_or("", Family::name);
            let labelled =
                label(object, MANAGED_BY_LABEL) == MANAGED_BY && label(object, FAMILY_LABEL) == family;
            if labelled { AddressState::Correct } else { AddressState::Wrong }
        }
    }
}

/// True if an IPAddress object of this allocator has no service with the address, and its grace period is
/// over.
fn is_leaked(address: &Object, holders: &HashSet<ServiceAddress>, now: UnixTime) -> bool {
    if label(address, MANAGED_BY_LABEL) != MANAGED_BY {
        return false;
    }
    let Some(owner) = owner(address) else { return true };
    let created = parse_time(meta::text(address, "creationTimestamp"));
    let young = created.is_ok_and(|created| now.seconds.saturating_sub(created.seconds) <= ADDRESS_GRACE);
    !young && !holders.contains(&owner)
}

/// Computes the ports of services and the possible leaks. `found` are the stored ports.
fn rebuild(range: PortRange, stored: &[i64], services: &[Object], leaks: &Leaks) -> (Bitmap, Leaks) {
    let mut bitmap = Bitmap::default();
    let allocated: HashSet<i64> = stored.iter().copied().collect();
    for service in services {
        let namespace = meta::text(service, "namespace");
        let name = meta::text(service, "name");
        for port in distinct_ports(service) {
            match range.position(port).map(|position| bitmap.insert(position)) {
                Some(true) if allocated.contains(&port) => {}
                Some(true) => {
                    tracing::warn!(namespace, name, port, "allocating an unallocated node port")
                }
                Some(false) => {
                    tracing::warn!(
                        namespace,
                        name,
                        port,
                        "several services have one node port: create this anew"
                    );
                }
                None => tracing::warn!(namespace, name, port, "node port is not in the range {range}"),
            }
        }
    }
    let mut current_leaks = Leaks::default();
    for port in stored {
        let Some(position) = range.position(*port).filter(|position| !bitmap.has(*position)) else {
            continue;
        };
        let sightings = leaks.0.get(port).unwrap_or(&0) + 1;
        if sightings >= LEAK_SIGHTINGS_MIN {
            tracing::warn!(port, "releasing a node port without a service");
            continue;
        }
        current_leaks.0.insert(*port, sightings);
        bitmap.insert(position);
    }
    (bitmap, current_leaks)
}

/// Returns the node ports of a service; one that several protocols share counts once.
fn distinct_ports(service: &Object) -> Vec<i64> {
    let Some(spec) = tree::child(service, "spec") else { return Vec::new() };
    let mut protocols_by_port: HashMap<i64, HashSet<&str>> = HashMap::new();
    let mut ports = Vec::new();
    let items = tree::children(spec, "ports");
    let items = items.map(|port| (tree::integer(port, "nodePort"), tree::text(port, "protocol")));
    let check = (tree::integer(spec, "healthCheckNodePort"), "TCP");
    for (port, protocol) in items.chain([check]).filter(|(port, _)| *port != 0) {
        let protocols = protocols_by_port.entry(port).or_default();
        let first = protocols.is_empty();
        if !protocols.insert(protocol) || first {
            ports.push(port);
        }
    }
    ports
}

#[cfg(test)]
#[path = "tests/repair.rs"]
mod tests;
