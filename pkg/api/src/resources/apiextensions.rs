//! Resources of `apiextensions.k8s.io`.

use schema::builtin::{
    IO_K8S_APIEXTENSIONS_APISERVER_PKG_APIS_APIEXTENSIONS_V1_CUSTOMRESOURCEDEFINITION,
    IO_K8S_APIEXTENSIONS_APISERVER_PKG_APIS_APIEXTENSIONS_V1_CUSTOMRESOURCEDEFINITIONLIST,
    IO_K8S_APIEXTENSIONS_APISERVER_PKG_APIS_APIEXTENSIONS_V1BETA1_CUSTOMRESOURCEDEFINITION,
};

use super::{Builtin, RESOURCE, Resource, SPEC, STATUS, json, since, subresource_of};

kinds! { in "apiextensions.k8s.io":
    CustomResourceDefinition: apiextensions::custom_resource_definition, custom_resource_definition::CONVERSION;
}

/// Properties that all `apiextensions.k8s.io/v1` resources share.
const V1: Resource = Resource {
    group: "apiextensions.k8s.io",
    version: "v1",
    group_version: "apiextensions.k8s.io/v1",
    kind_group_version: "apiextensions.k8s.io/v1",
    namespaced: false,
    lifecycle: since(16),
    ..RESOURCE
};

const V1_SUB: Resource = subresource_of(V1);

/// Sorted by version, plural and subresource.
pub(super) static ROWS: &[Resource] = &[
    Resource {
        plural: "customresourcedefinitions",
        pinned_storage: true,
        builtin: Some(Builtin::CustomResourceDefinition),
        kind: "CustomResourceDefinition",
        singular: "customresourcedefinition",
        short_names: &["crd", "crds"],
        categories: &["api-extensions"],
        message: &IO_K8S_APIEXTENSIONS_APISERVER_PKG_APIS_APIEXTENSIONS_V1_CUSTOMRESOURCEDEFINITION,
        list_message: Some(
            &IO_K8S_APIEXTENSIONS_APISERVER_PKG_APIS_APIEXTENSIONS_V1_CUSTOMRESOURCEDEFINITIONLIST,
        ),
        storage: json(
            "apiextensions.k8s.io/v1beta1",
            "CustomResourceDefinition",
            &IO_K8S_APIEXTENSIONS_APISERVER_PKG_APIS_APIEXTENSIONS_V1BETA1_CUSTOMRESOURCEDEFINITION,
            "apiextensions.k8s.io/customresourcedefinitions",
        ),
        storage_version_hash: "jfWCUB31mvA=",
        allow_unconditional_update: false,
        sets_generation: true,
        reset_fields: STATUS,
        ..V1
    },
    Resource {
        plural: "customresourcedefinitions",
        builtin: Some(Builtin::CustomResourceDefinition),
        subresource: "status",
        kind: "CustomResourceDefinition",
        message: &IO_K8S_APIEXTENSIONS_APISERVER_PKG_APIS_APIEXTENSIONS_V1_CUSTOMRESOURCEDEFINITION,
        allow_unconditional_update: false,
        reset_fields: SPEC,
        ..V1_SUB
    },
];
