//! Custom resources: serves CRDs and registers the served versions.

use std::sync::Arc;

use aggregator::api_services::ApiServices;
use apiextensions::{ConversionDeps, CustomKinds, CustomResources, DefinitionsHandle, OnDemandDefinitions};
use controllers::tasks::Tasks;
use endpoints::routing::served::{ResourceRequests, ServedApi};
use futures::FutureExt;
use futures::future::{self, BoxFuture};
use registry::Registry;
use tokio::sync::oneshot;

use super::tasks::ApiTasks;
use crate::error::RunError;
use crate::metrics::ApiMetrics;
use crate::process::ProcessContext;
use controllers::hook::{StartEvent, start_event};

/// Serves CRDs and registers the served versions.
pub(super) struct CustomResourceParts {
    /// Completes when all CRDs are loaded.
    pub(super) loaded: StartEvent,
    /// Completes when all CRDs that existed at start are served.
    pub(super) served: StartEvent,
    /// Completes when the APIServices of built-in versions exist.
    pub(super) registered: StartEvent,
    pub(super) kinds: DefinitionsHandle,
}

/// CRDs that are read when a request needs them, or later.
pub(super) struct OnDemand {
    /// Requests for kinds that are not served yet.
    requests: ResourceRequests,
    /// Completes when all CRDs are read anyway.
    deferred: BoxFuture<'static, ()>,
}

impl OnDemand {
    pub(super) fn new(requests: ResourceRequests, tasks: &Tasks) -> Self {
        OnDemand { requests, deferred: tasks.deferred().boxed() }
    }
}

/// Serves CRDs. With `on_demand`, they are read only on demand or later, so that the start does not depend on
/// their number. A request for a kind waits until it is served.
pub(super) fn custom_resources(
    registry: &Registry,
    served: &Arc<ServedApi>,
    metrics: &ApiMetrics,
    webhooks: ConversionDeps,
    process: &ProcessContext,
    on_demand: Option<OnDemand>,
    tasks: &mut ApiTasks,
) -> Result<CustomResourceParts, RunError> {
    let watches = Arc::clone(&metrics.watches);
    let cel_times = Arc::clone(&metrics.cel_times);
    let kinds = CustomKinds::new(registry.clone(), Arc::clone(served), watches, cel_times);
    let loaded = process.template.as_ref().map(|template| template.kinds.clone()).unwrap_or_default();
    let (custom, definitions) =
        CustomResources::new(registry, kinds, webhooks, loaded, Arc::clone(&metrics.definitions))?;
    let (first, all_defined) = oneshot::channel();
    let (services, service_informer) = ApiServices::new(registry, &served.now().catalog, custom.versions())?;
    let mut loaded = start_event(custom.loaded());
    let registered = start_event(services.registered());
    let kinds = custom.kinds();
    // The channel is closed at shutdown.
    let mut all_served = start_event(async move { _ = all_defined.await });
    let mut start = future::ready(()).boxed();
    let mut lazy = None;
    if let Some(OnDemand { requests, deferred }) = on_demand {
        let (load_all, needed) = oneshot::channel();
        start = future::select(needed, deferred).map(drop).boxed();
        lazy = Some(OnDemandDefinitions { requests, load_all: Some(load_all) });
        loaded = start_event(future::ready(()));
        all_served = start_event(future::ready(()));
    }
    tasks.add_background(async move {
        let definitions = start.then(|()| definitions.run());
        tokio::join!(definitions, custom.run(first, lazy), service_informer.run(), services.run());
    });
    Ok(CustomResourceParts { loaded, served: all_served, registered, kinds })
}
