//! The columns of every kind's Table answer. Cells are made in this order by the printers.

use super::Column;

/// The object's name.
pub(super) const NAME: Column = Column { name: "Name", kind: "string", format: "name", priority: 0 };
/// How long ago the object was created.
pub(super) const AGE: Column = text("Age");

/// A text column that is always shown.
const fn text(name: &'static str) -> Column<'static> {
    Column { name, kind: "string", format: "", priority: 0 }
}

/// A text column that is shown on request (`-o wide`).
const fn wide(name: &'static str) -> Column<'static> {
    Column { priority: 1, ..text(name) }
}

/// A column of numbers.
const fn integer(name: &'static str) -> Column<'static> {
    Column { kind: "integer", ..text(name) }
}

/// A column of truth values.
const fn boolean(name: &'static str) -> Column<'static> {
    Column { kind: "boolean", ..text(name) }
}

/// A column of times.
const fn date(name: &'static str) -> Column<'static> {
    Column { kind: "date", ..text(name) }
}

/// Of the `scale` subresource, whose name has no format.
pub(super) const SCALE: &[Column] = &[text("Name"), integer("Desired"), integer("Available"), AGE];
pub(super) const NAME_AND_AGE: &[Column] = &[NAME, AGE];
pub(super) const NAME_AND_CREATED: &[Column] = &[NAME, date("Created At")];
pub(super) const API_SERVICE: &[Column] = &[NAME, text("Service"), text("Available"), AGE];
pub(super) const CERTIFICATE_SIGNING_REQUEST: &[Column] =
    &[NAME, AGE, text("SignerName"), text("Requestor"), text("RequestedDuration"), text("Condition")];
pub(super) const CLUSTER_TRUST_BUNDLE: &[Column] = &[NAME, text("SignerName")];
pub(super) const COMPONENT_STATUS: &[Column] = &[NAME, text("Status"), text("Message"), text("Error")];
pub(super) const CONFIG_MAP: &[Column] = &[NAME, text("Data"), AGE];
pub(super) const CONTROLLER_REVISION: &[Column] = &[NAME, text("Controller"), text("Revision"), AGE];
pub(super) const CRON_JOB: &[Column] = &[
    NAME,
    text("Schedule"),
    text("Timezone"),
    boolean("Suspend"),
    integer("Active"),
    text("Last Schedule"),
    AGE,
    wide("Containers"),
    wide("Images"),
    wide("Selector"),
];
pub(super) const CSI_DRIVER: &[Column] = &[
    NAME,
    boolean("AttachRequired"),
    boolean("PodInfoOnMount"),
    boolean("StorageCapacity"),
    text("TokenRequests"),
    boolean("RequiresRepublish"),
    text("Modes"),
    AGE,
];
pub(super) const CSI_NODE: &[Column] = &[NAME, integer("Drivers"), AGE];
pub(super) const DAEMON_SET: &[Column] = &[
    NAME,
    integer("Desired"),
    integer("Current"),
    integer("Ready"),
    integer("Up-to-date"),
    integer("Available"),
    text("Node Selector"),
    AGE,
    wide("Containers"),
    wide("Images"),
    wide("Selector"),
];
pub(super) const DEPLOYMENT: &[Column] = &[
    NAME,
    text("Ready"),
    text("Up-to-date"),
    text("Available"),
    AGE,
    wide("Containers"),
    wide("Images"),
    wide("Selector"),
];
pub(super) const DEVICE_TAINT_RULE: &[Column] =
    &[NAME, text("Key"), text("Value"), text("Effect"), text("TimeAdded"), AGE];
pub(super) const ENDPOINTS: &[Column] = &[NAME, text("Endpoints"), AGE];
pub(super) const ENDPOINT_SLICE: &[Column] =
    &[NAME, text("AddressType"), text("Ports"), text("Endpoints"), AGE];
pub(super) const EVENT: &[Column] = &[
    text("Last Seen"),
    text("Type"),
    text("Reason"),
    text("Object"),
    wide("Subobject"),
    wide("Source"),
    text("Message"),
    wide("First Seen"),
    wide("Count"),
    Column { format: "name", ..wide("Name") },
];
pub(super) const FLOW_SCHEMA: &[Column] = &[
    NAME,
    text("PriorityLevel"),
    text("MatchingPrecedence"),
    text("DistinguisherMethod"),
    AGE,
    text("MissingPL"),
];
pub(super) const HORIZONTAL_POD_AUTOSCALER: &[Column] =
    &[NAME, text("Reference"), text("Targets"), text("MinPods"), text("MaxPods"), text("Replicas"), AGE];
pub(super) const INGRESS: &[Column] =
    &[NAME, text("Class"), text("Hosts"), text("Address"), text("Ports"), AGE];
pub(super) const INGRESS_CLASS: &[Column] = &[NAME, text("Controller"), text("Parameters"), AGE];
pub(super) const IP_ADDRESS: &[Column] = &[NAME, text("ParentRef")];
pub(super) const JOB: &[Column] = &[
    NAME,
    text("Status"),
    text("Completions"),
    text("Duration"),
    AGE,
    wide("Containers"),
    wide("Images"),
    wide("Selector"),
];
pub(super) const LEASE: &[Column] = &[NAME, text("Holder"), AGE];
pub(super) const LEASE_CANDIDATE: &[Column] =
    &[NAME, text("LeaseName"), text("BinaryVersion"), text("EmulationVersion"), AGE];
pub(super) const MUTATING_ADMISSION_POLICY: &[Column] = &[NAME, integer("Mutations"), text("ParamKind"), AGE];
pub(super) const MUTATING_ADMISSION_POLICY_BINDING: &[Column] =
    &[NAME, text("PolicyName"), text("ParamRef"), AGE];
pub(super) const MUTATING_WEBHOOK_CONFIGURATION: &[Column] = &[NAME, integer("Webhooks"), AGE];
pub(super) const NAMESPACE: &[Column] = &[NAME, text("Status"), AGE];
pub(super) const NETWORK_POLICY: &[Column] = &[NAME, text("Pod-Selector"), AGE];
pub(super) const NODE: &[Column] = &[
    NAME,
    text("Status"),
    text("Roles"),
    AGE,
    text("Version"),
    wide("Internal-IP"),
    wide("External-IP"),
    wide("OS-Image"),
    wide("Kernel-Version"),
    wide("Container-Runtime"),
];
pub(super) const PERSISTENT_VOLUME: &[Column] = &[
    NAME,
    text("Capacity"),
    text("Access Modes"),
    text("Reclaim Policy"),
    text("Status"),
    text("Claim"),
    text("StorageClass"),
    text("VolumeAttributesClass"),
    text("Reason"),
    AGE,
    wide("VolumeMode"),
];
pub(super) const PERSISTENT_VOLUME_CLAIM: &[Column] = &[
    NAME,
    text("Status"),
    text("Volume"),
    text("Capacity"),
    text("Access Modes"),
    text("StorageClass"),
    text("VolumeAttributesClass"),
    AGE,
    wide("VolumeMode"),
];
pub(super) const POD: &[Column] = &[
    NAME,
    text("Ready"),
    text("Status"),
    text("Restarts"),
    AGE,
    wide("IP"),
    wide("Node"),
    wide("Nominated Node"),
    wide("Readiness Gates"),
];
pub(super) const POD_CERTIFICATE_REQUEST: &[Column] = &[
    NAME,
    text("PodName"),
    text("ServiceAccountName"),
    text("NodeName"),
    text("SignerName"),
    text("State"),
    text("UnverifiedUserAnnotations"),
];
pub(super) const POD_DISRUPTION_BUDGET: &[Column] =
    &[NAME, text("Min Available"), text("Max Unavailable"), integer("Allowed Disruptions"), AGE];
pub(super) const POD_GROUP: &[Column] = &[NAME, text("Policy"), text("Workload"), text("Status"), AGE];
pub(super) const POD_TEMPLATE: &[Column] = &[NAME, text("Containers"), text("Images"), text("Pod Labels")];
pub(super) const PRIORITY_CLASS: &[Column] =
    &[NAME, integer("Value"), boolean("Global-Default"), AGE, text("PreemptionPolicy")];
pub(super) const PRIORITY_LEVEL_CONFIGURATION: &[Column] = &[
    NAME,
    text("Type"),
    text("NominalConcurrencyShares"),
    text("Queues"),
    text("HandSize"),
    text("QueueLengthLimit"),
    AGE,
];
pub(super) const REPLICA_SET: &[Column] = &[
    NAME,
    integer("Desired"),
    integer("Current"),
    integer("Ready"),
    AGE,
    wide("Containers"),
    wide("Images"),
    wide("Selector"),
];
pub(super) const RESOURCE_CLAIM: &[Column] = &[NAME, text("State"), AGE];
pub(super) const RESOURCE_POOL_STATUS_REQUEST: &[Column] = &[
    NAME,
    text("Driver"),
    text("Total"),
    text("Available"),
    text("Allocated"),
    text("Unavailable"),
    text("Errors"),
    integer("Pools"),
    text("Status"),
    text("Completed"),
];
pub(super) const RESOURCE_QUOTA: &[Column] = &[NAME, text("Request"), text("Limit"), AGE];
pub(super) const RESOURCE_SLICE: &[Column] = &[NAME, text("Node"), text("Driver"), text("Pool"), AGE];
pub(super) const ROLE_BINDING: &[Column] =
    &[NAME, text("Role"), AGE, wide("Users"), wide("Groups"), wide("ServiceAccounts")];
pub(super) const RUNTIME_CLASS: &[Column] = &[NAME, text("Handler"), AGE];
pub(super) const SECRET: &[Column] = &[NAME, text("Type"), text("Data"), AGE];
pub(super) const SERVICE: &[Column] =
    &[NAME, text("Type"), text("Cluster-IP"), text("External-IP"), text("Port(s)"), AGE, wide("Selector")];
pub(super) const SERVICE_CIDR: &[Column] = &[NAME, text("CIDRs"), AGE];
pub(super) const STATEFUL_SET: &[Column] = &[NAME, text("Ready"), AGE, wide("Containers"), wide("Images")];
pub(super) const STORAGE_CLASS: &[Column] = &[
    NAME,
    text("Provisioner"),
    text("ReclaimPolicy"),
    text("VolumeBindingMode"),
    text("AllowVolumeExpansion"),
    AGE,
];
pub(super) const STORAGE_VERSION: &[Column] =
    &[NAME, text("CommonEncodingVersion"), text("StorageVersions"), AGE];
pub(super) const STORAGE_VERSION_MIGRATION: &[Column] = &[text("Name"), text("Resource"), text("Status")];
pub(super) const VALIDATING_ADMISSION_POLICY: &[Column] =
    &[NAME, integer("Validations"), text("ParamKind"), AGE];
pub(super) const VOLUME_ATTACHMENT: &[Column] = &[
    NAME,
    Column { format: "name", ..text("Attacher") },
    text("PV"),
    text("Node"),
    boolean("Attached"),
    AGE,
];
pub(super) const VOLUME_ATTRIBUTES_CLASS: &[Column] = &[NAME, text("DriverName"), AGE];
