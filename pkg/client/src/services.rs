//! Resolution of Services for calls to webhooks and extension API servers. It does not use the cluster's DNS,
//! which may be unreachable from the API server (upstream's `apiserver/pkg/util/proxy`).

use std::sync::Arc;

use apimachinery::go_quote::quote;
use apimachinery::gvk::GroupResource;
use apimachinery::status::{Reason, Status};

use crate::dial::Address;

/// The parts of a Service that resolution needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Service {
    /// `spec.type`.
    pub kind: String,
    /// `spec.clusterIP`: an address, `None`, or empty.
    pub cluster_ip: String,
    /// `spec.externalName`.
    pub external_name: String,
    /// Numbers and names of `spec.ports`.
    pub ports: Vec<(i32, String)>,
    /// The first of `spec.ipFamilies`.
    pub primary_family: Option<String>,
}

/// The parts of an EndpointSlice that resolution needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EndpointSlice {
    /// `addressType`.
    pub address_type: String,
    /// Names and numbers of `ports`.
    pub ports: Vec<(Option<String>, Option<i32>)>,
    /// First address of each endpoint, and its readiness. `None` counts as ready.
    pub endpoints: Vec<(String, Option<bool>)>,
}

/// Source of Services and EndpointSlices. Returns cached objects without waiting.
pub trait Lister: Send + Sync {
    fn service(&self, namespace: &str, name: &str) -> Option<Arc<Service>>;

    /// Returns the slices of a Service.
    fn endpoint_slices(&self, namespace: &str, name: &str) -> Vec<Arc<EndpointSlice>>;
}

/// Target of connections to Services.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Routing {
    /// The cluster IP (`--enable-aggregator-routing=false`).
    #[default]
    ClusterIp,
    /// A random endpoint (`--enable-aggregator-routing=true`).
    Endpoints,
}

/// Resolves Services to addresses.
pub struct Resolver<L> {
    pub lister: L,
    pub routing: Routing,
    /// Address of this server, for `kubernetes.default`.
    pub loopback: Address,
}

impl<L: Lister> Resolver<L> {
    /// Resolves a port of a Service. `random` returns uniformly distributed numbers in `0..n`.
    ///
    /// # Errors
    /// 404 for an unknown Service, 503 without the port or without a ready endpoint, 500 for an unsupported
    /// Service.
    pub fn resolve(
        &self,
        namespace: &str,
        name: &str,
        port: i32,
        random: &mut dyn FnMut(usize) -> usize,
    ) -> Result<Address, Box<Status>> {
        if (namespace, name, port) == ("default", "kubernetes", 443) {
            return Ok(self.loopback.clone());
        }
        let service = self.lister.service(namespace, name);
        // Upstream's listers use the resource name "service".
        let unknown = || Status::not_found(&GroupResource::new("", "service"), name);
        let service = service.ok_or_else(unknown)?;
        match self.routing {
            Routing::ClusterIp => cluster_ip(&service, name, port),
            Routing::Endpoints => {
                let slices = self.lister.endpoint_slices(namespace, name);
                endpoint(&service, slices, name, port, random)
            }
        }
    }
}

fn unsupported(kind: &str) -> Box<Status> {
    Status::unmapped(format!("unsupported service type {}", quote(kind))).into()
}

fn unavailable(message: String) -> Box<Status> {
    Status::failure(503, Reason::ServiceUnavailable, message).into()
}

fn port_name<'s>(service: &'s Service, name: &str, port: i32) -> Result<&'s str, Box<Status>> {
    let entry = service.ports.iter().find(|(number, _)| *number == port);
    let missing = || unavailable(format!("no service port {port} found for service {}", quote(name)));
    entry.map(|(_, name)| name.as_str()).ok_or_else(missing)
}

fn parse_address(host: &str, port: i32) -> Result<Address, Box<Status>> {
    let port = u16::try_from(port).map_err(|_| Status::unmapped(format!("invalid port {port}")))?;
    Ok(Address { host: host.to_owned(), port })
}

fn cluster_ip(service: &Service, name: &str, port: i32) -> Result<Address, Box<Status>> {
    match service.kind.as_str() {
        "ClusterIP" if service.cluster_ip == "None" => {
            Err(Status::unmapped("cannot route to service with ClusterIP \"None\"").into())
        }
        "ClusterIP" | "LoadBalancer" | "NodePort" => {
            port_name(service, name, port)?;
            parse_address(&service.cluster_ip, port)
        }
        "ExternalName" => parse_address(&service.external_name, port),
        other => Err(unsupported(other)),
    }
}

/// Returns a ready endpoint of a Service. With several slices, picks a random one and prefers the primary IP
/// family.
fn endpoint(
    service: &Service,
    slices: Vec<Arc<EndpointSlice>>,
    name: &str,
    port: i32,
    random: &mut dyn FnMut(usize) -> usize,
) -> Result<Address, Box<Status>> {
    if !matches!(service.kind.as_str(), "ClusterIP" | "LoadBalancer" | "NodePort") {
        return Err(unsupported(&service.kind));
    }
    let service_port = port_name(service, name, port)?;
    for slice in ordered_slices(service, slices, random) {
        let named = slice.ports.iter().filter(|(name, _)| name.as_deref() == Some(service_port));
        for number in named.filter_map(|(_, number)| *number) {
            let count = slice.endpoints.len();
            if count == 0 {
                continue;
            }
            let (before, after) = slice.endpoints.split_at(random(count).min(count));
            let ready = after.iter().chain(before).find(|(_, ready)| ready.unwrap_or(true));
            if let Some((address, _)) = ready {
                return parse_address(address, number);
            }
        }
    }
    Err(unavailable(format!("no endpoints available for service {}", quote(name))))
}

/// Returns the slices in the order in which they are tried.
fn ordered_slices(
    service: &Service,
    slices: Vec<Arc<EndpointSlice>>,
    random: &mut dyn FnMut(usize) -> usize,
) -> Vec<Arc<EndpointSlice>> {
    let Some(family) = service.primary_family.as_deref().filter(|_| slices.len() > 1) else { return slices };
    let (mut first, mut second): (Vec<_>, Vec<_>) =
        slices.into_iter().partition(|slice| slice.address_type == family);
    shuffle(&mut first, random);
    shuffle(&mut second, random);
    first.append(&mut second);
    first
}

/// Fisher-Yates shuffle.
fn shuffle<T>(items: &mut [T], random: &mut dyn FnMut(usize) -> usize) {
    for last in (1..items.len()).rev() {
        items.swap(last, random(last + 1).min(last));
    }
}

#[cfg(test)]
mod tests;
