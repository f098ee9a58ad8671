//! Events: `v1`, the stored version, and the versions of `events.k8s.io`, which rename some fields.

use crate::tree::rename;
use schema::object::Object;

/// Names in `v1` and in `events.k8s.io`.
const RENAMED: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

pub(super) fn to_hub(event: &mut Object) {
    RENAMED.iter().for_each(|(core, events)| rename(event, events, core));
}

pub(super) fn from_hub(event: &mut Object) {
    RENAMED.iter().for_each(|(core, events)| rename(event, core, events));
}
