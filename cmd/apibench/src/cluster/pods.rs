//! Lifecycle of a pod. A controller creates it, the scheduler binds it, and its kubelet reports that it runs.
//! Later a controller deletes it, and its kubelet reports that and removes it. Each request is due when the
//! previous one has completed, as in a real cluster. The replacement times themselves are never delayed.

#![allow(clippy::disallowed_methods, reason = "a command measures with the real clock")]

use std::time::Instant;

use http::Method;

use super::bodies;
use super::kind::Kind;
use super::mark::mark;
use super::world::{MERGE, Node, PROTOBUF, Pod, STRATEGIC, Sender, SimulatedCluster, rfc3339, unix_time};
use crate::client::{Call, JSON};

/// Replaces the oldest pod of `node`.
pub(crate) async fn replace(world: &SimulatedCluster, node: &Node, due: Instant, salt: u64) {
    let Some(old) = node.oldest() else { return };
    let new = Pod { number: world.new_pod(), namespace: old.namespace };
    let (appeared, ()) = tokio::join!(appear(world, node, new, due, salt), go(world, node, old, due, salt));
    if appeared {
        node.add(new);
    }
}

pub(crate) fn path(pod: Pod) -> String {
    format!("{}/{}", pods_of(pod), bodies::pod_name(pod.number))
}

fn pods_of(pod: Pod) -> String {
    format!("/api/v1/namespaces/{}/pods", bodies::namespace_name(pod.namespace))
}

async fn appear(world: &SimulatedCluster, node: &Node, pod: Pod, due: Instant, salt: u64) -> bool {
    let namespace = bodies::namespace_name(pod.namespace);
    let name = bodies::pod_name(pod.number);
    let control = Sender::Control(salt);
    let body = bodies::pod(&name, &namespace, None);
    let call = Call::send(Method::POST, pods_of(pod), PROTOBUF, body).accept(PROTOBUF);
    if world.call(control, Kind::PodCreate, due, call, 0).await.is_none() {
        return false;
    }
    let due = Instant::now();
    let body = bodies::binding(&name, &namespace, &node.name, &mark(world.start, due));
    let call = Call::send(Method::POST, format!("{}/binding", path(pod)), PROTOBUF, body).accept(PROTOBUF);
    if world.call(control, Kind::PodBind, due, call, 0).await.is_none() {
        return false;
    }
    let due = Instant::now();
    let events = async {
        for reason in ["Scheduled", "Pulled", "Started"] {
            event(world, node, pod, reason, due).await;
        }
    };
    let status = async {
        status(world, node, pod, true, due).await;
        let body = format!(r#"{{"status":{{"replicas":200,"readyReplicas":{}}}}}"#, salt % 200);
        let path = format!("/apis/apps/v1/namespaces/{namespace}/replicasets/web/status");
        let call = Call::send(Method::PATCH, path, MERGE, body).accept(PROTOBUF);
        world.call(control, Kind::ReplicaSetStatus, Instant::now(), call, 0).await;
    };
    tokio::join!(events, status);
    true
}

async fn go(world: &SimulatedCluster, node: &Node, pod: Pod, due: Instant, salt: u64) {
    let call = Call::delete(path(pod)).accept(PROTOBUF);
    if world.call(Sender::Control(salt), Kind::PodDelete, due, call, 0).await.is_none() {
        return;
    }
    status(world, node, pod, false, Instant::now()).await;
    let call = Call::delete(format!("{}?gracePeriodSeconds=0", path(pod))).accept(PROTOBUF);
    world.call(Sender::Node(node.number), Kind::PodRemove, Instant::now(), call, 0).await;
}

/// Reads the pod like a kubelet, then reports its status.
async fn status(world: &SimulatedCluster, node: &Node, pod: Pod, ready: bool, due: Instant) {
    let from = Sender::Node(node.number);
    world.call(from, Kind::PodGet, due, Call::get(path(pod)).accept(PROTOBUF), 0).await;
    let due = Instant::now();
    let body = bodies::pod_status(ready, &mark(world.start, due), &rfc3339(), pod.number);
    let path = format!("{}/status", path(pod));
    let call = Call::send(Method::PATCH, path, STRATEGIC, body).accept(PROTOBUF);
    world.call(from, Kind::PodStatus, due, call, 0).await;
}

async fn event(world: &SimulatedCluster, node: &Node, pod: Pod, reason: &str, due: Instant) {
    let namespace = bodies::namespace_name(pod.namespace);
    let about = bodies::pod_name(pod.number);
    let name = format!("{about}.{}", reason.to_ascii_lowercase());
    let body = bodies::event(&name, &namespace, &about, reason, unix_time().0);
    let path = format!("/api/v1/namespaces/{namespace}/events");
    let call = Call::send(Method::POST, path, PROTOBUF, body).accept(JSON);
    world.call(Sender::Node(node.number), Kind::Event, due, call, 0).await;
}
