//! Computes Endpoints and EndpointSlice of the `kubernetes` Service from the lease holders. Performs no I/O.

use std::collections::HashSet;
use std::net::IpAddr;

use api::resources::Resource;
use api::{semantic, tree};
use jsontree::{Value, json};
use schema::object::{self, Object};

use super::{NAME, NAMESPACE};
use crate::desired_state::object;

/// The label that disables mirrored slices.
const SKIP_MIRROR: &str = "endpointslice.kubernetes.io/skip-mirror";
const SKIP_MIRROR_LABEL: [&str; 3] = ["metadata", "labels", SKIP_MIRROR];
const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// Source of the ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ports {
    /// This server.
    OwnPort,
    /// The existing Endpoints.
    Existing,
}

/// Returns the desired Endpoints: one subset with these addresses; `None` if they are up to date.
pub(super) fn endpoints(
    current: Option<&Object>,
    addresses: &[String],
    port: u16,
    ports: Ports,
) -> Option<Object> {
    let mut endpoints = match current {
        Some(current) => current.clone(),
        None => object(json!({"metadata": {"name": NAME, "namespace": NAMESPACE}})),
    };
    let our_ports = json!([{"name": "https", "port": port, "protocol": "TCP"}]);
    let existing = only_subset(&endpoints);
    let labelled = object::get_str(&endpoints, &SKIP_MIRROR_LABEL) == Some("true");
    let addresses_fine = existing.as_ref().is_some_and(|subset| has_exactly(subset, addresses));
    let ports_fine = match (&existing, ports) {
        (None, _) => false,
        (Some(_), Ports::Existing) => true,
        (Some(subset), Ports::OwnPort) => subset.get("ports") == Some(&our_ports),
    };
    if labelled && addresses_fine && ports_fine {
        return None;
    }
    object::set(&mut endpoints, &SKIP_MIRROR_LABEL, "true");
    if existing.is_none() {
        endpoints.remove("subsets");
    }
    let mut subset = existing.unwrap_or_default();
    if !addresses_fine {
        repack(&mut subset, addresses.iter().map(|ip| json!({"ip": ip})).collect());
    }
    if !ports_fine {
        subset.insert("ports", our_ports);
    }
    set_subset(&mut endpoints, subset);
    Some(endpoints)
}

/// Returns the Endpoints with this server's address and at most `count` addresses; `None` if they are up to
/// date.
///
/// Excess addresses are removed in sorted order, starting after this server's address and continuing from the
/// front. All servers thus converge.
pub(super) fn with_address(
    current: Option<&Object>,
    address: IpAddr,
    port: u16,
    count: usize,
) -> Option<Object> {
    let own_ip = address.to_string();
    let Some(mut subset) = current.and_then(only_subset) else {
        return endpoints(current, &[own_ip], port, Ports::OwnPort);
    };
    let existing = tree::list(&subset, "addresses");
    let is_own = |address: &Value| ip(address) == own_ip;
    let address_fine = existing.len() <= count && existing.iter().any(is_own);
    let mut endpoints = current.cloned().unwrap_or_default();
    if address_fine && object::get_str(&endpoints, &SKIP_MIRROR_LABEL) == Some("true") {
        return None;
    }
    object::set(&mut endpoints, &SKIP_MIRROR_LABEL, "true");
    if !address_fine {
        let mut addresses = existing.to_vec();
        addresses.push(json!({"ip": own_ip}));
        repack(&mut subset, addresses);
        if let Some(Value::Array(addresses)) = subset.get_mut("addresses")
            && let Some(at) = addresses.iter().position(is_own)
        {
            let surplus = addresses.len().saturating_sub(count);
            let after = surplus.min(addresses.len() - at - 1);
            addresses.drain(at + 1..at + 1 + after);
            addresses.drain(..surplus - after);
        }
    }
    set_subset(&mut endpoints, subset);
    Some(endpoints)
}

/// Returns the Endpoints without an address; `None` if they are up to date.
pub(super) fn without_address(current: &Object, address: IpAddr) -> Option<Object> {
    let own_ip = address.to_string();
    let mut subset = tree::children(current, "subsets").next()?.clone();
    let addresses = tree::list(&subset, "addresses");
    let remaining: Vec<Value> = addresses.iter().filter(|address| ip(address) != own_ip).cloned().collect();
    if remaining.len() == addresses.len() {
        return None;
    }
    repack(&mut subset, remaining);
    let mut endpoints = current.clone();
    set_subset(&mut endpoints, subset);
    Some(endpoints)
}

fn only_subset(endpoints: &Object) -> Option<Object> {
    match tree::list(endpoints, "subsets") {
        [Value::Object(only)] => Some(only.clone()),
        _ => None,
    }
}

/// Sets the first subset. An empty subset is removed.
fn set_subset(endpoints: &mut Object, subset: Object) {
    let is_empty = ["addresses", "notReadyAddresses"].iter().all(|list| tree::list(&subset, list).is_empty());
    let rest = tree::list(endpoints, "subsets").iter().skip(1).cloned();
    let subsets: Vec<Value> = (!is_empty).then_some(Value::Object(subset)).into_iter().chain(rest).collect();
    if subsets.is_empty() {
        drop(endpoints.remove("subsets"))
    } else {
        object::set(endpoints, &["subsets"], subsets)
    }
}

fn ip(address: &Value) -> &str {
    address.get("ip").and_then(Value::as_str).unwrap_or_default()
}

fn has_exactly(subset: &Object, addresses: &[String]) -> bool {
    let unique: HashSet<&str> = tree::children(subset, "addresses").map(|a| tree::text(a, "ip")).collect();
    let length = tree::list(subset, "addresses").len();
    length == addresses.len()
        && unique.len() == length
        && addresses.iter().all(|a| unique.contains(a.as_str()))
}

/// Sorts addresses as text and removes duplicates. Addresses that are also listed as not ready are dropped.
fn repack(subset: &mut Object, mut addresses: Vec<Value>) {
    let not_ready: HashSet<&str> = tree::list(subset, "notReadyAddresses").iter().map(ip).collect();
    addresses.retain(|address| !not_ready.contains(ip(address)));
    addresses.sort_by(|a, b| ip(a).cmp(ip(b)));
    addresses.dedup_by(|a, b| ip(a) == ip(b));
    subset.insert("addresses", addresses.into());
}

/// Required change of the slice.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SliceChange {
    None,
    /// Create or update it with this object.
    Write(Object),
    /// Replace it, because it has addresses of the other family.
    Replace,
}

/// Builds the slice for these Endpoints. With mixed addresses it contains those of IPv4.
pub(super) fn slice(endpoints: &Object) -> Object {
    let subset = tree::children(endpoints, "subsets").next();
    let list = |name: &str| subset.map(|subset| tree::list(subset, name)).unwrap_or_default();
    let ready = list("addresses");
    let not_ready = list("notReadyAddresses");
    let v6 = |address: &Value| {
        let ip = address.get("ip").and_then(Value::as_str).and_then(|ip| ip.parse().ok());
        ip.is_some_and(|ip: IpAddr| ip.is_ipv6())
    };
    let all_v6 = !(ready.is_empty() && not_ready.is_empty()) && ready.iter().chain(not_ready).all(v6);
    let of = |addresses: &[Value], ready: bool| -> Vec<Value> {
        let of_family = addresses.iter().filter(|address| v6(address) == all_v6);
        of_family.filter_map(Value::as_object).map(|address| endpoint(address, ready)).collect()
    };
    let mut slice = object(json!({
        "metadata": {"name": NAME, "namespace": NAMESPACE, "labels": {SERVICE_NAME: NAME}},
        "addressType": if all_v6 { "IPv6" } else { "IPv4" },
    }));
    let endpoints: Vec<Value> = of(ready, true).into_iter().chain(of(not_ready, false)).collect();
    if !endpoints.is_empty() {
        slice.insert("endpoints", endpoints.into());
    }
    let ports: Vec<Value> = list("ports").iter().filter_map(Value::as_object).map(slice_port).collect();
    if !ports.is_empty() {
        slice.insert("ports", ports.into());
    }
    slice
}

fn endpoint(address: &Object, ready: bool) -> Value {
    let mut endpoint = json!({
        "addresses": [tree::text(address, "ip")],
        "conditions": {"ready": ready},
    });
    for member in ["targetRef", "nodeName"] {
        if let Some(value) = address.get(member) {
            endpoint[member] = value.clone();
        }
    }
    endpoint
}

fn slice_port(port: &Object) -> Value {
    json!({
        "name": tree::text(port, "name"),
        "port": tree::integer(port, "port"),
        "protocol": tree::text(port, "protocol"),
    })
}

/// Returns the change from the current to the desired slice. `row` is their resource.
pub(super) fn slice_change(row: &Resource, current: Option<&Object>, desired: &Object) -> SliceChange {
    let Some(current) = current else { return SliceChange::Write(desired.clone()) };
    if tree::text(current, "addressType") != tree::text(desired, "addressType") {
        return SliceChange::Replace;
    }
    let labels = ["metadata", "labels"];
    let same_labels = object::get(current, &labels) == object::get(desired, &labels);
    let unchanged = |member: &str| {
        let field = row.message.member(member);
        field.is_some_and(|field| semantic::equal_members(field, current.get(member), desired.get(member)))
    };
    if same_labels && unchanged("endpoints") && unchanged("ports") {
        return SliceChange::None;
    }
    let mut slice = current.clone();
    for member in ["endpoints", "ports"] {
        match desired.get(member) {
            Some(value) => slice.insert(member.to_owned(), value.clone()),
            None => slice.remove(member),
        };
    }
    if let Some(desired) = object::get(desired, &labels) {
        object::set(&mut slice, &labels, desired.clone());
    }
    SliceChange::Write(slice)
}

#[cfg(test)]
mod tests;
