//! Work for controllers: Deployments that are scaled and rolled out, and whose pods are deleted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::random::Random;

pub(super) const NAMESPACE: &str = "work";
const DEPLOYMENTS: usize = 4;
const REPLICAS_MAX: usize = 6;
const PAUSE: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(5);

/// Creates work until it is stopped. Failures are ignored.
pub(super) async fn run(client: Client, stop: Arc<AtomicBool>, mut random: Random) {
    let mut round = 0_u64;
    while !stop.load(Ordering::SeqCst) {
        round += 1;
        let n = random.below(DEPLOYMENTS);
        let replicas = random.below(REPLICAS_MAX + 1);
        let action = random.below(4);
        let name = format!("app-{n}");
        let _ = timeout(PATIENCE, step(&client, &name, replicas, action, round)).await;
        sleep(PAUSE).await;
    }
}

async fn step(client: &Client, name: &str, replicas: usize, action: usize, round: u64) -> kube::Result<()> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
    if deployments.get_opt(name).await?.is_none() {
        let deployment = serde_json::from_value(deployment(name, replicas)).unwrap();
        deployments.create(&PostParams::default(), &deployment).await?;
        return Ok(());
    }
    match action {
        0 | 1 => {
            let scale = Patch::Merge(json!({"spec": {"replicas": replicas}}));
            deployments.patch_scale(name, &PatchParams::default(), &scale).await?;
        }
        2 => {
            let template = json!({"metadata": {"annotations": {"round": round.to_string()}}});
            let patch = Patch::Strategic(json!({"spec": {"template": template}}));
            deployments.patch(name, &PatchParams::default(), &patch).await?;
        }
        _ => {
            let pods: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
            let list = pods.list(&ListParams::default().labels(&format!("app={name}"))).await?;
            if let Some(name) = list.items.first().and_then(|pod| pod.metadata.name.as_deref()) {
                pods.delete(name, &DeleteParams::default()).await?;
            }
        }
    }
    Ok(())
}

fn deployment(name: &str, replicas: usize) -> Value {
    let labels = json!({"app": name});
    let spec = json!({"containers": [{"name": "c", "image": "image"}]});
    json!({
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    })
}

/// Returns the objects that have not reached the desired state.
pub(super) async fn unsettled(client: &Client) -> Vec<String> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
    let pods: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
    let lists =
        async { (deployments.list(&ListParams::default()).await, pods.list(&ListParams::default()).await) };
    let Ok((Ok(deployments), Ok(pods))) = timeout(PATIENCE, lists).await else {
        return vec!["no answer".to_owned()];
    };
    if deployments.items.is_empty() {
        return vec!["there is no Deployment".to_owned()];
    }
    deployments.items.iter().filter_map(|deployment| wrong(deployment, &pods.items)).collect()
}

fn wrong(deployment: &Deployment, pods: &[Pod]) -> Option<String> {
    let metadata = &deployment.metadata;
    let spec = &deployment.spec;
    let status = deployment.status.clone();
    let desired = spec.replicas;
    let status = status.unwrap_or_default();
    let label = |pod: &Pod| pod.metadata.labels.as_ref().and_then(|labels| labels.get("app").cloned());
    let running = |pod: &&Pod| {
        pod.status.as_ref().is_some_and(|status| status.phase.as_deref() == Some("Running"))
            && pod.metadata.deletion_timestamp.is_none()
    };
    let owned_pods: Vec<&Pod> = pods.iter().filter(|pod| label(pod) == metadata.name).collect();
    let count = i32::try_from(owned_pods.iter().filter(|pod| running(pod)).count()).unwrap();
    let is_settled = status.observed_generation == metadata.generation
        && status.ready_replicas.unwrap_or_default() == desired.unwrap_or_default()
        && status.updated_replicas.unwrap_or_default() == desired.unwrap_or_default()
        && Some(count) == desired
        && owned_pods.len() == count.unsigned_abs() as usize;
    (!is_settled).then(|| {
        format!("{:?} wants {desired:?}, {} pods, {count} run: {status:?}", metadata.name, owned_pods.len())
    })
}
