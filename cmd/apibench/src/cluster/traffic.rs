//! What a cluster asks of its server. Every stream of requests has its own times, which nothing delays: a
//! request is due when it is due, whether those before it are answered or not.

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

/// Requests, or lives of pods, of one stream that may be under way; more are not sent, which is an error.
const MAX_UNDER_WAY: usize = 5000;
/// Seconds between two renewals of a node's lease.
const LEASE_SECONDS: f64 = 10.0;
/// Seconds between two reports of a node's status.
const STATUS_SECONDS: f64 = 60.0;
/// Reads of a node, and of a pod by its kubelet's side work, per second and node.
const READS: f64 = 0.02;
/// Reports of a custom resource's status per second and node.
const CUSTOM: f64 = 0.005;
/// Lists of a namespace's pods per second and node.
const NAMESPACE_LISTS: f64 = 0.001;
/// Seconds between lists of everything, whatever the size.
const WHOLE_SECONDS: f64 = 20.0;
/// A page of a list of all pods.
const PAGE: u64 = 500;
/// Of a page so much is kept: its metadata stand first.
const PAGE_HEAD: usize = 4096;

/// The traffic of a step.
#[derive(Debug)]
pub(crate) struct Traffic(JoinSet<()>);

impl Traffic {
    /// Begins now, ends at `end`.
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

    /// Waits until everything that was sent is answered, at most until `limit`. What is under way then is given up.
    pub(crate) async fn finish(mut self, limit: Instant) {
        let all = async { while self.0.join_next().await.is_some() {} };
        // Whoever is late is counted as such by the window.
        let _ = tokio::time::timeout_at(limit.into(), all).await;
    }
}

/// What a stream does each time.
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

/// Does `act` at random times, `rate` per second on average, until `end`.
async fn arrivals(
    world: Arc<SimulatedCluster>,
    kind: Kind,
    rate: f64,
    end: Instant,
    mut random: Random,
    act: TrafficKind,
) {
    let (mut due, mut under_way) = (Instant::now(), JoinSet::new());
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
        let (number, salt) = (Arc::clone(node), random.below(u64::from(u32::MAX)));
        send(&mut under_way, &world, kind, due, perform(Arc::clone(&world), number, act, due, salt));
    }
    while under_way.join_next().await.is_some() {}
}

/// Every node renews its lease every ten seconds, each at a moment of its own.
async fn leases(world: Arc<SimulatedCluster>, end: Instant, mut random: Random) {
    let nodes = world.nodes();
    let mut order: Vec<(f64, &Arc<Node>)> =
        nodes.iter().map(|node| (random.unit() * LEASE_SECONDS, node)).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut round, mut under_way) = (Instant::now(), JoinSet::new());
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
        // Without nodes there is nothing above that waits.
        tokio::time::sleep_until(round.min(end).into()).await;
    }
    while under_way.join_next().await.is_some() {}
}

/// Begins `request` if there is room for it, and notes how late that is.
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
    // The next renewal waits for this one, as a kubelet's does; its latency counts from its own time.
    let mut revision = node.lease.lock().await;
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{}", node.name);
    let from = Sender::Node(node.number);
    if revision.is_none() {
        let call = Call::get(path.as_str()).accept(PROTOBUF);
        let answer = world.call(from, Kind::LeaseRenewal, due, call, 4096).await;
        *revision = answer.and_then(|answer| resource_version(&answer.head).map(str::to_owned));
    }
    let body = bodies::lease(&node.name, revision.as_deref(), unix_time());
    let call = Call::send(Method::PUT, path, PROTOBUF, body).accept(PROTOBUF);
    let answer = world.call(from, Kind::LeaseRenewal, due, call, 4096).await;
    *revision = answer.and_then(|answer| resource_version(&answer.head).map(str::to_owned));
}

async fn perform(world: Arc<SimulatedCluster>, node: Arc<Node>, act: TrafficKind, due: Instant, salt: u64) {
    let mark = mark(world.begun, due);
    let (of_node, control) = (Sender::Node(node.number), Sender::Control(salt));
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

/// All pages, one after the other. Each one after the first is due when the one before is there.
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
