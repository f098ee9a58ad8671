//! Computes the addresses that a write allocates and releases (upstream's `allocClusterIPs` and
//! `updateClusterIPs` in `service/storage/alloc.go`). Pure.

use api::tree;
use schema::object::Object;

use super::families::keeps_prefer_dual_stack;
use super::range::Family;
use kinds::strategy::service_fields::{has_cluster_ip, push};

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct AddressPlan {
    /// Addresses to allocate, in order: index in `clusterIPs`, family, and the address; empty for any.
    pub(super) to_allocate: Vec<(usize, Family, String)>,
    /// Addresses of the old service that the new one does not have.
    pub(super) to_release: Vec<String>,
}

fn is_headless(spec: &Object) -> bool {
    tree::texts(spec, "clusterIPs").next() == Some("None")
}

fn texts(spec: &Object, name: &str) -> Vec<String> {
    tree::texts(spec, name).map(str::to_owned).collect()
}

fn families(spec: &Object) -> Vec<Family> {
    tree::texts(spec, "ipFamilies").filter_map(Family::parse).collect()
}

/// Computes the changes for writing `new`, with its families set, over `old`. Extends `clusterIPs` for the
/// new addresses.
pub(super) fn plan(new: &mut Object, old: Option<&Object>) -> AddressPlan {
    let Some(old) = old else { return allocate_all(new) };
    if keeps_prefer_dual_stack(new, old) {
        return AddressPlan::default();
    }
    match (has_cluster_ip(old), has_cluster_ip(new)) {
        (false, _) => return allocate_all(new),
        _ if is_headless(old) => return AddressPlan::default(),
        (true, false) => {
            return AddressPlan { to_allocate: Vec::new(), to_release: texts(old, "clusterIPs") };
        }
        (true, true) => {}
    }
    match (families(old).len(), families(new).as_slice()) {
        (1, [_, second]) => AddressPlan {
            to_allocate: allocation(new, 1, *second).into_iter().collect(),
            to_release: Vec::new(),
        },
        (2, [_]) => AddressPlan {
            to_allocate: Vec::new(),
            to_release: texts(old, "clusterIPs").into_iter().skip(1).collect(),
        },
        _ => AddressPlan::default(),
    }
}

/// Allocates one address for each family.
fn allocate_all(new: &mut Object) -> AddressPlan {
    if !has_cluster_ip(new) || is_headless(new) {
        return AddressPlan::default();
    }
    let families = families(new).into_iter().enumerate();
    let to_allocate = families.filter_map(|(index, family)| allocation(new, index, family)).collect();
    AddressPlan { to_allocate, to_release: Vec::new() }
}

/// One address to allocate.
fn allocation(new: &mut Object, index: usize, family: Family) -> Option<(usize, Family, String)> {
    if tree::list(new, "clusterIPs").len() == index {
        push(new, "clusterIPs", "");
    }
    let requested = tree::texts(new, "clusterIPs").nth(index)?.to_owned();
    Some((index, family, requested))
}

/// Sets an allocated address in the service.
pub(super) fn set_cluster_ip(spec: &mut Object, index: usize, address: &str) {
    if let Some(item) = tree::list_mut(spec, "clusterIPs").get_mut(index) {
        *item = address.into();
    }
    if index == 0 {
        spec.insert("clusterIP", address.into());
    }
}

/// Returns the addresses of a service.
pub(super) fn cluster_ips(spec: &Object) -> Vec<String> {
    if has_cluster_ip(spec) && !is_headless(spec) { texts(spec, "clusterIPs") } else { Vec::new() }
}
