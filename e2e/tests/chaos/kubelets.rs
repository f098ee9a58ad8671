//! Simulated nodes: they are ready, their pods become running, and deletions complete.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::jiff::Timestamp;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use super::work::NAMESPACE;

const NODES: usize = 3;
const BEAT: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(400);
const PATIENCE: Duration = Duration::from_secs(5);
const LEASES: &str = "kube-node-lease";

/// Simulates all kubelets until dropped. Failed requests are retried, as kubelets do.
pub(super) async fn run(client: Client) {
    let pods: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
    let mut beat: Option<Instant> = None;
    loop {
        if beat.is_none_or(|beat| beat.elapsed() > BEAT) {
            for n in 0..NODES {
                let _ = timeout(PATIENCE, live(&client, &format!("node-{n}"))).await;
            }
            beat = Some(Instant::now());
        }
        if let Ok(Ok(list)) = timeout(PATIENCE, pods.list(&ListParams::default())).await {
            for pod in list.items {
                let _ = timeout(PATIENCE, update_pod(&pods, &pod)).await;
            }
        }
        sleep(PAUSE).await;
    }
}

fn typed<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// Registers a node if it is missing, and reports it as ready.
async fn live(client: &Client, name: &str) -> kube::Result<()> {
    let nodes: Api<Node> = Api::all(client.clone());
    let leases: Api<Lease> = Api::namespaced(client.clone(), LEASES);
    if nodes.get_opt(name).await?.is_none() {
        let node = json!({"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}});
        nodes.create(&PostParams::default(), &typed(node)).await?;
    }
    let capacity = json!({"cpu": "64", "memory": "256Gi", "pods": "1000"});
    let ready = condition("Ready", true);
    let status = json!({"status": {"capacity": capacity, "allocatable": capacity, "conditions": [ready]}});
    nodes.patch_status(name, &PatchParams::default(), &Patch::Strategic(status)).await?;
    let spec = json!({"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": now_micro()});
    if leases.get_opt(name).await?.is_none() {
        leases.create(&PostParams::default(), &typed(json!({"metadata": {"name": name}}))).await?;
    }
    leases.patch(name, &PatchParams::default(), &Patch::Merge(json!({"spec": spec}))).await?;
    Ok(())
}

/// Updates a pod like its kubelet.
async fn update_pod(pods: &Api<Pod>, pod: &Pod) -> kube::Result<()> {
    let (Some(spec), Some(name)) = (&pod.spec, &pod.metadata.name) else { return Ok(()) };
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    if spec.node_name.is_none() {
        return Ok(());
    }
    if pod.metadata.deletion_timestamp.is_some() {
        let now = DeleteParams::default().grace_period(0);
        pods.delete(name, &now).await?;
    } else if phase.unwrap_or("Pending") == "Pending" {
        let conditions: Vec<Value> =
            ["Initialized", "Ready", "ContainersReady"].map(|of| condition(of, true)).into();
        let status = json!({"phase": "Running", "conditions": conditions, "startTime": now()});
        let patch = json!({"metadata": {"uid": pod.metadata.uid}, "status": status});
        pods.patch_status(name, &PatchParams::default(), &Patch::Strategic(patch)).await?;
    }
    Ok(())
}

fn condition(of: &str, is_so: bool) -> Value {
    let status = if is_so { "True" } else { "False" };
    json!({"type": of, "status": status, "reason": "Chaos", "message": "", "lastTransitionTime": now()})
}

fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn now_micro() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}
