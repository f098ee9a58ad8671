//! Media types of request bodies and responses.

use super::model::PathItem;

pub(super) const OBJECTS: &[&str] =
    &["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
pub(super) const STREAMS: &[&str] = &[
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf;stream=watch",
];
pub(super) const LOGS: &[&str] =
    &["text/plain", "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
pub(super) const ANY_MEDIA_TYPE: &[&str] = &["*/*"];
pub(super) const PATCHES: &[&str] = &[
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];

const CBOR: &str = "application/cbor";

/// Replacements for the lists above if the gate `CBORServingAndStorage` is enabled.
const WITH_CBOR: [(&[&str], &[&str]); 4] = [
    (OBJECTS, &["application/json", "application/yaml", "application/vnd.kubernetes.protobuf", CBOR]),
    (
        STREAMS,
        &[
            "application/json",
            "application/yaml",
            "application/vnd.kubernetes.protobuf",
            CBOR,
            "application/json;stream=watch",
            "application/vnd.kubernetes.protobuf;stream=watch",
            "application/cbor-seq",
        ],
    ),
    (
        LOGS,
        &["text/plain", "application/json", "application/yaml", "application/vnd.kubernetes.protobuf", CBOR],
    ),
    (
        PATCHES,
        &[
            "application/json-patch+json",
            "application/merge-patch+json",
            "application/strategic-merge-patch+json",
            "application/apply-patch+yaml",
            "application/apply-patch+cbor",
        ],
    ),
];

/// Adds CBOR to the media types of a path.
pub(super) fn add_cbor(item: &mut PathItem) {
    for operation in &mut item.operations {
        for media_types in [&mut operation.consumes, &mut operation.produces] {
            if let Some((_, with)) = WITH_CBOR.iter().find(|(without, _)| without == media_types) {
                *media_types = with;
            }
        }
    }
}
