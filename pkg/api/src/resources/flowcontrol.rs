//! Resources of `flowcontrol.apiserver.k8s.io`.

use schema::builtin::{
    IO_K8S_API_FLOWCONTROL_V1_FLOWSCHEMA, IO_K8S_API_FLOWCONTROL_V1_FLOWSCHEMALIST,
    IO_K8S_API_FLOWCONTROL_V1_PRIORITYLEVELCONFIGURATION,
    IO_K8S_API_FLOWCONTROL_V1_PRIORITYLEVELCONFIGURATIONLIST,
};

use super::{Builtin, METADATA_AND_SPEC, RESOURCE, Resource, STATUS, protobuf, since, subresource_of};

kinds! { in "flowcontrol.apiserver.k8s.io":
    FlowSchema: flowcontrol::flow_schema, NONE;
    PriorityLevelConfiguration: flowcontrol::priority_level_configuration, priority_level_configuration::CONVERSION;
}

/// Properties that all `flowcontrol.apiserver.k8s.io/v1` resources share.
const V1: Resource = Resource {
    group: "flowcontrol.apiserver.k8s.io",
    version: "v1",
    group_version: "flowcontrol.apiserver.k8s.io/v1",
    kind_group_version: "flowcontrol.apiserver.k8s.io/v1",
    namespaced: false,
    lifecycle: since(29),
    ..RESOURCE
};

const V1_SUB: Resource = subresource_of(V1);

/// Sorted by version, plural and subresource.
pub(super) static ROWS: &[Resource] = &[
    Resource {
        plural: "flowschemas",
        builtin: Some(Builtin::FlowSchema),
        kind: "FlowSchema",
        singular: "flowschema",
        message: &IO_K8S_API_FLOWCONTROL_V1_FLOWSCHEMA,
        list_message: Some(&IO_K8S_API_FLOWCONTROL_V1_FLOWSCHEMALIST),
        storage: protobuf(
            "flowcontrol.apiserver.k8s.io/v1",
            "FlowSchema",
            &IO_K8S_API_FLOWCONTROL_V1_FLOWSCHEMA,
            "flowschemas",
        ),
        storage_version_hash: "GJVAJZSZBIw=",
        sets_generation: true,
        reset_fields: STATUS,
        ..V1
    },
    Resource {
        plural: "flowschemas",
        builtin: Some(Builtin::FlowSchema),
        subresource: "status",
        kind: "FlowSchema",
        message: &IO_K8S_API_FLOWCONTROL_V1_FLOWSCHEMA,
        reset_fields: METADATA_AND_SPEC,
        ..V1_SUB
    },
    Resource {
        plural: "prioritylevelconfigurations",
        builtin: Some(Builtin::PriorityLevelConfiguration),
        kind: "PriorityLevelConfiguration",
        singular: "prioritylevelconfiguration",
        message: &IO_K8S_API_FLOWCONTROL_V1_PRIORITYLEVELCONFIGURATION,
        list_message: Some(&IO_K8S_API_FLOWCONTROL_V1_PRIORITYLEVELCONFIGURATIONLIST),
        storage: protobuf(
            "flowcontrol.apiserver.k8s.io/v1",
            "PriorityLevelConfiguration",
            &IO_K8S_API_FLOWCONTROL_V1_PRIORITYLEVELCONFIGURATION,
            "prioritylevelconfigurations",
        ),
        storage_version_hash: "Kir5PVfvNeI=",
        sets_generation: true,
        reset_fields: STATUS,
        ..V1
    },
    Resource {
        plural: "prioritylevelconfigurations",
        builtin: Some(Builtin::PriorityLevelConfiguration),
        subresource: "status",
        kind: "PriorityLevelConfiguration",
        message: &IO_K8S_API_FLOWCONTROL_V1_PRIORITYLEVELCONFIGURATION,
        reset_fields: METADATA_AND_SPEC,
        ..V1_SUB
    },
];
