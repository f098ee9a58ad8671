//! Resources of `storage.k8s.io`.

use schema::builtin::{
    IO_K8S_API_STORAGE_V1_CSIDRIVER, IO_K8S_API_STORAGE_V1_CSIDRIVERLIST, IO_K8S_API_STORAGE_V1_CSINODE,
    IO_K8S_API_STORAGE_V1_CSINODELIST, IO_K8S_API_STORAGE_V1_CSISTORAGECAPACITY,
    IO_K8S_API_STORAGE_V1_CSISTORAGECAPACITYLIST, IO_K8S_API_STORAGE_V1_STORAGECLASS,
    IO_K8S_API_STORAGE_V1_STORAGECLASSLIST, IO_K8S_API_STORAGE_V1_VOLUMEATTACHMENT,
    IO_K8S_API_STORAGE_V1_VOLUMEATTACHMENTLIST, IO_K8S_API_STORAGE_V1_VOLUMEATTRIBUTESCLASS,
    IO_K8S_API_STORAGE_V1_VOLUMEATTRIBUTESCLASSLIST, IO_K8S_API_STORAGE_V1BETA1_VOLUMEATTRIBUTESCLASS,
    IO_K8S_API_STORAGE_V1BETA1_VOLUMEATTRIBUTESCLASSLIST,
};

use super::{Builtin, METADATA_AND_SPEC, RESOURCE, Resource, STATUS, protobuf, since, subresource_of};

kinds! { in "storage.k8s.io":
    CSIDriver: storage::csi_driver, NONE;
    CSINode: storage::csi_node, NONE;
    CSIStorageCapacity: storage::csi_storage_capacity, NONE;
    StorageClass: storage::storage_class, NONE;
    VolumeAttachment: storage::volume_attachment, NONE;
    VolumeAttributesClass: storage::volume_attributes_class, NONE;
}

/// Properties that all `storage.k8s.io/v1` resources share.
const V1: Resource = Resource {
    group: "storage.k8s.io",
    version: "v1",
    group_version: "storage.k8s.io/v1",
    kind_group_version: "storage.k8s.io/v1",
    namespaced: false,
    lifecycle: since(13),
    ..RESOURCE
};

const V1_SUB: Resource = subresource_of(V1);

/// Properties that all `storage.k8s.io/v1beta1` resources share.
const V1BETA1: Resource = Resource {
    group: "storage.k8s.io",
    version: "v1beta1",
    group_version: "storage.k8s.io/v1beta1",
    kind_group_version: "storage.k8s.io/v1beta1",
    namespaced: false,
    off_by_default: true,
    lifecycle: since(31).deprecated(34).removed(37).replaced_by("storage.k8s.io/v1 VolumeAttributesClass"),
    ..RESOURCE
};

/// Sorted by version, plural and subresource.
pub(super) static ROWS: &[Resource] = &[
    Resource {
        plural: "csidrivers",
        builtin: Some(Builtin::CSIDriver),
        kind: "CSIDriver",
        singular: "csidriver",
        message: &IO_K8S_API_STORAGE_V1_CSIDRIVER,
        list_message: Some(&IO_K8S_API_STORAGE_V1_CSIDRIVERLIST),
        storage: protobuf("storage.k8s.io/v1", "CSIDriver", &IO_K8S_API_STORAGE_V1_CSIDRIVER, "csidrivers"),
        storage_version_hash: "hL6j/rwBV5w=",
        allow_unconditional_update: false,
        returns_deleted_object: true,
        lifecycle: since(18),
        ..V1
    },
    Resource {
        plural: "csinodes",
        builtin: Some(Builtin::CSINode),
        kind: "CSINode",
        singular: "csinode",
        message: &IO_K8S_API_STORAGE_V1_CSINODE,
        list_message: Some(&IO_K8S_API_STORAGE_V1_CSINODELIST),
        storage: protobuf("storage.k8s.io/v1", "CSINode", &IO_K8S_API_STORAGE_V1_CSINODE, "csinodes"),
        storage_version_hash: "Pe62DkZtjuo=",
        allow_unconditional_update: false,
        returns_deleted_object: true,
        reset_fields: STATUS,
        lifecycle: since(17),
        ..V1
    },
    Resource {
        plural: "csinodes",
        builtin: Some(Builtin::CSINode),
        subresource: "status",
        kind: "CSINode",
        message: &IO_K8S_API_STORAGE_V1_CSINODE,
        allow_unconditional_update: false,
        reset_fields: METADATA_AND_SPEC,
        lifecycle: since(17),
        ..V1_SUB
    },
    Resource {
        plural: "csistoragecapacities",
        builtin: Some(Builtin::CSIStorageCapacity),
        kind: "CSIStorageCapacity",
        singular: "csistoragecapacity",
        namespaced: true,
        message: &IO_K8S_API_STORAGE_V1_CSISTORAGECAPACITY,
        list_message: Some(&IO_K8S_API_STORAGE_V1_CSISTORAGECAPACITYLIST),
        storage: protobuf(
            "storage.k8s.io/v1",
            "CSIStorageCapacity",
            &IO_K8S_API_STORAGE_V1_CSISTORAGECAPACITY,
            "csistoragecapacities",
        ),
        storage_version_hash: "xeVl+2Ly1kE=",
        allow_unconditional_update: false,
        lifecycle: since(24),
        ..V1
    },
    Resource {
        plural: "storageclasses",
        builtin: Some(Builtin::StorageClass),
        kind: "StorageClass",
        singular: "storageclass",
        short_names: &["sc"],
        message: &IO_K8S_API_STORAGE_V1_STORAGECLASS,
        list_message: Some(&IO_K8S_API_STORAGE_V1_STORAGECLASSLIST),
        storage: protobuf(
            "storage.k8s.io/v1",
            "StorageClass",
            &IO_K8S_API_STORAGE_V1_STORAGECLASS,
            "storageclasses",
        ),
        storage_version_hash: "K+m6uJwbjGY=",
        returns_deleted_object: true,
        lifecycle: since(6),
        ..V1
    },
    Resource {
        plural: "volumeattachments",
        builtin: Some(Builtin::VolumeAttachment),
        kind: "VolumeAttachment",
        singular: "volumeattachment",
        message: &IO_K8S_API_STORAGE_V1_VOLUMEATTACHMENT,
        list_message: Some(&IO_K8S_API_STORAGE_V1_VOLUMEATTACHMENTLIST),
        storage: protobuf(
            "storage.k8s.io/v1",
            "VolumeAttachment",
            &IO_K8S_API_STORAGE_V1_VOLUMEATTACHMENT,
            "volumeattachments",
        ),
        storage_version_hash: "tJx/ezt6UDU=",
        allow_unconditional_update: false,
        returns_deleted_object: true,
        reset_fields: STATUS,
        ..V1
    },
    Resource {
        plural: "volumeattachments",
        builtin: Some(Builtin::VolumeAttachment),
        subresource: "status",
        kind: "VolumeAttachment",
        message: &IO_K8S_API_STORAGE_V1_VOLUMEATTACHMENT,
        allow_unconditional_update: false,
        reset_fields: METADATA_AND_SPEC,
        ..V1_SUB
    },
    Resource {
        plural: "volumeattributesclasses",
        builtin: Some(Builtin::VolumeAttributesClass),
        kind: "VolumeAttributesClass",
        singular: "volumeattributesclass",
        short_names: &["vac"],
        message: &IO_K8S_API_STORAGE_V1_VOLUMEATTRIBUTESCLASS,
        list_message: Some(&IO_K8S_API_STORAGE_V1_VOLUMEATTRIBUTESCLASSLIST),
        storage: protobuf(
            "storage.k8s.io/v1",
            "VolumeAttributesClass",
            &IO_K8S_API_STORAGE_V1_VOLUMEATTRIBUTESCLASS,
            "volumeattributesclasses",
        ),
        storage_version_hash: "tIjydgKBC5w=",
        returns_deleted_object: true,
        lifecycle: since(34),
        ..V1
    },
    Resource {
        plural: "volumeattributesclasses",
        builtin: Some(Builtin::VolumeAttributesClass),
        kind: "VolumeAttributesClass",
        singular: "volumeattributesclass",
        short_names: &["vac"],
        message: &IO_K8S_API_STORAGE_V1BETA1_VOLUMEATTRIBUTESCLASS,
        list_message: Some(&IO_K8S_API_STORAGE_V1BETA1_VOLUMEATTRIBUTESCLASSLIST),
        storage: protobuf(
            "storage.k8s.io/v1",
            "VolumeAttributesClass",
            &IO_K8S_API_STORAGE_V1_VOLUMEATTRIBUTESCLASS,
            "volumeattributesclasses",
        ),
        storage_version_hash: "tIjydgKBC5w=",
        returns_deleted_object: true,
        ..V1BETA1
    },
];
