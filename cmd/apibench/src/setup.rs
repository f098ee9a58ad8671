//! Prepares a server: creates the namespaces, and the pods spread over apps and nodes. Existing objects are
//! reused.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::Method;
use tokio::task::JoinSet;

use crate::args::Settings;
use crate::bodies;
use crate::check::{self, MAX_BODY};
use crate::client::{Call, Client, JSON, Windows};
use crate::error::{Error, Result};
use crate::target::Target;

/// Media type of metadata-only lists.
pub(crate) const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

/// Maximum attempts to delete a collection.
const DELETE_ATTEMPTS: u32 = 50;

/// Returns the path of a resource in the namespace of the pods.
pub(crate) fn path(settings: &Settings, resource: &str) -> String {
    format!("/api/v1/namespaces/{}/{resource}", settings.namespace)
}

/// Returns the path of a resource in the namespace for short-lived objects.
pub(crate) fn churn_path(settings: &Settings, resource: &str) -> String {
    format!("/api/v1/namespaces/{}-churn/{resource}", settings.namespace)
}

/// Opens the connections for `settings`.
pub(crate) async fn connect(target: &Arc<Target>, settings: &Settings) -> Result<Client> {
    let time_limit = Duration::from_secs(settings.timeout);
    Client::connect(target, settings.connections, Windows::LARGE, time_limit).await
}

/// Creates missing objects. Returns the number of created pods.
pub(crate) async fn prepare(target: &Arc<Target>, settings: &Arc<Settings>) -> Result<u64> {
    let client = Arc::new(connect(target, settings).await?);
    for suffix in ["", "-churn"] {
        let namespace = format!("{}{suffix}", settings.namespace);
        create_namespace(&client, &namespace).await?;
    }
    delete_all(&client, &churn_path(settings, "pods")).await?;
    let pods = path(settings, "pods");
    if has_expected_pods(&client, settings).await? {
        return Ok(0);
    }
    delete_all(&client, &pods).await?;
    create_pods(&client, settings, &pods, settings.objects).await?;
    Ok(settings.objects)
}

/// Deletes the pods and ConfigMaps of the run. The namespaces stay: a server without a controller manager
/// cannot finalize them, and the next run reuses them.
pub(crate) async fn cleanup(target: &Arc<Target>, settings: &Settings) -> Result<()> {
    let client = connect(target, settings).await?;
    for path in [path(settings, "pods"), path(settings, "configmaps"), churn_path(settings, "pods")] {
        delete_all(&client, &path).await?;
    }
    Ok(())
}

/// Creates a namespace with the default service account, which admission requires for pods.
pub(crate) async fn create_namespace(client: &Client, name: &str) -> Result<()> {
    let namespace = format!(r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{name}"}}}}"#);
    let account = r#"{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default"}}"#.to_owned();
    let accounts = format!("/api/v1/namespaces/{name}/serviceaccounts");
    for (path, body) in [("/api/v1/namespaces".to_owned(), namespace), (accounts, account)] {
        let response = client.call(0, Call::send(Method::POST, path, JSON, body), 0).await?;
        if response.status != 409 {
            response.expect(201)?;
        }
    }
    Ok(())
}

async fn has_expected_pods(client: &Client, settings: &Settings) -> Result<bool> {
    if count(client, &path(settings, "pods")).await? != settings.objects {
        return Ok(false);
    }
    let last = settings.nodes() - 1;
    let size = settings.pod_kb;
    let on_node = format!(
        "{}?fieldSelector=spec.nodeName%3Dnode-{last}&labelSelector=size%3D{size}k",
        path(settings, "pods")
    );
    let response = client.call(0, Call::get(on_node).accept(METADATA_LIST), MAX_BODY).await?.expect(200)?;
    Ok(check::json_list(&response)?.1 == settings.pods_on(last))
}

/// Returns the number of objects at `path`.
pub(crate) async fn count(client: &Client, path: &str) -> Result<u64> {
    let call = Call::get(format!("{path}?limit=1")).accept(METADATA_LIST);
    let response = client.call(0, call, MAX_BODY).await?.expect(200)?;
    let (metadata, items) = check::json_list(&response)?;
    Ok(items + metadata.remaining)
}

/// Returns the current resource version, from which a watch without history starts.
pub(crate) async fn resource_version(client: &Client, settings: &Settings) -> Result<String> {
    let call = Call::get(format!("{}?limit=1", path(settings, "configmaps"))).accept(METADATA_LIST);
    let response = client.call(0, call, MAX_BODY).await?.expect(200)?;
    Ok(check::json_list(&response)?.0.resource_version)
}

/// Deletes everything at `path` without grace period.
pub(crate) async fn delete_all(client: &Client, path: &str) -> Result<()> {
    for _ in 0..DELETE_ATTEMPTS {
        if count(client, path).await? == 0 {
            return Ok(());
        }
        client
            .call(0, Call::delete(format!("{path}?gracePeriodSeconds=0&limit=2000")), 0)
            .await?
            .expect(200)?;
    }
    Err(Error::Wrong(format!("{path}: objects are still there after {DELETE_ATTEMPTS} deletions")))
}

/// Creates pods `0..total` of the measured set in the collection `pods`, with all their managers.
pub(crate) async fn create_pods(
    client: &Arc<Client>,
    settings: &Arc<Settings>,
    pods: &str,
    total: u64,
) -> Result<()> {
    let pod_settings = Arc::clone(settings);
    let collection = pods.to_owned();
    let writes = move |i| {
        let name = bodies::pod_name(i);
        let calls =
            bodies::nth_pod(i, &pod_settings).map(|write| Call::of_manager(&write, &collection, &name));
        calls.to_vec()
    };
    create_with(client, total, settings.concurrency, writes).await
}

/// Creates objects `0..total` at `path`, `lanes` at a time.
pub(crate) async fn create(
    client: &Arc<Client>,
    path: &str,
    total: u64,
    lanes: u64,
    body: impl Fn(u64) -> String + Send + Sync + 'static,
) -> Result<()> {
    let path = path.to_owned();
    let calls = move |i| vec![Call::send(Method::POST, path.as_str(), JSON, body(i))];
    create_with(client, total, lanes, calls).await
}

/// Creates objects `0..total`, `lanes` at a time. `calls` returns the calls that create an object, in order.
pub(crate) async fn create_with(
    client: &Arc<Client>,
    total: u64,
    lanes: u64,
    calls: impl Fn(u64) -> Vec<Call> + Send + Sync + 'static,
) -> Result<()> {
    let next = Arc::new(AtomicU64::new(0));
    let calls = Arc::new(calls);
    let mut tasks: JoinSet<Result<()>> = JoinSet::new();
    for lane in 0..usize::try_from(lanes).unwrap_or(1) {
        let client = Arc::clone(client);
        let next = Arc::clone(&next);
        let calls = Arc::clone(&calls);
        tasks.spawn(async move {
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                if i >= total {
                    return Ok(());
                }
                for call in calls(i) {
                    let expected = if call.method == Method::POST { 201 } else { 200 };
                    client.call(lane, call, 0).await?.expect(expected)?;
                }
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.map_err(|e| Error::Wrong(e.to_string()))??;
    }
    Ok(())
}
