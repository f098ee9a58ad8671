//! Health checks of a server, in upstream's order.

use std::sync::Arc;
use std::time::Duration;

use server::Lifecycle;
use server::health::{
    Check, CheckError, CheckGroup, GracePeriodCheck, Health, Log, NamedCheck, Ping, Shutdown, ThrottledCheck,
};
use tokio::time::timeout;

use super::hooks::Hooks;
use super::store::Store;
use crate::config::Config;

/// Health checks of a cluster of the store.
struct StoreChecks {
    health: Arc<dyn Check>,
    /// The check of `/readyz` with its own timeout.
    readiness: Arc<dyn Check>,
}

/// Returns the health checks of each cluster of the store. They are unauthenticated, so calls of the store are
/// throttled, as in upstream.
fn store_checks(config: &Config, store: &Store) -> Vec<StoreChecks> {
    let check = |name: String, cluster: &Arc<dyn storage::Storage>, limit: Duration| {
        let cluster = Arc::clone(cluster);
        let check = Arc::new(NamedCheck(name.into(), move || {
            let cluster = Arc::clone(&cluster);
            async move {
                let healthy = timeout(limit, cluster.healthy()).await;
                healthy.map_err(CheckError::new)?.map_err(CheckError::new)
            }
        }));
        Arc::new(ThrottledCheck::new(check, limit / 2)) as Arc<dyn Check>
    };
    let checks = |(index, cluster): (usize, &Arc<dyn storage::Storage>)| {
        let names = match index.checked_sub(1) {
            None => ["etcd".to_owned(), "etcd-readiness".to_owned()],
            Some(n) => [format!("etcd-override-{n}"), format!("etcd-override-readiness-{n}")],
        };
        let [health, readiness] = names;
        StoreChecks {
            health: check(health, cluster, config.storage.health_timeout()),
            readiness: check(readiness, cluster, config.storage.readiness_timeout()),
        }
    };
    store.clusters.iter().enumerate().map(checks).collect()
}

/// Builds upstream's health checks in upstream's order, as far as their subjects exist here.
pub(super) fn health(
    config: &Config,
    store: &Store,
    lifecycle: &Lifecycle,
    hooks: &Hooks,
    loopback_check: Arc<dyn Check>,
    plugins: Vec<Arc<dyn Check>>,
) -> Health {
    let log: Arc<dyn Check> = Arc::new(Log::default());
    let stores = store_checks(config, store);
    let stores_health = || stores.iter().map(|checks| Arc::clone(&checks.health));
    let stores_readiness =
        || stores.iter().flat_map(|checks| [Arc::clone(&checks.health), Arc::clone(&checks.readiness)]);
    let loopback_checks = || std::iter::once(Arc::clone(&loopback_check));
    let listed = || hooks.listed.iter().map(|hook| Arc::clone(hook) as Arc<dyn Check>).collect::<Vec<_>>();
    let group = |mid: Vec<Arc<dyn Check>>, hooks: Vec<Arc<dyn Check>>, end: Vec<Arc<dyn Check>>| {
        let begin: Vec<Arc<dyn Check>> = vec![Arc::new(Ping), Arc::clone(&log)];
        CheckGroup::new(begin.into_iter().chain(mid).chain(hooks).chain(end).collect())
    };
    let with_grace_period =
        |check| Arc::new(GracePeriodCheck::new(check, config.serving.livez_grace)) as Arc<dyn Check>;
    Health {
        healthz: group(
            loopback_checks().chain(stores_health()).chain(plugins.clone()).collect(),
            listed(),
            Vec::new(),
        ),
        livez: group(
            loopback_checks().chain(stores_health()).collect(),
            listed().into_iter().map(with_grace_period).collect(),
            Vec::new(),
        ),
        readyz: group(
            stores_readiness()
                .chain(plugins)
                .chain([Arc::clone(&hooks.informers) as Arc<dyn Check>])
                .collect(),
            listed(),
            vec![Arc::new(Shutdown(lifecycle.terminating().clone()))],
        ),
    }
}
