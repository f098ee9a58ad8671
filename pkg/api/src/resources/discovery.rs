//! Resources of `discovery.k8s.io`.

use schema::builtin::{IO_K8S_API_DISCOVERY_V1_ENDPOINTSLICE, IO_K8S_API_DISCOVERY_V1_ENDPOINTSLICELIST};

use super::{Builtin, RESOURCE, Resource, protobuf, since};

kinds! { in "discovery.k8s.io":
    EndpointSlice: discovery::endpoint_slice, endpoint_slice::CONVERSION;
}

/// Properties that all `discovery.k8s.io/v1` resources share.
const V1: Resource = Resource {
    group: "discovery.k8s.io",
    version: "v1",
    group_version: "discovery.k8s.io/v1",
    kind_group_version: "discovery.k8s.io/v1",
    lifecycle: since(21),
    ..RESOURCE
};

/// Sorted by version, plural and subresource.
pub(super) static ROWS: &[Resource] = &[Resource {
    plural: "endpointslices",
    builtin: Some(Builtin::EndpointSlice),
    kind: "EndpointSlice",
    singular: "endpointslice",
    message: &IO_K8S_API_DISCOVERY_V1_ENDPOINTSLICE,
    list_message: Some(&IO_K8S_API_DISCOVERY_V1_ENDPOINTSLICELIST),
    storage: protobuf(
        "discovery.k8s.io/v1",
        "EndpointSlice",
        &IO_K8S_API_DISCOVERY_V1_ENDPOINTSLICE,
        "endpointslices",
    ),
    storage_version_hash: "qgS0xkrxYAI=",
    sets_generation: true,
    ..V1
}];
