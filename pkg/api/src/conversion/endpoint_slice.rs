//! EndpointSlices: `discovery.k8s.io/v1`, and `v1beta1`, which has the zone, and a copy of the node name, in
//! a map of topology labels.

use super::kind::{Conversion, NONE, Spoke};
use crate::tree::{children_mut, text};
use jsontree::Value;
use schema::object::Object;

pub(super) static CONVERSION: Conversion =
    Conversion { spokes: &[Spoke::of("discovery.k8s.io/v1beta1", to_hub, from_hub)], ..NONE };

const ZONE: &str = "topology.kubernetes.io/zone";
const HOSTNAME: &str = "kubernetes.io/hostname";

fn to_hub(slice: &mut Object) {
    children_mut(slice, "endpoints").for_each(endpoint_to_hub);
}

fn from_hub(slice: &mut Object) {
    children_mut(slice, "endpoints").for_each(endpoint_from_hub);
}

fn endpoint_to_hub(endpoint: &mut Object) {
    let Some(Value::Object(mut topology)) = endpoint.remove("topology") else { return };
    if let Some(zone) = topology.remove(ZONE) {
        endpoint.insert("zone", zone);
    }
    // A host name that differs from the node name is kept.
    if let Some(node) = endpoint.get("nodeName")
        && topology.get(HOSTNAME) == Some(node)
    {
        topology.remove(HOSTNAME);
    }
    if !topology.is_empty() {
        endpoint.insert("deprecatedTopology", Value::Object(topology));
    }
}

fn endpoint_from_hub(endpoint: &mut Object) {
    let mut topology = match endpoint.remove("deprecatedTopology") {
        Some(Value::Object(topology)) => topology,
        _ => Object::new(),
    };
    if let Some(zone @ Value::String(_)) = endpoint.remove("zone") {
        topology.insert(ZONE.to_owned(), zone);
    }
    if let Some(node @ Value::String(_)) = endpoint.get("nodeName")
        && text(&topology, HOSTNAME).is_empty()
    {
        topology.insert(HOSTNAME.to_owned(), node.clone());
    }
    if !topology.is_empty() {
        endpoint.insert("topology", Value::Object(topology));
    }
}
