//! Fairness: latency of a quiet client, before and while many greedy clients of another user load the server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use http::Method;
use serde_json::json;
use tokio::runtime::Builder;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::objects::pod_path;
use super::{Context, Workload};
use crate::client::{Call, Client, JSON};
use crate::error::{Error, Result};
use crate::process::Meter;
use crate::setup;
use crate::stats::{Histogram, Latency, Measured};

/// Interval between requests of the quiet client.
const PERIOD: Duration = Duration::from_millis(20);
/// Pause of a greedy client after a rejection. It ignores `Retry-After`.
const AGAIN: Duration = Duration::from_millis(100);
/// Warm-up of the greedy load before the measurement.
const WARM_UP: Duration = Duration::from_secs(2);

pub(super) fn workloads() -> Vec<Box<dyn Workload>> {
    vec![Box::new(Fairness)]
}

struct Fairness;

#[async_trait]
impl Workload for Fairness {
    fn name(&self) -> &'static str {
        "fairness"
    }

    fn about(&self) -> &'static str {
        "--greedy clients of one service account list pods by 100; one of another gets a pod: its p99 before and meanwhile"
    }

    async fn run(&self, context: &Context) -> Result<Measured> {
        grant_reads(context).await?;
        let idle = quiet(context).await?;
        let meter = Meter::start(context.target.pid);
        let client = Arc::new(setup::connect(&context.target, &context.settings).await?);
        let mut storm = JoinSet::new();
        for lane in 0..usize::try_from(context.settings.greedy).unwrap_or(1) {
            storm.spawn(greedy(context.clone(), Arc::clone(&client), lane));
        }
        sleep(WARM_UP).await;
        let stormy = quiet(context).await;
        storm.shutdown().await;
        let mut measured = context.tally.measured(meter.stop());
        let stormy = stormy?;
        measured.extra.extend([
            ("quiet_p50_idle_ms", idle.p50),
            ("quiet_p99_idle_ms", idle.p99),
            ("quiet_p50_storm_ms", stormy.p50),
            ("quiet_p99_storm_ms", stormy.p99),
        ]);
        Ok(measured)
    }
}

/// Lets both service accounts read the pods of a server with RBAC. A server without the API needs no role.
async fn grant_reads(context: &Context) -> Result<()> {
    const GROUP: &str = "rbac.authorization.k8s.io";
    let namespace = &context.settings.namespace;
    let metadata = json!({"name": "apibench-fairness"});
    let account =
        |namespace: String| json!({"kind": "ServiceAccount", "namespace": namespace, "name": "default"});
    let role = json!({
        "apiVersion": format!("{GROUP}/v1"),
        "kind": "Role",
        "metadata": metadata,
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}],
    });
    let binding = json!({
        "apiVersion": format!("{GROUP}/v1"),
        "kind": "RoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": "apibench-fairness"},
        "subjects": [account(namespace.clone()), account(format!("{namespace}-churn"))],
    });
    let client = setup::connect(&context.target, &context.settings).await?;
    for (resource, body) in [("roles", role), ("rolebindings", binding)] {
        let path = format!("/apis/{GROUP}/v1/namespaces/{namespace}/{resource}");
        let response = client.call(0, Call::send(Method::POST, path, JSON, body.to_string()), 0).await?;
        if !matches!(response.status, 404 | 409) {
            response.expect(201)?;
        }
    }
    Ok(())
}

/// Measures the quiet client on a separate thread. On a shared thread it would wait for the greedy clients,
/// and that wait would count against the server.
async fn quiet(context: &Context) -> Result<Latency> {
    let context = context.clone();
    let measured = spawn_blocking(move || {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|why| Error::Io { what: "a runtime".to_owned(), why })?;
        runtime.block_on(async {
            let client = setup::connect(&context.target, &context.settings).await?;
            // Costs of the first request are not measured.
            one(&context, &client, 0).await?;
            trickle(&context, &client).await
        })
    });
    measured.await.unwrap_or_else(|error| Err(Error::Wrong(error.to_string())))
}

/// Impersonates the service account of one of the two namespaces.
fn of_account(context: &Context, call: Call, suffix: &str) -> Call {
    let user = format!("system:serviceaccount:{}{suffix}:default", context.settings.namespace);
    call.impersonating(user, &["system:serviceaccounts", "system:authenticated"])
}

/// Sends a request of the quiet client.
async fn one(context: &Context, client: &Client, i: u64) -> Result<()> {
    let call = of_account(context, Call::get(pod_path(&context.settings, i)), "-churn");
    client.call(0, call, 0).await?.expect(200).map(drop)
}

/// Runs the quiet client during the timed part. A failed request aborts the measurement: a client that waits
/// in line must be served.
#[allow(clippy::disallowed_methods, reason = "a command measures with the real clock")]
async fn trickle(context: &Context, client: &Client) -> Result<Latency> {
    let start = Instant::now();
    let latency = Histogram::default();
    let mut ticks = interval(PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for i in 0.. {
        let due = ticks.tick().await;
        if start.elapsed() > context.duration() {
            break;
        }
        one(context, client, i).await?;
        latency.add(due.elapsed());
    }
    latency.latency().ok_or_else(|| Error::Wrong("no request was answered".to_owned()))
}

/// Runs a client that sends its next request as soon as the previous one completes. A rejection is no
/// failure.
#[allow(clippy::disallowed_methods, reason = "a command measures with the real clock")]
async fn greedy(context: Context, client: Arc<Client>, lane: usize) {
    loop {
        let path = format!("{}?limit=100", setup::path(&context.settings, "pods"));
        let sent = Instant::now();
        match client.call(lane, of_account(&context, Call::get(path), ""), 0).await {
            Ok(response) if response.status == 200 => context.tally.success(sent.elapsed(), response.bytes),
            Ok(response) if response.status == 429 => sleep(AGAIN).await,
            Ok(response) => context.tally.failure(1, response.wrong("wanted 200 or 429")),
            Err(error) => {
                context.tally.failure(1, error);
                sleep(AGAIN).await;
            }
        }
    }
}
