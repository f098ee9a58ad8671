//! Connect subresources: `exec`, `attach`, `portforward` and `log` on the kubelet of a pod, and `proxy` to a
//! pod, a node or a Service.
//!
//! Upgraded connections are tunnelled unchanged, except WebSockets for a kubelet that does not support them (KEP-4006).

mod location;
mod log;
mod options;

use api::options::ListOptions;
use api::resources::{self, Backend, EndpointOperation, Resource, Stream};
use api::tree;
use apimachinery::gvk::GroupResource;
use apimachinery::labels;
use apimachinery::request_info::RequestInfo;
use apimachinery::status::{Reason, Status};
use authorization::Attributes;
use component_base::features::Gate;
use jsontree::Value;
use registry::{StoredRef, Target, codec};
use schema::object::Object;

use super::admission::Admission;
use super::read;
use crate::proxy::stream::{self, StreamRoute};
use crate::proxy::url::{Url, clean_keeping_slash};
use crate::proxy::{self, ProxyRequest, Trust};
use crate::routing::dispatch::Response;
use crate::scope::RequestScope;
use location::{Kubelet, ProxyName};
pub(super) use log::log;

/// Connects to the backend.
///
/// # Errors
/// 400 for invalid options and forbidden addresses, 404, 503 when the backend does not respond.
pub(crate) async fn connect(
    call: &RequestScope<'_>,
    incoming: ProxyRequest<'_>,
) -> Result<Response, Box<Status>> {
    if call.query.first("dryRun").is_some() {
        return Err(Status::bad_request("dryRun is not supported").into());
    }
    let takes_subpath = call.endpoint().connect.is_some_and(|connect| connect.subpath);
    let subpath = takes_subpath.then(|| subpath(call.info));
    let options = options::object(call.endpoint(), call.query, subpath);
    let mut options = options.map_err(|error| Status::bad_request(error.to_string()))?;
    Admission::of(call, admission::Options::None).connect(&mut options).await?;
    match call.endpoint().operation {
        EndpointOperation::Proxy(backend) => {
            let mut url = match backend {
                Backend::Node => node(call).await?,
                Backend::Service => service(call).await?,
                Backend::Pod => location::of_pod(&parse_proxy_name(call, "pod")?, &pod_at(call).await?)?,
            };
            url.path = clean_keeping_slash(tree::text(&options, "path"));
            proxy::proxy_request(call.api.backends.network.as_ref(), url, incoming).await
        }
        EndpointOperation::Stream(kind) => {
            let target = stream_target(call, kind, &options).await?;
            connect_stream(call, kind, target, incoming).await
        }
        _ => Err(Status::method_not_allowed().into()),
    }
}

/// Stream on a kubelet.
struct StreamTarget {
    url: Url,
    /// True if the kubelet supports WebSockets.
    websockets: bool,
    /// Streams of a command.
    options: stream::Options,
}

/// Finds the kubelet of a stream.
async fn stream_target(
    call: &RequestScope<'_>,
    kind: Stream,
    options: &Object,
) -> Result<StreamTarget, Box<Status>> {
    may_create(call).await?;
    let pod = pod_named(call, call.name()).await?;
    let container = match kind {
        Stream::PortForward => None,
        Stream::Exec | Stream::Attach => Some(location::container(&pod, tree::text(options, "container"))?),
    };
    let node = location::node_of(&pod)
        .ok_or_else(|| Status::bad_request(format!("pod {} does not have a host assigned", call.name())))?;
    let kubelet = kubelet_of(call, node).await?;
    let websockets = kubelet.websockets;
    let path = location::stream_path(kind, &pod, container);
    let url = kubelet.url(Trust::Kubelet, path, options::kubelet_query(options));
    Ok(StreamTarget { url, websockets, options: options::streams(options) })
}

/// Connects the client to the kubelet: unchanged, or by SPDY if the client requests a WebSocket that the kubelet does not
/// support.
async fn connect_stream(
    call: &RequestScope<'_>,
    kind: Stream,
    target: StreamTarget,
    incoming: ProxyRequest<'_>,
) -> Result<Response, Box<Status>> {
    let StreamTarget { url, websockets, options } = target;
    let backends = &call.api.backends;
    let gates = call.api.registry.gates();
    let translates = match kind {
        Stream::Exec | Stream::Attach => gates.enabled(Gate::TranslateStreamCloseWebsocketRequests),
        Stream::PortForward => gates.enabled(Gate::PortForwardWebsockets),
    };
    let mut route = StreamRoute::Kubelet;
    if translates {
        if !(websockets && gates.enabled(Gate::ExtendWebSocketsToKubelet)) {
            route = StreamRoute::ApiServer;
        }
        backends.streams.record_route(call.endpoint().subresource, route);
    }
    let headers = &incoming.parts.headers;
    match (route, kind) {
        (StreamRoute::ApiServer, Stream::Exec | Stream::Attach) if stream::requests_channels(headers) => {
            stream::translate(backends, url, options, incoming)
        }
        (StreamRoute::ApiServer, Stream::PortForward) if stream::requests_tunnel(headers) => {
            stream::tunnel(backends, &url, incoming).await
        }
        _ if proxy::is_upgrade(headers) => proxy::upgrade(backends.network.as_ref(), &url, incoming).await,
        _ => Err(Status::bad_request("Upgrade request required").into()),
    }
}

/// Checks `create` for a client that streams by GET. WebSocket uses GET and SPDY uses POST, so a user with
/// only `get` must not stream by WebSocket (kubernetes/kubernetes#133515).
async fn may_create(call: &RequestScope<'_>) -> Result<(), Box<Status>> {
    let checked = call.api.registry.gates().enabled(Gate::AuthorizePodWebsocketUpgradeCreatePermission);
    if call.info.verb == "create" || !checked {
        return Ok(());
    }
    let attributes = Attributes { verb: "create", ..Attributes::of_request(call.user, call.info) };
    let Err(refused) = call.api.authorizer.decide(attributes).await.outcome() else { return Ok(()) };
    let resource = GroupResource::new(attributes.group, attributes.resource);
    Err(Box::new(match refused.error {
        // Upstream returns the bare error.
        Some(error) => Status::failure(500, Reason::Unknown, error),
        None => Status::forbidden(&resource, attributes.name, &refused.reason),
    }))
}

/// Returns the part of the path after the subresource.
fn subpath(info: &RequestInfo) -> String {
    let rest = info.parts.get(3..).unwrap_or_default();
    let mut path: String = rest.iter().flat_map(|segment| ["/", segment.as_str()]).collect();
    if info.path.ends_with('/') && !path.ends_with('/') {
        path.push('/');
    }
    path
}

/// Parses the name in the path, which may contain a scheme and a port.
fn parse_proxy_name<'c>(call: &'c RequestScope<'_>, subject: &str) -> Result<ProxyName<'c>, Box<Status>> {
    let id = call.name();
    ProxyName::parse(id).ok_or_else(|| {
        let id = apimachinery::go_quote::quote(id);
        Status::bad_request(format!("invalid {subject} request {id}")).into()
    })
}

fn core_resource(plural: &str) -> Result<&'static Resource<'static>, Box<Status>> {
    resources::find("", "v1", plural, "").ok_or_else(|| Status::unknown_path().into())
}

async fn pod_at(call: &RequestScope<'_>) -> Result<Object, Box<Status>> {
    pod_named(call, parse_proxy_name(call, "pod")?.name).await
}

async fn pod_named(call: &RequestScope<'_>, name: &str) -> Result<Object, Box<Status>> {
    read::newest(call, core_resource("pods")?, name).await
}

/// Returns the kubelet of a node. The error for a missing node contains the requested resource, because upstream
/// takes the resource from the context of the request.
async fn kubelet_of(call: &RequestScope<'_>, node: &str) -> Result<Kubelet, Box<Status>> {
    let read = read::newest(call, core_resource("nodes")?, node).await;
    let node = read.map_err(|error| match error.code {
        404 => Box::new(Status::not_found(&call.target().group_resource(), node)),
        _ => error,
    })?;
    let backends = &call.api.backends;
    Kubelet::of(&node, &backends.address_types, backends.kubelet_port)
        .map_err(|error| Status::unmapped(error.to_string()).into())
}

/// Returns the URL of a node's kubelet, or of another port of the node. The check here gives clients upstream's
/// error; the connection checks the addresses that it dials, because a name can resolve differently a moment later.
async fn node(call: &RequestScope<'_>) -> Result<Url, Box<Status>> {
    let named = parse_proxy_name(call, "node")?;
    let kubelet = kubelet_of(call, named.name).await?;
    let addresses = call.api.backends.network.addresses(&kubelet.host).await;
    let addresses = addresses.map_err(|error| Status::bad_request(error.to_string()))?;
    if addresses.is_empty() {
        return Err(Status::bad_request("no addresses for hostname").into());
    }
    if !addresses.into_iter().all(proxy::is_global) {
        return Err(Status::bad_request("address not allowed").into());
    }
    Ok(location::of_node(&named, kubelet))
}

/// Returns the URL of one pod behind a Service.
async fn service(call: &RequestScope<'_>) -> Result<Url, Box<Status>> {
    let named = parse_proxy_name(call, "service")?;
    let mut port = named.port.to_owned();
    if let Ok(number) = port.parse::<i64>() {
        let service = read::newest(call, core_resource("services")?, named.name).await?;
        port = location::port_name(&service, number, named.name)?;
    }
    let mut slices = slices_of(call, named.name).await?;
    location::shuffle(&mut slices, call.api.backends.primary_family, || (call.api.jitter)());
    for place in location::backends(&slices, &port, || (call.api.jitter)()) {
        // Slices are easy to write by hand. Only pods of the namespace are allowed as targets.
        let Some(pod) = place.pod(&call.info.namespace) else { continue };
        match pod_named(call, pod).await {
            Ok(pod) if location::has_address(&pod, place.address) => {
                return Ok(named.url(place.address, &place.port));
            }
            Ok(_) => {
                tracing::debug!(address = place.address, "endpoint address is not an address of its pod")
            }
            Err(error) => tracing::debug!(pod, message = error.message, "cannot get the pod of an endpoint"),
        }
    }
    let name = apimachinery::go_quote::quote(named.name);
    let message = format!("no endpoints available for service {name}");
    Err(Status::failure(503, Reason::ServiceUnavailable, message).into())
}

/// Label with the Service of an EndpointSlice.
const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// Returns the EndpointSlices of a Service; none for a name that no label can have.
async fn slices_of(call: &RequestScope<'_>, service: &str) -> Result<Vec<Object>, Box<Status>> {
    let row = resources::find("discovery.k8s.io", "v1", "endpointslices", "");
    let row = row.ok_or_else(Status::unknown_path)?;
    let storage = row.storage.as_ref().ok_or_else(Status::unknown_path)?;
    let labels = Value::from_iter([(SERVICE_NAME, Value::from(service))]);
    let selector = Object::from_iter([("matchLabels".to_owned(), labels)]);
    let Ok(label_selector) = labels::from_label_selector(Some(&selector)) else { return Ok(Vec::new()) };
    let target = Target { resource: row, namespace: &call.info.namespace, name: "" };
    let options = ListOptions { label_selector, ..ListOptions::default() };
    let page = call.api.registry.list(&target, &options).await?;
    let mut slices = Vec::new();
    for element in page.items.iter() {
        let slice = codec::decode(storage, StoredRef::element(&element));
        slices.push(slice.map_err(crate::response::encode::encoding_error)?);
    }
    Ok(slices)
}
