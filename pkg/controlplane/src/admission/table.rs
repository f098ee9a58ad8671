//! Upstream's admission plugins, their order of execution and their defaults.

use component_base::features::{Gate, Gates};

use crate::config::AdmissionConfig;

/// Description of an admission plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Upstream's name.
    pub name: &'static str,
    /// True if the plugin runs unless disabled. Otherwise it runs only if enabled.
    pub on_by_default: bool,
    /// The feature gate that the plugin depends on.
    pub gate: Option<Gate>,
}

const fn on(name: &'static str) -> Known {
    Known { name, on_by_default: true, gate: None }
}

const fn off(name: &'static str) -> Known {
    Known { name, on_by_default: false, gate: None }
}

const fn behind(gate: Gate, known: Known) -> Known {
    Known { gate: Some(gate), ..known }
}

/// All of upstream's plugins, in order of execution.
pub const PLUGINS: [Known; 41] = [
    off("AlwaysAdmit"),
    off("NamespaceAutoProvision"),
    on("NamespaceLifecycle"),
    off("NamespaceExists"),
    off("LimitPodHardAntiAffinityTopology"),
    on("LimitRanger"),
    on("ServiceAccount"),
    off("NodeRestriction"),
    on("TaintNodesByCondition"),
    off("AlwaysPullImages"),
    off("ImagePolicyWebhook"),
    on("PodSecurity"),
    off("PodNodeSelector"),
    on("Priority"),
    on("DefaultTolerationSeconds"),
    off("PodTolerationRestriction"),
    off("EventRateLimit"),
    off("ExtendedResourceToleration"),
    on("DefaultStorageClass"),
    on("StorageObjectInUseProtection"),
    behind(Gate::GenericWorkload, on("PodGroupProtection")),
    off("OwnerReferencesPermissionEnforcement"),
    on("PersistentVolumeClaimResize"),
    on("RuntimeClass"),
    on("CertificateApproval"),
    on("CertificateSigning"),
    behind(Gate::ClusterTrustBundle, on("ClusterTrustBundleAttest")),
    on("CertificateSubjectRestriction"),
    on("DefaultIngressClass"),
    off("DenyServiceExternalIPs"),
    behind(Gate::PodTopologyLabelsAdmission, on("PodTopologyLabels")),
    behind(Gate::GenericWorkload, on("PodGroupWorkloadExists")),
    behind(Gate::NodeDeclaredFeatures, on("NodeDeclaredFeatureValidator")),
    behind(Gate::GenericWorkload, on("JobValidation")),
    behind(Gate::InPlacePodVerticalScaling, on("PodResizeValidator")),
    behind(Gate::MutatingAdmissionPolicy, on("MutatingAdmissionPolicy")),
    on("MutatingAdmissionWebhook"),
    on("ValidatingAdmissionPolicy"),
    on("ValidatingAdmissionWebhook"),
    on("ResourceQuota"),
    off("AlwaysDeny"),
];

/// Returns the description of the plugin with this name.
pub fn known(name: &str) -> Option<&'static Known> {
    PLUGINS.iter().find(|known| known.name == name)
}

/// Returns the plugins that upstream would run with this configuration, in order.
pub fn chosen(config: &AdmissionConfig, gates: Gates) -> impl Iterator<Item = &'static Known> + '_ {
    let has = |names: &[String], known: &Known| names.iter().any(|name| name == known.name);
    PLUGINS.iter().filter(move |known| {
        let wanted = known.on_by_default || has(&config.enabled, known);
        wanted && !has(&config.disabled, known) && known.is_open(gates)
    })
}

impl Known {
    /// True if the plugin's feature gate is enabled, or if it has none.
    pub fn is_open(&self, gates: Gates) -> bool {
        self.gate.is_none_or(|gate| gates.enabled(gate))
    }
}
