//! Grows the cluster as fast as the server allows: namespaces, nodes with leases, pods, custom resources.
//! This phase is not measured.

use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use http::Method;

use super::bodies::{self, GROUP};
use super::protobuf;
use super::world::{Node, PROTOBUF, Pod, SimulatedCluster, rfc3339, unix_time};
use crate::client::{Call, Client, JSON};
use crate::error::{Error, Result};

/// Requests in flight.
const LANES: usize = 48;
/// Maximum number of polls for the custom resources, one every 50 ms.
const LOOKS: u32 = 600;

/// Creates the objects that a cluster needs before its nodes.
pub(crate) async fn begin(world: &SimulatedCluster) -> Result<()> {
    let client = world.control();
    let namespaces = "/api/v1/namespaces";
    // Servers create this themselves, some a moment after they are ready.
    let leases = r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kube-node-lease"}}"#;
    post(client, 0, namespaces, JSON, leases.to_owned(), true).await?;
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    post(client, 0, definitions, JSON, bodies::definition(), true).await?;
    for _ in 0..LOOKS {
        let response = client.call(0, Call::get(format!("/apis/{GROUP}/v1/widgets")), 0).await?;
        if response.status == 200 {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Err(Error::Wrong("custom resources are not served".to_owned()))
}

/// Grows the cluster to `nodes`.
pub(crate) async fn grow(world: &Arc<SimulatedCluster>, nodes: u64) -> Result<()> {
    let before = world.nodes().len() as u64;
    world.connect(nodes).await?;
    let plan = &world.plan;
    stream::iter(plan.namespaces(before)..plan.namespaces(nodes))
        .map(|namespace| make_namespace(world, namespace))
        .buffer_unordered(LANES)
        .try_collect::<()>()
        .await?;
    let more: Vec<Arc<Node>> = stream::iter(before..nodes)
        .map(|number| make_node(world, number))
        .buffer_unordered(LANES)
        .try_collect()
        .await?;
    let pods = more.iter().flat_map(|node| (0..plan.pods_per_node).map(move |at| (node, at)));
    stream::iter(pods)
        .map(|(node, at)| make_pod(world, node, at))
        .buffer_unordered(LANES)
        .try_collect::<()>()
        .await?;
    world.add_nodes(more);
    Ok(())
}

async fn make_namespace(world: &SimulatedCluster, number: u64) -> Result<()> {
    let client = world.control();
    let name = bodies::namespace_name(number);
    for (path, body) in bodies::of_namespace(&name) {
        post(client, number, &path, JSON, body, path.ends_with("serviceaccounts")).await?;
    }
    let slices = format!("/apis/discovery.k8s.io/v1/namespaces/{name}/endpointslices");
    post(client, number, &slices, PROTOBUF, bodies::endpoint_slice(&name, "-", number), false).await?;
    Ok(())
}

async fn make_node(world: &SimulatedCluster, number: u64) -> Result<Arc<Node>> {
    let client = world.control();
    let node = Node::new(number);
    post(client, number, "/api/v1/nodes", JSON, bodies::node(&node.name), false).await?;
    let status = bodies::node_status("-", &rfc3339());
    let path = format!("/api/v1/nodes/{}/status", node.name);
    let call = Call::send(Method::PATCH, path, "application/strategic-merge-patch+json", status);
    client.call(number as usize, call, 0).await?.expect(200)?;
    let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
    let body = bodies::lease(&node.name, None, unix_time());
    let lease = post(client, number, leases, PROTOBUF, body, false).await?;
    *node.lease.lock().await = lease;
    let namespace = bodies::namespace_name(world.plan.namespace_of(number * world.plan.pods_per_node));
    let widgets = format!("/apis/{GROUP}/v1/namespaces/{namespace}/widgets");
    post(client, number, &widgets, JSON, bodies::widget(&node.name), false).await?;
    Ok(Arc::new(node))
}

async fn make_pod(world: &SimulatedCluster, node: &Node, at: u64) -> Result<()> {
    let number = node.number * world.plan.pods_per_node + at;
    let namespace = world.plan.namespace_of(number);
    let name = bodies::namespace_name(namespace);
    let body = bodies::pod(&bodies::pod_name(number), &name, Some(&node.name));
    let path = format!("/api/v1/namespaces/{name}/pods");
    post(world.control(), number, &path, PROTOBUF, body, false).await?;
    node.add(Pod { number, namespace });
    Ok(())
}

/// Creates an object; returns its resource version if the response is protobuf. `anew` accepts that the
/// object exists already.
async fn post(
    client: &Client,
    lane: u64,
    path: &str,
    kind: &'static str,
    body: impl Into<bytes::Bytes>,
    anew: bool,
) -> Result<Option<String>> {
    let call = Call::send(Method::POST, path, kind, body).accept(kind);
    let response = client.call(lane as usize, call, 4096).await?;
    match response.status {
        409 if anew => Ok(None),
        409 => Err(response.wrong("the server needs an empty store; there is an object of another run")),
        _ => {
            let response = response.expect(201)?;
            Ok(protobuf::resource_version(&response.head).map(str::to_owned))
        }
    }
}
