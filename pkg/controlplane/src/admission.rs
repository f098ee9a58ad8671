//! Selection and construction of admission plugins: upstream's plugins in upstream's order, as far as they
//! are implemented and enabled by flags (upstream's `pkg/kubeapiserver/options/plugins.go`).

pub(crate) mod plugins;
pub(crate) mod table;

use std::sync::Arc;

use admission::policy::{MutatingAdmissionPolicy, PolicyDeps, ValidatingAdmissionPolicy};
use admission::webhook::{MutatingAdmissionWebhook, ValidatingAdmissionWebhook, Webhooks};
use admission::{
    AlwaysAdmit, AlwaysDeny, AlwaysPullImages, CertificateApproval, CertificateSigning,
    CertificateSubjectRestriction, Chain, ClusterTrustBundleAttest, DefaultIngressClass, DefaultStorageClass,
    DefaultTolerationSeconds, DenyServiceExternalIPs, Durations, Environment, EventRateLimit,
    ExtendedResourceToleration, ImagePolicyWebhook, LimitPodHardAntiAffinityTopology, LimitRanger,
    NamespaceAutoProvision, NamespaceExists, NamespaceLifecycle, NamespaceStates,
    NodeDeclaredFeatureValidator, NodeRestriction, Objects, OwnerReferencesPermissionEnforcement,
    PersistentVolumeClaimResize, Plugin, PodGroupProtection, PodNodeSelector, PodResizeValidator,
    PodSecurity, PodSecurityMetrics, PodTolerationRestriction, PodTopologyLabels, Priority, ResourceQuota,
    RuntimeClass, ServiceAccount, StorageObjectInUseProtection, TaintNodesByCondition, Writes,
};

use authorization::Authorizer;
use component_base::features::Gates;

use crate::admission_config::Configurations;
use crate::config::{AdmissionConfig, PodConfig};
use crate::system::SystemClock;
pub use table::{PLUGINS, PluginInfo, enabled_plugins, find_plugin};

/// Dependencies of plugins.
pub(crate) struct PluginDeps<'c> {
    pub(crate) objects: Arc<dyn Objects>,
    pub(crate) writes: Arc<dyn Writes>,
    pub(crate) environment: Arc<dyn Environment>,
    pub(crate) namespaces: Arc<dyn NamespaceStates>,
    pub(crate) authorizer: Arc<dyn Authorizer>,
    /// Metrics of `PodSecurity`.
    pub(crate) pod_security: Arc<PodSecurityMetrics>,
    /// Dependencies of the mutating webhook plugin.
    pub(crate) mutating: Webhooks,
    /// Dependencies of the validating webhook plugin.
    pub(crate) validating: Webhooks,
    pub(crate) policies: PolicyDeps,
    pub(crate) pods: &'c PodConfig,
    pub(crate) gates: Gates,
    /// Plugin configurations from the file.
    pub(crate) configurations: Configurations,
}

/// Builds the chain for a configuration, with its latency histograms.
pub(crate) fn chain(config: &AdmissionConfig, deps: &PluginDeps<'_>) -> (Chain, Arc<Durations>) {
    let plugins = enabled_plugins(config, deps.gates).filter_map(|plugin| build(plugin.name, deps)).collect();
    Chain::new(plugins).with_durations(Arc::clone(&deps.mutating.deps.now))
}

/// Builds a plugin; `None` for an unknown name.
fn build(name: &str, deps: &PluginDeps<'_>) -> Option<Box<dyn Plugin>> {
    let objects = || Arc::clone(&deps.objects);
    let writes = || Arc::clone(&deps.writes);
    let environment = || Arc::clone(&deps.environment);
    let authorizer = || Arc::clone(&deps.authorizer);
    let configurations = deps.configurations.clone();
    Some(match name {
        "AlwaysAdmit" => Box::new(AlwaysAdmit),
        "NamespaceAutoProvision" => Box::new(NamespaceAutoProvision::new(objects(), writes())?),
        "NamespaceLifecycle" => Box::new(NamespaceLifecycle::new(objects(), Arc::clone(&deps.namespaces))?),
        "NamespaceExists" => Box::new(NamespaceExists::new(objects())?),
        "LimitPodHardAntiAffinityTopology" => Box::new(LimitPodHardAntiAffinityTopology),
        "LimitRanger" => Box::new(LimitRanger::new(objects())?),
        "ServiceAccount" => Box::new(ServiceAccount::new(objects(), environment())?),
        "NodeRestriction" => Box::new(NodeRestriction::new(objects(), authorizer(), deps.gates)?),
        "TaintNodesByCondition" => Box::new(TaintNodesByCondition),
        "AlwaysPullImages" => Box::new(AlwaysPullImages),
        "ImagePolicyWebhook" => {
            let image_policy = configurations.image_policy?;
            let reviewer = image_policy.reviewer();
            let weakened = deps.policies.deps.weakened.clone();
            let configuration = image_policy.configuration;
            Box::new(ImagePolicyWebhook::new(reviewer, Arc::new(SystemClock), configuration, weakened))
        }
        "PodSecurity" => {
            let plugin = PodSecurity::new(objects(), Arc::clone(&deps.pod_security))?;
            let plugin = plugin.with_release(deps.gates.effective());
            Box::new(plugin.with_configuration(configurations.pod_security))
        }
        "PodNodeSelector" => {
            Box::new(PodNodeSelector::new(objects())?.with_configuration(configurations.pod_node_selector))
        }
        "Priority" => Box::new(Priority::new(objects(), deps.gates)?),
        "DefaultTolerationSeconds" => Box::new(default_tolerations(deps.pods)),
        "PodTolerationRestriction" => Box::new(
            PodTolerationRestriction::new(objects())?.with_configuration(configurations.pod_tolerations),
        ),
        "EventRateLimit" => {
            Box::new(EventRateLimit::new(Arc::new(SystemClock), &configurations.event_rate_limit))
        }
        "ExtendedResourceToleration" => Box::new(ExtendedResourceToleration),
        "DefaultStorageClass" => Box::new(DefaultStorageClass::new(objects())?),
        "StorageObjectInUseProtection" => Box::new(StorageObjectInUseProtection),
        "PodGroupProtection" => Box::new(PodGroupProtection),
        "OwnerReferencesPermissionEnforcement" => {
            Box::new(OwnerReferencesPermissionEnforcement::new(authorizer()))
        }
        "PersistentVolumeClaimResize" => Box::new(PersistentVolumeClaimResize::new(objects())?),
        "RuntimeClass" => Box::new(RuntimeClass::new(objects())?),
        "CertificateApproval" => Box::new(CertificateApproval::new(authorizer())),
        "CertificateSigning" => Box::new(CertificateSigning::new(authorizer())),
        "ClusterTrustBundleAttest" => Box::new(ClusterTrustBundleAttest::new(authorizer())),
        "CertificateSubjectRestriction" => Box::new(CertificateSubjectRestriction),
        "DefaultIngressClass" => Box::new(DefaultIngressClass::new(objects())?),
        "DenyServiceExternalIPs" => Box::new(DenyServiceExternalIPs),
        "PodTopologyLabels" => Box::new(PodTopologyLabels::new(objects())?),
        "NodeDeclaredFeatureValidator" => Box::new(NodeDeclaredFeatureValidator::new(objects(), deps.gates)?),
        "PodResizeValidator" => Box::new(PodResizeValidator::new(objects())?),
        "MutatingAdmissionPolicy" => Box::new(MutatingAdmissionPolicy::new(deps.policies.clone())),
        "ValidatingAdmissionPolicy" => Box::new(ValidatingAdmissionPolicy::new(deps.policies.clone())),
        "MutatingAdmissionWebhook" => Box::new(MutatingAdmissionWebhook::new(deps.mutating.clone())),
        "ValidatingAdmissionWebhook" => Box::new(ValidatingAdmissionWebhook::new(deps.validating.clone())),
        "ResourceQuota" => {
            Box::new(ResourceQuota::new(objects(), writes())?.with_configuration(configurations.quota))
        }
        "AlwaysDeny" => Box::new(AlwaysDeny),
        _ => return None,
    })
}

fn default_tolerations(pods: &PodConfig) -> DefaultTolerationSeconds {
    DefaultTolerationSeconds::new(pods.not_ready_toleration_seconds, pods.unreachable_toleration_seconds)
}

#[cfg(test)]
mod tests;
