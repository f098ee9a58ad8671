//! Resources of `storagemigration.k8s.io`.

use component_base::features::Gate;
use schema::builtin::{
    IO_K8S_API_STORAGEMIGRATION_V1_STORAGEVERSIONMIGRATION,
    IO_K8S_API_STORAGEMIGRATION_V1_STORAGEVERSIONMIGRATIONLIST,
    IO_K8S_API_STORAGEMIGRATION_V1BETA1_STORAGEVERSIONMIGRATION,
    IO_K8S_API_STORAGEMIGRATION_V1BETA1_STORAGEVERSIONMIGRATIONLIST,
};

use super::{Builtin, METADATA_AND_SPEC, RESOURCE, Resource, STATUS, protobuf, since, subresource_of};

kinds! { in "storagemigration.k8s.io":
    StorageVersionMigration: storagemigration::storage_version_migration, NONE;
}

/// Properties that all `storagemigration.k8s.io/v1` resources share.
const V1: Resource = Resource {
    group: "storagemigration.k8s.io",
    version: "v1",
    group_version: "storagemigration.k8s.io/v1",
    kind_group_version: "storagemigration.k8s.io/v1",
    namespaced: false,
    lifecycle: since(37),
    ..RESOURCE
};

const V1_SUB: Resource = subresource_of(V1);

/// Properties that all `storagemigration.k8s.io/v1beta1` resources share.
const V1BETA1: Resource = Resource {
    group: "storagemigration.k8s.io",
    version: "v1beta1",
    group_version: "storagemigration.k8s.io/v1beta1",
    kind_group_version: "storagemigration.k8s.io/v1beta1",
    namespaced: false,
    off_by_default: true,
    lifecycle: since(35)
        .deprecated(37)
        .removed(40)
        .replaced_by("storagemigration.k8s.io/v1 StorageVersionMigration"),
    ..RESOURCE
};

const V1BETA1_SUB: Resource = subresource_of(V1BETA1);

/// Sorted by version, plural and subresource.
pub(super) static ROWS: &[Resource] = &[
    Resource {
        plural: "storageversionmigrations",
        pinned_storage: true,
        gate: Some(Gate::StorageVersionMigrator),
        builtin: Some(Builtin::StorageVersionMigration),
        kind: "StorageVersionMigration",
        singular: "storageversionmigration",
        message: &IO_K8S_API_STORAGEMIGRATION_V1_STORAGEVERSIONMIGRATION,
        list_message: Some(&IO_K8S_API_STORAGEMIGRATION_V1_STORAGEVERSIONMIGRATIONLIST),
        storage: protobuf(
            "storagemigration.k8s.io/v1beta1",
            "StorageVersionMigration",
            &IO_K8S_API_STORAGEMIGRATION_V1BETA1_STORAGEVERSIONMIGRATION,
            "storageversionmigrations",
        ),
        storage_version_hash: "pCjmmKOkLy4=",
        allow_unconditional_update: false,
        reset_fields: STATUS,
        ..V1
    },
    Resource {
        plural: "storageversionmigrations",
        gate: Some(Gate::StorageVersionMigrator),
        builtin: Some(Builtin::StorageVersionMigration),
        subresource: "status",
        kind: "StorageVersionMigration",
        message: &IO_K8S_API_STORAGEMIGRATION_V1_STORAGEVERSIONMIGRATION,
        allow_unconditional_update: false,
        reset_fields: METADATA_AND_SPEC,
        ..V1_SUB
    },
    Resource {
        plural: "storageversionmigrations",
        pinned_storage: true,
        gate: Some(Gate::StorageVersionMigrator),
        builtin: Some(Builtin::StorageVersionMigration),
        kind: "StorageVersionMigration",
        singular: "storageversionmigration",
        message: &IO_K8S_API_STORAGEMIGRATION_V1BETA1_STORAGEVERSIONMIGRATION,
        list_message: Some(&IO_K8S_API_STORAGEMIGRATION_V1BETA1_STORAGEVERSIONMIGRATIONLIST),
        storage: protobuf(
            "storagemigration.k8s.io/v1beta1",
            "StorageVersionMigration",
            &IO_K8S_API_STORAGEMIGRATION_V1BETA1_STORAGEVERSIONMIGRATION,
            "storageversionmigrations",
        ),
        storage_version_hash: "pCjmmKOkLy4=",
        allow_unconditional_update: false,
        reset_fields: STATUS,
        ..V1BETA1
    },
    Resource {
        plural: "storageversionmigrations",
        gate: Some(Gate::StorageVersionMigrator),
        builtin: Some(Builtin::StorageVersionMigration),
        subresource: "status",
        kind: "StorageVersionMigration",
        message: &IO_K8S_API_STORAGEMIGRATION_V1BETA1_STORAGEVERSIONMIGRATION,
        allow_unconditional_update: false,
        reset_fields: METADATA_AND_SPEC,
        ..V1BETA1_SUB
    },
];
