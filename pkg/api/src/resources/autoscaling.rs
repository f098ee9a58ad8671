//! Resources of `autoscaling`.

use schema::builtin::{
    IO_K8S_API_AUTOSCALING_V1_HORIZONTALPODAUTOSCALER, IO_K8S_API_AUTOSCALING_V1_HORIZONTALPODAUTOSCALERLIST,
    IO_K8S_API_AUTOSCALING_V2_HORIZONTALPODAUTOSCALER, IO_K8S_API_AUTOSCALING_V2_HORIZONTALPODAUTOSCALERLIST,
};

use super::{Builtin, RESOURCE, Resource, SPEC, STATUS, protobuf, since, subresource_of};

kinds! { in "autoscaling":
    HorizontalPodAutoscaler: autoscaling::horizontal_pod_autoscaler, horizontal_pod_autoscaler::CONVERSION;
}

/// Properties that all `autoscaling/v1` resources share.
const V1: Resource = Resource {
    group: "autoscaling",
    version: "v1",
    group_version: "autoscaling/v1",
    kind_group_version: "autoscaling/v1",
    lifecycle: since(2),
    ..RESOURCE
};

const V1_SUB: Resource = subresource_of(V1);

/// Properties that all `autoscaling/v2` resources share.
const V2: Resource = Resource {
    group: "autoscaling",
    version: "v2",
    group_version: "autoscaling/v2",
    kind_group_version: "autoscaling/v2",
    lifecycle: since(23),
    ..RESOURCE
};

const V2_SUB: Resource = subresource_of(V2);

/// Sorted by version, plural and subresource.
pub(super) static ROWS: &[Resource] = &[
    Resource {
        plural: "horizontalpodautoscalers",
        builtin: Some(Builtin::HorizontalPodAutoscaler),
        kind: "HorizontalPodAutoscaler",
        singular: "horizontalpodautoscaler",
        short_names: &["hpa"],
        categories: &["all"],
        message: &IO_K8S_API_AUTOSCALING_V1_HORIZONTALPODAUTOSCALER,
        list_message: Some(&IO_K8S_API_AUTOSCALING_V1_HORIZONTALPODAUTOSCALERLIST),
        storage: protobuf(
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            &IO_K8S_API_AUTOSCALING_V2_HORIZONTALPODAUTOSCALER,
            "horizontalpodautoscalers",
        ),
        storage_version_hash: "qwQve8ut294=",
        sets_generation: true,
        reset_fields: STATUS,
        ..V1
    },
    Resource {
        plural: "horizontalpodautoscalers",
        builtin: Some(Builtin::HorizontalPodAutoscaler),
        subresource: "status",
        kind: "HorizontalPodAutoscaler",
        message: &IO_K8S_API_AUTOSCALING_V1_HORIZONTALPODAUTOSCALER,
        reset_fields: SPEC,
        ..V1_SUB
    },
    Resource {
        plural: "horizontalpodautoscalers",
        builtin: Some(Builtin::HorizontalPodAutoscaler),
        kind: "HorizontalPodAutoscaler",
        singular: "horizontalpodautoscaler",
        short_names: &["hpa"],
        categories: &["all"],
        message: &IO_K8S_API_AUTOSCALING_V2_HORIZONTALPODAUTOSCALER,
        list_message: Some(&IO_K8S_API_AUTOSCALING_V2_HORIZONTALPODAUTOSCALERLIST),
        storage: protobuf(
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            &IO_K8S_API_AUTOSCALING_V2_HORIZONTALPODAUTOSCALER,
            "horizontalpodautoscalers",
        ),
        storage_version_hash: "qwQve8ut294=",
        sets_generation: true,
        reset_fields: STATUS,
        ..V2
    },
    Resource {
        plural: "horizontalpodautoscalers",
        builtin: Some(Builtin::HorizontalPodAutoscaler),
        subresource: "status",
        kind: "HorizontalPodAutoscaler",
        message: &IO_K8S_API_AUTOSCALING_V2_HORIZONTALPODAUTOSCALER,
        reset_fields: SPEC,
        ..V2_SUB
    },
];
