//! The built-in kinds by name, and what requests to an endpoint do.

/// A built-in kind. Whoever treats a kind in a way of its own asks for it by this name, which no custom resource can
/// have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "they are called what the kinds are called")]
pub enum Builtin {
    APIService,
    Binding,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    CertificateSigningRequest,
    ClusterRole,
    ClusterRoleBinding,
    ClusterTrustBundle,
    ComponentStatus,
    ConfigMap,
    ControllerRevision,
    CronJob,
    CustomResourceDefinition,
    DaemonSet,
    Deployment,
    DeviceClass,
    DeviceTaintRule,
    EndpointSlice,
    Endpoints,
    Event,
    FlowSchema,
    HorizontalPodAutoscaler,
    IPAddress,
    Ingress,
    IngressClass,
    Job,
    Lease,
    LeaseCandidate,
    LimitRange,
    LocalSubjectAccessReview,
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    MutatingWebhookConfiguration,
    Namespace,
    NetworkPolicy,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodCertificateRequest,
    PodDisruptionBudget,
    PodGroup,
    PodTemplate,
    PriorityClass,
    PriorityLevelConfiguration,
    ReplicaSet,
    ReplicationController,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourcePoolStatusRequest,
    ResourceQuota,
    ResourceSlice,
    Role,
    RoleBinding,
    RuntimeClass,
    Secret,
    SelfSubjectAccessReview,
    SelfSubjectReview,
    SelfSubjectRulesReview,
    Service,
    ServiceAccount,
    ServiceCIDR,
    StatefulSet,
    StorageClass,
    StorageVersion,
    StorageVersionMigration,
    SubjectAccessReview,
    TokenReview,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    ValidatingWebhookConfiguration,
    VolumeAttachment,
    VolumeAttributesClass,
    Workload,
}

/// What a request to an endpoint does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointOperation {
    /// Reads and writes objects that are stored.
    Store,
    /// Reads and writes the replicas of a stored object.
    Scale,
    /// Assigns a pod to a node.
    Bind,
    /// Deletes a pod, if its disruption budgets allow.
    Evict,
    /// Issues a token of a service account.
    IssueToken,
    /// Reads what a container has written.
    Log,
    /// Reads how parts of the control plane are.
    ComponentStatus,
    /// Answers a question.
    Review(Review),
    /// Opens a stream to a container.
    Stream(Stream),
    /// Passes the request on.
    Proxy(Backend),
}

/// A question in the form of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Review {
    /// Who am I?
    SelfSubject,
    /// Whose token is this?
    Token,
    /// May somebody do something?
    SubjectAccess,
    /// The same in one namespace.
    LocalSubjectAccess,
    /// May I do something?
    SelfSubjectAccess,
    /// What may I do?
    SelfSubjectRules,
}

/// A stream to a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Runs a program.
    Exec,
    /// Joins the container's own program.
    Attach,
    /// Connects to ports.
    PortForward,
}

/// Who is behind a `proxy` subresource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// A node.
    Node,
    /// A pod.
    Pod,
    /// One of the pods of a Service.
    Service,
}
