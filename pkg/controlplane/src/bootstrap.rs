//! What the server itself keeps in the cluster: objects that have to be there before anyone else can work,
//! and objects that say where this server is (upstream's `pkg/controlplane` and the start hooks of some
//! groups). All of it begins with a start hook and most goes on in rounds.

mod flow_control;
pub(crate) mod objects;
mod rbac;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use apimachinery::features::Gate;
use futures::future::{BoxFuture, join, ready};
use jsontree::json;
use registry::{Client, Registry, meta};
use schema::object::Object;
use storage::Storage;

use crate::authentication_info::AuthenticationInfo;
use crate::config::{Config, Standing};
use crate::desired::{missing, object};
use crate::hook::PostStartHook;
use crate::identity_lease::IdentityLease;
use crate::kubernetes_service::KubernetesService;
use crate::legacy_tokens::LegacyTokenTracking;
use crate::service_cidr::DefaultServiceCidr;
use crate::tasks::{First, Rounds, Tasks, until_done};
use flow_control::FlowControl;
use rbac::Policy;

/// The namespaces that every cluster has (upstream's system namespaces controller).
const SYSTEM_NAMESPACES: [&str; 4] = ["kube-system", "kube-public", "kube-node-lease", "default"];

/// How often objects are looked after that nobody is expected to touch.
const MINUTE: Duration = Duration::from_secs(60);
/// The pause between two attempts at start, and how long upstream tries: without roles and priority
/// classes the cluster cannot work, so a server that fails to make them ends.
const EAGER: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// As long as upstream tries to create flow schemas.
const PATIENT: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));

/// The work for the cluster's sake.
pub(crate) struct Duties {
    /// What is done at start. Each hands what goes on afterwards to the [`Tasks`].
    pub(crate) hooks: Vec<PostStartHook>,
    /// What is done when the server was told to stop, while it still serves: it takes itself out of the
    /// cluster. Bounded.
    pub(crate) before_stop: BoxFuture<'static, ()>,
}

/// All of it. `client_authorities` are the files with the authorities by whose certificates clients log in.
///
/// # Errors
/// Something that is kept is not served.
pub(crate) fn duties(
    config: &Config,
    registry: &Registry,
    storage: Arc<dyn Storage>,
    client_authorities: Vec<PathBuf>,
    tasks: &Tasks,
) -> Result<Duties, String> {
    let service = Arc::new(KubernetesService::new(config, registry, storage)?);
    let lease = config.gates.enabled(Gate::APIServerIdentity).then(|| IdentityLease::new(config, registry));
    let lease = lease.transpose()?.map(Arc::new);
    let information = AuthenticationInfo::new(&config.authentication, client_authorities, registry)?;
    let cidr = DefaultServiceCidr::new(&config.services.cidrs, registry)?;
    let mut hooks = vec![
        namespaces(registry, tasks)?,
        Arc::new(information).hook(tasks),
        LegacyTokenTracking::new(registry)?.hook(tasks),
        roles(registry)?,
        priority_classes(registry)?,
        flow_control(registry, tasks)?,
        service.hook(tasks),
        Arc::new(cidr).hook(tasks),
    ];
    let is_member = config.standing == Standing::Member;
    let lease = lease.filter(|_| is_member);
    hooks.extend(lease.iter().flat_map(|lease| [lease.hook(tasks), lease.collector_hook(tasks)]));
    if config.standing == Standing::Fork {
        // Another server has done it, and it goes with the fork.
        hooks.iter_mut().for_each(|hook| hook.work = Box::pin(ready(Ok(()))));
    }
    let before_stop = Box::pin(async move {
        let lease = async {
            if let Some(lease) = lease {
                lease.leave().await;
            }
        };
        if is_member {
            join(service.leave(), lease).await;
        }
    });
    Ok(Duties { hooks, before_stop })
}

/// Sees to it that these cluster-scoped objects exist.
async fn existing(client: &Client, objects: &[Object]) -> Result<(), String> {
    for object in objects {
        let kept = client.keep("", meta::text(object, "name"), &|current| missing(current, object)).await;
        kept.map_err(|status| status.message)?;
    }
    Ok(())
}

/// The system namespaces; upstream looks after them every minute.
fn namespaces(registry: &Registry, tasks: &Tasks) -> Result<PostStartHook, String> {
    let client = Arc::new(Client::find(registry, "", "namespaces")?);
    let tasks = tasks.clone();
    let round = move || {
        let client = Arc::clone(&client);
        let namespaces = SYSTEM_NAMESPACES.map(|name| object(json!({"metadata": {"name": name}})));
        async move { existing(&client, &namespaces).await }
    };
    let work = Box::pin(async move {
        until_done("system namespaces", EAGER, round.clone()).await?;
        tasks.spawn(minutely("system namespaces"), round);
        Ok(())
    });
    Ok(PostStartHook { name: "start-system-namespaces-controller", work })
}

fn roles(registry: &Registry) -> Result<PostStartHook, String> {
    let policy = Policy::new(registry)?;
    let work = Box::pin(async move {
        let done = until_done("bootstrap roles", EAGER, || policy.ensure()).await;
        done.map_err(|reason| format!("unable to initialize roles: {reason}"))
    });
    Ok(PostStartHook { name: "rbac/bootstrap-roles", work })
}

/// The system's priority classes. Nobody can change them, so only missing ones are looked for.
fn priority_classes(registry: &Registry) -> Result<PostStartHook, String> {
    let client = Client::find(registry, "scheduling.k8s.io", "priorityclasses")?;
    let classes = objects::of_kind("scheduling.k8s.io/v1", "PriorityClass")?;
    let work = Box::pin(async move {
        let done = until_done("system priority classes", EAGER, || existing(&client, &classes)).await;
        done.map_err(|reason| format!("unable to add default system priority classes: {reason}"))
    });
    Ok(PostStartHook { name: "scheduling/bootstrap-system-priority-classes", work })
}

fn flow_control(registry: &Registry, tasks: &Tasks) -> Result<PostStartHook, String> {
    let flow_control = Arc::new(FlowControl::new(registry)?);
    let tasks = tasks.clone();
    let what = "flow schemas and priority levels";
    let work = Box::pin(async move {
        let done = until_done(what, PATIENT, || flow_control.ensure()).await;
        done.map_err(|reason| format!("unable to initialize APF bootstrap configuration: {reason}"))?;
        tasks.spawn(minutely(what), move || {
            let flow_control = Arc::clone(&flow_control);
            async move { flow_control.maintain().await }
        });
        Ok(())
    });
    Ok(PostStartHook { name: "priority-and-fairness-config-producer", work })
}

/// Rounds once a minute, after a first one that has been done.
fn minutely(what: &'static str) -> Rounds {
    Rounds { what, period: MINUTE, jitter: 0.1, first: First::Later }
}

#[cfg(test)]
mod tests;
