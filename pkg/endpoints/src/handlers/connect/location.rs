//! Where a connection leads, from the objects that know. Pure.

use std::net::{IpAddr, Ipv4Addr};

use api::resources::Stream;
use api::tree;
use apimachinery::status::{Reason, Status};
use jsontree::Value;
use registry::meta;
use schema::object::{self, Object};

use crate::proxy::Trust;
use crate::proxy::url::Url;

/// A name in a path as proxies read it: `NAME`, `NAME:PORT`, or `SCHEME:NAME:PORT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProxyName<'a> {
    https: bool,
    /// The object.
    pub(super) name: &'a str,
    /// A number or a name; may be empty.
    pub(super) port: &'a str,
}

impl<'a> ProxyName<'a> {
    /// Reads a name. `None` for a form or scheme that there is not.
    pub(super) fn parse(id: &'a str) -> Option<Self> {
        let parts: Vec<&str> = id.split(':').collect();
        let (scheme, name, port) = match *parts {
            [name] => ("", name, ""),
            [name, port] => ("", name, port),
            [scheme, name, port] => (scheme, name, port),
            _ => return None,
        };
        let valid = !name.is_empty() && matches!(scheme, "" | "http" | "https");
        valid.then_some(ProxyName { https: scheme == "https", name, port })
    }

    /// A port of a host, by the scheme of the name.
    pub(super) fn at(&self, host: &str, port: &str) -> Url {
        let (host, port) = (host.to_owned(), port.to_owned());
        Url {
            tls: self.https.then_some(Trust::Anyone),
            host,
            port,
            path: String::new(),
            query: String::new(),
        }
    }
}

/// Where the kubelet of a node listens.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Kubelet {
    /// A name or an address.
    pub(super) host: String,
    /// Its port.
    pub(super) port: String,
}

impl Kubelet {
    /// Reads it from a node, preferring types of addresses in their order.
    ///
    /// # Errors
    /// The node has no address of these types.
    pub(super) fn of(node: &Object, types: &[String], usual_port: u16) -> Result<Self, String> {
        let addresses = || {
            let all = object::get_list(node, &["status", "addresses"]).iter().filter_map(Value::as_object);
            all.map(|address| (tree::text(address, "type"), tree::text(address, "address")))
        };
        let of_type = |wanted: &String| addresses().find(|(ty, _)| ty == wanted);
        let Some((_, host)) = types.iter().find_map(of_type) else {
            let known: Vec<String> = addresses().map(|(ty, address)| format!("{{{ty} {address}}}")).collect();
            return Err(format!("no preferred addresses found; known addresses: [{}]", known.join(" ")));
        };
        let port = object::get_i64(node, &["status", "daemonEndpoints", "kubeletEndpoint", "Port"]);
        let port = port.filter(|port| *port > 0).unwrap_or_else(|| usual_port.into());
        Ok(Kubelet { host: host.to_owned(), port: port.to_string() })
    }

    /// A place on it.
    pub(super) fn url(self, trust: Trust, path: String, query: String) -> Url {
        Url { tls: Some(trust), host: self.host, port: self.port, path, query }
    }
}

/// Whether an address is one that others may be led to: not this machine's alone, nor its link's, nor
/// everybody's (Go's `IsGlobalUnicast`).
pub(super) fn is_global(address: IpAddr) -> bool {
    let local = match address.to_canonical() {
        IpAddr::V4(v4) => v4.is_link_local() || v4 == Ipv4Addr::BROADCAST,
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    let address = address.to_canonical();
    !(local || address.is_loopback() || address.is_unspecified() || address.is_multicast())
}

/// The node that a pod is on.
pub(super) fn node_of(pod: &Object) -> Option<&str> {
    object::get_str(pod, &["spec", "nodeName"]).filter(|node| !node.is_empty())
}

fn containers(pod: &Object) -> impl Iterator<Item = &str> {
    let lists = ["initContainers", "containers", "ephemeralContainers"];
    let all = lists.into_iter().flat_map(|list| object::get_list(pod, &["spec", list]));
    all.filter_map(|container| container.get("name").and_then(Value::as_str))
}

/// The container of a pod that is meant by a name, which may be left out where there is only one.
///
/// # Errors
/// 400 when none is, or it is not clear which.
pub(super) fn container<'p>(pod: &'p Object, wanted: &str) -> Result<&'p str, Box<Status>> {
    let name = meta::text(pod, "name");
    if !wanted.is_empty() {
        let invalid = || Status::bad_request(format!("container {wanted} is not valid for pod {name}"));
        return containers(pod).find(|found| *found == wanted).ok_or_else(|| invalid().into());
    }
    let message = format!("a container name must be specified for pod {name}");
    let message = match object::get_list(pod, &["spec", "containers"]) {
        [only] => return Ok(only.get("name").and_then(Value::as_str).unwrap_or("")),
        [] => message,
        _ => {
            let names: Vec<&str> = containers(pod).collect();
            format!("{message}, choose one of: [{}]", names.join(" "))
        }
    };
    Err(Status::bad_request(message).into())
}

/// The kubelet's path of a stream of a pod, or of one of its containers.
pub(super) fn stream_path(stream: Stream, pod: &Object, container: Option<&str>) -> String {
    let at = match stream {
        Stream::Exec => "exec",
        Stream::Attach => "attach",
        Stream::PortForward => "portForward",
    };
    container_path(at, pod, container)
}

/// The kubelet's path of what a container has written.
pub(super) fn log_path(pod: &Object, container: &str) -> String {
    container_path("containerLogs", pod, Some(container))
}

fn container_path(at: &str, pod: &Object, container: Option<&str>) -> String {
    let path = format!("/{at}/{}/{}", meta::text(pod, "namespace"), meta::text(pod, "name"));
    container.map_or(path.clone(), |container| format!("{path}/{container}"))
}

fn addresses(pod: &Object) -> impl Iterator<Item = &str> {
    let all = object::get_list(pod, &["status", "podIPs"]).iter();
    all.filter_map(|address| address.get("ip").and_then(Value::as_str))
}

/// Whether an address is a pod's.
pub(super) fn has_address(pod: &Object, address: &str) -> bool {
    addresses(pod).any(|own| own == address)
}

/// Where a pod is. Without a port it is the first that a container names.
///
/// # Errors
/// 400 for a pod without an address, or with one that nobody may be led to.
pub(super) fn of_pod(named: &ProxyName<'_>, pod: &Object) -> Result<Url, Box<Status>> {
    let first_port = || {
        let ports =
            object::get_list(pod, &["spec", "containers"]).iter().filter_map(|c| c.get("ports")?.get(0));
        ports.into_iter().find_map(|port| port.get("containerPort")?.as_i64())
    };
    let port = match named.port {
        "" => first_port().map(|port| port.to_string()).unwrap_or_default(),
        port => port.to_owned(),
    };
    let address = addresses(pod).next().unwrap_or("");
    match address.parse() {
        Ok(parsed) if is_global(parsed) => Ok(named.at(address, &port)),
        _ => Err(Status::bad_request("address not allowed").into()),
    }
}

/// The name of a Service's port.
///
/// # Errors
/// 503 when the Service has no such port.
pub(super) fn port_name(service: &Object, number: i64, name: &str) -> Result<String, Box<Status>> {
    let mut ports = object::get_list(service, &["spec", "ports"]).iter().filter_map(Value::as_object);
    let found = ports.find(|port| tree::integer(port, "port") == number);
    found.map(|port| tree::text(port, "name").to_owned()).ok_or_else(|| {
        let name = apimachinery::go_quote::quote(name);
        let message = format!("no service port {number} found for service {name}");
        Status::failure(503, Reason::ServiceUnavailable, message).into()
    })
}

/// Whether Endpoints have any subset.
pub(super) fn has_subsets(endpoints: &Object) -> bool {
    !object::get_list(endpoints, &["subsets"]).is_empty()
}

/// An address behind a Service.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BackendEndpoint<'e> {
    /// The address.
    pub(super) address: &'e str,
    /// The port.
    pub(super) port: String,
    /// Namespace and name of what has the address.
    target: Option<(&'e str, &'e str)>,
}

impl<'e> BackendEndpoint<'e> {
    /// The pod that has the address, if it is in a namespace.
    pub(super) fn pod(&self, namespace: &str) -> Option<&'e str> {
        self.target.filter(|(own, _)| *own == namespace).map(|(_, name)| name)
    }
}

/// Where a port of Endpoints is served, in a random order of sorts: beginning with a random subset and in each
/// with a random address. `random` is uniformly distributed in `0..1`.
pub(super) fn places<'e>(
    endpoints: &'e Object,
    port: &str,
    mut random: impl FnMut() -> f64,
) -> Vec<BackendEndpoint<'e>> {
    let subsets = object::get_list(endpoints, &["subsets"]);
    let mut places = Vec::new();
    for subset in rotated(subsets, random()).filter_map(Value::as_object) {
        for found in tree::children(subset, "ports").filter(|found| tree::text(found, "name") == port) {
            let number = tree::integer(found, "port").to_string();
            let all = rotated(tree::list(subset, "addresses"), random()).filter_map(Value::as_object);
            places.extend(all.map(|address| {
                BackendEndpoint {
                    address: tree::text(address, "ip"),
                    port: number.clone(),
                    target: tree::child(address, "targetRef")
                        .map(|target| (tree::text(target, "namespace"), tree::text(target, "name"))),
                }
            }));
        }
    }
    places
}

/// All items, beginning somewhere.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
fn rotated(items: &[Value], random: f64) -> impl Iterator<Item = &Value> {
    let start = ((items.len() as f64 * random) as usize).min(items.len());
    let (before, after) = items.split_at(start);
    after.iter().chain(before)
}

#[cfg(test)]
mod tests;
