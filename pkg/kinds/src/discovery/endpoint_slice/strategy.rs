//! Endpoint slices: v1 has no topology, so topology from old clients is dropped (upstream's
//! `registry/discovery/endpointslice/strategy.go`).

use crate::strategy::hooks::{Context, Strategy};
use api::semantic::equal_members;
use api::tree;
use apimachinery::names;
use schema::builtin::IO_K8S_API_DISCOVERY_V1_ENDPOINTSLICE;
use schema::object::Object;

const TOPOLOGY: &str = "deprecatedTopology";

/// Topology key that `nodeName` replaces.
const HOSTNAME: &str = "kubernetes.io/hostname";

pub(crate) struct EndpointSlices;

impl Strategy for EndpointSlices {
    fn prepare_for_create(&self, slice: &mut Object, _context: &Context<'_>) {
        drop_topology(slice, None);
    }

    fn prepare_for_update(&self, _: &str, new: &mut Object, old: &Object, _context: &Context<'_>) {
        let mut members = IO_K8S_API_DISCOVERY_V1_ENDPOINTSLICE.members.iter();
        let endpoints = members.find(|member| member.name == "endpoints");
        let unchanged = endpoints.is_some_and(|endpoints| {
            equal_members(endpoints.field, new.get(endpoints.name), old.get(endpoints.name))
        });
        if !unchanged {
            drop_topology(new, Some(old));
        }
    }
}

/// Removes the topology. A host name that was also in the old slice's topology is kept as the node name.
fn drop_topology(slice: &mut Object, old: Option<&Object>) {
    for endpoint in tree::children_mut(slice, "endpoints") {
        let Some(topology) = endpoint.remove(TOPOLOGY) else { continue };
        let Some(host) = topology.get(HOSTNAME).and_then(|host| host.as_str()) else { continue };
        if endpoint.get("nodeName").is_none_or(|name| name.is_null())
            && old.is_some_and(|old| has_topology_host(old, host))
            && names::name_is_dns_subdomain(host, false).is_empty()
        {
            endpoint.insert("nodeName", host.into());
        }
    }
}

fn has_topology_host(slice: &Object, host: &str) -> bool {
    tree::children(slice, "endpoints")
        .filter_map(|endpoint| tree::child(endpoint, TOPOLOGY))
        .any(|topology| topology.get(HOSTNAME).is_some_and(|value| value == host))
}
