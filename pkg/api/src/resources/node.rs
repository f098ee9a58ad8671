//! Resources of `node.k8s.io`.

use schema::builtin::{IO_K8S_API_NODE_V1_RUNTIMECLASS, IO_K8S_API_NODE_V1_RUNTIMECLASSLIST};

use super::{Builtin, RESOURCE, Resource, protobuf, since};

kinds! { in "node.k8s.io":
    RuntimeClass: node::runtime_class, runtime_class::CONVERSION;
}

/// Properties that all `node.k8s.io/v1` resources share.
const V1: Resource = Resource {
    group: "node.k8s.io",
    version: "v1",
    group_version: "node.k8s.io/v1",
    kind_group_version: "node.k8s.io/v1",
    namespaced: false,
    lifecycle: since(20),
    ..RESOURCE
};

/// Sorted by version, plural and subresource.
pub(super) static ROWS: &[Resource] = &[Resource {
    plural: "runtimeclasses",
    builtin: Some(Builtin::RuntimeClass),
    kind: "RuntimeClass",
    singular: "runtimeclass",
    message: &IO_K8S_API_NODE_V1_RUNTIMECLASS,
    list_message: Some(&IO_K8S_API_NODE_V1_RUNTIMECLASSLIST),
    storage: protobuf("node.k8s.io/v1", "RuntimeClass", &IO_K8S_API_NODE_V1_RUNTIMECLASS, "runtimeclasses"),
    storage_version_hash: "WQTu1GL3T2Q=",
    allow_create_on_update: true,
    allow_unconditional_update: false,
    ..V1
}];
