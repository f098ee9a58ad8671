//! Assembles the admission plugins of a server with their dependencies.

use std::path::Path;
use std::sync::Arc;

use ::admission::dynamic::{ConditionMetrics, DynamicAdmissionDeps};
use ::admission::policy::{Mutations, Policies, Validations};
use ::admission::webhook::{WebhookMetrics, Webhooks};
use ::admission::{Chain, PodSecurityMetrics};
use authorization::Authorizer;
use client::kubeconfig::{Credentials, WebhookCredentials};
use client::webhook::{ClientMetrics, Dialers};
use component_base::features::{Gate, Gates};
use endpoints::routing::served::ServedApi;
use futures::FutureExt;
use futures::future::{BoxFuture, join, join3};
use registry::Registry;

use super::PluginDeps;
use crate::admission_config::{Configurations, ManifestDirectories};
use crate::admission_manifests::{CompileManifests, ManifestMetrics, MutatingHooks, Source, ValidatingHooks};
use crate::admission_policies::{self, ConfiguredPolicies};
use crate::admission_webhooks::{ConfiguredWebhooks, ServedVersions, WebhookCalls};
use crate::config::Config;
use crate::error::{ConfigurationError, RunError};
use crate::namespaces::Namespaces;
use crate::objects::StoredObjects;
use crate::process::Monitoring;
use crate::system::{self, SystemTimers};

/// Shared dependencies of the clients of webhooks.
pub(crate) struct WebhookClients<'a> {
    /// Transports to webhooks.
    pub(crate) dialers: Dialers,
    /// Credentials of webhooks at this server.
    pub(crate) loopback: Credentials,
    pub(crate) calls: &'a Arc<ClientMetrics>,
}

/// The plugin chain with its metrics and background tasks.
pub(crate) struct PluginChain {
    pub(crate) chain: Chain,
    /// Task that keeps the plugins' data up to date.
    pub(crate) background: BoxFuture<'static, ()>,
    /// Completes when all objects that existed at start are loaded.
    pub(crate) ready: BoxFuture<'static, ()>,
}

impl PluginChain {
    /// Builds the configured plugins. `clients` call webhooks.
    ///
    /// # Errors
    /// An invalid plugin configuration.
    pub(crate) fn new(
        config: &Config,
        registry: &Registry,
        served: &Arc<ServedApi>,
        authorizer: &Arc<dyn Authorizer>,
        clients: WebhookClients<'_>,
        monitoring: Monitoring<'_>,
    ) -> Result<Self, RunError> {
        let WebhookClients { dialers, loopback, calls } = clients;
        let metrics_registry = monitoring.metrics;
        let (namespaces, following_namespaces) = Namespaces::new(registry);
        let configurations = Configurations::read(&config.admission, config.gates)?.with_metrics(calls);
        let objects = Arc::new(StoredObjects::new(registry.clone()));
        let pod_security = Arc::new(PodSecurityMetrics::new(metrics_registry));
        let manifests = Manifests::read(&configurations.manifests, config.gates, monitoring)?;
        let (source, following) = ConfiguredWebhooks::new(registry);
        let source =
            source.with_manifests(manifests.mutating_webhooks.clone(), manifests.validating_webhooks.clone());
        let metrics = Arc::new(WebhookMetrics::new(metrics_registry));
        let dynamic = dynamic_admission(registry, served, authorizer, &objects, monitoring);
        let caller = |credentials: &WebhookCredentials| {
            let credentials = credentials.clone().with_own_credentials(loopback.clone());
            Arc::new(WebhookCalls::new(dialers.clone(), credentials, Arc::clone(calls)))
        };
        let webhooks = |credentials: &WebhookCredentials| Webhooks {
            source: Arc::new(source.clone()),
            caller: caller(credentials),
            deps: dynamic.clone(),
            metrics: Arc::clone(&metrics),
            excludes_reviews: config.gates.enabled(Gate::ExcludeAdmissionWebhookVirtualResources),
        };
        let (policies, following_policies) = ConfiguredPolicies::new(registry);
        let policies = policies
            .with_manifests(manifests.mutating_policies.clone(), manifests.validating_policies.clone());
        let validating = webhooks(&configurations.validating_webhooks);
        let policy_deps = admission_policies::policy_deps(
            policies.clone(),
            served,
            registry,
            dynamic.clone(),
            metrics_registry,
        );
        let deps = PluginDeps {
            objects: objects.clone(),
            writes: objects.clone(),
            environment: Arc::new(SystemTimers),
            namespaces: namespaces.shared(),
            authorizer: Arc::clone(authorizer),
            pod_security,
            mutating: webhooks(&configurations.mutating_webhooks),
            validating,
            policies: policy_deps,
            pods: &config.pods,
            gates: config.gates,
            configurations,
        };
        let (chain, durations) = super::chain(&config.admission, &deps);
        durations.register(metrics_registry);
        let followers = join3(following_namespaces.run(), following.run(), following_policies.run());
        Ok(PluginChain {
            chain,
            background: Box::pin(join(followers, manifests.run()).map(drop)),
            ready: Box::pin(async move { _ = join(source.ready(), policies.ready()).await }),
        })
    }
}

/// Dependencies of webhooks and policies.
fn dynamic_admission(
    registry: &Registry,
    served: &Arc<ServedApi>,
    authorizer: &Arc<dyn Authorizer>,
    objects: &Arc<StoredObjects>,
    monitoring: Monitoring<'_>,
) -> DynamicAdmissionDeps {
    DynamicAdmissionDeps {
        versions: Arc::new(ServedVersions::new(Arc::clone(served), registry.clone())),
        objects: objects.clone(),
        authorizer: Arc::clone(authorizer),
        now: Arc::new(|| tokio::time::Instant::now().into_std()),
        run_blocking: Arc::new(|work| system::run_blocking(work)),
        conditions: Arc::new(ConditionMetrics::new(monitoring.metrics)),
        weakened: monitoring.weakened.clone(),
    }
}

/// Sources of manifests.
struct Manifests {
    mutating_policies: Option<Arc<Source<Policies<Mutations>>>>,
    mutating_webhooks: Option<Arc<Source<MutatingHooks>>>,
    validating_policies: Option<Arc<Source<Policies<Validations>>>>,
    validating_webhooks: Option<Arc<Source<ValidatingHooks>>>,
}

impl Manifests {
    fn read(at: &ManifestDirectories, gates: Gates, monitoring: Monitoring<'_>) -> Result<Self, RunError> {
        let metrics = Arc::new(ManifestMetrics::new(monitoring));
        Ok(Manifests {
            mutating_policies: source(at.mutating_policies.as_deref(), gates, &metrics)?,
            mutating_webhooks: source(at.mutating_webhooks.as_deref(), gates, &metrics)?,
            validating_policies: source(at.validating_policies.as_deref(), gates, &metrics)?,
            validating_webhooks: source(at.validating_webhooks.as_deref(), gates, &metrics)?,
        })
    }

    /// Watches all manifests.
    async fn run(self) {
        let policies = join(run_source(self.mutating_policies), run_source(self.validating_policies));
        join(policies, join(run_source(self.mutating_webhooks), run_source(self.validating_webhooks))).await;
    }
}

fn source<T: CompileManifests>(
    at: Option<&Path>,
    gates: Gates,
    metrics: &Arc<ManifestMetrics>,
) -> Result<Option<Arc<Source<T>>>, RunError> {
    let failed = |error: ConfigurationError| RunError::from(error).within("failed to apply admission");
    let read = at.map(|at| Source::new(at, gates, Arc::clone(metrics)).map(Arc::new));
    read.transpose().map_err(failed)
}

async fn run_source<T: CompileManifests>(source: Option<Arc<Source<T>>>) {
    if let Some(source) = source {
        source.run().await;
    }
}
