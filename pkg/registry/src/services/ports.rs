//! Assigns node ports to a service (upstream's `initNodePorts`, `updateNodePorts` and related functions in
//! `service/storage/alloc.go`). Pure except for random numbers.

use std::collections::{BTreeSet, HashMap, HashSet};

use api::tree;
use apimachinery::field::{Error, Path};
use apimachinery::status::Status;
use schema::object::Object;

use super::bitmap::{Bitmap, PortRange};
use super::invalid;
use super::metrics::Scope;
use crate::generic::Result;
use kinds::strategy::service_fields::{
    has_health_check_port, may_have_node_ports, node_ports, wants_node_ports,
};

/// First port of a dry run's simulated allocations.
const DRY_RUN_BASE: i64 = 32_768;

/// Error of an allocation, in upstream's wording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum PortError {
    #[error("provided port is already allocated")]
    Allocated,
    #[error("provided port is not in the valid range. The range of valid ports is {0}")]
    NotInRange(PortRange),
    #[error("range is full")]
    Full,
    /// The allocation is not initialized yet.
    #[error("cannot allocate resources of type servicenodeportallocations at this time")]
    NotReady,
    /// The stored allocation is for another range.
    #[error("the provided range does not match the current range")]
    OtherRange,
}

/// Ports that one write allocates.
pub(super) struct Pool<'a> {
    pub(super) range: PortRange,
    /// Allocated ports, including those of this write.
    pub(super) bitmap: std::result::Result<Bitmap, PortError>,
    /// Ports of this write.
    pub(super) allocated: BTreeSet<i64>,
    pub(super) dry_run: bool,
    pub(super) random: &'a (dyn Fn() -> u32 + Sync),
    /// Origin of each port of this write, with success or failure.
    pub(super) origins: Vec<(Scope, bool)>,
}

impl Pool<'_> {
    fn allocate_requested(&mut self, port: i64) -> std::result::Result<(), PortError> {
        let result = self.reserve_port(port);
        self.origins.push((Scope::Static, result.is_ok()));
        result
    }

    fn allocate_dynamic(&mut self) -> std::result::Result<i64, PortError> {
        let result = self.reserve_free_port();
        self.origins.push((Scope::Dynamic, result.is_ok()));
        result
    }

    fn reserve_port(&mut self, port: i64) -> std::result::Result<(), PortError> {
        if self.dry_run {
            let position = self.range.position(port);
            let stored = self.bitmap.as_ref().ok().zip(position).is_some_and(|(bitmap, at)| bitmap.has(at));
            if stored || self.allocated.contains(&port) {
                return Err(PortError::Allocated);
            }
        } else {
            let position = self.range.position(port).ok_or(PortError::NotInRange(self.range))?;
            if !self.bitmap.as_mut().map_err(|e| e.clone())?.insert(position) {
                return Err(PortError::Allocated);
            }
        }
        self.allocated.insert(port);
        Ok(())
    }

    fn reserve_free_port(&mut self) -> std::result::Result<i64, PortError> {
        let port = if self.dry_run {
            // A negative port, which validation rejects later, does not count.
            self.allocated.last().map_or(DRY_RUN_BASE, |last| (*last).max(0)).saturating_add(1)
        } else {
            let bitmap = self.bitmap.as_mut().map_err(|e| e.clone())?;
            let position =
                bitmap.free(self.range.size(), self.range.band(), self.random).ok_or(PortError::Full)?;
            bitmap.insert(position);
            self.range.port(position)
        };
        self.allocated.insert(port);
        Ok(port)
    }
}

/// Returns the allocated node ports of a service. Validation allows node ports of an ExternalName service,
/// but they are not allocated. Upstream treats them as allocated and releases them nevertheless.
fn allocated_node_ports(spec: &Object) -> impl Iterator<Item = i64> + use<'_> {
    node_ports(spec).filter(|_| may_have_node_ports(spec))
}

/// True if a write allocates ports. Most do not, and need not read the allocation.
pub(super) fn needs_allocation(new: &Object, old: Option<&Object>) -> bool {
    let old_ports: HashSet<i64> = old.into_iter().flat_map(allocated_node_ports).collect();
    let wanting = |port: &Object| match tree::integer(port, "nodePort") {
        0 => wants_node_ports(new),
        port => !old_ports.contains(&port),
    };
    let checks = has_health_check_port(new) && !old.is_some_and(has_health_check_port);
    let assigns = tree::children(new, "ports").any(wanting) || (old.is_some() && repeats_node_port(new));
    checks || (may_have_node_ports(new) && assigns)
}

/// True if two ports of a service have the same protocol and node port.
fn repeats_node_port(spec: &Object) -> bool {
    let mut seen = HashSet::new();
    let requested = tree::children(spec, "ports").filter(|port| tree::integer(port, "nodePort") != 0);
    !requested
        .map(|port| (tree::text(port, "protocol"), tree::integer(port, "nodePort")))
        .all(|port| seen.insert(port))
}

/// Assigns the needed ports to a service before it is created or, with `old`, updated. Stops at the first
/// failure; the caller must then discard the pool.
///
/// # Errors
/// 422 for a port that the client requested, 500 if any port would do.
pub(super) fn assign(service: &mut Object, old: Option<&Object>, pool: &mut Pool<'_>) -> Result<()> {
    let name = crate::meta::text(service, "name").to_owned();
    let Some(spec) = tree::child_mut(service, "spec") else { return Ok(()) };
    let old_spec = old.and_then(|old| tree::child(old, "spec"));
    if may_have_node_ports(spec) {
        match old_spec {
            None => assign_new(&name, spec, pool)?,
            Some(old_spec) => assign_changed(&name, spec, old_spec, pool)?,
        }
    }
    if has_health_check_port(spec) && !old_spec.is_some_and(has_health_check_port) {
        assign_health_check(spec, pool)?;
    }
    Ok(())
}

fn allocation_error(name: &str, index: usize, port: i64, reason: &PortError) -> Box<Status> {
    let path = Path::root("spec.ports");
    let path = path.index(index);
    invalid(name, &[Error::invalid(&path.child("nodePort"), port, reason.to_string())].into())
}

fn exhausted_error(reason: &PortError) -> Box<Status> {
    Status::internal_error(format!("failed to allocate a nodePort: {reason}")).into()
}

/// Sets the node port of an item of `ports`.
fn set_node_port(spec: &mut Object, index: usize, node_port: i64) {
    let port = tree::list_mut(spec, "ports").get_mut(index).and_then(|port| port.as_object_mut());
    if let Some(port) = port {
        port.insert("nodePort", node_port.into());
    }
}

/// Returns number, protocol and node port of every port.
fn ports(spec: &Object) -> Vec<(i64, String, i64)> {
    let of = |port: &Object| {
        let protocol = tree::text(port, "protocol").to_owned();
        (tree::integer(port, "port"), protocol, tree::integer(port, "nodePort"))
    };
    tree::children(spec, "ports").map(of).collect()
}

/// Assigns ports for a new service. Ports with the same number and different protocols share a node port,
/// unless they request different ones.
fn assign_new(name: &str, spec: &mut Object, pool: &mut Pool<'_>) -> Result<()> {
    let is_required = wants_node_ports(spec);
    let ports = ports(spec);
    // First requested node port of each number, with the assigned one.
    let mut first_requests: HashMap<i64, i64> = HashMap::new();
    for (number, _, requested) in ports.iter().filter(|(_, _, requested)| *requested != 0) {
        first_requests.entry(*number).or_insert(*requested);
    }
    let mut shared: HashMap<i64, i64> = HashMap::new();
    for (index, (number, _, requested)) in ports.iter().enumerate() {
        if *requested == 0 && !is_required {
            continue;
        }
        match shared.get(number).copied() {
            None => {
                let port = match first_requests.get(number).copied() {
                    Some(port) => {
                        pool.allocate_requested(port)
                            .map_err(|reason| allocation_error(name, index, port, &reason))?;
                        port
                    }
                    None => pool.allocate_dynamic().map_err(|reason| exhausted_error(&reason))?,
                };
                set_node_port(spec, index, port);
                shared.insert(*number, port);
            }
            Some(port) if *requested == 0 => set_node_port(spec, index, port),
            Some(port) if port == *requested => {}
            Some(_) => pool
                .allocate_requested(*requested)
                .map_err(|reason| allocation_error(name, index, *requested, &reason))?,
        }
    }
    Ok(())
}

/// Allocates the ports that the old service did not have.
fn assign_changed(name: &str, spec: &mut Object, old: &Object, pool: &mut Pool<'_>) -> Result<()> {
    let is_required = wants_node_ports(spec);
    let mut available: HashSet<i64> = allocated_node_ports(old).collect();
    let mut node_ports: HashSet<(String, i64)> = HashSet::new();
    for (index, (_, protocol, requested)) in ports(spec).into_iter().enumerate() {
        let port = match requested {
            0 if !is_required => continue,
            0 => pool.allocate_dynamic().map_err(|reason| exhausted_error(&reason))?,
            port if available.contains(&port) => port,
            port => {
                pool.allocate_requested(port)
                    .map_err(|reason| allocation_error(name, index, port, &reason))?;
                available.insert(port);
                port
            }
        };
        set_node_port(spec, index, port);
        if let Some((protocol, port)) = node_ports.replace((protocol, port)) {
            return Err(Status::unmapped(format!("duplicate nodePort: {{{protocol} {port}}}")).into());
        }
    }
    Ok(())
}

fn assign_health_check(spec: &mut Object, pool: &mut Pool<'_>) -> Result<()> {
    match tree::integer(spec, "healthCheckNodePort") {
        0 => {
            let port = pool.allocate_dynamic().map_err(|reason| {
                let text = reason.to_string();
                Status::internal_error(format!("failed to allocate a HealthCheck NodePort 0: {text}"))
            })?;
            spec.insert("healthCheckNodePort", port.into());
        }
        port => pool.allocate_requested(port).map_err(|reason| {
            let text = reason.to_string();
            Status::internal_error(format!(
                "failed to allocate requested HealthCheck NodePort {port}: {text}"
            ))
        })?,
    }
    Ok(())
}

/// Returns the ports of the old service that the new one does not have.
pub(super) fn ports_to_release(new: &Object, old: &Object) -> Vec<i64> {
    let retained: HashSet<i64> = allocated_node_ports(new).collect();
    let mut released: Vec<i64> = allocated_node_ports(old).filter(|port| !retained.contains(port)).collect();
    if has_health_check_port(old) && !has_health_check_port(new) {
        released.extend(Some(tree::integer(old, "healthCheckNodePort")).filter(|port| *port != 0));
    }
    released
}

/// Returns the ports of a service.
pub(super) fn allocated_ports(spec: &Object) -> Vec<i64> {
    let check = has_health_check_port(spec).then(|| tree::integer(spec, "healthCheckNodePort"));
    allocated_node_ports(spec).chain(check.filter(|port| *port > 0)).collect()
}
