//! Computes the target of a connection from API objects. Pure.

use api::resources::Stream;
use api::tree;
use apimachinery::status::{Reason, Status};
use jsontree::Value;
use registry::meta;
use schema::object::{self, Object};

use crate::proxy::url::Url;
use crate::proxy::{Trust, is_global};

/// Name in a proxy path: `NAME`, `NAME:PORT`, or `SCHEME:NAME:PORT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProxyName<'a> {
    https: bool,
    pub(super) name: &'a str,
    /// Port number or name; may be empty.
    pub(super) port: &'a str,
}

impl<'a> ProxyName<'a> {
    /// Parses a name. Returns `None` for an invalid form or scheme.
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

    /// URL of a port of a host, with the scheme of the name. The host is an address that was checked.
    pub(super) fn url(&self, host: &str, port: &str) -> Url {
        self.with_trust(Trust::AnyServer, host, port)
    }

    fn with_trust(&self, trust: Trust, host: &str, port: &str) -> Url {
        let host = host.to_owned();
        let port = port.to_owned();
        Url { tls: self.https, trust, host, port, path: String::new(), query: String::new() }
    }
}

/// Address of a node's kubelet.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Kubelet {
    /// Name or IP address.
    pub(super) host: String,
    pub(super) port: String,
    /// True if the node declares that the kubelet supports WebSockets with streams.
    pub(super) websockets: bool,
}

/// Feature of nodes whose kubelet supports WebSockets with streams.
const WEBSOCKETS: &str = "ExtendWebSocketsToKubelet";

/// Error about a node without an address of the preferred types.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no preferred addresses found; known addresses: [{addresses}]")]
pub(super) struct NoAddressError {
    /// Types and addresses of the node.
    addresses: String,
}

impl Kubelet {
    /// Reads the address from a node. `types` lists the address types in order of preference.
    ///
    /// # Errors
    /// The node has no address of these types.
    pub(super) fn of(node: &Object, types: &[String], usual_port: u16) -> Result<Self, NoAddressError> {
        let addresses = || {
            let all = object::get_list(node, &["status", "addresses"]).iter().filter_map(Value::as_object);
            all.map(|address| (tree::text(address, "type"), tree::text(address, "address")))
        };
        let of_type = |requested: &String| addresses().find(|(ty, _)| ty == requested);
        let Some((_, host)) = types.iter().find_map(of_type) else {
            let available: Vec<String> =
                addresses().map(|(ty, address)| format!("{{{ty} {address}}}")).collect();
            return Err(NoAddressError { addresses: available.join(" ") });
        };
        let port = object::get_i64(node, &["status", "daemonEndpoints", "kubeletEndpoint", "Port"]);
        let port = port.filter(|port| *port > 0).unwrap_or_else(|| usual_port.into());
        let mut features = object::get_list(node, &["status", "declaredFeatures"]).iter();
        let websockets = features.any(|feature| feature.as_str() == Some(WEBSOCKETS));
        Ok(Kubelet { host: host.to_owned(), port: port.to_string(), websockets })
    }

    pub(super) fn url(self, trust: Trust, path: String, query: String) -> Url {
        Url { tls: true, trust, host: self.host, port: self.port, path, query }
    }
}

pub(super) fn node_of(pod: &Object) -> Option<&str> {
    object::get_str(pod, &["spec", "nodeName"]).filter(|node| !node.is_empty())
}

fn containers(pod: &Object) -> impl Iterator<Item = &str> {
    let lists = ["initContainers", "containers", "ephemeralContainers"];
    let all = lists.into_iter().flat_map(|list| object::get_list(pod, &["spec", list]));
    all.filter_map(|container| container.get("name").and_then(Value::as_str))
}

/// Selects a container of a pod by name. The name may be empty if the pod has only one.
///
/// # Errors
/// 400 when there is no such container or the choice is ambiguous.
pub(super) fn container<'p>(pod: &'p Object, requested: &str) -> Result<&'p str, Box<Status>> {
    let name = meta::text(pod, "name");
    if !requested.is_empty() {
        let invalid = || Status::bad_request(format!("container {requested} is not valid for pod {name}"));
        return containers(pod).find(|container| *container == requested).ok_or_else(|| invalid().into());
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

/// Kubelet path for a stream of a pod or of a container.
pub(super) fn stream_path(stream: Stream, pod: &Object, container: Option<&str>) -> String {
    let at = match stream {
        Stream::Exec => "exec",
        Stream::Attach => "attach",
        Stream::PortForward => "portForward",
    };
    container_path(at, pod, container)
}

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

pub(super) fn has_address(pod: &Object, address: &str) -> bool {
    addresses(pod).any(|pod_address| pod_address == address)
}

/// URL of a node's kubelet, or of another port of the node. A name is resolved and checked when the connection is made.
pub(super) fn of_node(named: &ProxyName<'_>, kubelet: Kubelet) -> Url {
    if named.port.is_empty() || named.port == kubelet.port {
        kubelet.url(Trust::CheckedKubelet, String::new(), String::new())
    } else {
        named.with_trust(Trust::CheckedServer, &kubelet.host, named.port)
    }
}

/// URL of a pod. The default port is the first one that a container names.
///
/// # Errors
/// 400 for a pod without an address, or with a forbidden one.
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
        Ok(parsed) if is_global(parsed) => Ok(named.url(address, &port)),
        _ => Err(Status::bad_request("address not allowed").into()),
    }
}

/// Returns the name of a Service's port.
///
/// # Errors
/// 503 when the Service has no such port.
pub(super) fn port_name(service: &Object, number: i64, name: &str) -> Result<String, Box<Status>> {
    let mut ports = object::get_list(service, &["spec", "ports"]).iter().filter_map(Value::as_object);
    let matching = ports.find(|port| tree::integer(port, "port") == number);
    matching.map(|port| tree::text(port, "name").to_owned()).ok_or_else(|| {
        let name = apimachinery::go_quote::quote(name);
        let message = format!("no service port {number} found for service {name}");
        Status::failure(503, Reason::ServiceUnavailable, message).into()
    })
}

/// Backend address of a Service.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BackendEndpoint<'e> {
    pub(super) address: &'e str,
    pub(super) port: String,
    /// Namespace and name of the address's target.
    target: Option<(&'e str, &'e str)>,
}

impl<'e> BackendEndpoint<'e> {
    fn of(endpoint: &'e Object, port: i64) -> Option<Self> {
        Some(BackendEndpoint {
            address: tree::texts(endpoint, "addresses").next()?,
            port: port.to_string(),
            target: tree::child(endpoint, "targetRef")
                .map(|target| (tree::text(target, "namespace"), tree::text(target, "name"))),
        })
    }

    /// Returns the target pod if it is in the namespace.
    pub(super) fn pod(&self, namespace: &str) -> Option<&'e str> {
        self.target.filter(|(pod_namespace, _)| *pod_namespace == namespace).map(|(_, name)| name)
    }
}

/// Sorts the slices of a Service: those of the preferred family first, in random order otherwise. `random` is
/// uniformly distributed in `0..1`.
pub(super) fn shuffle(slices: &mut [Object], family: &str, mut random: impl FnMut() -> f64) {
    slices.sort_by_cached_key(|slice| (tree::text(slice, "addressType") != family, random().to_bits()));
}

/// Returns the ready backends of a port: slice by slice, and in each slice from a random endpoint on. `random`
/// is uniformly distributed in `0..1`.
pub(super) fn backends<'e>(
    slices: &'e [Object],
    port: &str,
    mut random: impl FnMut() -> f64,
) -> Vec<BackendEndpoint<'e>> {
    let mut places = Vec::new();
    for slice in slices {
        let matching = tree::children(slice, "ports").filter(|matching| tree::text(matching, "name") == port);
        for number in matching.filter_map(|matching| matching.get("port")?.as_i64()) {
            let endpoints = rotate(tree::list(slice, "endpoints"), random()).filter_map(Value::as_object);
            places.extend(
                endpoints
                    .filter(|endpoint| is_ready(endpoint))
                    .filter_map(|endpoint| BackendEndpoint::of(endpoint, number)),
            );
        }
    }
    places
}

/// True unless the endpoint is not ready; an absent condition counts as ready.
fn is_ready(endpoint: &Object) -> bool {
    object::get_bool(endpoint, &["conditions", "ready"]) != Some(false)
}

/// Iterates over all items from a random start.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
fn rotate(items: &[Value], random: f64) -> impl Iterator<Item = &Value> {
    let start = ((items.len() as f64 * random) as usize).min(items.len());
    let (before, after) = items.split_at(start);
    after.iter().chain(before)
}

#[cfg(test)]
mod tests;
