//! Resources of `apiregistration.k8s.io`.

use schema::builtin::{
    IO_K8S_KUBE_AGGREGATOR_PKG_APIS_APIREGISTRATION_V1_APISERVICE,
    IO_K8S_KUBE_AGGREGATOR_PKG_APIS_APIREGISTRATION_V1_APISERVICELIST,
};

use super::{Builtin, METADATA_AND_SPEC, RESOURCE, Resource, STATUS, json, since, subresource_of};

kinds! { in "apiregistration.k8s.io":
    APIService: apiregistration::api_service, NONE;
}

/// Properties that all `apiregistration.k8s.io/v1` resources share.
const V1: Resource = Resource {
    group: "apiregistration.k8s.io",
    version: "v1",
    group_version: "apiregistration.k8s.io/v1",
    kind_group_version: "apiregistration.k8s.io/v1",
    namespaced: false,
    lifecycle: since(10),
    ..RESOURCE
};

const V1_SUB: Resource = subresource_of(V1);

/// Sorted by version, plural and subresource.
pub(super) static ROWS: &[Resource] = &[
    Resource {
        plural: "apiservices",
        pinned_storage: true,
        builtin: Some(Builtin::APIService),
        kind: "APIService",
        singular: "apiservice",
        categories: &["api-extensions"],
        message: &IO_K8S_KUBE_AGGREGATOR_PKG_APIS_APIREGISTRATION_V1_APISERVICE,
        list_message: Some(&IO_K8S_KUBE_AGGREGATOR_PKG_APIS_APIREGISTRATION_V1_APISERVICELIST),
        storage: json(
            "apiregistration.k8s.io/v1",
            "APIService",
            &IO_K8S_KUBE_AGGREGATOR_PKG_APIS_APIREGISTRATION_V1_APISERVICE,
            "apiregistration.k8s.io/apiservices",
        ),
        storage_version_hash: "InPBPD7+PqM=",
        allow_unconditional_update: false,
        reset_fields: STATUS,
        ..V1
    },
    Resource {
        plural: "apiservices",
        builtin: Some(Builtin::APIService),
        subresource: "status",
        kind: "APIService",
        message: &IO_K8S_KUBE_AGGREGATOR_PKG_APIS_APIREGISTRATION_V1_APISERVICE,
        allow_unconditional_update: false,
        reset_fields: METADATA_AND_SPEC,
        ..V1_SUB
    },
];
