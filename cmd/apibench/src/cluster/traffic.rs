//! Traffic of the simulated cluster. Every request stream has its own schedule that nothing delays: a request
//! is due regardless of pending responses.

#![allow(clippy::disallowed_methods, reason = "a command measures with the real clock")]

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::Method;
use tokio::task::JoinSet;

use super::bodies::{self, GROUP};
use super::kind::Kind;
use super::mark::mark;
use super::pods;
use super::protobuf::resource_version;
use super::random::Random;
use super::world::{MERGE, Node, PROTOBUF, STRATEGIC, Sender, SimulatedCluster, TABLE, rfc3339, unix_time};
use crate::check::continue_token;
use crate::client::{Call, JSON};

/// Maximum number of pending requests or pod lifecycles per stream; further ones are not sent and count as
/// errors.
const MAX_UNDER_WAY: usize = 5000;
/// Lease renewal interval of a node in seconds.
const LEASE_SECONDS: f64 = 10.0;
/// Node status interval in seconds.
const STATUS_SECONDS: f64 = 60.0;
/// Node reads, and additional pod reads by kubelets, per second per node.
const READS: f64 = 0.02;
/// Status reports of custom resources per second per node.
const CUSTOM: f64 = 0.005;
/// Lists of a namespace's pods per second per node.
const NAMESPACE_LISTS: f64 = 0.001;
/// Interval of full lists in seconds, regardless of the cluster size.
const WHOLE_SECONDS: f64 = 20.0;
/// Page size of lists of all pods.
const PAGE: u64 = 500;
/// Bytes of a page that are stored; they contain the list metadata.
const PAGE_HEAD: usize = 4096;

/// The traffic of a step.
#[derive(Debug)]
pub(crate) struct Traffic(JoinSet<()>);

impl Traffic {
    /// Starts the traffic, which ends at `end`.
    pub(crate) fn start(world: &Arc<SimulatedCluster>, end: Instant, step: u64) -> Self {
        let mut traffic = JoinSet::new();
        let count = world.nodes().len() as f64;
        let mut stream = step * 100;
        let mut random = || {
            stream += 1;
            Random::new(world.plan.seed, stream)
        };
        let mut add = |kind, rate, act| {
            traffic.spawn(arrivals(Arc::clone(world), kind, rate, end, random(), act));
        };
        add(Kind::NodeStatus, count / STATUS_SECONDS, TrafficKind::NodeStatus);
        add(Kind::PodCreate, count * world.plan.churn / 1000.0, TrafficKind::Replace);
        add(Kind::EndpointSlice, world.plan.endpoint_changes, TrafficKind::EndpointSlice);
        add(Kind::NodeGet, count * READS, TrafficKind::NodeGet);
        add(Kind::PodGet, count * READS, TrafficKind::PodGet);
        add(Kind::CustomStatus, count * CUSTOM, TrafficKind::Custom);
        add(Kind::ListNamespace, count * NAMESPACE_LISTS, TrafficKind::ListNamespace);
        add(Kind::ListPods, 1.0 / WHOLE_SECONDS, TrafficKind::ListPods);
        add(Kind::ListNodes, 1.0 / WHOLE_SECONDS, TrafficKind::ListNodes);
        traffic.spawn(leases(Arc::clone(world), end, random()));
        Self(traffic)
    }

    /// Waits for all responses until `limit`. Requests in flight at that time are cancelled.
    pub(crate) async fn finish(mut self, limit: Instant) {
        let all = async { while self.0.join_next().await.is_some() {} };
        // The window counts late requests.
        let _ = tokio::time::timeout_at(limit.into(), all).await;
    }
}

/// Operation of a stream.
#[derive(Debug, Clone, Copy)]
enum TrafficKind {
    NodeStatus,
    Replace,
    EndpointSlice,
    NodeGet,
    PodGet,
    Custom,
    ListNamespace,
    ListPods,
    ListNodes,
}

/// Runs `act` at random times, on average `rate` times per second, until `end`.
async fn arrivals(
    world: Arc<SimulatedCluster>,
    kind: Kind,
    rate: f64,
    end: Instant,
    mut random: Random,
    act: TrafficKind,
) {
    let mut due = Instant::now();
    let mut under_way = JoinSet::new();
    if rate <= 0.0 {
        return;
    }
    loop {
        due += Duration::from_secs_f64(random.gap(rate));
        if due >= end {
            break;
        }
        tokio::time::sleep_until(due.into()).await;
        while under_way.try_join_next().is_some() {}
        let nodes = world.nodes();
        let Some(node) = nodes.get(random.below(nodes.len() as u64) as usize) else { continue };
        let number = Arc::clone(node);
        let salt = random.below(u64::from(u32::MAX));
        send(&mut under_way, &world, kind, due, perform(Arc::clone(&world), number, act, due, salt));
    }
    while under_way.join_next().await.is_some() {}
}

/// Renews the lease of every node every ten seconds, each with its own offset.
async fn leases(world: Arc<SimulatedCluster>, end: Instant, mut random: Random) {
    let nodes = world.nodes();
    let mut order: Vec<(f64, &Arc<Node>)> =
        nodes.iter().map(|node| (random.unit() * LEASE_SECONDS, node)).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut round = Instant::now();
    let mut under_way = JoinSet::new();
    while round < end {
        for (offset, node) in &order {
            let due = round + Duration::from_secs_f64(*offset);
            if due >= end {
                break;
            }
            tokio::time::sleep_until(due.into()).await;
            while under_way.try_join_next().is_some() {}
            let renewal = renew(Arc::clone(&world), Arc::clone(node), due);
            send(&mut under_way, &world, Kind::LeaseRenewal, due, renewal);
        }
        round += Duration::from_secs_f64(LEASE_SECONDS);
        // Without nodes nothing above waits.
        tokio::time::sleep_until(round.min(end).into()).await;
    }
    while under_way.join_next().await.is_some() {}
}

/// Starts `request` if the limit allows it, and records its delay.
fn send(
    under_way: &mut JoinSet<()>,
    world: &Arc<SimulatedCluster>,
    kind: Kind,
    due: Instant,
    request: impl Future<Output = ()> + Send + 'static,
) {
    let window = Some(world.window()).filter(|window| window.holds(due));
    if under_way.len() >= MAX_UNDER_WAY {
        if let Some(window) = window {
            window.not_sent(kind);
        }
        return;
    }
    under_way.spawn(async move {
        if let Some(window) = window {
            window.lag.add(due.elapsed());
        }
        request.await;
    });
}

async fn renew(world: Arc<SimulatedCluster>, node: Arc<Node>, due: Instant) {
    // As in a kubelet, the next renewal waits for this one. Its latency still counts from its own due time.
    let mut revision = node.lease.lock().await;
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{}", node.name);
    let from = Sender::Node(node.number);
    if revision.is_none() {
        let call = Call::get(path.as_str()).accept(PROTOBUF);
        let response = world.call(from, Kind::LeaseRenewal, due, call, 4096).await;
        *revision = response.and_then(|response| resource_version(&response.head).map(str::to_owned));
    }
    let body = bodies::lease(&node.name, revision.as_deref(), unix_time());
    let call = Call::send(Method::PUT, path, PROTOBUF, body).accept(PROTOBUF);
    let response = world.call(from, Kind::LeaseRenewal, due, call, 4096).await;
    *revision = response.and_then(|response| resource_version(&response.head).map(str::to_owned));
}

async fn perform(world: Arc<SimulatedCluster>, node: Arc<Node>, act: TrafficKind, due: Instant, salt: u64) {
    let mark = mark(world.start, due);
    let of_node = Sender::Node(node.number);
    let control = Sender::Control(salt);
    match act {
        TrafficKind::Replace => pods::replace(&world, &node, due, salt).await,
        TrafficKind::NodeStatus => {
            let path = format!("/api/v1/nodes/{}/status", node.name);
            let body = bodies::node_status(&mark, &rfc3339());
            let call = Call::send(Method::PATCH, path, STRATEGIC, body).accept(PROTOBUF);
            world.call(of_node, Kind::NodeStatus, due, call, 0).await;
        }
        TrafficKind::EndpointSlice => {
            let namespaces = world.plan.namespaces(world.nodes().len() as u64).max(1);
            let name = bodies::namespace_name(salt % namespaces);
            let path = format!("/apis/discovery.k8s.io/v1/namespaces/{name}/endpointslices/web-abcde");
            let body = bodies::endpoint_slice(&name, &mark, salt);
            let call = Call::send(Method::PUT, path, PROTOBUF, body).accept(PROTOBUF);
            world.call(control, Kind::EndpointSlice, due, call, 0).await;
        }
        TrafficKind::NodeGet => {
            let path = format!("/api/v1/nodes/{}?resourceVersion=0", node.name);
            world.call(control, Kind::NodeGet, due, Call::get(path).accept(PROTOBUF), 0).await;
        }
        TrafficKind::PodGet => {
            if let Some(pod) = node.some() {
                let call = Call::get(pods::path(pod)).accept(PROTOBUF);
                world.call(of_node, Kind::PodGet, due, call, 0).await;
            }
        }
        TrafficKind::Custom => custom(&world, &node, due, &mark, salt).await,
        TrafficKind::ListNamespace => {
            let pod = node.number * world.plan.pods_per_node;
            let name = bodies::namespace_name(world.plan.namespace_of(pod));
            let path = format!("/api/v1/namespaces/{name}/pods?limit={PAGE}");
            world.call(control, Kind::ListNamespace, due, Call::get(path).accept(TABLE), 0).await;
        }
        TrafficKind::ListPods => list_pods(&world, due, control).await,
        TrafficKind::ListNodes => {
            let call = Call::get("/api/v1/nodes?limit=500").accept(TABLE);
            world.call(control, Kind::ListNodes, due, call, 0).await;
        }
    }
}

async fn custom(world: &SimulatedCluster, node: &Node, due: Instant, mark: &str, salt: u64) {
    let pod = node.number * world.plan.pods_per_node;
    let namespace = bodies::namespace_name(world.plan.namespace_of(pod));
    let path = format!("/apis/{GROUP}/v1/namespaces/{namespace}/widgets/{}", node.name);
    let control = Sender::Control(salt);
    world.call(control, Kind::CustomGet, due, Call::get(path.as_str()), 0).await;
    let body = bodies::widget_status(mark, salt);
    let call = Call::send(Method::PATCH, format!("{path}/status"), MERGE, body).accept(JSON);
    world.call(control, Kind::CustomStatus, due, call, 0).await;
}

/// Reads all pages in sequence. Each further page is due when the previous one has arrived.
async fn list_pods(world: &SimulatedCluster, mut due: Instant, control: Sender) {
    let mut path = format!("/api/v1/pods?limit={PAGE}");
    loop {
        let Some(page) = world.call(control, Kind::ListPods, due, Call::get(path), PAGE_HEAD).await else {
            return;
        };
        let Some(token) = continue_token(&page.head) else { return };
        path = format!("/api/v1/pods?limit={PAGE}&continue={token}");
        due = Instant::now();
    }
}
