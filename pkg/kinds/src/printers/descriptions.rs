//! What the columns of Tables mean: the `description` of every column definition as it stands in
//! upstream's answers. Most columns show a member, and are described as that is.
//!
//! The table is made from the column definitions of v1.36 by tools/column-descriptions.py; do not edit it.

use Column::{Member, Words};
use api::descriptions::description;

/// The descriptions of the columns of a resource, in their order. A resource without a printer has the
/// columns name and creation time; a `Scale` goes by the name `scale`, in any group that has it.
pub fn column_descriptions(group: &str, resource: &str) -> impl ExactSizeIterator<Item = &'static str> {
    let found = COLUMNS.binary_search_by(|(g, r, _)| (*g, *r).cmp(&(group, resource)));
    let columns = match found.ok().and_then(|index| COLUMNS.get(index)) {
        Some((_, _, columns)) => columns,
        None if resource == "scale" => SCALE,
        None => &[NAME, AGE][..],
    };
    columns.iter().map(Column::description)
}

/// The descriptions of the columns of a `Status`: Status, Reason, Message.
pub fn status_column_descriptions() -> [&'static str; 3] {
    let member = |name| Member("io.k8s.apimachinery.pkg.apis.meta.v1.Status", name);
    [member("status"), member("reason"), Words("")].map(|column| column.description())
}

/// How a column is described.
#[derive(Clone, Copy)]
enum Column {
    /// As that member of that definition.
    Member(&'static str, &'static str),
    /// In words of its own.
    Words(&'static str),
}

impl Column {
    fn description(&self) -> &'static str {
        match self {
            // Only OpenAPI documents list the values.
            Member(definition, member) => without_values(description(definition, member)),
            Words(words) => words,
        }
    }
}

/// A description without the list of possible values at its end.
fn without_values(text: &'static str) -> &'static str {
    text.split_once("\n\nPossible enum values:").map_or(text, |(text, _)| text)
}

#[rustfmt::skip]
const NAME: Column = Member("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "name");
#[rustfmt::skip]
const AGE: Column = Member("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "creationTimestamp");
#[rustfmt::skip]
const CONTAINERS: Column = Words("Names of each container in the template.");
#[rustfmt::skip]
const IMAGES: Column = Words("Images referenced by each container in the template.");

static SCALE: &[Column] = &[
    NAME,
    Member("io.k8s.api.autoscaling.v1.ScaleSpec", "replicas"),
    Member("io.k8s.api.autoscaling.v1.ScaleStatus", "replicas"),
    AGE,
];

/// Group, resource and columns, sorted.
#[rustfmt::skip]
static COLUMNS: [(&str, &str, &[Column]); 64] = [
    ("", "componentstatuses", &[
            NAME,
            Words("Status of the component conditions"),
            Words("Message of the component conditions"),
            Words("Error of the component conditions"),
    ]),
    ("", "configmaps", &[
            NAME,
            Member("io.k8s.api.core.v1.ConfigMap", "data"),
            AGE,
    ]),
    ("", "endpoints", &[
            NAME,
            Member("io.k8s.api.core.v1.Endpoints", "subsets"),
            AGE,
    ]),
    ("", "events", &[
            Member("io.k8s.api.core.v1.Event", "lastTimestamp"),
            Member("io.k8s.api.core.v1.Event", "type"),
            Member("io.k8s.api.core.v1.Event", "reason"),
            Member("io.k8s.api.core.v1.Event", "involvedObject"),
            Member("io.k8s.api.core.v1.ObjectReference", "fieldPath"),
            Member("io.k8s.api.core.v1.Event", "source"),
            Member("io.k8s.api.core.v1.Event", "message"),
            Member("io.k8s.api.core.v1.Event", "firstTimestamp"),
            Member("io.k8s.api.core.v1.Event", "count"),
            NAME,
    ]),
    ("", "namespaces", &[
            NAME,
            Words("The status of the namespace"),
            AGE,
    ]),
    ("", "nodes", &[
            NAME,
            Words("The status of the node"),
            Words("The roles of the node"),
            AGE,
            Member("io.k8s.api.core.v1.NodeSystemInfo", "kubeletVersion"),
            Member("io.k8s.api.core.v1.NodeStatus", "addresses"),
            Member("io.k8s.api.core.v1.NodeStatus", "addresses"),
            Member("io.k8s.api.core.v1.NodeSystemInfo", "osImage"),
            Member("io.k8s.api.core.v1.NodeSystemInfo", "kernelVersion"),
            Member("io.k8s.api.core.v1.NodeSystemInfo", "containerRuntimeVersion"),
    ]),
    ("", "persistentvolumeclaims", &[
            NAME,
            Member("io.k8s.api.core.v1.PersistentVolumeClaimStatus", "phase"),
            Member("io.k8s.api.core.v1.PersistentVolumeClaimSpec", "volumeName"),
            Member("io.k8s.api.core.v1.PersistentVolumeClaimStatus", "capacity"),
            Member("io.k8s.api.core.v1.PersistentVolumeClaimStatus", "accessModes"),
            Words("StorageClass of the pvc"),
            Words("VolumeAttributesClass of the pvc"),
            AGE,
            Member("io.k8s.api.core.v1.PersistentVolumeClaimSpec", "volumeMode"),
    ]),
    ("", "persistentvolumes", &[
            NAME,
            Member("io.k8s.api.core.v1.PersistentVolumeSpec", "capacity"),
            Member("io.k8s.api.core.v1.PersistentVolumeSpec", "accessModes"),
            Member("io.k8s.api.core.v1.PersistentVolumeSpec", "persistentVolumeReclaimPolicy"),
            Member("io.k8s.api.core.v1.PersistentVolumeStatus", "phase"),
            Member("io.k8s.api.core.v1.PersistentVolumeSpec", "claimRef"),
            Words("StorageClass of the pv"),
            Words("VolumeAttributesClass of the pv"),
            Member("io.k8s.api.core.v1.PersistentVolumeStatus", "reason"),
            AGE,
            Member("io.k8s.api.core.v1.PersistentVolumeSpec", "volumeMode"),
    ]),
    ("", "pods", &[
            NAME,
            Words("The aggregate readiness state of this pod for accepting traffic."),
            Words("The aggregate status of the containers in this pod."),
            Words("The number of times the containers in this pod have been restarted and when the last container in this pod has restarted."),
            AGE,
            Member("io.k8s.api.core.v1.PodStatus", "podIP"),
            Member("io.k8s.api.core.v1.PodSpec", "nodeName"),
            Member("io.k8s.api.core.v1.PodStatus", "nominatedNodeName"),
            Member("io.k8s.api.core.v1.PodSpec", "readinessGates"),
    ]),
    ("", "podtemplates", &[
            NAME,
            CONTAINERS,
            IMAGES,
            Words("The labels for the pod template."),
    ]),
    ("", "replicationcontrollers", &[
            NAME,
            Member("io.k8s.api.core.v1.ReplicationControllerSpec", "replicas"),
            Member("io.k8s.api.core.v1.ReplicationControllerStatus", "replicas"),
            Member("io.k8s.api.core.v1.ReplicationControllerStatus", "readyReplicas"),
            AGE,
            CONTAINERS,
            IMAGES,
            Member("io.k8s.api.core.v1.ReplicationControllerSpec", "selector"),
    ]),
    ("", "resourcequotas", &[
            NAME,
            Words("Request represents a minimum amount of cpu/memory that a container may consume."),
            Words("Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node."),
            AGE,
    ]),
    ("", "secrets", &[
            NAME,
            Member("io.k8s.api.core.v1.Secret", "type"),
            Member("io.k8s.api.core.v1.Secret", "data"),
            AGE,
    ]),
    ("", "serviceaccounts", &[
            NAME,
            AGE,
    ]),
    ("", "services", &[
            NAME,
            Member("io.k8s.api.core.v1.ServiceSpec", "type"),
            Member("io.k8s.api.core.v1.ServiceSpec", "clusterIP"),
            Member("io.k8s.api.core.v1.ServiceSpec", "externalIPs"),
            Member("io.k8s.api.core.v1.ServiceSpec", "ports"),
            AGE,
            Member("io.k8s.api.core.v1.ServiceSpec", "selector"),
    ]),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies", &[
            NAME,
            Words("Mutation indicates the number of mutations rules defined in this configuration"),
            Words("ParamKind specifies the kind of resources used to parameterize this policy"),
            AGE,
    ]),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings", &[
            NAME,
            Words("PolicyName indicates the policy definition which the policy binding binded to"),
            Words("ParamRef indicates the param resource which sets the configuration param"),
            AGE,
    ]),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations", &[
            NAME,
            Words("Webhooks indicates the number of webhooks registered in this configuration"),
            AGE,
    ]),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies", &[
            NAME,
            Words("Validations indicates the number of validation rules defined in this configuration"),
            Words("ParamKind specifies the kind of resources used to parameterize this policy"),
            AGE,
    ]),
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings", &[
            NAME,
            Words("PolicyName indicates the policy definition which the policy binding binded to"),
            Words("ParamRef indicates the param resource which sets the configuration param"),
            AGE,
    ]),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations", &[
            NAME,
            Words("Webhooks indicates the number of webhooks registered in this configuration"),
            AGE,
    ]),
    ("apiregistration.k8s.io", "apiservices", &[
            NAME,
            Words("The reference to the service that hosts this API endpoint."),
            Words("Whether this service is available."),
            AGE,
    ]),
    ("apps", "controllerrevisions", &[
            NAME,
            Words("Controller of the object"),
            Member("io.k8s.api.apps.v1.ControllerRevision", "revision"),
            AGE,
    ]),
    ("apps", "daemonsets", &[
            NAME,
            Member("io.k8s.api.apps.v1.DaemonSetStatus", "desiredNumberScheduled"),
            Member("io.k8s.api.apps.v1.DaemonSetStatus", "currentNumberScheduled"),
            Member("io.k8s.api.apps.v1.DaemonSetStatus", "numberReady"),
            Member("io.k8s.api.apps.v1.DaemonSetStatus", "updatedNumberScheduled"),
            Member("io.k8s.api.apps.v1.DaemonSetStatus", "numberAvailable"),
            Member("io.k8s.api.core.v1.PodSpec", "nodeSelector"),
            AGE,
            CONTAINERS,
            IMAGES,
            Member("io.k8s.api.apps.v1.DaemonSetSpec", "selector"),
    ]),
    ("apps", "deployments", &[
            NAME,
            Words("Number of the pod with ready state"),
            Member("io.k8s.api.apps.v1.DeploymentStatus", "updatedReplicas"),
            Member("io.k8s.api.apps.v1.DeploymentStatus", "availableReplicas"),
            AGE,
            CONTAINERS,
            IMAGES,
            Member("io.k8s.api.apps.v1.DeploymentSpec", "selector"),
    ]),
    ("apps", "replicasets", &[
            NAME,
            Member("io.k8s.api.apps.v1.ReplicaSetSpec", "replicas"),
            Member("io.k8s.api.apps.v1.ReplicaSetStatus", "replicas"),
            Member("io.k8s.api.apps.v1.ReplicaSetStatus", "readyReplicas"),
            AGE,
            CONTAINERS,
            IMAGES,
            Member("io.k8s.api.apps.v1.ReplicaSetSpec", "selector"),
    ]),
    ("apps", "statefulsets", &[
            NAME,
            Words("Number of the pod with ready state"),
            AGE,
            CONTAINERS,
            IMAGES,
    ]),
    ("autoscaling", "horizontalpodautoscalers", &[
            NAME,
            Member("io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerSpec", "scaleTargetRef"),
            Member("io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerSpec", "metrics"),
            Member("io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerSpec", "minReplicas"),
            Member("io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerSpec", "maxReplicas"),
            Member("io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerStatus", "currentReplicas"),
            AGE,
    ]),
    ("batch", "cronjobs", &[
            NAME,
            Member("io.k8s.api.batch.v1.CronJobSpec", "schedule"),
            Member("io.k8s.api.batch.v1.CronJobSpec", "timeZone"),
            Member("io.k8s.api.batch.v1.CronJobSpec", "suspend"),
            Member("io.k8s.api.batch.v1.CronJobStatus", "active"),
            Member("io.k8s.api.batch.v1.CronJobStatus", "lastScheduleTime"),
            AGE,
            CONTAINERS,
            IMAGES,
            Member("io.k8s.api.batch.v1.JobSpec", "selector"),
    ]),
    ("batch", "jobs", &[
            NAME,
            Words("Status of the job."),
            Member("io.k8s.api.batch.v1.JobStatus", "succeeded"),
            Words("Time required to complete the job."),
            AGE,
            CONTAINERS,
            IMAGES,
            Member("io.k8s.api.batch.v1.JobSpec", "selector"),
    ]),
    ("certificates.k8s.io", "certificatesigningrequests", &[
            NAME,
            AGE,
            Words("Requested signer for the request. It is a qualified name in the form: `scope-hostname.io/name`. If empty, it will be defaulted:\n 1. If it's a kubelet client certificate, it is assigned\n    \"kubernetes.io/kube-apiserver-client-kubelet\".\n 2. If it's a kubelet serving certificate, it is assigned\n    \"kubernetes.io/kubelet-serving\".\n 3. Otherwise, it is assigned \"kubernetes.io/legacy-unknown\".\nDistribution of trust for signers happens out of band. You can select on this field using `spec.signerName`."),
            Words("Base64-encoded PKCS#10 CSR data"),
            Member("io.k8s.api.certificates.v1.CertificateSigningRequestSpec", "expirationSeconds"),
            Words("Conditions applied to the request, such as approval or denial."),
    ]),
    ("certificates.k8s.io", "clustertrustbundles", &[
            NAME,
            Member("io.k8s.api.certificates.v1beta1.ClusterTrustBundleSpec", "signerName"),
    ]),
    ("certificates.k8s.io", "podcertificaterequests", &[
            NAME,
            Member("io.k8s.api.certificates.v1beta1.PodCertificateRequestSpec", "podName"),
            Member("io.k8s.api.certificates.v1beta1.PodCertificateRequestSpec", "serviceAccountName"),
            Member("io.k8s.api.certificates.v1beta1.PodCertificateRequestSpec", "nodeName"),
            Member("io.k8s.api.certificates.v1beta1.PodCertificateRequestSpec", "signerName"),
            Words("Is the request Pending, Issued, Denied, or Failed?"),
            Member("io.k8s.api.certificates.v1beta1.PodCertificateRequestSpec", "unverifiedUserAnnotations"),
    ]),
    ("coordination.k8s.io", "leasecandidates", &[
            NAME,
            Member("io.k8s.api.coordination.v1alpha2.LeaseCandidateSpec", "leaseName"),
            Words(""),
            Words(""),
            AGE,
    ]),
    ("coordination.k8s.io", "leases", &[
            NAME,
            Member("io.k8s.api.coordination.v1.LeaseSpec", "holderIdentity"),
            AGE,
    ]),
    ("discovery.k8s.io", "endpointslices", &[
            NAME,
            Member("io.k8s.api.discovery.v1.EndpointSlice", "addressType"),
            Member("io.k8s.api.discovery.v1.EndpointSlice", "ports"),
            Member("io.k8s.api.discovery.v1.EndpointSlice", "endpoints"),
            AGE,
    ]),
    ("events.k8s.io", "events", &[
            Member("io.k8s.api.core.v1.Event", "lastTimestamp"),
            Member("io.k8s.api.core.v1.Event", "type"),
            Member("io.k8s.api.core.v1.Event", "reason"),
            Member("io.k8s.api.core.v1.Event", "involvedObject"),
            Member("io.k8s.api.core.v1.ObjectReference", "fieldPath"),
            Member("io.k8s.api.core.v1.Event", "source"),
            Member("io.k8s.api.core.v1.Event", "message"),
            Member("io.k8s.api.core.v1.Event", "firstTimestamp"),
            Member("io.k8s.api.core.v1.Event", "count"),
            NAME,
    ]),
    ("flowcontrol.apiserver.k8s.io", "flowschemas", &[
            NAME,
            Member("io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationReference", "name"),
            Member("io.k8s.api.flowcontrol.v1.FlowSchemaSpec", "matchingPrecedence"),
            Member("io.k8s.api.flowcontrol.v1.FlowSchemaSpec", "distinguisherMethod"),
            AGE,
            Words("references a broken or non-existent PriorityLevelConfiguration"),
    ]),
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations", &[
            NAME,
            Member("io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationSpec", "type"),
            Member("io.k8s.api.flowcontrol.v1.LimitedPriorityLevelConfiguration", "nominalConcurrencyShares"),
            Member("io.k8s.api.flowcontrol.v1.QueuingConfiguration", "queues"),
            Member("io.k8s.api.flowcontrol.v1.QueuingConfiguration", "handSize"),
            Member("io.k8s.api.flowcontrol.v1.QueuingConfiguration", "queueLengthLimit"),
            AGE,
    ]),
    ("internal.apiserver.k8s.io", "storageversions", &[
            NAME,
            Member("io.k8s.api.apiserverinternal.v1alpha1.StorageVersionStatus", "commonEncodingVersion"),
            Member("io.k8s.api.apiserverinternal.v1alpha1.StorageVersionStatus", "storageVersions"),
            AGE,
    ]),
    ("networking.k8s.io", "ingressclasses", &[
            NAME,
            Words("Controller that is responsible for handling this class"),
            Words("A reference to a resource with additional parameters"),
            AGE,
    ]),
    ("networking.k8s.io", "ingresses", &[
            NAME,
            Words("The name of the IngressClass resource that should be used for additional configuration"),
            Words("Hosts that incoming requests are matched against before the ingress rule"),
            Words("Address is a list containing ingress points for the load-balancer"),
            Words("Ports of TLS configurations that open"),
            AGE,
    ]),
    ("networking.k8s.io", "ipaddresses", &[
            NAME,
            Member("io.k8s.api.networking.v1.IPAddressSpec", "parentRef"),
    ]),
    ("networking.k8s.io", "networkpolicies", &[
            NAME,
            Member("io.k8s.api.networking.v1.NetworkPolicySpec", "podSelector"),
            AGE,
    ]),
    ("networking.k8s.io", "servicecidrs", &[
            NAME,
            Member("io.k8s.api.networking.v1.ServiceCIDRSpec", "cidrs"),
            AGE,
    ]),
    ("node.k8s.io", "runtimeclasses", &[
            NAME,
            Words(""),
            AGE,
    ]),
    ("policy", "poddisruptionbudgets", &[
            NAME,
            Words("The minimum number of pods that must be available."),
            Words("The maximum number of pods that may be unavailable."),
            Words("Calculated number of pods that may be disrupted at this time."),
            AGE,
    ]),
    ("rbac.authorization.k8s.io", "clusterrolebindings", &[
            NAME,
            Words("RoleRef can only reference a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error."),
            AGE,
            Words("Users in the clusterRoleBinding"),
            Words("Groups in the clusterRoleBinding"),
            Words("ServiceAccounts in the clusterRoleBinding"),
    ]),
    ("rbac.authorization.k8s.io", "rolebindings", &[
            NAME,
            Words("RoleRef can reference a Role in the current namespace or a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error."),
            AGE,
            Words("Users in the roleBinding"),
            Words("Groups in the roleBinding"),
            Words("ServiceAccounts in the roleBinding"),
    ]),
    ("resource.k8s.io", "deviceclasses", &[
            NAME,
            AGE,
    ]),
    ("resource.k8s.io", "devicetaintrules", &[
            NAME,
            Member("io.k8s.api.resource.v1.DeviceTaint", "key"),
            Member("io.k8s.api.resource.v1.DeviceTaint", "value"),
            Member("io.k8s.api.resource.v1.DeviceTaint", "effect"),
            Member("io.k8s.api.resource.v1.DeviceTaint", "timeAdded"),
            AGE,
    ]),
    ("resource.k8s.io", "resourceclaims", &[
            NAME,
            Words("A summary of the current state (allocated, pending, reserved, etc.)."),
            AGE,
    ]),
    ("resource.k8s.io", "resourceclaimtemplates", &[
            NAME,
            AGE,
    ]),
    ("resource.k8s.io", "resourcepoolstatusrequests", &[
            NAME,
            Words("The driver to query pools for."),
            Words("Total number of devices across all pools."),
            Words("Number of available devices across all pools."),
            Words("Number of allocated devices across all pools."),
            Words("Number of unavailable devices across all pools."),
            Words("Number of pools with validation errors."),
            Words("Total number of matching pools."),
            Words("Processing status."),
            Words("Time since the observation completed."),
    ]),
    ("resource.k8s.io", "resourceslices", &[
            NAME,
            Member("io.k8s.api.resource.v1.ResourceSliceSpec", "nodeName"),
            Member("io.k8s.api.resource.v1.ResourceSliceSpec", "driver"),
            Member("io.k8s.api.resource.v1.ResourcePool", "name"),
            AGE,
    ]),
    ("scheduling.k8s.io", "podgroups", &[
            NAME,
            Member("io.k8s.api.scheduling.v1alpha2.PodGroupSpec", "schedulingPolicy"),
            Words("Name of the referenced Workload object"),
            Words("Status of the PodGroup"),
            AGE,
    ]),
    ("scheduling.k8s.io", "priorityclasses", &[
            NAME,
            Member("io.k8s.api.scheduling.v1.PriorityClass", "value"),
            Member("io.k8s.api.scheduling.v1.PriorityClass", "globalDefault"),
            AGE,
            Member("io.k8s.api.scheduling.v1.PriorityClass", "preemptionPolicy"),
    ]),
    ("scheduling.k8s.io", "workloads", &[
            NAME,
            AGE,
    ]),
    ("storage.k8s.io", "csidrivers", &[
            NAME,
            Member("io.k8s.api.storage.v1.CSIDriverSpec", "attachRequired"),
            Member("io.k8s.api.storage.v1.CSIDriverSpec", "podInfoOnMount"),
            Member("io.k8s.api.storage.v1.CSIDriverSpec", "storageCapacity"),
            Member("io.k8s.api.storage.v1.CSIDriverSpec", "tokenRequests"),
            Member("io.k8s.api.storage.v1.CSIDriverSpec", "requiresRepublish"),
            Member("io.k8s.api.storage.v1.CSIDriverSpec", "volumeLifecycleModes"),
            AGE,
    ]),
    ("storage.k8s.io", "csinodes", &[
            NAME,
            Words("Drivers indicates the number of CSI drivers registered on the node"),
            AGE,
    ]),
    ("storage.k8s.io", "storageclasses", &[
            NAME,
            Member("io.k8s.api.storage.v1.StorageClass", "provisioner"),
            Member("io.k8s.api.storage.v1.StorageClass", "reclaimPolicy"),
            Member("io.k8s.api.storage.v1.StorageClass", "volumeBindingMode"),
            Member("io.k8s.api.storage.v1.StorageClass", "allowVolumeExpansion"),
            AGE,
    ]),
    ("storage.k8s.io", "volumeattachments", &[
            NAME,
            Member("io.k8s.api.storage.v1.VolumeAttachmentSpec", "attacher"),
            Member("io.k8s.api.storage.v1.VolumeAttachmentSource", "persistentVolumeName"),
            Member("io.k8s.api.storage.v1.VolumeAttachmentSpec", "nodeName"),
            Member("io.k8s.api.storage.v1.VolumeAttachmentStatus", "attached"),
            AGE,
    ]),
    ("storage.k8s.io", "volumeattributesclasses", &[
            NAME,
            Member("io.k8s.api.storage.v1.VolumeAttributesClass", "driverName"),
            AGE,
    ]),
    ("storagemigration.k8s.io", "storageversionmigrations", &[
            NAME,
            Words("GroupResource to migrate"),
            Words("Status of the migration"),
    ]),
];
