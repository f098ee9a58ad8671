//! Request kinds of a cluster and their SLO classes.

use std::time::Duration;

use serde::Serialize;

/// SLO class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Class {
    /// Writes of one object.
    Write,
    /// Reads of one object.
    Read,
    /// Lists, page by page.
    List,
    /// Watch events, from the due time of the write to the arrival of the event.
    Event,
}

impl Class {
    /// All classes in report order.
    pub(crate) const ALL: [Self; 4] = [Self::Write, Self::Read, Self::List, Self::Event];

    /// Returns the limit of the 99th percentile: Kubernetes' own SLOs, and one second for events.
    pub(crate) fn limit(self) -> Duration {
        match self {
            Self::List => Duration::from_secs(30),
            Self::Write | Self::Read | Self::Event => Duration::from_secs(1),
        }
    }

    /// Returns the name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Write => "writes",
            Self::Read => "single reads",
            Self::List => "lists",
            Self::Event => "events",
        }
    }
}

/// One kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// A kubelet renews its lease: PUT, protobuf.
    LeaseRenewal,
    /// A kubelet reports its node's status: strategic merge patch.
    NodeStatus,
    /// A controller creates a pod: POST, protobuf.
    PodCreate,
    /// The scheduler binds it: POST, protobuf.
    PodBind,
    /// A kubelet reports a pod's status: strategic merge patch.
    PodStatus,
    /// A controller deletes a pod, which starts its grace period.
    PodDelete,
    /// The kubelet removes it.
    PodRemove,
    /// A component reports an event: POST, protobuf.
    Event,
    /// A controller reports a ReplicaSet's status: merge patch.
    ReplicaSetStatus,
    /// A controller writes an EndpointSlice: PUT, protobuf.
    EndpointSlice,
    /// An operator reports the status of a custom resource: merge patch.
    CustomStatus,
    /// A kubelet reads a pod, consistently.
    PodGet,
    /// A controller reads a node from the cache (`resourceVersion=0`).
    NodeGet,
    /// An operator reads a custom resource.
    CustomGet,
    /// A user lists the pods of a namespace as a Table.
    ListNamespace,
    /// A user lists all pods in pages of 500, as JSON.
    ListPods,
    /// A user lists all nodes as a Table.
    ListNodes,
}

impl Kind {
    /// All kinds in report order.
    pub(crate) const ALL: [Self; 17] = [
        Self::LeaseRenewal,
        Self::NodeStatus,
        Self::PodCreate,
        Self::PodBind,
        Self::PodStatus,
        Self::PodDelete,
        Self::PodRemove,
        Self::Event,
        Self::ReplicaSetStatus,
        Self::EndpointSlice,
        Self::CustomStatus,
        Self::PodGet,
        Self::NodeGet,
        Self::CustomGet,
        Self::ListNamespace,
        Self::ListPods,
        Self::ListNodes,
    ];

    /// Returns the SLO class.
    pub(crate) fn class(self) -> Class {
        match self {
            Self::PodGet | Self::NodeGet | Self::CustomGet => Class::Read,
            Self::ListNamespace | Self::ListPods | Self::ListNodes => Class::List,
            _ => Class::Write,
        }
    }

    /// Returns the name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::LeaseRenewal => "lease, renewal",
            Self::NodeStatus => "node, status",
            Self::PodCreate => "pod, create",
            Self::PodBind => "pod, bind",
            Self::PodStatus => "pod, status",
            Self::PodDelete => "pod, delete",
            Self::PodRemove => "pod, remove",
            Self::Event => "event, create",
            Self::ReplicaSetStatus => "replica set, status",
            Self::EndpointSlice => "endpoint slice, update",
            Self::CustomStatus => "custom resource, status",
            Self::PodGet => "pod, read",
            Self::NodeGet => "node, read",
            Self::CustomGet => "custom resource, read",
            Self::ListNamespace => "pods of a namespace, Table",
            Self::ListPods => "all pods, pages of 500",
            Self::ListNodes => "all nodes, Table",
        }
    }
}
