//! The one place that maps built-in kinds to their descriptors.

use crate::kind::Kind;
use crate::{
    admissionregistration, apiextensions, apiregistration, apps, authentication, authorization, autoscaling,
    batch, certificates, coordination, core, discovery, events, flowcontrol, internal, networking, node,
    policy, rbac, resource, scheduling, storage, storagemigration,
};
use api::resources::{Builtin, Resource};

/// Returns the descriptor of a resource, or `None` for custom resources.
pub(crate) fn kind_of(row: &Resource) -> Option<&'static Kind> {
    row.builtin.map(|builtin| descriptor_in(builtin, row.group))
}

/// Returns the descriptor of a kind by its name, which is unique among the groups. Custom resources can have
/// the same name.
pub(crate) fn kind_named(name: &str) -> Option<&'static Kind> {
    named(name).map(descriptor)
}

/// Returns the descriptor of a kind. Events differ in the two API groups that serve them.
fn descriptor_in(builtin: Builtin, group: &str) -> &'static Kind {
    match builtin {
        Builtin::Event if group.is_empty() => &core::event::KIND,
        builtin => descriptor(builtin),
    }
}

/// A match without a wildcard: a kind without a descriptor does not compile.
macro_rules! descriptors {
    ($($builtin:ident => $group:ident::$module:ident,)*) => {
        fn descriptor(builtin: Builtin) -> &'static Kind {
            match builtin {
                $(Builtin::$builtin => &$group::$module::KIND,)*
            }
        }

        fn named(name: &str) -> Option<Builtin> {
            match name {
                $(stringify!($builtin) => Some(Builtin::$builtin),)*
                _ => None,
            }
        }

        /// Every descriptor.
        pub(crate) static ALL: &[&Kind] = &[$(&$group::$module::KIND,)*];
    };
}

descriptors! {
    APIService => apiregistration::api_service,
    Binding => core::binding,
    CSIDriver => storage::csi_driver,
    CSINode => storage::csi_node,
    CSIStorageCapacity => storage::csi_storage_capacity,
    CertificateSigningRequest => certificates::certificate_signing_request,
    ClusterRole => rbac::cluster_role,
    ClusterRoleBinding => rbac::cluster_role_binding,
    ClusterTrustBundle => certificates::cluster_trust_bundle,
    ComponentStatus => core::component_status,
    ConfigMap => core::config_map,
    ControllerRevision => apps::controller_revision,
    CronJob => batch::cron_job,
    CustomResourceDefinition => apiextensions::custom_resource_definition,
    DaemonSet => apps::daemon_set,
    Deployment => apps::deployment,
    DeviceClass => resource::device_class,
    DeviceTaintRule => resource::device_taint_rule,
    EndpointSlice => discovery::endpoint_slice,
    Endpoints => core::endpoints,
    Event => events::event,
    FlowSchema => flowcontrol::flow_schema,
    HorizontalPodAutoscaler => autoscaling::horizontal_pod_autoscaler,
    IPAddress => networking::ip_address,
    Ingress => networking::ingress,
    IngressClass => networking::ingress_class,
    Job => batch::job,
    Lease => coordination::lease,
    LeaseCandidate => coordination::lease_candidate,
    LimitRange => core::limit_range,
    LocalSubjectAccessReview => authorization::local_subject_access_review,
    MutatingAdmissionPolicy => admissionregistration::mutating_admission_policy,
    MutatingAdmissionPolicyBinding => admissionregistration::mutating_admission_policy_binding,
    MutatingWebhookConfiguration => admissionregistration::mutating_webhook_configuration,
    Namespace => core::namespace,
    NetworkPolicy => networking::network_policy,
    Node => core::node,
    PersistentVolume => core::persistent_volume,
    PersistentVolumeClaim => core::persistent_volume_claim,
    Pod => core::pod,
    PodCertificateRequest => certificates::pod_certificate_request,
    PodDisruptionBudget => policy::pod_disruption_budget,
    PodGroup => scheduling::pod_group,
    PodTemplate => core::pod_template,
    PriorityClass => scheduling::priority_class,
    PriorityLevelConfiguration => flowcontrol::priority_level_configuration,
    ReplicaSet => apps::replica_set,
    ReplicationController => core::replication_controller,
    ResourceClaim => resource::resource_claim,
    ResourceClaimTemplate => resource::resource_claim_template,
    ResourcePoolStatusRequest => resource::resource_pool_status_request,
    ResourceQuota => core::resource_quota,
    ResourceSlice => resource::resource_slice,
    Role => rbac::role,
    RoleBinding => rbac::role_binding,
    RuntimeClass => node::runtime_class,
    Secret => core::secret,
    SelfSubjectAccessReview => authorization::self_subject_access_review,
    SelfSubjectReview => authentication::self_subject_review,
    SelfSubjectRulesReview => authorization::self_subject_rules_review,
    Service => core::service,
    ServiceAccount => core::service_account,
    ServiceCIDR => networking::service_cidr,
    StatefulSet => apps::stateful_set,
    StorageClass => storage::storage_class,
    StorageVersion => internal::storage_version,
    StorageVersionMigration => storagemigration::storage_version_migration,
    SubjectAccessReview => authorization::subject_access_review,
    TokenReview => authentication::token_review,
    ValidatingAdmissionPolicy => admissionregistration::validating_admission_policy,
    ValidatingAdmissionPolicyBinding => admissionregistration::validating_admission_policy_binding,
    ValidatingWebhookConfiguration => admissionregistration::validating_webhook_configuration,
    VolumeAttachment => storage::volume_attachment,
    VolumeAttributesClass => storage::volume_attributes_class,
    Workload => scheduling::workload,
}
