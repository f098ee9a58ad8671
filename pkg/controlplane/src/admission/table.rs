//! Upstream's admission plugins, their order of execution and their defaults.

use component_base::features::{Gate, Gates};

use crate::config::AdmissionConfig;

/// What is known of a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Upstream's name.
    pub name: &'static str,
    /// Runs unless it is disabled; others run only if they are enabled.
    pub on_by_default: bool,
    /// It does something only while this is open.
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

/// What is known of the plugin with this name.
pub fn known(name: &str) -> Option<&'static Known> {
    PLUGINS.iter().find(|known| known.name == name)
}

/// The plugins that run, in order, as far as upstream would run them.
pub fn chosen(config: &AdmissionConfig, gates: Gates) -> impl Iterator<Item = &'static Known> + '_ {
    let has = |names: &[String], known: &Known| names.iter().any(|name| name == known.name);
    PLUGINS.iter().filter(move |known| {
        let wanted = known.on_by_default || has(&config.enabled, known);
        wanted && !has(&config.disabled, known) && known.is_open(gates)
    })
}

impl Known {
    /// Whether it does anything, as far as gates go.
    pub fn is_open(&self, gates: Gates) -> bool {
        self.gate.is_none_or(|gate| gates.enabled(gate))
    }
}
