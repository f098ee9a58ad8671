//! The descriptor of a built-in kind, and the one place that maps kinds to descriptors.

use api::name_rule::NameRule;
use api::options::DeleteOptions;
use api::resources::{Builtin, Resource};
use schema::object::Object;

use crate::strategy::gated::places::GatedPath;
use crate::strategy::{Common, Strategy};
use crate::validation::kinds::{ContextRules, Rules};
use crate::warnings::Warnings;
use crate::{
    admissionregistration, apiextensions, apiregistration, apps, authentication, authorization, autoscaling,
    batch, certificates, coordination, core, discovery, events, flowcontrol, internal, networking, node,
    policy, rbac, resource, scheduling, storage, storagemigration,
};

/// Behaviour of a built-in kind on the path of a write.
pub(crate) struct Kind {
    pub(crate) names: NameRule,
    /// Finalizers must be qualified (`example.com/x`), except for the three that Kubernetes itself uses.
    pub(crate) qualified_finalizers: bool,
    pub(crate) validation: Validation,
    pub(crate) warnings: WarningRules,
    pub(crate) strategy: &'static dyn Strategy,
    /// Fields behind feature gates.
    pub(crate) gated: &'static [GatedPath],
    /// Fields that an update through a subresource (empty for the resource itself) takes from the old object,
    /// where upstream's `PrepareForUpdate` differs from the reset fields that it declares.
    pub(crate) resets: &'static [(&'static str, &'static [&'static str])],
    /// Creation leaves the status to the strategy.
    pub(crate) initial_status: bool,
    pub(crate) generation: Generation,
    /// The generation counts changes before the strategy edits the object, not after.
    pub(crate) counts_first: bool,
    /// A map in the metadata whose changes count as changes of the desired state.
    pub(crate) counted_metadata: Option<&'static str>,
    /// The kind checks the preconditions of a deletion itself, before the common path does.
    pub(crate) early_preconditions: bool,
    /// Objects may come from manifests on the server's disk, which have reserved names.
    pub(crate) from_manifests: bool,
    /// Returns why no object of a name may be deleted, or `None` if it may be.
    pub(crate) undeletable: fn(name: &str) -> Option<&'static str>,
}

impl Kind {
    /// A kind without rules of its own: objects have valid metadata, and the common strategy applies.
    pub(crate) const PLAIN: Self = Kind {
        names: NameRule::DnsSubdomain,
        qualified_finalizers: true,
        validation: Validation::Metadata,
        warnings: WarningRules::NONE,
        strategy: &Common,
        gated: &[],
        resets: &[],
        initial_status: false,
        generation: Generation::OfResource,
        counts_first: false,
        counted_metadata: None,
        early_preconditions: false,
        from_manifests: false,
        undeletable: |_| None,
    };

    /// Returns the descriptor of a resource, or `None` for custom resources.
    pub(crate) fn of(row: &Resource) -> Option<&'static Kind> {
        row.builtin.map(|builtin| of(builtin, row.group))
    }
}

/// Validation of a kind's objects.
pub(crate) enum Validation {
    /// Metadata alone.
    Metadata,
    /// Rules that need no more than the objects.
    Objects(Rules),
    /// Rules that also need the server's settings or the time.
    Settings(ContextRules),
}

/// Warnings about objects that are written. The objects are of the storage version, after defaults.
pub(crate) struct WarningRules {
    /// While a new object is prepared, before validation.
    pub(crate) before_create: fn(new: &Object, out: &mut Warnings),
    pub(crate) create: fn(new: &Object, out: &mut Warnings),
    pub(crate) update: OnUpdate,
    pub(crate) update_status: fn(new: &Object, out: &mut Warnings),
    pub(crate) delete: fn(options: &DeleteOptions) -> Option<String>,
}

impl WarningRules {
    /// No warnings.
    pub(crate) const NONE: Self = WarningRules {
        before_create: |_, _| {},
        create: |_, _| {},
        update: OnUpdate::AsOnCreate,
        update_status: |_, _| {},
        delete: |_| None,
    };
}

/// Warnings about an object that replaces another.
pub(crate) enum OnUpdate {
    /// Warnings about a new object.
    AsOnCreate,
    Own(fn(new: &Object, old: &Object, out: &mut Warnings)),
}

/// Changes of `metadata.generation` by updates.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Generation {
    /// Counted if the resource sets the generation on creation.
    OfResource,
    /// Counted, although creation leaves the generation unset.
    Counted,
    /// Set on creation and never changed.
    Constant,
}

/// Returns the descriptor of a kind. Events differ in the two API groups that serve them.
fn of(builtin: Builtin, group: &str) -> &'static Kind {
    match builtin {
        Builtin::Event if group.is_empty() => &core::event::EVENT,
        builtin => descriptor(builtin),
    }
}

/// A match without a wildcard: a kind without a descriptor does not compile.
macro_rules! descriptors {
    ($($builtin:ident => $kind:path,)*) => {
        fn descriptor(builtin: Builtin) -> &'static Kind {
            match builtin {
                $(Builtin::$builtin => &$kind,)*
            }
        }
    };
}

descriptors! {
    APIService => apiregistration::api_service::API_SERVICE,
    Binding => core::binding::BINDING,
    CSIDriver => storage::csi_driver::CSI_DRIVER,
    CSINode => storage::csi_node::CSI_NODE,
    CSIStorageCapacity => storage::csi_storage_capacity::CSI_STORAGE_CAPACITY,
    CertificateSigningRequest => certificates::certificate_signing_request::CERTIFICATE_SIGNING_REQUEST,
    ClusterRole => rbac::cluster_role::CLUSTER_ROLE,
    ClusterRoleBinding => rbac::cluster_role_binding::CLUSTER_ROLE_BINDING,
    ClusterTrustBundle => certificates::cluster_trust_bundle::CLUSTER_TRUST_BUNDLE,
    ComponentStatus => core::component_status::COMPONENT_STATUS,
    ConfigMap => core::config_map::CONFIG_MAP,
    ControllerRevision => apps::controller_revision::CONTROLLER_REVISION,
    CronJob => batch::cron_job::CRON_JOB,
    CustomResourceDefinition => apiextensions::custom_resource_definition::CUSTOM_RESOURCE_DEFINITION,
    DaemonSet => apps::daemon_set::DAEMON_SET,
    Deployment => apps::deployment::DEPLOYMENT,
    DeviceClass => resource::device_class::DEVICE_CLASS,
    DeviceTaintRule => resource::device_taint_rule::DEVICE_TAINT_RULE,
    EndpointSlice => discovery::endpoint_slice::ENDPOINT_SLICE,
    Endpoints => core::endpoints::ENDPOINTS,
    Event => events::event::EVENT,
    FlowSchema => flowcontrol::flow_schema::FLOW_SCHEMA,
    HorizontalPodAutoscaler => autoscaling::horizontal_pod_autoscaler::HORIZONTAL_POD_AUTOSCALER,
    IPAddress => networking::ip_address::IP_ADDRESS,
    Ingress => networking::ingress::INGRESS,
    IngressClass => networking::ingress_class::INGRESS_CLASS,
    Job => batch::job::JOB,
    Lease => coordination::lease::LEASE,
    LeaseCandidate => coordination::lease_candidate::LEASE_CANDIDATE,
    LimitRange => core::limit_range::LIMIT_RANGE,
    LocalSubjectAccessReview => authorization::local_subject_access_review::LOCAL_SUBJECT_ACCESS_REVIEW,
    MutatingAdmissionPolicy => admissionregistration::mutating_admission_policy::MUTATING_ADMISSION_POLICY,
    MutatingAdmissionPolicyBinding => admissionregistration::mutating_admission_policy_binding::MUTATING_ADMISSION_POLICY_BINDING,
    MutatingWebhookConfiguration => admissionregistration::mutating_webhook_configuration::MUTATING_WEBHOOK_CONFIGURATION,
    Namespace => core::namespace::NAMESPACE,
    NetworkPolicy => networking::network_policy::NETWORK_POLICY,
    Node => core::node::NODE,
    PersistentVolume => core::persistent_volume::PERSISTENT_VOLUME,
    PersistentVolumeClaim => core::persistent_volume_claim::PERSISTENT_VOLUME_CLAIM,
    Pod => core::pod::POD,
    PodCertificateRequest => certificates::pod_certificate_request::POD_CERTIFICATE_REQUEST,
    PodDisruptionBudget => policy::pod_disruption_budget::POD_DISRUPTION_BUDGET,
    PodGroup => scheduling::pod_group::POD_GROUP,
    PodTemplate => core::pod_template::POD_TEMPLATE,
    PriorityClass => scheduling::priority_class::PRIORITY_CLASS,
    PriorityLevelConfiguration => flowcontrol::priority_level_configuration::PRIORITY_LEVEL_CONFIGURATION,
    ReplicaSet => apps::replica_set::REPLICA_SET,
    ReplicationController => core::replication_controller::REPLICATION_CONTROLLER,
    ResourceClaim => resource::resource_claim::RESOURCE_CLAIM,
    ResourceClaimTemplate => resource::resource_claim_template::RESOURCE_CLAIM_TEMPLATE,
    ResourcePoolStatusRequest => resource::resource_pool_status_request::RESOURCE_POOL_STATUS_REQUEST,
    ResourceQuota => core::resource_quota::RESOURCE_QUOTA,
    ResourceSlice => resource::resource_slice::RESOURCE_SLICE,
    Role => rbac::role::ROLE,
    RoleBinding => rbac::role_binding::ROLE_BINDING,
    RuntimeClass => node::runtime_class::RUNTIME_CLASS,
    Secret => core::secret::SECRET,
    SelfSubjectAccessReview => authorization::self_subject_access_review::SELF_SUBJECT_ACCESS_REVIEW,
    SelfSubjectReview => authentication::self_subject_review::SELF_SUBJECT_REVIEW,
    SelfSubjectRulesReview => authorization::self_subject_rules_review::SELF_SUBJECT_RULES_REVIEW,
    Service => core::service::SERVICE,
    ServiceAccount => core::service_account::SERVICE_ACCOUNT,
    ServiceCIDR => networking::service_cidr::SERVICE_CIDR,
    StatefulSet => apps::stateful_set::STATEFUL_SET,
    StorageClass => storage::storage_class::STORAGE_CLASS,
    StorageVersion => internal::storage_version::STORAGE_VERSION,
    StorageVersionMigration => storagemigration::storage_version_migration::STORAGE_VERSION_MIGRATION,
    SubjectAccessReview => authorization::subject_access_review::SUBJECT_ACCESS_REVIEW,
    TokenReview => authentication::token_review::TOKEN_REVIEW,
    ValidatingAdmissionPolicy => admissionregistration::validating_admission_policy::VALIDATING_ADMISSION_POLICY,
    ValidatingAdmissionPolicyBinding => admissionregistration::validating_admission_policy_binding::VALIDATING_ADMISSION_POLICY_BINDING,
    ValidatingWebhookConfiguration => admissionregistration::validating_webhook_configuration::VALIDATING_WEBHOOK_CONFIGURATION,
    VolumeAttachment => storage::volume_attachment::VOLUME_ATTACHMENT,
    VolumeAttributesClass => storage::volume_attributes_class::VOLUME_ATTRIBUTES_CLASS,
    Workload => scheduling::workload::WORKLOAD,
}

#[cfg(test)]
mod tests;
