//! Resources of `rbac.authorization.k8s.io`.

use schema::builtin::{
    IO_K8S_API_RBAC_V1_CLUSTERROLE, IO_K8S_API_RBAC_V1_CLUSTERROLEBINDING,
    IO_K8S_API_RBAC_V1_CLUSTERROLEBINDINGLIST, IO_K8S_API_RBAC_V1_CLUSTERROLELIST, IO_K8S_API_RBAC_V1_ROLE,
    IO_K8S_API_RBAC_V1_ROLEBINDING, IO_K8S_API_RBAC_V1_ROLEBINDINGLIST, IO_K8S_API_RBAC_V1_ROLELIST,
};

use super::{Builtin, RESOURCE, Resource, protobuf, since};

kinds! { in "rbac.authorization.k8s.io":
    ClusterRole: rbac::cluster_role, NONE;
    ClusterRoleBinding: rbac::cluster_role_binding, role_binding::CONVERSION;
    Role: rbac::role, NONE;
    RoleBinding: rbac::role_binding, role_binding::CONVERSION;
}

/// Properties that all `rbac.authorization.k8s.io/v1` resources share.
const V1: Resource = Resource {
    group: "rbac.authorization.k8s.io",
    version: "v1",
    group_version: "rbac.authorization.k8s.io/v1",
    kind_group_version: "rbac.authorization.k8s.io/v1",
    namespaced: false,
    lifecycle: since(8),
    ..RESOURCE
};

/// Sorted by version, plural and subresource.
pub(super) static ROWS: &[Resource] = &[
    Resource {
        plural: "clusterrolebindings",
        builtin: Some(Builtin::ClusterRoleBinding),
        kind: "ClusterRoleBinding",
        singular: "clusterrolebinding",
        message: &IO_K8S_API_RBAC_V1_CLUSTERROLEBINDING,
        list_message: Some(&IO_K8S_API_RBAC_V1_CLUSTERROLEBINDINGLIST),
        storage: protobuf(
            "rbac.authorization.k8s.io/v1",
            "ClusterRoleBinding",
            &IO_K8S_API_RBAC_V1_CLUSTERROLEBINDING,
            "clusterrolebindings",
        ),
        storage_version_hash: "48tpQ8gZHFc=",
        allow_create_on_update: true,
        ..V1
    },
    Resource {
        plural: "clusterroles",
        builtin: Some(Builtin::ClusterRole),
        kind: "ClusterRole",
        singular: "clusterrole",
        message: &IO_K8S_API_RBAC_V1_CLUSTERROLE,
        list_message: Some(&IO_K8S_API_RBAC_V1_CLUSTERROLELIST),
        storage: protobuf(
            "rbac.authorization.k8s.io/v1",
            "ClusterRole",
            &IO_K8S_API_RBAC_V1_CLUSTERROLE,
            "clusterroles",
        ),
        storage_version_hash: "bYE5ZWDrJ44=",
        allow_create_on_update: true,
        ..V1
    },
    Resource {
        plural: "rolebindings",
        builtin: Some(Builtin::RoleBinding),
        kind: "RoleBinding",
        singular: "rolebinding",
        namespaced: true,
        message: &IO_K8S_API_RBAC_V1_ROLEBINDING,
        list_message: Some(&IO_K8S_API_RBAC_V1_ROLEBINDINGLIST),
        storage: protobuf(
            "rbac.authorization.k8s.io/v1",
            "RoleBinding",
            &IO_K8S_API_RBAC_V1_ROLEBINDING,
            "rolebindings",
        ),
        storage_version_hash: "eGsCzGH6b1g=",
        allow_create_on_update: true,
        ..V1
    },
    Resource {
        plural: "roles",
        builtin: Some(Builtin::Role),
        kind: "Role",
        singular: "role",
        namespaced: true,
        message: &IO_K8S_API_RBAC_V1_ROLE,
        list_message: Some(&IO_K8S_API_RBAC_V1_ROLELIST),
        storage: protobuf("rbac.authorization.k8s.io/v1", "Role", &IO_K8S_API_RBAC_V1_ROLE, "roles"),
        storage_version_hash: "7FuwZcIIItM=",
        allow_create_on_update: true,
        ..V1
    },
];
