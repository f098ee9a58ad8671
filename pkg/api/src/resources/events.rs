//! Resources of `events.k8s.io`.

use schema::builtin::{IO_K8S_API_CORE_V1_EVENT, IO_K8S_API_EVENTS_V1_EVENT, IO_K8S_API_EVENTS_V1_EVENTLIST};

use super::{Builtin, DefaultGc, RESOURCE, Resource, label_equal_to_path, protobuf, since};

kinds! { in "events.k8s.io":
    Event: events::event, event::CONVERSION;
}

/// Properties that all `events.k8s.io/v1` resources share.
const V1: Resource = Resource {
    group: "events.k8s.io",
    version: "v1",
    group_version: "events.k8s.io/v1",
    kind_group_version: "events.k8s.io/v1",
    lifecycle: since(19),
    ..RESOURCE
};

/// Sorted by version, plural and subresource.
pub(super) static ROWS: &[Resource] = &[Resource {
    plural: "events",
    builtin: Some(Builtin::Event),
    kind: "Event",
    singular: "event",
    short_names: &["ev"],
    message: &IO_K8S_API_EVENTS_V1_EVENT,
    list_message: Some(&IO_K8S_API_EVENTS_V1_EVENTLIST),
    storage: protobuf("v1", "Event", &IO_K8S_API_CORE_V1_EVENT, "events"),
    storage_version_hash: "r2yiGXH7wu8=",
    allow_create_on_update: true,
    default_gc: DefaultGc::Unsupported,
    ttl_seconds: Some(3600),
    field_selectors: &[
        label_equal_to_path("metadata.name"),
        label_equal_to_path("metadata.namespace"),
        label_equal_to_path("reason"),
        ("regarding.apiVersion", "involvedObject.apiVersion"),
        ("regarding.fieldPath", "involvedObject.fieldPath"),
        ("regarding.kind", "involvedObject.kind"),
        ("regarding.name", "involvedObject.name"),
        ("regarding.namespace", "involvedObject.namespace"),
        ("regarding.resourceVersion", "involvedObject.resourceVersion"),
        ("regarding.uid", "involvedObject.uid"),
        ("reportingController", "reportingComponent"),
        label_equal_to_path("type"),
    ],
    watch_cache: false,
    ..V1
}];
