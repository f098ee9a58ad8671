//! The built-in kinds by name, and the operations of endpoints.

/// Built-in kind. Special treatment of a kind depends on this value, which custom resources never have.
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
    /// Reads the log of a container.
    Log,
    /// Reads the health of control plane components.
    ComponentStatus,
    /// Evaluates a review.
    Review(Review),
    Stream(Stream),
    /// Forwards the request.
    Proxy(Backend),
}

/// Review: a request in the form of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Review {
    /// Returns the user's own identity.
    SelfSubject,
    /// Authenticates a token.
    Token,
    /// Checks the access of a given user.
    SubjectAccess,
    /// Checks the access of a given user in one namespace.
    LocalSubjectAccess,
    /// Checks the user's own access.
    SelfSubjectAccess,
    /// Lists the user's own permissions.
    SelfSubjectRules,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Exec,
    /// Joins the container's own program.
    Attach,
    PortForward,
}

/// Target of a `proxy` subresource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    Node,
    Pod,
    /// One of the pods of a Service.
    Service,
}
