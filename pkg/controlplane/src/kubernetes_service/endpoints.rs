//! What Endpoints and EndpointSlice of the Service should say, given who holds a lease. Pure.

use std::collections::HashSet;
use std::net::IpAddr;

use api::resources::Resource;
use api::{semantic, tree};
use schema::object::{self, Object};
use serde_json::{Value, json};

use super::{NAME, NAMESPACE};
use crate::bootstrap::object;

/// Keeps the controller for mirrored slices away.
const SKIP_MIRROR: &str = "endpointslice.kubernetes.io/skip-mirror";
const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// Whose word counts about the ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ports {
    /// This server's.
    Ours,
    /// Whoever has written them.
    AsTheyAre,
}

/// What the Endpoints should be: one subset with these addresses; `None` when they are fine.
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
    let had = match tree::list(&endpoints, "subsets") {
        [Value::Object(only)] => Some(only.clone()),
        _ => None,
    };
    let label = ["metadata", "labels", SKIP_MIRROR];
    let labelled = object::get_str(&endpoints, &label) == Some("true");
    let addresses_fine = had.as_ref().is_some_and(|subset| has_exactly(subset, addresses));
    let ports_fine = match (&had, ports) {
        (None, _) => false,
        (Some(_), Ports::AsTheyAre) => true,
        (Some(subset), Ports::Ours) => subset.get("ports") == Some(&our_ports),
    };
    if labelled && addresses_fine && ports_fine {
        return None;
    }
    object::set(&mut endpoints, &label, "true");
    let mut subset = had.unwrap_or_default();
    if !addresses_fine {
        repopulate(&mut subset, addresses);
    }
    if !ports_fine {
        subset.insert("ports".to_owned(), our_ports);
    }
    if ["addresses", "notReadyAddresses"].iter().all(|list| tree::list(&subset, list).is_empty()) {
        endpoints.remove("subsets");
    } else {
        object::set(&mut endpoints, &["subsets"], vec![Value::Object(subset)]);
    }
    Some(endpoints)
}

fn has_exactly(subset: &Object, addresses: &[String]) -> bool {
    let had: HashSet<&str> = tree::children(subset, "addresses").map(|a| tree::text(a, "ip")).collect();
    let length = tree::list(subset, "addresses").len();
    length == addresses.len() && had.len() == length && addresses.iter().all(|a| had.contains(a.as_str()))
}

/// Every address once, in the order of their texts. One that is also said not to be ready is not ready.
fn repopulate(subset: &mut Object, addresses: &[String]) {
    let mut addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
    let not_ready = |ip: &str| tree::children(subset, "notReadyAddresses").any(|a| tree::text(a, "ip") == ip);
    addresses.retain(|ip| !not_ready(ip));
    addresses.sort_unstable();
    addresses.dedup();
    let addresses: Vec<Value> = addresses.into_iter().map(|ip| json!({"ip": ip})).collect();
    subset.insert("addresses".to_owned(), addresses.into());
}

/// What has to happen to the slice.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SliceChange {
    /// Nothing.
    None,
    /// It is created or changed to this.
    Write(Object),
    /// It has addresses of the other family and has to go first.
    Replace,
}

/// The slice that says the same as these Endpoints. Of mixed addresses it has those of version 4.
pub(super) fn slice(endpoints: &Object) -> Object {
    let subset = tree::children(endpoints, "subsets").next();
    let list = |name: &str| subset.map(|subset| tree::list(subset, name)).unwrap_or_default();
    let (ready, not_ready) = (list("addresses"), list("notReadyAddresses"));
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
        slice.insert("endpoints".to_owned(), endpoints.into());
    }
    let ports: Vec<Value> = list("ports").iter().filter_map(Value::as_object).map(slice_port).collect();
    if !ports.is_empty() {
        slice.insert("ports".to_owned(), ports.into());
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

/// What has to happen to the current slice to say what the wanted one says. Their kind's `row`.
pub(super) fn slice_change(row: &Resource, current: Option<&Object>, wanted: &Object) -> SliceChange {
    let Some(current) = current else { return SliceChange::Write(wanted.clone()) };
    if tree::text(current, "addressType") != tree::text(wanted, "addressType") {
        return SliceChange::Replace;
    }
    let labels = ["metadata", "labels"];
    let same_labels = object::get(current, &labels) == object::get(wanted, &labels);
    let same = |member: &str| {
        let field = row.message.member(member);
        field.is_some_and(|field| semantic::equal_members(field, current.get(member), wanted.get(member)))
    };
    if same_labels && same("endpoints") && same("ports") {
        return SliceChange::None;
    }
    let mut slice = current.clone();
    for member in ["endpoints", "ports"] {
        match wanted.get(member) {
            Some(value) => slice.insert(member.to_owned(), value.clone()),
            None => slice.remove(member),
        };
    }
    if let Some(wanted) = object::get(wanted, &labels) {
        object::set(&mut slice, &labels, wanted.clone());
    }
    SliceChange::Write(slice)
}

#[cfg(test)]
mod tests;
