//! Repairs: what services hold and what is written down as taken drift apart when a server dies between
//! two writes, or when somebody edits either (upstream's `portallocator/controller/repair.go` and
//! `ipallocator/controller/repairip.go`). Services are right, whatever the pools say.

use std::collections::{HashMap, HashSet};

use api::tree;
use apimachinery::time::{UnixTime, parse_time};
use futures::StreamExt;
use schema::object::Object;
use tokio::time::Instant;

use super::addresses::{FAMILY_LABEL, MANAGED_BY, MANAGED_BY_LABEL, Missing, RangeState};
use super::bitmap::{Bitmap, PortRange};
use super::families::default_on_read;
use super::port_store::Allocation;
use super::range::{Family, parse_address};
use super::{Services, address_plan};
use crate::client::Read;
use crate::generic::{EventType, WatchEvent, WatchEvents};
use crate::{Element, StoredRef, codec, meta};

/// How often a port has to be found without a service before it is given back: it may have been taken for
/// one that is being written.
const SIGHTINGS_OF_A_LEAK: u8 = 3;
/// For how long an address may be without its service, in seconds, for the same reason: as long as a
/// request may take (upstream's grace).
const ADDRESS_GRACE: i64 = 60;
/// How often a repair of ports begins anew because somebody took or released one meanwhile.
const ATTEMPTS: usize = 5;

/// The ports that were found without a service, and how often in a row.
#[derive(Debug, Default)]
pub struct Leaks(HashMap<i64, u8>);

impl Services {
    /// Makes what is written down as taken agree with the services: adds ports that are missing, and
    /// releases those that were found without a service on this and the two repairs before. Nobody can take
    /// a port before the first repair.
    ///
    /// # Errors
    /// The text of why the store could not be asked.
    pub async fn repair_ports(&self, leaks: &mut Leaks) -> Result<(), String> {
        self.try_to_repair_ports(leaks).await.inspect_err(|_| self.figures.repair_failed())
    }

    async fn try_to_repair_ports(&self, leaks: &mut Leaks) -> Result<(), String> {
        let range = self.pools.ports.range();
        for _ in 0..ATTEMPTS {
            // Ports are taken before their service is written, so they have to be looked at before.
            let (stored, revision) = self.pools.ports.read().await?;
            let services = self.all_services().await?;
            let before = stored.as_ref();
            let found = before.filter(|stored| !stored.range.is_empty());
            let found = match found {
                None => Vec::new(),
                Some(stored) => {
                    let range = PortRange::parse(&stored.range)
                        .ok_or_else(|| format!("{:?} is no range of ports", stored.range))?;
                    stored.taken.members().map(|position| range.port(position)).collect()
                }
            };
            let (taken, seen) = rebuild(range, &found, &services, leaks);
            let rebuilt = Allocation::new(range.to_string(), taken);
            let same = before.is_some_and(|b| b.range == rebuilt.range && b.taken == rebuilt.taken);
            if same || self.pools.ports.replace(&rebuilt, revision).await? {
                *leaks = seen;
                return Ok(());
            }
        }
        Err("the node ports changed while they were repaired".to_owned())
    }

    /// Makes IPAddress objects agree with the services: creates those that are missing, and deletes those
    /// that belong to no service.
    ///
    /// # Errors
    /// The text of why the store could not be asked.
    pub async fn repair_addresses(&self) -> Result<(), String> {
        // As with ports: what is taken first is looked at first.
        let addresses = self.pools.addresses.all().await.map_err(|status| status.message)?;
        let services = self.all_services().await?;
        let ranges = self.pools.addresses.ranges().await.map_err(|status| status.message)?;
        let by_name: HashMap<&str, &Object> =
            addresses.iter().map(|address| (meta::text(address, "name"), address)).collect();
        let holders: HashSet<ServiceAddress> = services.iter().flat_map(holdings).collect();
        for service in &services {
            for holding in holdings(service) {
                let found = by_name.get(&*holding.address).copied();
                self.repair_holding(service, &holding, found, &holders, &ranges).await?;
            }
        }
        let now = self.services.now();
        for address in addresses.iter().filter(|address| is_leaked(address, &holders, now)) {
            let (name, uid) = (meta::text(address, "name"), meta::text(address, "uid"));
            tracing::warn!(name, "an address belongs to no service: it is released");
            self.pools.addresses.delete(name, Some(uid)).await.map_err(|status| status.message)?;
        }
        Ok(())
    }

    /// Whether any service has an address, and there is no range that it could be of.
    ///
    /// # Errors
    /// The text of why the store could not be asked.
    pub async fn lacks_ranges(&self) -> Result<bool, String> {
        let ranges = self.pools.addresses.ranges().await.map_err(|status| status.message)?;
        Ok(ranges.is_empty()
            && self.all_services().await?.iter().any(|service| !holdings(service).is_empty()))
    }

    /// Follows the services from now on, until `deadline`.
    ///
    /// # Errors
    /// The text of why they cannot be followed.
    pub async fn changes(&self, deadline: Instant) -> Result<WatchEvents, String> {
        self.services.changes(deadline).await.map_err(|status| status.message)
    }

    /// Waits until a service is written that has an address without the right IPAddress object. `false` when
    /// the changes are over.
    pub async fn next_without_address(&self, changes: &mut WatchEvents) -> bool {
        while let Some(WatchEvent::Event(event)) = changes.next().await {
            let written = matches!(event.kind, EventType::Added | EventType::Modified);
            if let Some(element) = event.element.filter(|_| written)
                && !self.has_its_addresses(&element).await
            {
                return true;
            }
        }
        false
    }

    /// What cannot be read or asked for is left to the next repair.
    async fn has_its_addresses(&self, service: &Element) -> bool {
        let storage = self.services.row().stored_form();
        let Ok(mut service) = codec::decode(storage, StoredRef::element(service)) else { return true };
        default_on_read(&mut service, self.families);
        for holding in holdings(&service) {
            let found = match self.pools.addresses.cached(&holding.address).await {
                Ok(found) => found,
                Err(_) => continue,
            };
            if finding(&holding, found.as_ref(), &HashSet::new()) != AddressState::Right {
                return false;
            }
        }
        true
    }

    /// All services, with what those of before there were families leave out.
    async fn all_services(&self) -> Result<Vec<Object>, String> {
        let services = self.services.list("", Read::Latest).await;
        let mut services = services.map_err(|status| status.message)?;
        services.iter_mut().for_each(|service| default_on_read(service, self.families));
        Ok(services)
    }

    /// Sees to the object of one address of a service.
    async fn repair_holding(
        &self,
        service: &Object,
        holding: &ServiceAddress,
        found: Option<&Object>,
        holders: &HashSet<ServiceAddress>,
        ranges: &[RangeState],
    ) -> Result<(), String> {
        let ServiceAddress { namespace, name, address } = holding;
        let Some(number) = parse_address(address) else { return Ok(()) };
        if !ranges.iter().any(|known| known.range.offers(number)) {
            tracing::warn!(namespace, name, address, "the address of a service is in no range");
            return Ok(());
        }
        match finding(holding, found, holders) {
            AddressState::Right => return Ok(()),
            AddressState::Missing => {}
            AddressState::Twice => {
                tracing::warn!(
                    namespace,
                    name,
                    address,
                    "several services have one address: create this anew"
                );
                return Ok(());
            }
            AddressState::Wrong => {
                let uid = found.map(|object| meta::text(object, "uid"));
                self.pools.addresses.delete(address, uid).await.map_err(|status| status.message)?;
            }
        }
        tracing::warn!(namespace, name, address, "the address of a service is not allocated: it is now");
        match self.pools.addresses.create(service, number).await {
            // Its service was written after the addresses were looked at.
            Ok(()) | Err(Missing::Allocated) => Ok(()),
            Err(missing) => Err(missing.text()),
        }
    }
}

/// That a service has an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ServiceAddress {
    namespace: String,
    name: String,
    /// As IPAddress objects are named.
    address: String,
}

fn holdings(service: &Object) -> Vec<ServiceAddress> {
    let held = tree::child(service, "spec").map(address_plan::held).unwrap_or_default();
    let holding = |address: String| ServiceAddress {
        namespace: meta::text(service, "namespace").to_owned(),
        name: meta::text(service, "name").to_owned(),
        address: parse_address(&address).map_or(address, |address| address.to_string()),
    };
    held.into_iter().filter(|address| !address.is_empty()).map(holding).collect()
}

/// The service that an IPAddress object belongs to; `None` if it belongs to anything else.
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

/// How an address of a service was found.
#[derive(Debug, PartialEq, Eq)]
enum AddressState {
    /// Its object says so.
    Right,
    /// It has no object.
    Missing,
    /// Its object says something else.
    Wrong,
    /// Its object belongs to another service that has the same address.
    Twice,
}

fn finding(
    holding: &ServiceAddress,
    found: Option<&Object>,
    holders: &HashSet<ServiceAddress>,
) -> AddressState {
    let Some(object) = found else { return AddressState::Missing };
    match owner(object) {
        None => AddressState::Wrong,
        Some(owner) if owner != *holding && holders.contains(&owner) => AddressState::Twice,
        Some(owner) if owner != *holding => AddressState::Wrong,
        Some(_) => {
            let family = Family::of_text(&holding.address).map_or("", Family::name);
            let labelled =
                label(object, MANAGED_BY_LABEL) == MANAGED_BY && label(object, FAMILY_LABEL) == family;
            if labelled { AddressState::Right } else { AddressState::Wrong }
        }
    }
}

/// Whether an address of ours belongs to no service that has it, and has for long enough.
fn is_leaked(address: &Object, holders: &HashSet<ServiceAddress>, now: UnixTime) -> bool {
    if label(address, MANAGED_BY_LABEL) != MANAGED_BY {
        return false;
    }
    let Some(owner) = owner(address) else { return true };
    let created = parse_time(meta::text(address, "creationTimestamp"));
    let young = created.is_ok_and(|created| now.seconds.saturating_sub(created.seconds) <= ADDRESS_GRACE);
    !young && !holders.contains(&owner)
}

/// The ports that services hold and those that may be held soon, and which those are. `found` are the ports
/// that are written down.
fn rebuild(range: PortRange, found: &[i64], services: &[Object], leaks: &Leaks) -> (Bitmap, Leaks) {
    let mut taken = Bitmap::default();
    let written: HashSet<i64> = found.iter().copied().collect();
    for service in services {
        let (namespace, name) = (meta::text(service, "namespace"), meta::text(service, "name"));
        for port in distinct_ports(service) {
            match range.position(port).map(|position| taken.insert(position)) {
                Some(true) if written.contains(&port) => {}
                Some(true) => {
                    tracing::warn!(namespace, name, port, "a node port is not allocated: it is now")
                }
                Some(false) => {
                    tracing::warn!(
                        namespace,
                        name,
                        port,
                        "several services have one node port: create this anew"
                    );
                }
                None => tracing::warn!(namespace, name, port, "a node port is not in the range {range}"),
            }
        }
    }
    let mut seen = Leaks::default();
    for port in found {
        let Some(position) = range.position(*port).filter(|position| !taken.has(*position)) else { continue };
        let sightings = leaks.0.get(port).unwrap_or(&0) + 1;
        if sightings >= SIGHTINGS_OF_A_LEAK {
            tracing::warn!(port, "a node port belongs to no service: it is released");
            continue;
        }
        seen.0.insert(*port, sightings);
        taken.insert(position);
    }
    (taken, seen)
}

/// The node ports of a service; one that it has for several protocols counts once.
fn distinct_ports(service: &Object) -> Vec<i64> {
    let Some(spec) = tree::child(service, "spec") else { return Vec::new() };
    let mut seen: HashMap<i64, HashSet<&str>> = HashMap::new();
    let mut ports = Vec::new();
    let items = tree::children(spec, "ports");
    let items = items.map(|port| (tree::integer(port, "nodePort"), tree::text(port, "protocol")));
    let check = (tree::integer(spec, "healthCheckNodePort"), "TCP");
    for (port, protocol) in items.chain([check]).filter(|(port, _)| *port != 0) {
        let protocols = seen.entry(port).or_default();
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
