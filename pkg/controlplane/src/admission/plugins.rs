//! Assembles the admission plugins of a server with their dependencies.

use std::path::Path;
use std::sync::Arc;

use ::admission::dynamic::{ConditionFigures, DynamicAdmissionDeps};
use ::admission::policy::{Mutations, Policies, Validations};
use ::admission::webhook::{WebhookFigures, Webhooks};
use ::admission::{Chain, Durations, PodSecurityFigures};
use authorization::Authorizer;
use client::kubeconfig::{Credentials, WebhookCredentials};
use client::webhook::{Dialers, Figures};
use component_base::features::Gates;
use endpoints::routing::served::Served;
use futures::FutureExt;
use futures::future::{BoxFuture, join, join3};
use registry::Registry;
use server::metrics::Collector;

use super::Parts;
use crate::admission_config::{Configurations, ManifestDirectories};
use crate::admission_manifests::{Compiled, ManifestFigures, MutatingHooks, Source, ValidatingHooks};
use crate::admission_policies::{self, ConfiguredPolicies, PolicyCollector};
use crate::admission_webhooks::{ConfiguredWebhooks, ServedVersions, WebhookCalls};
use crate::config::Config;
use crate::error::RunError;
use crate::namespaces::Namespaces;
use crate::objects::StoredObjects;
use crate::system::{self, SystemTimers};

/// The plugin chain with its metrics and background tasks.
pub(crate) struct Plugins {
    pub(crate) chain: Chain,
    pub(crate) collectors: Vec<Arc<dyn Collector>>,
    /// Task that keeps the plugins' data up to date.
    pub(crate) followed: BoxFuture<'static, ()>,
    /// Completes when all objects that existed at start are loaded.
    pub(crate) ready: BoxFuture<'static, ()>,
}

impl Plugins {
    /// Builds the configured plugins. `ways` contains the transports to webhooks.
    ///
    /// # Errors
    /// An invalid plugin configuration.
    pub(crate) fn new(
        config: &Config,
        registry: &Registry,
        served: &Arc<Served>,
        authorizer: &Arc<dyn Authorizer>,
        ways: Dialers,
        itself: Credentials,
        calls: &Arc<Figures>,
    ) -> Result<Self, RunError> {
        let (namespaces, following_namespaces) = Namespaces::new(registry);
        let told = Configurations::read(&config.admission, config.gates)?.counted(calls);
        let objects = Arc::new(StoredObjects::new(registry.clone()));
        let pod_security = Arc::new(PodSecurityFigures::default());
        let manifests = Manifests::read(&told.manifests, config.gates)?;
        let (configured, following) = ConfiguredWebhooks::new(registry);
        let configured =
            configured.with(manifests.mutating_webhooks.clone(), manifests.validating_webhooks.clone());
        let figures = Arc::new(WebhookFigures::default());
        let around = dynamic_admission(registry, served, authorizer, &objects);
        let caller = |credentials: &WebhookCredentials| {
            let credentials = credentials.clone().with_own_credentials(itself.clone());
            Arc::new(WebhookCalls::new(ways.clone(), credentials, Arc::clone(calls)))
        };
        let webhooks = |credentials: &WebhookCredentials| Webhooks {
            configured: Arc::new(configured.clone()),
            caller: caller(credentials),
            around: around.clone(),
            figures: Arc::clone(&figures),
        };
        let (policies, following_policies) = ConfiguredPolicies::new(registry);
        let policies =
            policies.with(manifests.mutating_policies.clone(), manifests.validating_policies.clone());
        let validating = webhooks(&told.validating_webhooks);
        let of_policies = admission_policies::parts(policies.clone(), served, registry, around.clone());
        let policy_figures = Arc::clone(&of_policies.figures);
        let parts = Parts {
            objects: objects.clone(),
            writes: objects.clone(),
            outside: Arc::new(SystemTimers),
            namespaces: namespaces.shared(),
            authorizer: Arc::clone(authorizer),
            pod_security: Arc::clone(&pod_security),
            mutating: webhooks(&told.mutating_webhooks),
            validating,
            policies: of_policies,
            pods: &config.pods,
            gates: config.gates,
            told,
        };
        let (chain, durations) = super::chain(&config.admission, &parts);
        let followers = join3(following_namespaces.run(), following.run(), following_policies.run());
        Ok(Plugins {
            chain,
            collectors: vec![
                Arc::new(OfPlugins(durations)),
                Arc::new(OfPodSecurity(pod_security)),
                Arc::new(OfWebhooks(figures)),
                Arc::new(OfConditions(Arc::clone(&around.conditions))),
                Arc::new(PolicyCollector(policy_figures)),
                Arc::clone(&manifests.figures) as Arc<dyn Collector>,
            ],
            followed: Box::pin(join(followers, manifests.run()).map(drop)),
            ready: Box::pin(async move { _ = join(configured.ready(), policies.ready()).await }),
        })
    }
}

/// Dependencies of webhooks and policies.
fn dynamic_admission(
    registry: &Registry,
    served: &Arc<Served>,
    authorizer: &Arc<dyn Authorizer>,
    objects: &Arc<StoredObjects>,
) -> DynamicAdmissionDeps {
    DynamicAdmissionDeps {
        versions: Arc::new(ServedVersions::new(Arc::clone(served), registry.clone())),
        objects: objects.clone(),
        authorizer: Arc::clone(authorizer),
        now: Arc::new(|| tokio::time::Instant::now().into_std()),
        aside: Arc::new(|work| system::aside(work)),
        conditions: Arc::default(),
    }
}

/// Sources of manifests.
struct Manifests {
    mutating_policies: Option<Arc<Source<Policies<Mutations>>>>,
    mutating_webhooks: Option<Arc<Source<MutatingHooks>>>,
    validating_policies: Option<Arc<Source<Policies<Validations>>>>,
    validating_webhooks: Option<Arc<Source<ValidatingHooks>>>,
    figures: Arc<ManifestFigures>,
}

impl Manifests {
    fn read(at: &ManifestDirectories, gates: Gates) -> Result<Self, RunError> {
        let figures = Arc::new(ManifestFigures::new());
        Ok(Manifests {
            mutating_policies: source(at.mutating_policies.as_deref(), gates, &figures)?,
            mutating_webhooks: source(at.mutating_webhooks.as_deref(), gates, &figures)?,
            validating_policies: source(at.validating_policies.as_deref(), gates, &figures)?,
            validating_webhooks: source(at.validating_webhooks.as_deref(), gates, &figures)?,
            figures,
        })
    }

    /// Watches all manifests.
    async fn run(self) {
        let policies = join(follow(self.mutating_policies), follow(self.validating_policies));
        join(policies, join(follow(self.mutating_webhooks), follow(self.validating_webhooks))).await;
    }
}

fn source<T: Compiled>(
    at: Option<&Path>,
    gates: Gates,
    figures: &Arc<ManifestFigures>,
) -> Result<Option<Arc<Source<T>>>, RunError> {
    let failed = |why| RunError::Configuration(format!("failed to apply admission: {why}"));
    let read = at.map(|at| Source::new(at, gates, Arc::clone(figures)).map(Arc::new));
    read.transpose().map_err(failed)
}

async fn follow<T: Compiled>(source: Option<Arc<Source<T>>>) {
    if let Some(source) = source {
        source.run().await;
    }
}

/// Metrics of plugin latency.
struct OfPlugins(Arc<Durations>);

impl Collector for OfPlugins {
    fn collect(&self, out: &mut String) {
        self.0.write(out);
    }
}

/// Metrics of `PodSecurity`.
struct OfPodSecurity(Arc<PodSecurityFigures>);

impl Collector for OfPodSecurity {
    fn collect(&self, out: &mut String) {
        self.0.write(out);
    }
}

/// Metrics of match conditions.
struct OfConditions(Arc<ConditionFigures>);

impl Collector for OfConditions {
    fn collect(&self, out: &mut String) {
        self.0.write(out);
    }
}

struct OfWebhooks(Arc<WebhookFigures>);

impl Collector for OfWebhooks {
    fn collect(&self, out: &mut String) {
        self.0.write(out);
    }
}
