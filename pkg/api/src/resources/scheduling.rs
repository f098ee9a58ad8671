//! Resources of `scheduling.k8s.io`.

use component_base::features::Gate;
use schema::builtin::{
    IO_K8S_API_SCHEDULING_V1_PRIORITYCLASS, IO_K8S_API_SCHEDULING_V1_PRIORITYCLASSLIST,
    IO_K8S_API_SCHEDULING_V1ALPHA3_COMPOSITEPODGROUP, IO_K8S_API_SCHEDULING_V1ALPHA3_COMPOSITEPODGROUPLIST,
    IO_K8S_API_SCHEDULING_V1ALPHA3_PODGROUP, IO_K8S_API_SCHEDULING_V1ALPHA3_PODGROUPLIST,
    IO_K8S_API_SCHEDULING_V1ALPHA3_WORKLOAD, IO_K8S_API_SCHEDULING_V1ALPHA3_WORKLOADLIST,
    IO_K8S_API_SCHEDULING_V1BETA1_PODGROUP, IO_K8S_API_SCHEDULING_V1BETA1_PODGROUPLIST,
    IO_K8S_API_SCHEDULING_V1BETA1_WORKLOAD, IO_K8S_API_SCHEDULING_V1BETA1_WORKLOADLIST,
};

use super::{Builtin, METADATA_AND_SPEC, RESOURCE, Resource, STATUS, protobuf, since, subresource_of};

kinds! { in "scheduling.k8s.io":
    CompositePodGroup: scheduling::composite_pod_group, NONE;
    PodGroup: scheduling::pod_group, pod_group::POD_GROUP;
    PriorityClass: scheduling::priority_class, NONE;
    Workload: scheduling::workload, pod_group::WORKLOAD;
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

/// Properties that all `scheduling.k8s.io/v1alpha3` resources share.
const V1ALPHA3: Resource = Resource {
    group: "scheduling.k8s.io",
    version: "v1alpha3",
    group_version: "scheduling.k8s.io/v1alpha3",
    kind_group_version: "scheduling.k8s.io/v1alpha3",
    off_by_default: true,
    allow_unconditional_update: false,
    ..RESOURCE
};

const V1ALPHA3_SUB: Resource = subresource_of(V1ALPHA3);

/// Properties that all `scheduling.k8s.io/v1beta1` resources share.
const V1BETA1: Resource = Resource {
    group: "scheduling.k8s.io",
    version: "v1beta1",
    group_version: "scheduling.k8s.io/v1beta1",
    kind_group_version: "scheduling.k8s.io/v1beta1",
    off_by_default: true,
    allow_unconditional_update: false,
    lifecycle: since(37).deprecated(40).removed(43),
    ..RESOURCE
};

const V1BETA1_SUB: Resource = subresource_of(V1BETA1);

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
        plural: "compositepodgroups",
        pinned_storage: true,
        gate: Some(Gate::CompositePodGroup),
        builtin: Some(Builtin::CompositePodGroup),
        kind: "CompositePodGroup",
        singular: "compositepodgroup",
        message: &IO_K8S_API_SCHEDULING_V1ALPHA3_COMPOSITEPODGROUP,
        list_message: Some(&IO_K8S_API_SCHEDULING_V1ALPHA3_COMPOSITEPODGROUPLIST),
        storage: protobuf(
            "scheduling.k8s.io/v1alpha3",
            "CompositePodGroup",
            &IO_K8S_API_SCHEDULING_V1ALPHA3_COMPOSITEPODGROUP,
            "compositepodgroups",
        ),
        storage_version_hash: "L+dT284DGFE=",
        reset_fields: STATUS,
        ..V1ALPHA3
    },
    Resource {
        plural: "compositepodgroups",
        gate: Some(Gate::CompositePodGroup),
        builtin: Some(Builtin::CompositePodGroup),
        subresource: "status",
        kind: "CompositePodGroup",
        message: &IO_K8S_API_SCHEDULING_V1ALPHA3_COMPOSITEPODGROUP,
        reset_fields: METADATA_AND_SPEC,
        ..V1ALPHA3_SUB
    },
    Resource {
        plural: "podgroups",
        pinned_storage: true,
        gate: Some(Gate::GenericWorkload),
        builtin: Some(Builtin::PodGroup),
        kind: "PodGroup",
        singular: "podgroup",
        message: &IO_K8S_API_SCHEDULING_V1ALPHA3_PODGROUP,
        list_message: Some(&IO_K8S_API_SCHEDULING_V1ALPHA3_PODGROUPLIST),
        storage: protobuf(
            "scheduling.k8s.io/v1beta1",
            "PodGroup",
            &IO_K8S_API_SCHEDULING_V1BETA1_PODGROUP,
            "podgroups",
        ),
        storage_version_hash: "QjOl2H5qPs0=",
        reset_fields: STATUS,
        ..V1ALPHA3
    },
    Resource {
        plural: "podgroups",
        gate: Some(Gate::GenericWorkload),
        builtin: Some(Builtin::PodGroup),
        subresource: "status",
        kind: "PodGroup",
        message: &IO_K8S_API_SCHEDULING_V1ALPHA3_PODGROUP,
        reset_fields: METADATA_AND_SPEC,
        ..V1ALPHA3_SUB
    },
    Resource {
        plural: "workloads",
        pinned_storage: true,
        gate: Some(Gate::GenericWorkload),
        builtin: Some(Builtin::Workload),
        kind: "Workload",
        singular: "workload",
        message: &IO_K8S_API_SCHEDULING_V1ALPHA3_WORKLOAD,
        list_message: Some(&IO_K8S_API_SCHEDULING_V1ALPHA3_WORKLOADLIST),
        storage: protobuf(
            "scheduling.k8s.io/v1beta1",
            "Workload",
            &IO_K8S_API_SCHEDULING_V1BETA1_WORKLOAD,
            "workloads",
        ),
        storage_version_hash: "Fgcxusx6IUo=",
        ..V1ALPHA3
    },
    Resource {
        plural: "podgroups",
        pinned_storage: true,
        gate: Some(Gate::GenericWorkload),
        builtin: Some(Builtin::PodGroup),
        kind: "PodGroup",
        singular: "podgroup",
        message: &IO_K8S_API_SCHEDULING_V1BETA1_PODGROUP,
        list_message: Some(&IO_K8S_API_SCHEDULING_V1BETA1_PODGROUPLIST),
        storage: protobuf(
            "scheduling.k8s.io/v1beta1",
            "PodGroup",
            &IO_K8S_API_SCHEDULING_V1BETA1_PODGROUP,
            "podgroups",
        ),
        storage_version_hash: "QjOl2H5qPs0=",
        reset_fields: STATUS,
        ..V1BETA1
    },
    Resource {
        plural: "podgroups",
        gate: Some(Gate::GenericWorkload),
        builtin: Some(Builtin::PodGroup),
        subresource: "status",
        kind: "PodGroup",
        message: &IO_K8S_API_SCHEDULING_V1BETA1_PODGROUP,
        reset_fields: METADATA_AND_SPEC,
        ..V1BETA1_SUB
    },
    Resource {
        plural: "workloads",
        pinned_storage: true,
        gate: Some(Gate::GenericWorkload),
        builtin: Some(Builtin::Workload),
        kind: "Workload",
        singular: "workload",
        message: &IO_K8S_API_SCHEDULING_V1BETA1_WORKLOAD,
        list_message: Some(&IO_K8S_API_SCHEDULING_V1BETA1_WORKLOADLIST),
        storage: protobuf(
            "scheduling.k8s.io/v1beta1",
            "Workload",
            &IO_K8S_API_SCHEDULING_V1BETA1_WORKLOAD,
            "workloads",
        ),
        storage_version_hash: "Fgcxusx6IUo=",
        ..V1BETA1
    },
];
