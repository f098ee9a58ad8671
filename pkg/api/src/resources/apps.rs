//! Resources of `apps`.

use schema::builtin::{
    IO_K8S_API_APPS_V1_CONTROLLERREVISION, IO_K8S_API_APPS_V1_CONTROLLERREVISIONLIST,
    IO_K8S_API_APPS_V1_DAEMONSET, IO_K8S_API_APPS_V1_DAEMONSETLIST, IO_K8S_API_APPS_V1_DEPLOYMENT,
    IO_K8S_API_APPS_V1_DEPLOYMENTLIST, IO_K8S_API_APPS_V1_REPLICASET, IO_K8S_API_APPS_V1_REPLICASETLIST,
    IO_K8S_API_APPS_V1_STATEFULSET, IO_K8S_API_APPS_V1_STATEFULSETLIST, IO_K8S_API_AUTOSCALING_V1_SCALE,
};

use super::{
    Builtin, EndpointOperation, RESOURCE, Resource, SPEC, STATUS, UNVERSIONED, protobuf, since,
    subresource_of,
};

kinds! { in "apps":
    ControllerRevision: apps::controller_revision, NONE;
    DaemonSet: apps::daemon_set, workload::DAEMON_SET;
    Deployment: apps::deployment, workload::DEPLOYMENT;
    ReplicaSet: apps::replica_set, pod::WORKLOAD;
    StatefulSet: apps::stateful_set, workload::STATEFUL_SET;
}

/// Properties that all `apps/v1` resources share.
const V1: Resource = Resource {
    group: "apps",
    version: "v1",
    group_version: "apps/v1",
    kind_group_version: "apps/v1",
    lifecycle: since(9),
    ..RESOURCE
};

const V1_SUB: Resource = subresource_of(V1);

/// Sorted by version, plural and subresource.
pub(super) static ROWS: &[Resource] = &[
    Resource {
        plural: "controllerrevisions",
        builtin: Some(Builtin::ControllerRevision),
        kind: "ControllerRevision",
        singular: "controllerrevision",
        message: &IO_K8S_API_APPS_V1_CONTROLLERREVISION,
        list_message: Some(&IO_K8S_API_APPS_V1_CONTROLLERREVISIONLIST),
        storage: protobuf(
            "apps/v1",
            "ControllerRevision",
            &IO_K8S_API_APPS_V1_CONTROLLERREVISION,
            "controllerrevisions",
        ),
        storage_version_hash: "85nkx63pcBU=",
        ..V1
    },
    Resource {
        plural: "daemonsets",
        builtin: Some(Builtin::DaemonSet),
        kind: "DaemonSet",
        singular: "daemonset",
        short_names: &["ds"],
        categories: &["all"],
        message: &IO_K8S_API_APPS_V1_DAEMONSET,
        list_message: Some(&IO_K8S_API_APPS_V1_DAEMONSETLIST),
        storage: protobuf("apps/v1", "DaemonSet", &IO_K8S_API_APPS_V1_DAEMONSET, "daemonsets"),
        storage_version_hash: "dd7pWHUlMKQ=",
        sets_generation: true,
        reset_fields: STATUS,
        ..V1
    },
    Resource {
        plural: "daemonsets",
        builtin: Some(Builtin::DaemonSet),
        subresource: "status",
        kind: "DaemonSet",
        message: &IO_K8S_API_APPS_V1_DAEMONSET,
        reset_fields: SPEC,
        ..V1_SUB
    },
    Resource {
        plural: "deployments",
        builtin: Some(Builtin::Deployment),
        kind: "Deployment",
        singular: "deployment",
        short_names: &["deploy"],
        categories: &["all"],
        message: &IO_K8S_API_APPS_V1_DEPLOYMENT,
        list_message: Some(&IO_K8S_API_APPS_V1_DEPLOYMENTLIST),
        storage: protobuf("apps/v1", "Deployment", &IO_K8S_API_APPS_V1_DEPLOYMENT, "deployments"),
        storage_version_hash: "8aSe+NMegvE=",
        sets_generation: true,
        reset_fields: STATUS,
        ..V1
    },
    Resource {
        plural: "deployments",
        builtin: Some(Builtin::Deployment),
        operation: EndpointOperation::Scale,
        subresource: "scale",
        kind: "Scale",
        kind_group_version: "autoscaling/v1",
        message: &IO_K8S_API_AUTOSCALING_V1_SCALE,
        lifecycle: UNVERSIONED,
        ..V1_SUB
    },
    Resource {
        plural: "deployments",
        builtin: Some(Builtin::Deployment),
        subresource: "status",
        kind: "Deployment",
        message: &IO_K8S_API_APPS_V1_DEPLOYMENT,
        reset_fields: &[".metadata.labels", ".spec"],
        ..V1_SUB
    },
    Resource {
        plural: "replicasets",
        builtin: Some(Builtin::ReplicaSet),
        kind: "ReplicaSet",
        singular: "replicaset",
        short_names: &["rs"],
        categories: &["all"],
        message: &IO_K8S_API_APPS_V1_REPLICASET,
        list_message: Some(&IO_K8S_API_APPS_V1_REPLICASETLIST),
        storage: protobuf("apps/v1", "ReplicaSet", &IO_K8S_API_APPS_V1_REPLICASET, "replicasets"),
        storage_version_hash: "P1RzHs8/mWQ=",
        sets_generation: true,
        reset_fields: STATUS,
        ..V1
    },
    Resource {
        plural: "replicasets",
        builtin: Some(Builtin::ReplicaSet),
        operation: EndpointOperation::Scale,
        subresource: "scale",
        kind: "Scale",
        kind_group_version: "autoscaling/v1",
        message: &IO_K8S_API_AUTOSCALING_V1_SCALE,
        lifecycle: UNVERSIONED,
        ..V1_SUB
    },
    Resource {
        plural: "replicasets",
        builtin: Some(Builtin::ReplicaSet),
        subresource: "status",
        kind: "ReplicaSet",
        message: &IO_K8S_API_APPS_V1_REPLICASET,
        reset_fields: SPEC,
        ..V1_SUB
    },
    Resource {
        plural: "statefulsets",
        builtin: Some(Builtin::StatefulSet),
        kind: "StatefulSet",
        singular: "statefulset",
        short_names: &["sts"],
        categories: &["all"],
        message: &IO_K8S_API_APPS_V1_STATEFULSET,
        list_message: Some(&IO_K8S_API_APPS_V1_STATEFULSETLIST),
        storage: protobuf("apps/v1", "StatefulSet", &IO_K8S_API_APPS_V1_STATEFULSET, "statefulsets"),
        storage_version_hash: "H+vl74LkKdo=",
        sets_generation: true,
        reset_fields: STATUS,
        ..V1
    },
    Resource {
        plural: "statefulsets",
        builtin: Some(Builtin::StatefulSet),
        operation: EndpointOperation::Scale,
        subresource: "scale",
        kind: "Scale",
        kind_group_version: "autoscaling/v1",
        message: &IO_K8S_API_AUTOSCALING_V1_SCALE,
        lifecycle: UNVERSIONED,
        ..V1_SUB
    },
    Resource {
        plural: "statefulsets",
        builtin: Some(Builtin::StatefulSet),
        subresource: "status",
        kind: "StatefulSet",
        message: &IO_K8S_API_APPS_V1_STATEFULSET,
        reset_fields: SPEC,
        ..V1_SUB
    },
];
