//! Resources of `scheduling.k8s.io`.

use component_base::features::Gate;
use schema::builtin::{
    IO_K8S_API_SCHEDULING_V1_PRIORITYCLASS, IO_K8S_API_SCHEDULING_V1_PRIORITYCLASSLIST,
    IO_K8S_API_SCHEDULING_V1ALPHA2_PODGROUP, IO_K8S_API_SCHEDULING_V1ALPHA2_PODGROUPLIST,
    IO_K8S_API_SCHEDULING_V1ALPHA2_WORKLOAD, IO_K8S_API_SCHEDULING_V1ALPHA2_WORKLOADLIST,
};

use super::{Builtin, METADATA_AND_SPEC, RESOURCE, Resource, protobuf, since, subresource_of};

kinds! { in "scheduling.k8s.io":
    PodGroup: scheduling::pod_group, NONE;
    PriorityClass: scheduling::priority_class, NONE;
    Workload: scheduling::workload, NONE;
}

/// Properties that all `scheduling.k8s.io/v1` resources share.
const V1: Resource = Resource {
    group: "scheduling.k8s.io",
    version: "v1",
    group_version: "scheduling.k8s.io/v1",
    kind_group_version: "scheduling.k8s.io/v1",
    namespaced: false,
    lifecycle: since(14),
    ..RESOURCE
};

/// Properties that all `scheduling.k8s.io/v1alpha2` resources share.
const V1ALPHA2: Resource = Resource {
    group: "scheduling.k8s.io",
    version: "v1alpha2",
    group_version: "scheduling.k8s.io/v1alpha2",
    kind_group_version: "scheduling.k8s.io/v1alpha2",
    off_by_default: true,
    ..RESOURCE
};

const V1ALPHA2_SUB: Resource = subresource_of(V1ALPHA2);

/// Sorted by version, plural and subresource.
pub(super) static ROWS: &[Resource] = &[
    Resource {
        plural: "priorityclasses",
        builtin: Some(Builtin::PriorityClass),
        kind: "PriorityClass",
        singular: "priorityclass",
        short_names: &["pc"],
        message: &IO_K8S_API_SCHEDULING_V1_PRIORITYCLASS,
        list_message: Some(&IO_K8S_API_SCHEDULING_V1_PRIORITYCLASSLIST),
        storage: protobuf(
            "scheduling.k8s.io/v1",
            "PriorityClass",
            &IO_K8S_API_SCHEDULING_V1_PRIORITYCLASS,
            "priorityclasses",
        ),
        storage_version_hash: "1QwjyaZjj3Y=",
        sets_generation: true,
        ..V1
    },
    Resource {
        plural: "podgroups",
        pinned_storage: true,
        gate: Some(Gate::GenericWorkload),
        builtin: Some(Builtin::PodGroup),
        kind: "PodGroup",
        singular: "podgroup",
        message: &IO_K8S_API_SCHEDULING_V1ALPHA2_PODGROUP,
        list_message: Some(&IO_K8S_API_SCHEDULING_V1ALPHA2_PODGROUPLIST),
        storage: protobuf(
            "scheduling.k8s.io/v1alpha2",
            "PodGroup",
            &IO_K8S_API_SCHEDULING_V1ALPHA2_PODGROUP,
            "podgroups",
        ),
        storage_version_hash: "YYgX3v5V204=",
        ..V1ALPHA2
    },
    Resource {
        plural: "podgroups",
        gate: Some(Gate::GenericWorkload),
        builtin: Some(Builtin::PodGroup),
        subresource: "status",
        kind: "PodGroup",
        message: &IO_K8S_API_SCHEDULING_V1ALPHA2_PODGROUP,
        reset_fields: METADATA_AND_SPEC,
        ..V1ALPHA2_SUB
    },
    Resource {
        plural: "workloads",
        pinned_storage: true,
        gate: Some(Gate::GenericWorkload),
        builtin: Some(Builtin::Workload),
        kind: "Workload",
        singular: "workload",
        message: &IO_K8S_API_SCHEDULING_V1ALPHA2_WORKLOAD,
        list_message: Some(&IO_K8S_API_SCHEDULING_V1ALPHA2_WORKLOADLIST),
        storage: protobuf(
            "scheduling.k8s.io/v1alpha2",
            "Workload",
            &IO_K8S_API_SCHEDULING_V1ALPHA2_WORKLOAD,
            "workloads",
        ),
        storage_version_hash: "vSX7gJe5Mx8=",
        ..V1ALPHA2
    },
];
