//! Admission control: checks and changes writes, deletions and connections after authorization and before
//! execution. Plugins see objects as trees. They never write to storage directly and are independent of
//! routes.

mod always_admit;
mod always_deny;
mod always_pull_images;
mod anti_affinity_topology;
mod attributes;
mod certificate_approval;
mod certificate_signing;
mod certificate_subject;
mod chain;
mod default_class;
mod default_ingress_class;
mod default_storage_class;
mod default_toleration_seconds;
mod deny_external_ips;
mod durations;
pub mod dynamic;
mod environment;
mod error;
mod event_rate_limit;
mod expressions;
mod extended_resource_toleration;
mod image_policy;
mod in_use_protection;
mod limit_ranger;
mod meta;
mod namespace_auto_provision;
mod namespace_exists;
mod namespace_lifecycle;
mod node_declared_features;
mod node_restriction;
mod notes;
mod objects;
mod owner_references;
mod pod_group_protection;
mod pod_node_selector;
mod pod_resize;
mod pod_security;
mod pod_toleration_restriction;
mod pod_topology_labels;
pub mod policy;
mod priority;
mod reinvocation;
mod resource_list;
mod resource_quota;
mod runtime_class;
mod service_account;
mod signer;
mod taint_nodes;
#[cfg(test)]
mod testing;
mod toleration;
mod trust_bundle_attest;
mod volume_resize;
pub mod webhook;

use apimachinery::status::Status;
use async_trait::async_trait;
use schema::object::Object;

pub use always_admit::AlwaysAdmit;
pub use always_deny::AlwaysDeny;
pub use always_pull_images::AlwaysPullImages;
pub use anti_affinity_topology::LimitPodHardAntiAffinityTopology;
pub use attributes::{Attributes, Operation, Options};
pub use certificate_approval::CertificateApproval;
pub use certificate_signing::CertificateSigning;
pub use certificate_subject::CertificateSubjectRestriction;
pub use chain::Chain;
pub use default_ingress_class::DefaultIngressClass;
pub use default_storage_class::DefaultStorageClass;
pub use default_toleration_seconds::DefaultTolerationSeconds;
pub use deny_external_ips::DenyServiceExternalIPs;
pub use durations::Durations;
pub use environment::Environment;
pub use error::{ObjectError, PluginConfigurationError};
pub use event_rate_limit::{EventRateLimit, EventRateLimitConfiguration};
pub use extended_resource_toleration::ExtendedResourceToleration;
pub use image_policy::{ImagePolicyConfiguration, ImagePolicyWebhook, ImageReviewError, ImageReviewer};
pub use in_use_protection::StorageObjectInUseProtection;
pub use limit_ranger::LimitRanger;
pub use namespace_auto_provision::NamespaceAutoProvision;
pub use namespace_exists::NamespaceExists;
pub use namespace_lifecycle::{NamespaceLifecycle, NamespaceStates};
pub use node_declared_features::NodeDeclaredFeatureValidator;
pub use node_restriction::NodeRestriction;
pub use notes::{AdmissionNotes, Annotation, Level};
pub use objects::{Objects, Writes};
pub use owner_references::OwnerReferencesPermissionEnforcement;
pub use pod_group_protection::PodGroupProtection;
pub use pod_node_selector::{PodNodeSelector, PodNodeSelectorConfiguration};
pub use pod_resize::PodResizeValidator;
pub use pod_security::{PodSecurity, PodSecurityConfiguration, PodSecurityMetrics};
pub use pod_toleration_restriction::{PodTolerationConfiguration, PodTolerationRestriction};
pub use pod_topology_labels::PodTopologyLabels;
pub use priority::Priority;
pub use resource_quota::{QuotaConfiguration, ResourceQuota};
pub use runtime_class::RuntimeClass;
pub use service_account::ServiceAccount;
pub use taint_nodes::TaintNodesByCondition;
pub use trust_bundle_attest::ClusterTrustBundleAttest;
pub use volume_resize::PersistentVolumeClaimResize;

/// Clock that returns the current instant.
pub type Now = dyn Fn() -> std::time::Instant + Send + Sync;

/// Decision of a plugin. A rejection is the Status for the client.
pub type Verdict = Result<(), Box<Status>>;

/// An admission plugin. Name and behavior are those of upstream's plugin.
#[async_trait]
pub trait Plugin: Send + Sync + 'static {
    /// The name in `--enable-admission-plugins`.
    fn name(&self) -> &'static str;

    /// True if the plugin handles the operation; otherwise it is not called. Must be cheap, because it runs
    /// for every operation.
    fn handles(&self, attributes: &Attributes<'_>) -> bool;

    /// Mutates or rejects a new or changed object or the options of a connection. Deletions are passed here
    /// too, without an object.
    ///
    /// # Errors
    /// The Status for the client.
    async fn mutate(
        &self,
        _attributes: &Attributes<'_>,
        _object: Option<&mut Object>,
        _notes: &mut AdmissionNotes,
    ) -> Verdict {
        Ok(())
    }

    /// Accepts or rejects an operation. `object` is the object to be written or the options of a connection;
    /// `None` for deletions.
    ///
    /// # Errors
    /// The Status for the client.
    async fn validate(
        &self,
        _attributes: &Attributes<'_>,
        _object: Option<&Object>,
        _notes: &mut AdmissionNotes,
    ) -> Verdict {
        Ok(())
    }
}
