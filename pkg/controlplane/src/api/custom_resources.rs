//! Custom resources: serves CRDs and registers the served versions.

use std::sync::Arc;

use aggregator::api_services::ApiServices;
use apiextensions::{ConversionDeps, CustomKinds, CustomResources, Kinds, Meanwhile};
use endpoints::routing::served::{ResourceRequests, Served};
use futures::FutureExt;
use futures::future::{self, BoxFuture};
use registry::Registry;
use tokio::sync::oneshot;

use crate::error::RunError;
use crate::metrics::ApiMetrics;
use crate::process::Process;
use controllers::hook::{Awaited, awaited};

/// Serves CRDs and registers the served versions.
pub(super) struct CustomResourceParts {
    pub(super) run: BoxFuture<'static, ()>,
    /// Completes when all CRDs are loaded.
    pub(super) known: Awaited,
    /// Completes when all CRDs that existed at start are served.
    pub(super) served: Awaited,
    /// Completes when the APIServices of built-in versions exist.
    pub(super) registered: Awaited,
    pub(super) kinds: Kinds,
}

/// CRDs that are read when a request needs them, or later.
pub(super) struct OnDemand {
    /// Requests for kinds that are not served yet.
    pub(super) requests: ResourceRequests,
    /// Completes when all CRDs are read anyway.
    pub(super) later: BoxFuture<'static, ()>,
}

/// Serves CRDs. With `on_demand`, they are read only on demand or later, so that the start does not depend on
/// their number. A request for a kind waits until it is served.
pub(super) fn custom_resources(
    registry: &Registry,
    served: &Arc<Served>,
    metrics: &ApiMetrics,
    webhooks: ConversionDeps,
    process: &Process,
    on_demand: Option<OnDemand>,
) -> Result<CustomResourceParts, RunError> {
    let watches = Arc::clone(&metrics.watches);
    let cel_times = Arc::clone(&metrics.cel_times);
    let kinds = CustomKinds::new(registry.clone(), Arc::clone(served), watches, cel_times);
    let known = process.template.as_ref().map(|template| template.kinds.clone()).unwrap_or_default();
    let (custom, definitions) =
        CustomResources::new(registry, kinds, webhooks, known, Arc::clone(&metrics.definitions))?;
    let (first, all_defined) = oneshot::channel();
    let (services, service_informer) = ApiServices::new(registry, &served.now().catalog, custom.versions())?;
    let mut known = awaited(custom.known());
    let registered = awaited(services.registered());
    let kinds = custom.kinds();
    // The channel is closed at shutdown.
    let mut all_served = awaited(async move { _ = all_defined.await });
    let mut start = future::ready(()).boxed();
    let mut lazy = None;
    if let Some(OnDemand { requests, later }) = on_demand {
        let (everything, needed) = oneshot::channel();
        start = future::select(needed, later).map(drop).boxed();
        lazy = Some(Meanwhile { asked: requests, everything: Some(everything) });
        known = awaited(future::ready(()));
        all_served = awaited(future::ready(()));
    }
    let run = Box::pin(async move {
        let definitions = start.then(|()| definitions.run());
        tokio::join!(definitions, custom.run(first, lazy), service_informer.run(), services.run());
    });
    Ok(CustomResourceParts { run, known, served: all_served, registered, kinds })
}
