//! Resources of `internal.apiserver.k8s.io`.

use schema::builtin::{
    IO_K8S_API_APISERVERINTERNAL_V1ALPHA1_STORAGEVERSION,
    IO_K8S_API_APISERVERINTERNAL_V1ALPHA1_STORAGEVERSIONLIST,
};

use super::{Builtin, METADATA_AND_SPEC, RESOURCE, Resource, STATUS, protobuf, subresource_of};

kinds! { in "internal.apiserver.k8s.io":
    StorageVersion: internal::storage_version, NONE;
}

/// Properties that all `internal.apiserver.k8s.io/v1alpha1` resources share.
const V1ALPHA1: Resource = Resource {
    group: "internal.apiserver.k8s.io",
    version: "v1alpha1",
    group_version: "internal.apiserver.k8s.io/v1alpha1",
    kind_group_version: "internal.apiserver.k8s.io/v1alpha1",
    namespaced: false,
    off_by_default: true,
    ..RESOURCE
};

const V1ALPHA1_SUB: Resource = subresource_of(V1ALPHA1);

/// Sorted by version, plural and subresource.
pub(super) static ROWS: &[Resource] = &[
    Resource {
        plural: "storageversions",
        builtin: Some(Builtin::StorageVersion),
        kind: "StorageVersion",
        singular: "storageversion",
        message: &IO_K8S_API_APISERVERINTERNAL_V1ALPHA1_STORAGEVERSION,
        list_message: Some(&IO_K8S_API_APISERVERINTERNAL_V1ALPHA1_STORAGEVERSIONLIST),
        storage: protobuf(
            "internal.apiserver.k8s.io/v1alpha1",
            "StorageVersion",
            &IO_K8S_API_APISERVERINTERNAL_V1ALPHA1_STORAGEVERSION,
            "storageversions",
        ),
        storage_version_hash: "c8YZt5U0nPk=",
        allow_unconditional_update: false,
        reset_fields: STATUS,
        ..V1ALPHA1
    },
    Resource {
        plural: "storageversions",
        builtin: Some(Builtin::StorageVersion),
        subresource: "status",
        kind: "StorageVersion",
        message: &IO_K8S_API_APISERVERINTERNAL_V1ALPHA1_STORAGEVERSION,
        allow_unconditional_update: false,
        reset_fields: METADATA_AND_SPEC,
        ..V1ALPHA1_SUB
    },
];
