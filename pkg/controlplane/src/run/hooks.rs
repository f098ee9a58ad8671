//! Start hooks: in which order they are listed, and what a server waits for before it is ready.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use server::health::Hook;
use tokio::time::{sleep, timeout};

use crate::error::RunError;
use controllers::hook::PostStartHook;
use controllers::tasks::Tasks;

/// How long the watch cache may take to be filled before storage counts as ready without it (upstream's
/// `StorageReadinessHook`). The check `informer-sync` of `/readyz` goes on waiting.
const CACHE_WAIT_MAX: Duration = Duration::from_secs(60);
/// How often a store that does not answer yet is asked again at start.
const STORE_RETRY: Duration = Duration::from_millis(250);
/// The hook that waits for the watch cache.
const STORAGE_READINESS: &str = "storage-readiness";

/// What upstream checks without a hook.
const AUTOREGISTERED: &str = "autoregister-completion";

/// All of upstream's hooks, as its health pages list them.
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
    "apiservice-wait-for-first-sync",
    "apiservice-discovery-controller",
    "built-in-resources-storage-version-updater",
    "kube-apiserver-autoregistration",
    AUTOREGISTERED,
    "apiservice-openapi-controller",
    "apiservice-openapiv3-controller",
];

/// The hooks of one server and how far they are.
pub(super) struct Hooks {
    /// Every hook that is listed, in upstream's order.
    pub(super) listed: Vec<Arc<Hook>>,
    /// The check of `/readyz` for the watch cache.
    pub(super) informers: Arc<Hook>,
    storage_readiness: Arc<Hook>,
    work: Vec<(PostStartHook, Arc<Hook>)>,
}

impl Hooks {
    /// Hooks that have not begun.
    pub(super) fn new(work: Vec<PostStartHook>) -> Self {
        let storage_readiness = Hook::new(STORAGE_READINESS);
        let state = |name| match name {
            AUTOREGISTERED => Hook::listed_as(name),
            _ => Hook::new(name),
        };
        let work: Vec<_> = work.into_iter().map(|hook| (state(hook.name), hook)).collect();
        let own = work.iter().map(|(state, hook)| (hook.name, Arc::clone(state)));
        let mut listed: Vec<_> = own.chain([(STORAGE_READINESS, Arc::clone(&storage_readiness))]).collect();
        listed.sort_by_key(|(name, _)| position(name));
        Hooks {
            listed: listed.into_iter().map(|(_, state)| state).collect(),
            informers: Hook::listed_as("informer-sync"),
            storage_readiness,
            work: work.into_iter().map(|(state, hook)| (hook, state)).collect(),
        }
    }

    /// Waits for the store, then runs all hooks at once, one of which waits until the watch cache is filled.
    ///
    /// # Errors
    /// The store did not answer within `wait_max`, or the first hook that failed.
    pub(super) async fn run(
        self,
        storage: Arc<dyn storage::Storage>,
        wait_max: Duration,
        mut cache_filled: BoxFuture<'static, ()>,
        tasks: Tasks,
    ) -> Result<(), RunError> {
        let answers = async {
            while let Err(error) = storage.healthy().await {
                tracing::warn!(%error, "waiting for the store");
                sleep(STORE_RETRY).await;
            }
        };
        timeout(wait_max, answers).await.map_err(|_| RunError::StoreSilent(wait_max))?;
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
            hook.work.await.map_err(|reason| {
                RunError::Bootstrap(format!("PostStartHook \"{name}\" failed: {reason}"))
            })?;
            state.done();
            Ok(())
        });
        futures::try_join!(futures::future::try_join_all(running), filling)?;
        tasks.server_is_ready();
        Ok(())
    }
}

/// Where a hook is listed; what upstream does not have comes last.
fn position(name: &str) -> usize {
    ORDER.iter().position(|known| *known == name).unwrap_or(ORDER.len())
}

#[cfg(test)]
mod tests {
    use server::health::Check;

    use super::*;

    #[test]
    fn hooks_are_listed_as_upstream_does_whenever_they_were_added() {
        let hook = |name| PostStartHook { name, work: Box::pin(std::future::ready(Ok(()))) };
        let hooks = Hooks::new(vec![
            hook("our-own"),
            hook("autoregister-completion"),
            hook("bootstrap-controller"),
            hook("start-system-namespaces-controller"),
        ]);
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
}
