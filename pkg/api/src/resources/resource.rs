//! Resources of `resource.k8s.io`.

use schema::builtin::{
    IO_K8S_API_RESOURCE_V1_DEVICECLASS, IO_K8S_API_RESOURCE_V1_DEVICECLASSLIST,
    IO_K8S_API_RESOURCE_V1_DEVICETAINTRULE, IO_K8S_API_RESOURCE_V1_DEVICETAINTRULELIST,
    IO_K8S_API_RESOURCE_V1_RESOURCECLAIM, IO_K8S_API_RESOURCE_V1_RESOURCECLAIMLIST,
    IO_K8S_API_RESOURCE_V1_RESOURCECLAIMTEMPLATE, IO_K8S_API_RESOURCE_V1_RESOURCECLAIMTEMPLATELIST,
    IO_K8S_API_RESOURCE_V1_RESOURCESLICE, IO_K8S_API_RESOURCE_V1_RESOURCESLICELIST,
    IO_K8S_API_RESOURCE_V1ALPHA3_DEVICETAINTRULE, IO_K8S_API_RESOURCE_V1ALPHA3_DEVICETAINTRULELIST,
    IO_K8S_API_RESOURCE_V1ALPHA3_RESOURCEPOOLSTATUSREQUEST,
    IO_K8S_API_RESOURCE_V1ALPHA3_RESOURCEPOOLSTATUSREQUESTLIST, IO_K8S_API_RESOURCE_V1BETA1_DEVICECLASS,
    IO_K8S_API_RESOURCE_V1BETA1_DEVICECLASSLIST, IO_K8S_API_RESOURCE_V1BETA1_RESOURCECLAIM,
    IO_K8S_API_RESOURCE_V1BETA1_RESOURCECLAIMLIST, IO_K8S_API_RESOURCE_V1BETA1_RESOURCECLAIMTEMPLATE,
    IO_K8S_API_RESOURCE_V1BETA1_RESOURCECLAIMTEMPLATELIST, IO_K8S_API_RESOURCE_V1BETA1_RESOURCESLICE,
    IO_K8S_API_RESOURCE_V1BETA1_RESOURCESLICELIST, IO_K8S_API_RESOURCE_V1BETA2_DEVICECLASS,
    IO_K8S_API_RESOURCE_V1BETA2_DEVICECLASSLIST, IO_K8S_API_RESOURCE_V1BETA2_DEVICETAINTRULE,
    IO_K8S_API_RESOURCE_V1BETA2_DEVICETAINTRULELIST, IO_K8S_API_RESOURCE_V1BETA2_RESOURCECLAIM,
    IO_K8S_API_RESOURCE_V1BETA2_RESOURCECLAIMLIST, IO_K8S_API_RESOURCE_V1BETA2_RESOURCECLAIMTEMPLATE,
    IO_K8S_API_RESOURCE_V1BETA2_RESOURCECLAIMTEMPLATELIST, IO_K8S_API_RESOURCE_V1BETA2_RESOURCESLICE,
    IO_K8S_API_RESOURCE_V1BETA2_RESOURCESLICELIST,
};

use super::{
    Builtin, METADATA_AND_SPEC, RESOURCE, Resource, STATUS, UnknownLabel, label_equal_to_path, protobuf,
    since, subresource_of,
};

kinds! { in "resource.k8s.io":
    DeviceClass: resource::device_class, NONE;
    DeviceTaintRule: resource::device_taint_rule, NONE;
    ResourceClaim: resource::resource_claim, device::CLAIM;
    ResourceClaimTemplate: resource::resource_claim_template, device::CLAIM_TEMPLATE;
    ResourcePoolStatusRequest: resource::resource_pool_status_request, NONE;
    ResourceSlice: resource::resource_slice, device::SLICE;
}

/// Properties that all `resource.k8s.io/v1` resources share.
const V1: Resource = Resource {
    group: "resource.k8s.io",
    unknown_label: UnknownLabel::OfVersion,
    version: "v1",
    group_version: "resource.k8s.io/v1",
    kind_group_version: "resource.k8s.io/v1",
    lifecycle: since(34),
    ..RESOURCE
};

const V1_SUB: Resource = subresource_of(V1);

/// Properties that all `resource.k8s.io/v1alpha3` resources share.
const V1ALPHA3: Resource = Resource {
    group: "resource.k8s.io",
    unknown_label: UnknownLabel::OfVersion,
    version: "v1alpha3",
    group_version: "resource.k8s.io/v1alpha3",
    kind_group_version: "resource.k8s.io/v1alpha3",
    namespaced: false,
    off_by_default: true,
    lifecycle: since(33).deprecated(36).removed(39),
    ..RESOURCE
};

const V1ALPHA3_SUB: Resource = subresource_of(V1ALPHA3);

/// Properties that all `resource.k8s.io/v1beta1` resources share.
const V1BETA1: Resource = Resource {
    group: "resource.k8s.io",
    unknown_label: UnknownLabel::OfVersion,
    version: "v1beta1",
    group_version: "resource.k8s.io/v1beta1",
    kind_group_version: "resource.k8s.io/v1beta1",
    off_by_default: true,
    lifecycle: since(32).deprecated(35).removed(38),
    ..RESOURCE
};

const V1BETA1_SUB: Resource = subresource_of(V1BETA1);

/// Properties that all `resource.k8s.io/v1beta2` resources share.
const V1BETA2: Resource = Resource {
    group: "resource.k8s.io",
    unknown_label: UnknownLabel::OfVersion,
    version: "v1beta2",
    group_version: "resource.k8s.io/v1beta2",
    kind_group_version: "resource.k8s.io/v1beta2",
    namespaced: false,
    off_by_default: true,
    lifecycle: since(33).deprecated(36).removed(39),
    ..RESOURCE
};

const V1BETA2_SUB: Resource = subresource_of(V1BETA2);

/// Sorted by version, plural and subresource.
pub(super) static ROWS: &[Resource] = &[
    Resource {
        plural: "deviceclasses",
        builtin: Some(Builtin::DeviceClass),
        kind: "DeviceClass",
        singular: "deviceclass",
        namespaced: false,
        message: &IO_K8S_API_RESOURCE_V1_DEVICECLASS,
        list_message: Some(&IO_K8S_API_RESOURCE_V1_DEVICECLASSLIST),
        storage: protobuf(
            "resource.k8s.io/v1",
            "DeviceClass",
            &IO_K8S_API_RESOURCE_V1_DEVICECLASS,
            "deviceclasses",
        ),
        storage_version_hash: "Yk2PTc1Ybxk=",
        sets_generation: true,
        returns_deleted_object: true,
        ..V1
    },
    Resource {
        plural: "devicetaintrules",
        pinned_storage: true,
        builtin: Some(Builtin::DeviceTaintRule),
        kind: "DeviceTaintRule",
        singular: "devicetaintrule",
        namespaced: false,
        message: &IO_K8S_API_RESOURCE_V1_DEVICETAINTRULE,
        list_message: Some(&IO_K8S_API_RESOURCE_V1_DEVICETAINTRULELIST),
        storage: protobuf(
            "resource.k8s.io/v1beta2",
            "DeviceTaintRule",
            &IO_K8S_API_RESOURCE_V1BETA2_DEVICETAINTRULE,
            "devicetaintrules",
        ),
        storage_version_hash: "i+85+TcIKpA=",
        sets_generation: true,
        reset_fields: STATUS,
        allow_unconditional_update: false,
        lifecycle: since(37),
        ..V1
    },
    Resource {
        plural: "devicetaintrules",
        builtin: Some(Builtin::DeviceTaintRule),
        subresource: "status",
        kind: "DeviceTaintRule",
        namespaced: false,
        message: &IO_K8S_API_RESOURCE_V1_DEVICETAINTRULE,
        reset_fields: METADATA_AND_SPEC,
        allow_unconditional_update: false,
        lifecycle: since(37),
        ..V1_SUB
    },
    Resource {
        plural: "resourceclaims",
        builtin: Some(Builtin::ResourceClaim),
        kind: "ResourceClaim",
        singular: "resourceclaim",
        message: &IO_K8S_API_RESOURCE_V1_RESOURCECLAIM,
        list_message: Some(&IO_K8S_API_RESOURCE_V1_RESOURCECLAIMLIST),
        storage: protobuf(
            "resource.k8s.io/v1",
            "ResourceClaim",
            &IO_K8S_API_RESOURCE_V1_RESOURCECLAIM,
            "resourceclaims",
        ),
        storage_version_hash: "wgAZaHcZxUg=",
        returns_deleted_object: true,
        reset_fields: STATUS,
        ..V1
    },
    Resource {
        plural: "resourceclaims",
        builtin: Some(Builtin::ResourceClaim),
        subresource: "status",
        kind: "ResourceClaim",
        message: &IO_K8S_API_RESOURCE_V1_RESOURCECLAIM,
        reset_fields: METADATA_AND_SPEC,
        ..V1_SUB
    },
    Resource {
        plural: "resourceclaimtemplates",
        builtin: Some(Builtin::ResourceClaimTemplate),
        kind: "ResourceClaimTemplate",
        singular: "resourceclaimtemplate",
        message: &IO_K8S_API_RESOURCE_V1_RESOURCECLAIMTEMPLATE,
        list_message: Some(&IO_K8S_API_RESOURCE_V1_RESOURCECLAIMTEMPLATELIST),
        storage: protobuf(
            "resource.k8s.io/v1",
            "ResourceClaimTemplate",
            &IO_K8S_API_RESOURCE_V1_RESOURCECLAIMTEMPLATE,
            "resourceclaimtemplates",
        ),
        storage_version_hash: "TuzjC49aUfM=",
        returns_deleted_object: true,
        ..V1
    },
    Resource {
        plural: "resourceslices",
        builtin: Some(Builtin::ResourceSlice),
        kind: "ResourceSlice",
        singular: "resourceslice",
        namespaced: false,
        message: &IO_K8S_API_RESOURCE_V1_RESOURCESLICE,
        list_message: Some(&IO_K8S_API_RESOURCE_V1_RESOURCESLICELIST),
        storage: protobuf(
            "resource.k8s.io/v1",
            "ResourceSlice",
            &IO_K8S_API_RESOURCE_V1_RESOURCESLICE,
            "resourceslices",
        ),
        storage_version_hash: "KsC072WgaEY=",
        sets_generation: true,
        returns_deleted_object: true,
        field_selectors: &[
            label_equal_to_path("metadata.name"),
            label_equal_to_path("spec.driver"),
            label_equal_to_path("spec.nodeName"),
            label_equal_to_path("spec.pool.name"),
        ],
        index_fields: &["spec.nodeName"],
        ..V1
    },
    Resource {
        plural: "devicetaintrules",
        pinned_storage: true,
        builtin: Some(Builtin::DeviceTaintRule),
        kind: "DeviceTaintRule",
        singular: "devicetaintrule",
        message: &IO_K8S_API_RESOURCE_V1ALPHA3_DEVICETAINTRULE,
        list_message: Some(&IO_K8S_API_RESOURCE_V1ALPHA3_DEVICETAINTRULELIST),
        storage: protobuf(
            "resource.k8s.io/v1beta2",
            "DeviceTaintRule",
            &IO_K8S_API_RESOURCE_V1BETA2_DEVICETAINTRULE,
            "devicetaintrules",
        ),
        storage_version_hash: "i+85+TcIKpA=",
        sets_generation: true,
        allow_unconditional_update: false,
        returns_deleted_object: true,
        reset_fields: STATUS,
        ..V1ALPHA3
    },
    Resource {
        plural: "devicetaintrules",
        builtin: Some(Builtin::DeviceTaintRule),
        subresource: "status",
        kind: "DeviceTaintRule",
        message: &IO_K8S_API_RESOURCE_V1ALPHA3_DEVICETAINTRULE,
        allow_unconditional_update: false,
        reset_fields: METADATA_AND_SPEC,
        ..V1ALPHA3_SUB
    },
    Resource {
        plural: "resourcepoolstatusrequests",
        pinned_storage: true,
        builtin: Some(Builtin::ResourcePoolStatusRequest),
        kind: "ResourcePoolStatusRequest",
        singular: "resourcepoolstatusrequest",
        message: &IO_K8S_API_RESOURCE_V1ALPHA3_RESOURCEPOOLSTATUSREQUEST,
        list_message: Some(&IO_K8S_API_RESOURCE_V1ALPHA3_RESOURCEPOOLSTATUSREQUESTLIST),
        storage: protobuf(
            "resource.k8s.io/v1alpha3",
            "ResourcePoolStatusRequest",
            &IO_K8S_API_RESOURCE_V1ALPHA3_RESOURCEPOOLSTATUSREQUEST,
            "resourcepoolstatusrequests",
        ),
        storage_version_hash: "iy583CtMwdY=",
        allow_unconditional_update: false,
        returns_deleted_object: true,
        reset_fields: STATUS,
        lifecycle: since(36).deprecated(39).removed(42),
        ..V1ALPHA3
    },
    Resource {
        plural: "resourcepoolstatusrequests",
        builtin: Some(Builtin::ResourcePoolStatusRequest),
        subresource: "status",
        kind: "ResourcePoolStatusRequest",
        message: &IO_K8S_API_RESOURCE_V1ALPHA3_RESOURCEPOOLSTATUSREQUEST,
        allow_unconditional_update: false,
        reset_fields: METADATA_AND_SPEC,
        lifecycle: since(36).deprecated(39).removed(42),
        ..V1ALPHA3_SUB
    },
    Resource {
        plural: "deviceclasses",
        builtin: Some(Builtin::DeviceClass),
        kind: "DeviceClass",
        singular: "deviceclass",
        namespaced: false,
        message: &IO_K8S_API_RESOURCE_V1BETA1_DEVICECLASS,
        list_message: Some(&IO_K8S_API_RESOURCE_V1BETA1_DEVICECLASSLIST),
        storage: protobuf(
            "resource.k8s.io/v1",
            "DeviceClass",
            &IO_K8S_API_RESOURCE_V1_DEVICECLASS,
            "deviceclasses",
        ),
        storage_version_hash: "Yk2PTc1Ybxk=",
        sets_generation: true,
        returns_deleted_object: true,
        ..V1BETA1
    },
    Resource {
        plural: "resourceclaims",
        builtin: Some(Builtin::ResourceClaim),
        kind: "ResourceClaim",
        singular: "resourceclaim",
        message: &IO_K8S_API_RESOURCE_V1BETA1_RESOURCECLAIM,
        list_message: Some(&IO_K8S_API_RESOURCE_V1BETA1_RESOURCECLAIMLIST),
        storage: protobuf(
            "resource.k8s.io/v1",
            "ResourceClaim",
            &IO_K8S_API_RESOURCE_V1_RESOURCECLAIM,
            "resourceclaims",
        ),
        storage_version_hash: "wgAZaHcZxUg=",
        returns_deleted_object: true,
        reset_fields: STATUS,
        ..V1BETA1
    },
    Resource {
        plural: "resourceclaims",
        builtin: Some(Builtin::ResourceClaim),
        subresource: "status",
        kind: "ResourceClaim",
        message: &IO_K8S_API_RESOURCE_V1BETA1_RESOURCECLAIM,
        reset_fields: METADATA_AND_SPEC,
        ..V1BETA1_SUB
    },
    Resource {
        plural: "resourceclaimtemplates",
        builtin: Some(Builtin::ResourceClaimTemplate),
        kind: "ResourceClaimTemplate",
        singular: "resourceclaimtemplate",
        message: &IO_K8S_API_RESOURCE_V1BETA1_RESOURCECLAIMTEMPLATE,
        list_message: Some(&IO_K8S_API_RESOURCE_V1BETA1_RESOURCECLAIMTEMPLATELIST),
        storage: protobuf(
            "resource.k8s.io/v1",
            "ResourceClaimTemplate",
            &IO_K8S_API_RESOURCE_V1_RESOURCECLAIMTEMPLATE,
            "resourceclaimtemplates",
        ),
        storage_version_hash: "TuzjC49aUfM=",
        returns_deleted_object: true,
        ..V1BETA1
    },
    Resource {
        plural: "resourceslices",
        builtin: Some(Builtin::ResourceSlice),
        kind: "ResourceSlice",
        singular: "resourceslice",
        namespaced: false,
        message: &IO_K8S_API_RESOURCE_V1BETA1_RESOURCESLICE,
        list_message: Some(&IO_K8S_API_RESOURCE_V1BETA1_RESOURCESLICELIST),
        storage: protobuf(
            "resource.k8s.io/v1",
            "ResourceSlice",
            &IO_K8S_API_RESOURCE_V1_RESOURCESLICE,
            "resourceslices",
        ),
        storage_version_hash: "KsC072WgaEY=",
        sets_generation: true,
        returns_deleted_object: true,
        field_selectors: &[
            label_equal_to_path("metadata.name"),
            label_equal_to_path("spec.driver"),
            label_equal_to_path("spec.nodeName"),
            label_equal_to_path("spec.pool.name"),
        ],
        index_fields: &["spec.nodeName"],
        ..V1BETA1
    },
    Resource {
        plural: "deviceclasses",
        builtin: Some(Builtin::DeviceClass),
        kind: "DeviceClass",
        singular: "deviceclass",
        message: &IO_K8S_API_RESOURCE_V1BETA2_DEVICECLASS,
        list_message: Some(&IO_K8S_API_RESOURCE_V1BETA2_DEVICECLASSLIST),
        storage: protobuf(
            "resource.k8s.io/v1",
            "DeviceClass",
            &IO_K8S_API_RESOURCE_V1_DEVICECLASS,
            "deviceclasses",
        ),
        storage_version_hash: "Yk2PTc1Ybxk=",
        sets_generation: true,
        returns_deleted_object: true,
        ..V1BETA2
    },
    Resource {
        plural: "devicetaintrules",
        pinned_storage: true,
        builtin: Some(Builtin::DeviceTaintRule),
        kind: "DeviceTaintRule",
        singular: "devicetaintrule",
        message: &IO_K8S_API_RESOURCE_V1BETA2_DEVICETAINTRULE,
        list_message: Some(&IO_K8S_API_RESOURCE_V1BETA2_DEVICETAINTRULELIST),
        storage: protobuf(
            "resource.k8s.io/v1beta2",
            "DeviceTaintRule",
            &IO_K8S_API_RESOURCE_V1BETA2_DEVICETAINTRULE,
            "devicetaintrules",
        ),
        storage_version_hash: "i+85+TcIKpA=",
        sets_generation: true,
        allow_unconditional_update: false,
        returns_deleted_object: true,
        reset_fields: STATUS,
        lifecycle: since(36).deprecated(39).removed(42),
        ..V1BETA2
    },
    Resource {
        plural: "devicetaintrules",
        builtin: Some(Builtin::DeviceTaintRule),
        subresource: "status",
        kind: "DeviceTaintRule",
        message: &IO_K8S_API_RESOURCE_V1BETA2_DEVICETAINTRULE,
        allow_unconditional_update: false,
        reset_fields: METADATA_AND_SPEC,
        lifecycle: since(36).deprecated(39).removed(42),
        ..V1BETA2_SUB
    },
    Resource {
        plural: "resourceclaims",
        builtin: Some(Builtin::ResourceClaim),
        kind: "ResourceClaim",
        singular: "resourceclaim",
        namespaced: true,
        message: &IO_K8S_API_RESOURCE_V1BETA2_RESOURCECLAIM,
        list_message: Some(&IO_K8S_API_RESOURCE_V1BETA2_RESOURCECLAIMLIST),
        storage: protobuf(
            "resource.k8s.io/v1",
            "ResourceClaim",
            &IO_K8S_API_RESOURCE_V1_RESOURCECLAIM,
            "resourceclaims",
        ),
        storage_version_hash: "wgAZaHcZxUg=",
        returns_deleted_object: true,
        reset_fields: STATUS,
        ..V1BETA2
    },
    Resource {
        plural: "resourceclaims",
        builtin: Some(Builtin::ResourceClaim),
        subresource: "status",
        kind: "ResourceClaim",
        namespaced: true,
        message: &IO_K8S_API_RESOURCE_V1BETA2_RESOURCECLAIM,
        reset_fields: METADATA_AND_SPEC,
        ..V1BETA2_SUB
    },
    Resource {
        plural: "resourceclaimtemplates",
        builtin: Some(Builtin::ResourceClaimTemplate),
        kind: "ResourceClaimTemplate",
        singular: "resourceclaimtemplate",
        namespaced: true,
        message: &IO_K8S_API_RESOURCE_V1BETA2_RESOURCECLAIMTEMPLATE,
        list_message: Some(&IO_K8S_API_RESOURCE_V1BETA2_RESOURCECLAIMTEMPLATELIST),
        storage: protobuf(
            "resource.k8s.io/v1",
            "ResourceClaimTemplate",
            &IO_K8S_API_RESOURCE_V1_RESOURCECLAIMTEMPLATE,
            "resourceclaimtemplates",
        ),
        storage_version_hash: "TuzjC49aUfM=",
        returns_deleted_object: true,
        ..V1BETA2
    },
    Resource {
        plural: "resourceslices",
        builtin: Some(Builtin::ResourceSlice),
        kind: "ResourceSlice",
        singular: "resourceslice",
        message: &IO_K8S_API_RESOURCE_V1BETA2_RESOURCESLICE,
        list_message: Some(&IO_K8S_API_RESOURCE_V1BETA2_RESOURCESLICELIST),
        storage: protobuf(
            "resource.k8s.io/v1",
            "ResourceSlice",
            &IO_K8S_API_RESOURCE_V1_RESOURCESLICE,
            "resourceslices",
        ),
        storage_version_hash: "KsC072WgaEY=",
        sets_generation: true,
        returns_deleted_object: true,
        field_selectors: &[
            label_equal_to_path("metadata.name"),
            label_equal_to_path("spec.driver"),
            label_equal_to_path("spec.nodeName"),
            label_equal_to_path("spec.pool.name"),
        ],
        index_fields: &["spec.nodeName"],
        ..V1BETA2
    },
];
