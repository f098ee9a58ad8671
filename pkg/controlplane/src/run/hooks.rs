//! Start hooks: their order, and the conditions for readiness.

use std::sync::Arc;
use std::time::Duration;

use component_base::features::{Gate, Gates};
use futures::future::BoxFuture;
use server::health::Hook;
use tokio::time::{sleep, timeout};

use crate::error::RunError;
use controllers::hook::PostStartHook;
use controllers::tasks::Tasks;

/// Maximum wait for the watch cache before storage counts as ready without it (upstream's
/// `StorageReadinessHook`). The check `informer-sync` of `/readyz` continues to wait.
const CACHE_WAIT_MAX: Duration = Duration::from_secs(60);
/// Retry interval for an unresponsive store at start.
const STORE_RETRY: Duration = Duration::from_millis(250);
/// The hook that waits for the watch cache.
const STORAGE_READINESS: &str = "storage-readiness";

/// An upstream check without a hook.
const AUTOREGISTERED: &str = "autoregister-completion";

/// All of upstream's hooks in the order of its health endpoints.
const ORDER: &[&str] = &[
    "start-encryption-provider-config-automatic-reload",
    "start-apiserver-admission-initializer",
    "generic-apiserver-start-informers",
    "priority-and-fairness-config-consumer",
    "priority-and-fairness-filter",
    "max-in-flight-filter",
    "storage-object-count-tracker-hook",
    "start-apiextensions-informers",
    "start-apiextensions-controllers",
    "crd-informer-synced",
    "start-system-namespaces-controller",
    "start-kube-apiserver-coordinated-leader-election-controller",
    "peer-endpoint-reconciler-controller",
    "mixed-version-proxy-handler",
    "local-discovery-cache-sync",
    "peer-discovery-workers",
    "start-cluster-authentication-info-controller",
    "start-kube-apiserver-identity-lease-controller",
    "start-kube-apiserver-identity-lease-garbage-collector",
    "storage-readiness",
    "start-legacy-token-tracking-controller",
    "start-service-ip-repair-controllers",
    "rbac/bootstrap-roles",
    "scheduling/bootstrap-system-priority-classes",
    "priority-and-fairness-config-producer",
    "bootstrap-controller",
    "start-kubernetes-service-cidr-controller",
    "start-kube-aggregator-informers",
    "apiservice-status-local-available-controller",
    "apiservice-status-remote-available-controller",
    "apiservice-registration-controller",
    "apiservice-discovery-controller",
    "built-in-resources-storage-version-updater",
    "kube-apiserver-autoregistration",
    AUTOREGISTERED,
    "apiservice-openapi-controller",
    "apiservice-openapiv3-controller",
];

/// The hooks of a server and their progress.
pub(super) struct Hooks {
    /// All hooks in upstream's order.
    pub(super) listed: Vec<Arc<Hook>>,
    /// The `/readyz` check of the watch cache.
    pub(super) informers: Arc<Hook>,
    storage_readiness: Arc<Hook>,
    work: Vec<(PostStartHook, Arc<Hook>)>,
}

impl Hooks {
    /// Creates hooks that have not started. The hook that waits for the watch cache is listed only if its gate is on.
    pub(super) fn new(gates: &Gates, work: Vec<PostStartHook>) -> Self {
        let storage_readiness = Hook::new(STORAGE_READINESS);
        let state = |name| match name {
            AUTOREGISTERED => Hook::with_name(name),
            _ => Hook::new(name),
        };
        let work: Vec<_> = work.into_iter().map(|hook| (state(hook.name), hook)).collect();
        let states = work.iter().map(|(state, hook)| (hook.name, Arc::clone(state)));
        let is_listed = gates.enabled(Gate::WatchCacheInitializationPostStartHook);
        let storage = is_listed.then(|| (STORAGE_READINESS, Arc::clone(&storage_readiness)));
        let mut listed: Vec<_> = states.chain(storage).collect();
        listed.sort_by_key(|(name, _)| position(name));
        Hooks {
            listed: listed.into_iter().map(|(_, state)| state).collect(),
            informers: Hook::with_name("informer-sync"),
            storage_readiness,
            work: work.into_iter().map(|(state, hook)| (hook, state)).collect(),
        }
    }

    /// Waits for the store, then runs all hooks concurrently. One of them waits for the watch cache.
    ///
    /// # Errors
    /// The store did not respond within `wait_max`, or a hook failed.
    pub(super) async fn run(
        self,
        storage: Arc<dyn storage::Storage>,
        wait_max: Duration,
        mut cache_filled: BoxFuture<'static, ()>,
        tasks: Tasks,
    ) -> Result<(), RunError> {
        let healthy = async {
            while let Err(error) = storage.healthy().await {
                tracing::warn!(%error, "waiting for the store");
                sleep(STORE_RETRY).await;
            }
        };
        timeout(wait_max, healthy).await.map_err(|_| RunError::StoreSilent(wait_max))?;
        let filling = async {
            if timeout(CACHE_WAIT_MAX, &mut cache_filled).await.is_err() {
                tracing::warn!("the watch cache is not filled yet");
                self.storage_readiness.done();
                cache_filled.await;
            }
            self.storage_readiness.done();
            self.informers.done();
            Ok::<(), RunError>(())
        };
        let running = self.work.into_iter().map(|(hook, state)| async move {
            let name = hook.name;
            hook.work.await.map_err(|error| {
                RunError::Controller(error).within(format!("PostStartHook \"{name}\" failed"))
            })?;
            state.done();
            Ok(())
        });
        futures::try_join!(futures::future::try_join_all(running), filling)?;
        tasks.server_is_ready();
        Ok(())
    }
}

/// Returns the position of a hook. Hooks unknown to upstream come last.
fn position(name: &str) -> usize {
    ORDER.iter().position(|entry| *entry == name).unwrap_or(ORDER.len())
}

#[cfg(test)]
mod tests {
    use component_base::features::{Effective, Release};
    use server::health::Check;

    use super::*;

    #[test]
    fn hooks_are_in_upstream_order() {
        let hook = |name| PostStartHook { name, work: Box::pin(std::future::ready(Ok(()))) };
        let work = vec![
            hook("our-own"),
            hook("autoregister-completion"),
            hook("bootstrap-controller"),
            hook("start-system-namespaces-controller"),
        ];
        let hooks = Hooks::new(&Gates::default(), work);
        let names: Vec<&str> = hooks.listed.iter().map(|hook| hook.name()).collect();
        let expected = [
            "poststarthook/start-system-namespaces-controller",
            "poststarthook/storage-readiness",
            "poststarthook/bootstrap-controller",
            "autoregister-completion",
            "poststarthook/our-own",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn older_releases_have_no_storage_hook() {
        let gates = Gates::defaults(Effective::emulating(Release::minor_of_1(35)));
        assert!(Hooks::new(&gates, Vec::new()).listed.is_empty());
    }
}
