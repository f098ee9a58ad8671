//! Upstream's admission plugins, their order of execution and their defaults.

use component_base::features::{Gate, Gates};

use crate::config::AdmissionConfig;

/// Description of an admission plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PluginInfo {
    /// Upstream's name.
    pub name: &'static str,
    /// True if the plugin runs unless disabled. Otherwise it runs only if enabled.
    pub on_by_default: bool,
    /// The feature gate that the plugin depends on.
    pub gate: Option<Gate>,
}

const fn default_on(name: &'static str) -> PluginInfo {
    PluginInfo { name, on_by_default: true, gate: None }
}

const fn default_off(name: &'static str) -> PluginInfo {
    PluginInfo { name, on_by_default: false, gate: None }
}

const fn gated(gate: Gate, plugin: PluginInfo) -> PluginInfo {
    PluginInfo { gate: Some(gate), ..plugin }
}

/// All of upstream's plugins, in order of execution.
pub const PLUGINS: [PluginInfo; 41] = [
    default_off("AlwaysAdmit"),
    default_off("NamespaceAutoProvision"),
    default_on("NamespaceLifecycle"),
    default_off("NamespaceExists"),
    default_off("LimitPodHardAntiAffinityTopology"),
    default_on("LimitRanger"),
    default_on("ServiceAccount"),
    default_off("NodeRestriction"),
    default_on("TaintNodesByCondition"),
    default_off("AlwaysPullImages"),
    default_off("ImagePolicyWebhook"),
    default_on("PodSecurity"),
    default_off("PodNodeSelector"),
    default_on("Priority"),
    default_on("DefaultTolerationSeconds"),
    default_off("PodTolerationRestriction"),
    default_off("EventRateLimit"),
    default_off("ExtendedResourceToleration"),
    default_on("DefaultStorageClass"),
    default_on("StorageObjectInUseProtection"),
    gated(Gate::GenericWorkload, default_on("PodGroupProtection")),
    default_off("OwnerReferencesPermissionEnforcement"),
    default_on("PersistentVolumeClaimResize"),
    default_on("RuntimeClass"),
    default_on("CertificateApproval"),
    default_on("CertificateSigning"),
    gated(Gate::ClusterTrustBundle, default_on("ClusterTrustBundleAttest")),
    default_on("CertificateSubjectRestriction"),
    default_on("DefaultIngressClass"),
    default_off("DenyServiceExternalIPs"),
    gated(Gate::PodTopologyLabelsAdmission, default_on("PodTopologyLabels")),
    gated(Gate::GenericWorkload, default_on("PodGroupWorkloadExists")),
    gated(Gate::NodeDeclaredFeatures, default_on("NodeDeclaredFeatureValidator")),
    gated(Gate::GenericWorkload, default_on("JobValidation")),
    gated(Gate::InPlacePodVerticalScaling, default_on("PodResizeValidator")),
    gated(Gate::MutatingAdmissionPolicy, default_on("MutatingAdmissionPolicy")),
    default_on("MutatingAdmissionWebhook"),
    default_on("ValidatingAdmissionPolicy"),
    default_on("ValidatingAdmissionWebhook"),
    default_on("ResourceQuota"),
    default_off("AlwaysDeny"),
];

/// Returns the description of the plugin with this name.
pub fn find_plugin(name: &str) -> Option<&'static PluginInfo> {
    PLUGINS.iter().find(|plugin| plugin.name == name)
}

/// Returns the plugins that upstream would run with this configuration, in order.
pub fn enabled_plugins(
    config: &AdmissionConfig,
    gates: Gates,
) -> impl Iterator<Item = &'static PluginInfo> + '_ {
    let contains = |names: &[String], plugin: &PluginInfo| names.iter().any(|name| name == plugin.name);
    PLUGINS.iter().filter(move |plugin| {
        let enabled = plugin.on_by_default || contains(&config.enabled, plugin);
        enabled && !contains(&config.disabled, plugin) && plugin.is_gate_enabled(gates)
    })
}

impl PluginInfo {
    /// True if the plugin's feature gate is enabled, or if it has none.
    pub fn is_gate_enabled(&self, gates: Gates) -> bool {
        self.gate.is_none_or(|gate| gates.enabled(gate))
    }
}
