//! Resources of `lifecycle.k8s.io`.

use component_base::features::Gate;
use schema::builtin::{
    IO_K8S_API_LIFECYCLE_V1ALPHA1_EVICTION, IO_K8S_API_LIFECYCLE_V1ALPHA1_EVICTIONLIST,
    IO_K8S_API_LIFECYCLE_V1ALPHA1_EVICTIONREQUEST, IO_K8S_API_LIFECYCLE_V1ALPHA1_EVICTIONREQUESTLIST,
};

use super::{Builtin, METADATA_AND_SPEC, RESOURCE, Resource, STATUS, protobuf, since, subresource_of};

kinds! { in "lifecycle.k8s.io":
    Eviction: lifecycle::eviction, NONE;
    EvictionRequest: lifecycle::eviction_request, NONE;
}

/// Properties that all `lifecycle.k8s.io/v1alpha1` resources share.
const V1ALPHA1: Resource = Resource {
    group: "lifecycle.k8s.io",
    version: "v1alpha1",
    group_version: "lifecycle.k8s.io/v1alpha1",
    kind_group_version: "lifecycle.k8s.io/v1alpha1",
    off_by_default: true,
    allow_unconditional_update: false,
    gate: Some(Gate::EvictionRequestAPI),
    lifecycle: since(37).deprecated(40).removed(43),
    ..RESOURCE
};

const V1ALPHA1_SUB: Resource = subresource_of(V1ALPHA1);

/// Sorted by version, plural and subresource.
pub(super) static ROWS: &[Resource] = &[
    Resource {
        plural: "evictionrequests",
        pinned_storage: true,
        builtin: Some(Builtin::EvictionRequest),
        kind: "EvictionRequest",
        singular: "evictionrequest",
        message: &IO_K8S_API_LIFECYCLE_V1ALPHA1_EVICTIONREQUEST,
        list_message: Some(&IO_K8S_API_LIFECYCLE_V1ALPHA1_EVICTIONREQUESTLIST),
        storage: protobuf(
            "lifecycle.k8s.io/v1alpha1",
            "EvictionRequest",
            &IO_K8S_API_LIFECYCLE_V1ALPHA1_EVICTIONREQUEST,
            "evictionrequests",
        ),
        storage_version_hash: "0sGDWzI0u0Q=",
        sets_generation: true,
        reset_fields: STATUS,
        ..V1ALPHA1
    },
    Resource {
        plural: "evictionrequests",
        builtin: Some(Builtin::EvictionRequest),
        subresource: "status",
        kind: "EvictionRequest",
        message: &IO_K8S_API_LIFECYCLE_V1ALPHA1_EVICTIONREQUEST,
        reset_fields: METADATA_AND_SPEC,
        ..V1ALPHA1_SUB
    },
    Resource {
        plural: "evictions",
        pinned_storage: true,
        builtin: Some(Builtin::Eviction),
        kind: "Eviction",
        singular: "eviction",
        message: &IO_K8S_API_LIFECYCLE_V1ALPHA1_EVICTION,
        list_message: Some(&IO_K8S_API_LIFECYCLE_V1ALPHA1_EVICTIONLIST),
        storage: protobuf(
            "lifecycle.k8s.io/v1alpha1",
            "Eviction",
            &IO_K8S_API_LIFECYCLE_V1ALPHA1_EVICTION,
            "evictions",
        ),
        storage_version_hash: "Un48RuLRFt0=",
        sets_generation: true,
        reset_fields: STATUS,
        ..V1ALPHA1
    },
    Resource {
        plural: "evictions",
        builtin: Some(Builtin::Eviction),
        subresource: "status",
        kind: "Eviction",
        message: &IO_K8S_API_LIFECYCLE_V1ALPHA1_EVICTION,
        reset_fields: METADATA_AND_SPEC,
        ..V1ALPHA1_SUB
    },
];
