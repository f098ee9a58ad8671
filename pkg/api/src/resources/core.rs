//! Resources of the core group.

use component_base::features::Gate;
use schema::builtin::{
    IO_K8S_API_AUTHENTICATION_V1_TOKENREQUEST, IO_K8S_API_AUTOSCALING_V1_SCALE, IO_K8S_API_CORE_V1_BINDING,
    IO_K8S_API_CORE_V1_COMPONENTSTATUS, IO_K8S_API_CORE_V1_COMPONENTSTATUSLIST, IO_K8S_API_CORE_V1_CONFIGMAP,
    IO_K8S_API_CORE_V1_CONFIGMAPLIST, IO_K8S_API_CORE_V1_ENDPOINTS, IO_K8S_API_CORE_V1_ENDPOINTSLIST,
    IO_K8S_API_CORE_V1_EVENT, IO_K8S_API_CORE_V1_EVENTLIST, IO_K8S_API_CORE_V1_LIMITRANGE,
    IO_K8S_API_CORE_V1_LIMITRANGELIST, IO_K8S_API_CORE_V1_NAMESPACE, IO_K8S_API_CORE_V1_NAMESPACELIST,
    IO_K8S_API_CORE_V1_NODE, IO_K8S_API_CORE_V1_NODELIST, IO_K8S_API_CORE_V1_NODEPROXYOPTIONS,
    IO_K8S_API_CORE_V1_PERSISTENTVOLUME, IO_K8S_API_CORE_V1_PERSISTENTVOLUMECLAIM,
    IO_K8S_API_CORE_V1_PERSISTENTVOLUMECLAIMLIST, IO_K8S_API_CORE_V1_PERSISTENTVOLUMELIST,
    IO_K8S_API_CORE_V1_POD, IO_K8S_API_CORE_V1_PODATTACHOPTIONS, IO_K8S_API_CORE_V1_PODEXECOPTIONS,
    IO_K8S_API_CORE_V1_PODLIST, IO_K8S_API_CORE_V1_PODLOGOPTIONS, IO_K8S_API_CORE_V1_PODPORTFORWARDOPTIONS,
    IO_K8S_API_CORE_V1_PODPROXYOPTIONS, IO_K8S_API_CORE_V1_PODTEMPLATE, IO_K8S_API_CORE_V1_PODTEMPLATELIST,
    IO_K8S_API_CORE_V1_REPLICATIONCONTROLLER, IO_K8S_API_CORE_V1_REPLICATIONCONTROLLERLIST,
    IO_K8S_API_CORE_V1_RESOURCEQUOTA, IO_K8S_API_CORE_V1_RESOURCEQUOTALIST, IO_K8S_API_CORE_V1_SECRET,
    IO_K8S_API_CORE_V1_SECRETLIST, IO_K8S_API_CORE_V1_SERVICE, IO_K8S_API_CORE_V1_SERVICEACCOUNT,
    IO_K8S_API_CORE_V1_SERVICEACCOUNTLIST, IO_K8S_API_CORE_V1_SERVICELIST,
    IO_K8S_API_CORE_V1_SERVICEPROXYOPTIONS, IO_K8S_API_POLICY_V1_EVICTION,
};

use super::{
    Backend, Builtin, CREATE_ONLY, Connect, DefaultGc, EVERY_METHOD, EndpointOperation, GET_AND_POST,
    RESOURCE, Resource, SPEC, STATUS, Stream, UNVERSIONED, label_equal_to_path, protobuf, since,
    subresource_of,
};

kinds! { in "":
    Binding: core::binding, NONE;
    ComponentStatus: core::component_status, NONE;
    ConfigMap: core::config_map, NONE;
    Endpoints: core::endpoints, NONE;
    LimitRange: core::limit_range, NONE;
    Namespace: core::namespace, NONE;
    Node: core::node, node::CONVERSION;
    PersistentVolume: core::persistent_volume, NONE;
    PersistentVolumeClaim: core::persistent_volume_claim, NONE;
    Pod: core::pod, pod::POD;
    PodTemplate: core::pod_template, pod::POD_TEMPLATE;
    ReplicationController: core::replication_controller, pod::WORKLOAD;
    ResourceQuota: core::resource_quota, NONE;
    Secret: core::secret, secret::CONVERSION;
    Service: core::service, NONE;
    ServiceAccount: core::service_account, NONE;
}

/// Properties that all `v1` resources share.
const V1: Resource = Resource {
    version: "v1",
    group_version: "v1",
    kind_group_version: "v1",
    lifecycle: since(0),
    ..RESOURCE
};

const V1_SUB: Resource = subresource_of(V1);

/// Sorted by version, plural and subresource.
pub(super) static ROWS: &[Resource] = &[
    Resource {
        plural: "bindings",
        builtin: Some(Builtin::Binding),
        operation: EndpointOperation::Bind,
        kind: "Binding",
        singular: "binding",
        verbs: CREATE_ONLY,
        message: &IO_K8S_API_CORE_V1_BINDING,
        sets_generation: true,
        ..V1
    },
    Resource {
        plural: "componentstatuses",
        builtin: Some(Builtin::ComponentStatus),
        operation: EndpointOperation::ComponentStatus,
        kind: "ComponentStatus",
        singular: "componentstatus",
        short_names: &["cs"],
        namespaced: false,
        verbs: &["get", "list"],
        message: &IO_K8S_API_CORE_V1_COMPONENTSTATUS,
        list_message: Some(&IO_K8S_API_CORE_V1_COMPONENTSTATUSLIST),
        lifecycle: since(0).deprecated(19),
        ..V1
    },
    Resource {
        plural: "configmaps",
        builtin: Some(Builtin::ConfigMap),
        kind: "ConfigMap",
        singular: "configmap",
        short_names: &["cm"],
        message: &IO_K8S_API_CORE_V1_CONFIGMAP,
        list_message: Some(&IO_K8S_API_CORE_V1_CONFIGMAPLIST),
        storage: protobuf("v1", "ConfigMap", &IO_K8S_API_CORE_V1_CONFIGMAP, "configmaps"),
        storage_version_hash: "qFsyl6wFWjQ=",
        lifecycle: since(2),
        ..V1
    },
    Resource {
        plural: "endpoints",
        builtin: Some(Builtin::Endpoints),
        kind: "Endpoints",
        singular: "endpoints",
        short_names: &["ep"],
        message: &IO_K8S_API_CORE_V1_ENDPOINTS,
        list_message: Some(&IO_K8S_API_CORE_V1_ENDPOINTSLIST),
        storage: protobuf("v1", "Endpoints", &IO_K8S_API_CORE_V1_ENDPOINTS, "services/endpoints"),
        storage_version_hash: "fWeeMqaN/OA=",
        allow_create_on_update: true,
        lifecycle: since(0).deprecated(33).replaced_by("discovery.k8s.io/v1 EndpointSlice"),
        ..V1
    },
    Resource {
        plural: "events",
        builtin: Some(Builtin::Event),
        kind: "Event",
        singular: "event",
        short_names: &["ev"],
        message: &IO_K8S_API_CORE_V1_EVENT,
        list_message: Some(&IO_K8S_API_CORE_V1_EVENTLIST),
        storage: protobuf("v1", "Event", &IO_K8S_API_CORE_V1_EVENT, "events"),
        storage_version_hash: "r2yiGXH7wu8=",
        allow_create_on_update: true,
        default_gc: DefaultGc::Unsupported,
        ttl_seconds: Some(3600),
        field_selectors: &[
            label_equal_to_path("involvedObject.apiVersion"),
            label_equal_to_path("involvedObject.fieldPath"),
            label_equal_to_path("involvedObject.kind"),
            label_equal_to_path("involvedObject.name"),
            label_equal_to_path("involvedObject.namespace"),
            label_equal_to_path("involvedObject.resourceVersion"),
            label_equal_to_path("involvedObject.uid"),
            label_equal_to_path("metadata.name"),
            label_equal_to_path("metadata.namespace"),
            label_equal_to_path("reason"),
            label_equal_to_path("reportingComponent"),
            label_equal_to_path("source"),
            label_equal_to_path("type"),
        ],
        watch_cache: false,
        ..V1
    },
    Resource {
        plural: "limitranges",
        builtin: Some(Builtin::LimitRange),
        kind: "LimitRange",
        singular: "limitrange",
        short_names: &["limits"],
        message: &IO_K8S_API_CORE_V1_LIMITRANGE,
        list_message: Some(&IO_K8S_API_CORE_V1_LIMITRANGELIST),
        storage: protobuf("v1", "LimitRange", &IO_K8S_API_CORE_V1_LIMITRANGE, "limitranges"),
        storage_version_hash: "EBKMFVe6cwo=",
        allow_create_on_update: true,
        ..V1
    },
    Resource {
        plural: "namespaces",
        builtin: Some(Builtin::Namespace),
        kind: "Namespace",
        singular: "namespace",
        short_names: &["ns"],
        namespaced: false,
        verbs: &["create", "delete", "get", "list", "patch", "update", "watch"],
        message: &IO_K8S_API_CORE_V1_NAMESPACE,
        list_message: Some(&IO_K8S_API_CORE_V1_NAMESPACELIST),
        storage: protobuf("v1", "Namespace", &IO_K8S_API_CORE_V1_NAMESPACE, "namespaces"),
        storage_version_hash: "Q3oi5N2YM8M=",
        returns_deleted_object: true,
        field_selectors: &[label_equal_to_path("metadata.name"), label_equal_to_path("status.phase")],
        reset_fields: STATUS,
        ..V1
    },
    Resource {
        plural: "namespaces",
        builtin: Some(Builtin::Namespace),
        subresource: "finalize",
        kind: "Namespace",
        namespaced: false,
        verbs: &["update"],
        message: &IO_K8S_API_CORE_V1_NAMESPACE,
        reset_fields: STATUS,
        ..V1_SUB
    },
    Resource {
        plural: "namespaces",
        builtin: Some(Builtin::Namespace),
        subresource: "status",
        kind: "Namespace",
        namespaced: false,
        message: &IO_K8S_API_CORE_V1_NAMESPACE,
        reset_fields: SPEC,
        ..V1_SUB
    },
    Resource {
        plural: "nodes",
        builtin: Some(Builtin::Node),
        kind: "Node",
        singular: "node",
        short_names: &["no"],
        namespaced: false,
        message: &IO_K8S_API_CORE_V1_NODE,
        list_message: Some(&IO_K8S_API_CORE_V1_NODELIST),
        storage: protobuf("v1", "Node", &IO_K8S_API_CORE_V1_NODE, "minions"),
        storage_version_hash: "XwShjMxG9Fs=",
        field_selectors: &[label_equal_to_path("metadata.name"), label_equal_to_path("spec.unschedulable")],
        reset_fields: STATUS,
        ..V1
    },
    Resource {
        plural: "nodes",
        builtin: Some(Builtin::Node),
        operation: EndpointOperation::Proxy(Backend::Node),
        subresource: "proxy",
        kind: "NodeProxyOptions",
        namespaced: false,
        verbs: &["create", "delete", "get", "patch", "update"],
        message: &IO_K8S_API_CORE_V1_NODEPROXYOPTIONS,
        connect: Some(Connect {
            methods: EVERY_METHOD,
            options: &IO_K8S_API_CORE_V1_NODEPROXYOPTIONS,
            subpath: true,
        }),
        lifecycle: since(2),
        ..V1_SUB
    },
    Resource {
        plural: "nodes",
        builtin: Some(Builtin::Node),
        subresource: "status",
        kind: "Node",
        namespaced: false,
        message: &IO_K8S_API_CORE_V1_NODE,
        reset_fields: SPEC,
        ..V1_SUB
    },
    Resource {
        plural: "persistentvolumeclaims",
        builtin: Some(Builtin::PersistentVolumeClaim),
        kind: "PersistentVolumeClaim",
        singular: "persistentvolumeclaim",
        short_names: &["pvc"],
        message: &IO_K8S_API_CORE_V1_PERSISTENTVOLUMECLAIM,
        list_message: Some(&IO_K8S_API_CORE_V1_PERSISTENTVOLUMECLAIMLIST),
        storage: protobuf(
            "v1",
            "PersistentVolumeClaim",
            &IO_K8S_API_CORE_V1_PERSISTENTVOLUMECLAIM,
            "persistentvolumeclaims",
        ),
        storage_version_hash: "QWTyNDq0dC4=",
        returns_deleted_object: true,
        reset_fields: STATUS,
        ..V1
    },
    Resource {
        plural: "persistentvolumeclaims",
        builtin: Some(Builtin::PersistentVolumeClaim),
        subresource: "status",
        kind: "PersistentVolumeClaim",
        message: &IO_K8S_API_CORE_V1_PERSISTENTVOLUMECLAIM,
        reset_fields: SPEC,
        ..V1_SUB
    },
    Resource {
        plural: "persistentvolumes",
        builtin: Some(Builtin::PersistentVolume),
        kind: "PersistentVolume",
        singular: "persistentvolume",
        short_names: &["pv"],
        namespaced: false,
        message: &IO_K8S_API_CORE_V1_PERSISTENTVOLUME,
        list_message: Some(&IO_K8S_API_CORE_V1_PERSISTENTVOLUMELIST),
        storage: protobuf(
            "v1",
            "PersistentVolume",
            &IO_K8S_API_CORE_V1_PERSISTENTVOLUME,
            "persistentvolumes",
        ),
        storage_version_hash: "HN/zwEC+JgM=",
        returns_deleted_object: true,
        reset_fields: STATUS,
        ..V1
    },
    Resource {
        plural: "persistentvolumes",
        builtin: Some(Builtin::PersistentVolume),
        subresource: "status",
        kind: "PersistentVolume",
        namespaced: false,
        message: &IO_K8S_API_CORE_V1_PERSISTENTVOLUME,
        reset_fields: SPEC,
        ..V1_SUB
    },
    Resource {
        plural: "pods",
        builtin: Some(Builtin::Pod),
        kind: "Pod",
        singular: "pod",
        short_names: &["po"],
        categories: &["all"],
        message: &IO_K8S_API_CORE_V1_POD,
        list_message: Some(&IO_K8S_API_CORE_V1_PODLIST),
        storage: protobuf("v1", "Pod", &IO_K8S_API_CORE_V1_POD, "pods"),
        storage_version_hash: "xPOwRZ+Yhw8=",
        sets_generation: true,
        graceful_delete: true,
        returns_deleted_object: true,
        field_selectors: &[
            label_equal_to_path("metadata.name"),
            label_equal_to_path("metadata.namespace"),
            ("spec.host", "spec.nodeName"),
            label_equal_to_path("spec.hostNetwork"),
            label_equal_to_path("spec.nodeName"),
            label_equal_to_path("spec.restartPolicy"),
            label_equal_to_path("spec.schedulerName"),
            label_equal_to_path("spec.serviceAccountName"),
            label_equal_to_path("status.nominatedNodeName"),
            label_equal_to_path("status.phase"),
            label_equal_to_path("status.podIP"),
            ("status.podIPs", ""),
        ],
        index_fields: &["spec.nodeName"],
        reset_fields: STATUS,
        ..V1
    },
    Resource {
        plural: "pods",
        builtin: Some(Builtin::Pod),
        operation: EndpointOperation::Stream(Stream::Attach),
        subresource: "attach",
        kind: "PodAttachOptions",
        verbs: &["create", "get"],
        message: &IO_K8S_API_CORE_V1_PODATTACHOPTIONS,
        connect: Some(Connect {
            methods: GET_AND_POST,
            options: &IO_K8S_API_CORE_V1_PODATTACHOPTIONS,
            subpath: false,
        }),
        lifecycle: since(1),
        ..V1_SUB
    },
    Resource {
        plural: "pods",
        builtin: Some(Builtin::Pod),
        operation: EndpointOperation::Bind,
        subresource: "binding",
        kind: "Binding",
        verbs: CREATE_ONLY,
        message: &IO_K8S_API_CORE_V1_BINDING,
        ..V1_SUB
    },
    Resource {
        plural: "pods",
        builtin: Some(Builtin::Pod),
        subresource: "ephemeralcontainers",
        kind: "Pod",
        message: &IO_K8S_API_CORE_V1_POD,
        ..V1_SUB
    },
    Resource {
        plural: "pods",
        builtin: Some(Builtin::Pod),
        operation: EndpointOperation::Evict,
        subresource: "eviction",
        kind: "Eviction",
        kind_group_version: "policy/v1",
        verbs: CREATE_ONLY,
        message: &IO_K8S_API_POLICY_V1_EVICTION,
        lifecycle: UNVERSIONED,
        ..V1_SUB
    },
    Resource {
        plural: "pods",
        builtin: Some(Builtin::Pod),
        operation: EndpointOperation::Stream(Stream::Exec),
        subresource: "exec",
        kind: "PodExecOptions",
        verbs: &["create", "get"],
        message: &IO_K8S_API_CORE_V1_PODEXECOPTIONS,
        connect: Some(Connect {
            methods: GET_AND_POST,
            options: &IO_K8S_API_CORE_V1_PODEXECOPTIONS,
            subpath: false,
        }),
        ..V1_SUB
    },
    Resource {
        plural: "pods",
        builtin: Some(Builtin::Pod),
        operation: EndpointOperation::Log,
        subresource: "log",
        kind: "Pod",
        verbs: &["get"],
        message: &IO_K8S_API_CORE_V1_POD,
        get_options: Some(&IO_K8S_API_CORE_V1_PODLOGOPTIONS),
        produces: &["text/plain"],
        ..V1_SUB
    },
    Resource {
        plural: "pods",
        builtin: Some(Builtin::Pod),
        operation: EndpointOperation::Stream(Stream::PortForward),
        subresource: "portforward",
        kind: "PodPortForwardOptions",
        verbs: &["create", "get"],
        message: &IO_K8S_API_CORE_V1_PODPORTFORWARDOPTIONS,
        connect: Some(Connect {
            methods: GET_AND_POST,
            options: &IO_K8S_API_CORE_V1_PODPORTFORWARDOPTIONS,
            subpath: false,
        }),
        lifecycle: since(6),
        ..V1_SUB
    },
    Resource {
        plural: "pods",
        builtin: Some(Builtin::Pod),
        operation: EndpointOperation::Proxy(Backend::Pod),
        subresource: "proxy",
        kind: "PodProxyOptions",
        verbs: &["create", "delete", "get", "patch", "update"],
        message: &IO_K8S_API_CORE_V1_PODPROXYOPTIONS,
        connect: Some(Connect {
            methods: EVERY_METHOD,
            options: &IO_K8S_API_CORE_V1_PODPROXYOPTIONS,
            subpath: true,
        }),
        ..V1_SUB
    },
    Resource {
        plural: "pods",
        gate: Some(Gate::InPlacePodVerticalScaling),
        builtin: Some(Builtin::Pod),
        subresource: "resize",
        kind: "Pod",
        message: &IO_K8S_API_CORE_V1_POD,
        ..V1_SUB
    },
    Resource {
        plural: "pods",
        builtin: Some(Builtin::Pod),
        subresource: "status",
        kind: "Pod",
        message: &IO_K8S_API_CORE_V1_POD,
        reset_fields: &[".metadata.deletionTimestamp", ".metadata.ownerReferences", ".spec"],
        ..V1_SUB
    },
    Resource {
        plural: "podtemplates",
        builtin: Some(Builtin::PodTemplate),
        kind: "PodTemplate",
        singular: "podtemplate",
        message: &IO_K8S_API_CORE_V1_PODTEMPLATE,
        list_message: Some(&IO_K8S_API_CORE_V1_PODTEMPLATELIST),
        storage: protobuf("v1", "PodTemplate", &IO_K8S_API_CORE_V1_PODTEMPLATE, "podtemplates"),
        storage_version_hash: "LIXB2x4IFpk=",
        sets_generation: true,
        returns_deleted_object: true,
        ..V1
    },
    Resource {
        plural: "replicationcontrollers",
        builtin: Some(Builtin::ReplicationController),
        kind: "ReplicationController",
        singular: "replicationcontroller",
        short_names: &["rc"],
        categories: &["all"],
        message: &IO_K8S_API_CORE_V1_REPLICATIONCONTROLLER,
        list_message: Some(&IO_K8S_API_CORE_V1_REPLICATIONCONTROLLERLIST),
        storage: protobuf(
            "v1",
            "ReplicationController",
            &IO_K8S_API_CORE_V1_REPLICATIONCONTROLLER,
            "controllers",
        ),
        storage_version_hash: "Jond2If31h0=",
        sets_generation: true,
        default_gc: DefaultGc::OrphanDependents,
        field_selectors: &[
            label_equal_to_path("metadata.name"),
            label_equal_to_path("metadata.namespace"),
            label_equal_to_path("status.replicas"),
        ],
        reset_fields: STATUS,
        ..V1
    },
    Resource {
        plural: "replicationcontrollers",
        builtin: Some(Builtin::ReplicationController),
        operation: EndpointOperation::Scale,
        subresource: "scale",
        kind: "Scale",
        kind_group_version: "autoscaling/v1",
        message: &IO_K8S_API_AUTOSCALING_V1_SCALE,
        lifecycle: UNVERSIONED,
        ..V1_SUB
    },
    Resource {
        plural: "replicationcontrollers",
        builtin: Some(Builtin::ReplicationController),
        subresource: "status",
        kind: "ReplicationController",
        message: &IO_K8S_API_CORE_V1_REPLICATIONCONTROLLER,
        reset_fields: SPEC,
        ..V1_SUB
    },
    Resource {
        plural: "resourcequotas",
        builtin: Some(Builtin::ResourceQuota),
        kind: "ResourceQuota",
        singular: "resourcequota",
        short_names: &["quota"],
        message: &IO_K8S_API_CORE_V1_RESOURCEQUOTA,
        list_message: Some(&IO_K8S_API_CORE_V1_RESOURCEQUOTALIST),
        storage: protobuf("v1", "ResourceQuota", &IO_K8S_API_CORE_V1_RESOURCEQUOTA, "resourcequotas"),
        storage_version_hash: "8uhSgffRX6w=",
        returns_deleted_object: true,
        reset_fields: STATUS,
        ..V1
    },
    Resource {
        plural: "resourcequotas",
        builtin: Some(Builtin::ResourceQuota),
        subresource: "status",
        kind: "ResourceQuota",
        message: &IO_K8S_API_CORE_V1_RESOURCEQUOTA,
        reset_fields: SPEC,
        ..V1_SUB
    },
    Resource {
        plural: "secrets",
        builtin: Some(Builtin::Secret),
        kind: "Secret",
        singular: "secret",
        message: &IO_K8S_API_CORE_V1_SECRET,
        list_message: Some(&IO_K8S_API_CORE_V1_SECRETLIST),
        storage: protobuf("v1", "Secret", &IO_K8S_API_CORE_V1_SECRET, "secrets"),
        storage_version_hash: "S6u1pOWzb84=",
        field_selectors: &[
            label_equal_to_path("metadata.name"),
            label_equal_to_path("metadata.namespace"),
            label_equal_to_path("type"),
        ],
        ..V1
    },
    Resource {
        plural: "serviceaccounts",
        builtin: Some(Builtin::ServiceAccount),
        kind: "ServiceAccount",
        singular: "serviceaccount",
        short_names: &["sa"],
        message: &IO_K8S_API_CORE_V1_SERVICEACCOUNT,
        list_message: Some(&IO_K8S_API_CORE_V1_SERVICEACCOUNTLIST),
        storage: protobuf("v1", "ServiceAccount", &IO_K8S_API_CORE_V1_SERVICEACCOUNT, "serviceaccounts"),
        storage_version_hash: "pbx9ZvyFpBE=",
        returns_deleted_object: true,
        ..V1
    },
    Resource {
        plural: "serviceaccounts",
        builtin: Some(Builtin::ServiceAccount),
        operation: EndpointOperation::IssueToken,
        subresource: "token",
        kind: "TokenRequest",
        kind_group_version: "authentication.k8s.io/v1",
        verbs: CREATE_ONLY,
        message: &IO_K8S_API_AUTHENTICATION_V1_TOKENREQUEST,
        lifecycle: UNVERSIONED,
        ..V1_SUB
    },
    Resource {
        plural: "services",
        builtin: Some(Builtin::Service),
        kind: "Service",
        singular: "service",
        short_names: &["svc"],
        categories: &["all"],
        message: &IO_K8S_API_CORE_V1_SERVICE,
        list_message: Some(&IO_K8S_API_CORE_V1_SERVICELIST),
        storage: protobuf("v1", "Service", &IO_K8S_API_CORE_V1_SERVICE, "services/specs"),
        storage_version_hash: "0/CO1lhkEBI=",
        allow_create_on_update: true,
        returns_deleted_object: true,
        field_selectors: &[
            label_equal_to_path("metadata.name"),
            label_equal_to_path("metadata.namespace"),
            label_equal_to_path("spec.clusterIP"),
            label_equal_to_path("spec.type"),
        ],
        reset_fields: STATUS,
        ..V1
    },
    Resource {
        plural: "services",
        builtin: Some(Builtin::Service),
        operation: EndpointOperation::Proxy(Backend::Service),
        subresource: "proxy",
        kind: "ServiceProxyOptions",
        verbs: &["create", "delete", "get", "patch", "update"],
        message: &IO_K8S_API_CORE_V1_SERVICEPROXYOPTIONS,
        connect: Some(Connect {
            methods: EVERY_METHOD,
            options: &IO_K8S_API_CORE_V1_SERVICEPROXYOPTIONS,
            subpath: true,
        }),
        lifecycle: since(2),
        ..V1_SUB
    },
    Resource {
        plural: "services",
        builtin: Some(Builtin::Service),
        subresource: "status",
        kind: "Service",
        message: &IO_K8S_API_CORE_V1_SERVICE,
        reset_fields: SPEC,
        ..V1_SUB
    },
];
