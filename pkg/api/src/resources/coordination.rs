//! Resources of `coordination.k8s.io`.

use schema::builtin::{
    IO_K8S_API_COORDINATION_V1_LEASE, IO_K8S_API_COORDINATION_V1_LEASELIST,
    IO_K8S_API_COORDINATION_V1ALPHA2_LEASECANDIDATE, IO_K8S_API_COORDINATION_V1ALPHA2_LEASECANDIDATELIST,
    IO_K8S_API_COORDINATION_V1BETA1_LEASECANDIDATE, IO_K8S_API_COORDINATION_V1BETA1_LEASECANDIDATELIST,
};

use super::{Builtin, RESOURCE, Resource, protobuf, since};

kinds! { in "coordination.k8s.io":
    Lease: coordination::lease, NONE;
    LeaseCandidate: coordination::lease_candidate, NONE;
}

/// Properties that all `coordination.k8s.io/v1` resources share.
const V1: Resource = Resource {
    group: "coordination.k8s.io",
    version: "v1",
    group_version: "coordination.k8s.io/v1",
    kind_group_version: "coordination.k8s.io/v1",
    lifecycle: since(14),
    ..RESOURCE
};

/// Properties that all `coordination.k8s.io/v1alpha2` resources share.
const V1ALPHA2: Resource = Resource {
    group: "coordination.k8s.io",
    version: "v1alpha2",
    group_version: "coordination.k8s.io/v1alpha2",
    kind_group_version: "coordination.k8s.io/v1alpha2",
    off_by_default: true,
    lifecycle: since(32).deprecated(35).removed(38),
    ..RESOURCE
};

/// Properties that all `coordination.k8s.io/v1beta1` resources share.
const V1BETA1: Resource = Resource {
    group: "coordination.k8s.io",
    version: "v1beta1",
    group_version: "coordination.k8s.io/v1beta1",
    kind_group_version: "coordination.k8s.io/v1beta1",
    off_by_default: true,
    lifecycle: since(33).deprecated(36).removed(39),
    ..RESOURCE
};

/// Sorted by version, plural and subresource.
pub(super) static ROWS: &[Resource] = &[
    Resource {
        plural: "leases",
        builtin: Some(Builtin::Lease),
        kind: "Lease",
        singular: "lease",
        message: &IO_K8S_API_COORDINATION_V1_LEASE,
        list_message: Some(&IO_K8S_API_COORDINATION_V1_LEASELIST),
        storage: protobuf("coordination.k8s.io/v1", "Lease", &IO_K8S_API_COORDINATION_V1_LEASE, "leases"),
        storage_version_hash: "gqkMMb/YqFM=",
        allow_create_on_update: true,
        allow_unconditional_update: false,
        ..V1
    },
    Resource {
        plural: "leasecandidates",
        pinned_storage: true,
        builtin: Some(Builtin::LeaseCandidate),
        kind: "LeaseCandidate",
        singular: "leasecandidate",
        message: &IO_K8S_API_COORDINATION_V1ALPHA2_LEASECANDIDATE,
        list_message: Some(&IO_K8S_API_COORDINATION_V1ALPHA2_LEASECANDIDATELIST),
        storage: protobuf(
            "coordination.k8s.io/v1beta1",
            "LeaseCandidate",
            &IO_K8S_API_COORDINATION_V1BETA1_LEASECANDIDATE,
            "leasecandidates",
        ),
        storage_version_hash: "lvME0iHWE20=",
        allow_create_on_update: true,
        allow_unconditional_update: false,
        ..V1ALPHA2
    },
    Resource {
        plural: "leasecandidates",
        pinned_storage: true,
        builtin: Some(Builtin::LeaseCandidate),
        kind: "LeaseCandidate",
        singular: "leasecandidate",
        message: &IO_K8S_API_COORDINATION_V1BETA1_LEASECANDIDATE,
        list_message: Some(&IO_K8S_API_COORDINATION_V1BETA1_LEASECANDIDATELIST),
        storage: protobuf(
            "coordination.k8s.io/v1beta1",
            "LeaseCandidate",
            &IO_K8S_API_COORDINATION_V1BETA1_LEASECANDIDATE,
            "leasecandidates",
        ),
        storage_version_hash: "lvME0iHWE20=",
        allow_create_on_update: true,
        allow_unconditional_update: false,
        ..V1BETA1
    },
];
