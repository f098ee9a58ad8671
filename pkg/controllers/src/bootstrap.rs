//! Objects that the server maintains itself: those that a cluster needs to work, and those with this server's
//! address (upstream's `pkg/controlplane` and the start hooks of some groups). Each starts in a start hook,
//! and most continue periodically.

pub mod flow_control;
mod gated;
pub mod objects;
mod rbac;

use std::sync::Arc;
use std::time::Duration;

use component_base::features::Gates;
use jsontree::json;
use registry::{Client, Registry, meta};
use schema::object::Object;

use crate::desired_state::{create_if_missing, object};
use crate::error::Error;
use crate::hook::PostStartHook;
use crate::tasks::{FirstRound, RetryLimits, Schedule, Tasks, until_done};
use flow_control::FlowControl;
use rbac::Policy;

/// The system namespaces of every cluster (upstream's system namespaces controller).
pub const SYSTEM_NAMESPACES: [&str; 4] = ["kube-system", "kube-public", "kube-node-lease", "default"];

/// Interval of checks for objects that rarely change.
const MINUTE: Duration = Duration::from_secs(60);
/// Retry interval and deadline at start, as in upstream. Without roles and priority classes the cluster
/// cannot work, so the server exits on failure.
const FAST_RETRY: RetryLimits = RetryLimits { pause: Duration::from_secs(1), max: Duration::from_secs(30) };
/// Retry interval and deadline for flow schemas, as in upstream.
const SLOW_RETRY: RetryLimits = RetryLimits { pause: Duration::from_secs(1), max: Duration::from_secs(300) };

/// Creates missing cluster-scoped objects.
async fn existing(client: &Client, objects: &[Object]) -> Result<(), Error> {
    for object in objects {
        let reconciled = client
            .reconcile("", meta::text(object, "name"), &|current| create_if_missing(current, object))
            .await;
        reconciled?;
    }
    Ok(())
}

/// Creates the system namespaces and checks them every minute, as upstream does.
pub fn namespaces(registry: &Registry, tasks: &Tasks) -> Result<PostStartHook, Error> {
    let client = Arc::new(Client::find(registry, "", "namespaces")?);
    let tasks = tasks.clone();
    let round = move || {
        let client = Arc::clone(&client);
        let namespaces = SYSTEM_NAMESPACES.map(|name| object(json!({"metadata": {"name": name}})));
        async move { existing(&client, &namespaces).await }
    };
    let work = Box::pin(async move {
        until_done("system namespaces", FAST_RETRY, round.clone()).await?;
        tasks.spawn(every_minute("system namespaces"), round);
        Ok(())
    });
    Ok(PostStartHook { name: "start-system-namespaces-controller", work })
}

pub fn roles(registry: &Registry, gates: &Gates) -> Result<PostStartHook, Error> {
    let policy = Policy::new(registry, gates)?;
    let work = Box::pin(async move {
        let done = until_done("bootstrap roles", FAST_RETRY, || policy.ensure()).await;
        done.map_err(|error| error.context("unable to initialize roles"))
    });
    Ok(PostStartHook { name: "rbac/bootstrap-roles", work })
}

/// Creates the system's priority classes. They are immutable, so only missing ones are created.
pub fn priority_classes(registry: &Registry) -> Result<PostStartHook, Error> {
    let client = Client::find(registry, "scheduling.k8s.io", "priorityclasses")?;
    let classes = objects::of_kind("scheduling.k8s.io/v1", "PriorityClass", &Gates::default())?;
    let work = Box::pin(async move {
        let done = until_done("system priority classes", FAST_RETRY, || existing(&client, &classes)).await;
        done.map_err(|error| error.context("unable to add default system priority classes"))
    });
    Ok(PostStartHook { name: "scheduling/bootstrap-system-priority-classes", work })
}

pub fn flow_control(registry: &Registry, tasks: &Tasks) -> Result<PostStartHook, Error> {
    let flow_control = Arc::new(FlowControl::new(registry)?);
    let tasks = tasks.clone();
    let task = "flow schemas and priority levels";
    let work = Box::pin(async move {
        let done = until_done(task, SLOW_RETRY, || flow_control.ensure()).await;
        done.map_err(|error| error.context("unable to initialize APF bootstrap configuration"))?;
        tasks.spawn(every_minute(task), move || {
            let flow_control = Arc::clone(&flow_control);
            async move { flow_control.maintain().await }
        });
        Ok(())
    });
    Ok(PostStartHook { name: "priority-and-fairness-config-producer", work })
}

/// Returns the schedule: once a minute, after a separate first round.
fn every_minute(name: &'static str) -> Schedule {
    Schedule { name, period: MINUTE, jitter: 0.1, first: FirstRound::AfterPeriod }
}
