//! Rows of Table responses (`kubectl get`). Each built-in kind has a function from an object to its cells, in
//! the order of the resource's columns.
//!
//! The cells are upstream's (`pkg/printers/internalversion`). Upstream prints internal objects; this module
//! uses the JSON of the served version.

mod admissionregistration;
mod apiregistration;
mod apps;
mod autoscaling;
mod batch;
mod certificates;
mod column;
mod coordination;
mod core;
mod discovery;
mod events;
mod flowcontrol;
mod format;
mod internal;
mod metrics;
mod networking;
mod node;
mod pod;
mod policy;
mod rbac;
mod resource;
mod scheduling;
mod storage;
mod storagemigration;
mod volumes;

use api::resources::{Builtin, Resource};
use api::table::view;
use apimachinery::time::{GO_ZERO_TIME, UnixTime};
use column::{NAME, NAME_AND_AGE, date};
use jsontree::Object;
use schema::proto::inplace::{MessageRef, NotInPlace};
use schema::table::Message;
use view::{ReadStatus, View};

pub use api::table::{Cell, ColumnDefinition, CustomPrinter};
pub use column::{Column, status_column_descriptions};

/// Row printer of one resource, looked up once and used for every object.
#[derive(Debug, Clone, Copy)]
pub struct Printer {
    columns: &'static [Column],
    pods: bool,
}

/// Part of a row that depends on the object.
#[derive(Debug, Clone, PartialEq)]
pub struct Row<'a> {
    /// Cells in the order of the columns.
    pub cells: Vec<Cell<'a>>,
    /// Condition of the row, such as a finished pod.
    pub condition: Option<RowCondition>,
}

impl Printer {
    /// The printer of a built-in resource; a `Scale` has its own. Custom resources have [`CustomPrinter`].
    pub fn of(resource: &Resource<'_>) -> Printer {
        let is_scale = resource.subresource == "scale";
        let columns = match resource.builtin {
            Some(_) if is_scale => autoscaling::SCALE,
            Some(builtin) => columns(builtin, resource.group_version),
            None => &NAME_AND_CREATED,
        };
        Printer { columns, pods: resource.builtin == Some(Builtin::Pod) && !is_scale }
    }

    /// The columns of the Table.
    pub fn columns(&self) -> impl Iterator<Item = &'static Column> {
        self.columns.iter().filter(|column| column.is_declared)
    }

    /// True if the resource has columns of its own. If it has none, upstream returns an empty
    /// list with `rows: null` instead of `[]`.
    pub fn is_own(&self) -> bool {
        !std::ptr::eq(self.columns, &NAME_AND_CREATED)
    }

    /// Prints the row of an object. Ages count up to `now`.
    ///
    /// Version 1 of an autoscaler has lost the order of its metrics, and all CPU metrics except one. The
    /// column shows them, so a caller with access to the version 2 form should print that one.
    ///
    /// # Errors
    /// The subject is a message that cannot be read in place; the caller must print its tree. Printing a tree
    /// never fails.
    pub fn row<'a>(&self, subject: &'a Subject<'a>, now: UnixTime) -> Result<Row<'a>, NotInPlace> {
        let view = subject.view();
        let mut cells = Vec::with_capacity(self.columns.len());
        for column in self.columns {
            column.print(view, now, &mut cells);
        }
        let condition = if self.pods { end_of_pod(view) } else { None };
        if subject.doubt.exists() {
            return Err(NotInPlace);
        }
        Ok(Row { cells, condition })
    }
}

/// Object to print, in the version of the printer.
#[derive(Debug)]
pub struct Subject<'a> {
    form: Representation<'a>,
    doubt: ReadStatus,
}

#[derive(Debug)]
enum Representation<'a> {
    Tree(&'a Object),
    Message(MessageRef<'a>),
}

impl<'a> Subject<'a> {
    pub fn tree(object: &'a Object) -> Self {
        Subject { form: Representation::Tree(object), doubt: ReadStatus::default() }
    }

    /// Canonical bytes of a message. Only the fields of the columns are read.
    pub fn message(message: &'static Message, raw: &'a [u8]) -> Self {
        Subject { form: Representation::Message(MessageRef::new(message, raw)), doubt: ReadStatus::default() }
    }

    fn view(&self) -> View<'_> {
        match self.form {
            Representation::Tree(object) => View::of(object),
            Representation::Message(message) => View::of_message(message, &self.doubt),
        }
    }
}

/// Condition of a Table row. Upstream sets one on finished pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowCondition {
    pub condition_type: &'static str,
    pub status: &'static str,
    /// The phase of the pod.
    pub reason: &'static str,
    pub message: &'static str,
}

/// Returns the cells of a `Status` in place of an object: status, reason and message.
pub fn status_cells(status: &Object) -> Vec<Cell<'_>> {
    let view = View::of(status);
    ["status", "reason", "message"].map(|name| view.get(name).text().into()).into()
}

/// Returns the row condition of a finished pod.
fn end_of_pod(pod: View<'_>) -> Option<RowCondition> {
    let (reason, message) = match pod.at("status.phase").text() {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(RowCondition { condition_type: "Completed", status: "True", reason, message })
}

/// The columns of kinds without columns of their own.
static NAME_AND_CREATED: [Column; 2] = [
    NAME,
    date("Created At", |object, _| created_at(object).into())
        .described_as("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "creationTimestamp"),
];

/// The columns of a kind in a served version (`v1`, `apps/v1`).
fn columns(builtin: Builtin, group_version: &str) -> &'static [Column] {
    match builtin {
        Builtin::Event if group_version == "v1" => events::CORE_EVENT,
        Builtin::HorizontalPodAutoscaler if group_version == "autoscaling/v1" => autoscaling::AUTOSCALER_V1,
        kind => columns_of_kind(kind),
    }
}

/// Defines [`columns_of_kind`]: a match without wildcard, so that the compiler reports a kind that has no list.
macro_rules! columns_by_kind {
    ($($($kind:ident)|+ => $columns:expr,)+) => {
        fn columns_of_kind(builtin: Builtin) -> &'static [Column] {
            match builtin { $($(Builtin::$kind)|+ => $columns,)+ }
        }
    };
}

columns_by_kind! {
    APIService => apiregistration::API_SERVICE,
    CSIDriver => storage::CSI_DRIVER,
    CSINode => storage::CSI_NODE,
    CertificateSigningRequest => certificates::CERTIFICATE_SIGNING_REQUEST,
    ClusterRoleBinding => rbac::CLUSTER_ROLE_BINDING,
    ClusterTrustBundle => certificates::CLUSTER_TRUST_BUNDLE,
    ComponentStatus => core::COMPONENT_STATUS,
    ConfigMap => core::CONFIG_MAP,
    ControllerRevision => apps::CONTROLLER_REVISION,
    CronJob => batch::CRON_JOB,
    DaemonSet => apps::DAEMON_SET,
    Deployment => apps::DEPLOYMENT,
    DeviceClass
    | ResourceClaimTemplate
    | ServiceAccount
    | Workload => NAME_AND_AGE,
    DeviceTaintRule => resource::DEVICE_TAINT_RULE,
    EndpointSlice => discovery::ENDPOINT_SLICE,
    Endpoints => core::ENDPOINTS,
    FlowSchema => flowcontrol::FLOW_SCHEMA,
    IPAddress => networking::IP_ADDRESS,
    Ingress => networking::INGRESS,
    IngressClass => networking::INGRESS_CLASS,
    Job => batch::JOB,
    Lease => coordination::LEASE,
    LeaseCandidate => coordination::LEASE_CANDIDATE,
    MutatingAdmissionPolicy => admissionregistration::MUTATING_ADMISSION_POLICY,
    MutatingAdmissionPolicyBinding | ValidatingAdmissionPolicyBinding => admissionregistration::POLICY_BINDING,
    MutatingWebhookConfiguration | ValidatingWebhookConfiguration => admissionregistration::WEBHOOK_CONFIGURATION,
    Namespace => core::NAMESPACE,
    NetworkPolicy => networking::NETWORK_POLICY,
    Node => core::NODE,
    PersistentVolume => volumes::PERSISTENT_VOLUME,
    PersistentVolumeClaim => volumes::PERSISTENT_VOLUME_CLAIM,
    Pod => pod::POD,
    PodCertificateRequest => certificates::POD_CERTIFICATE_REQUEST,
    PodDisruptionBudget => policy::POD_DISRUPTION_BUDGET,
    PodGroup => scheduling::POD_GROUP,
    PodTemplate => core::POD_TEMPLATE,
    PriorityClass => scheduling::PRIORITY_CLASS,
    PriorityLevelConfiguration => flowcontrol::PRIORITY_LEVEL_CONFIGURATION,
    ReplicaSet => apps::REPLICA_SET,
    ReplicationController => core::REPLICATION_CONTROLLER,
    ResourceClaim => resource::RESOURCE_CLAIM,
    ResourcePoolStatusRequest => resource::RESOURCE_POOL_STATUS_REQUEST,
    ResourceQuota => core::RESOURCE_QUOTA,
    ResourceSlice => resource::RESOURCE_SLICE,
    RoleBinding => rbac::ROLE_BINDING,
    RuntimeClass => node::RUNTIME_CLASS,
    Secret => core::SECRET,
    Service => core::SERVICE,
    ServiceCIDR => networking::SERVICE_CIDR,
    StatefulSet => apps::STATEFUL_SET,
    StorageClass => storage::STORAGE_CLASS,
    StorageVersion => internal::STORAGE_VERSION,
    StorageVersionMigration => storagemigration::STORAGE_VERSION_MIGRATION,
    ValidatingAdmissionPolicy => admissionregistration::VALIDATING_ADMISSION_POLICY,
    VolumeAttachment => storage::VOLUME_ATTACHMENT,
    VolumeAttributesClass => storage::VOLUME_ATTRIBUTES_CLASS,
    Event => events::EVENTS_EVENT,
    HorizontalPodAutoscaler => autoscaling::AUTOSCALER,
    // Upstream has a printer for capacities, but does not use it.
    Binding
    | CSIStorageCapacity
    | ClusterRole
    | CustomResourceDefinition
    | LimitRange
    | LocalSubjectAccessReview
    | Role
    | SelfSubjectAccessReview
    | SelfSubjectReview
    | SelfSubjectRulesReview
    | SubjectAccessReview
    | TokenReview => &NAME_AND_CREATED,
}

fn created_at(object: View<'_>) -> String {
    object.at("metadata.creationTimestamp").time().unwrap_or(GO_ZERO_TIME).rfc3339().to_string()
}

#[cfg(test)]
mod tests;
