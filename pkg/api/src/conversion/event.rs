//! Events: `v1`, in which they are stored, and `events.k8s.io/v1`, which names some members anew.

use crate::tree::rename;
use schema::object::Object;

/// Names in `v1` and in `events.k8s.io/v1`.
const RENAMED: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

pub(super) fn core_to_events(event: &mut Object) {
    RENAMED.iter().for_each(|(core, events)| rename(event, core, events));
}

pub(super) fn events_to_core(event: &mut Object) {
    RENAMED.iter().for_each(|(core, events)| rename(event, events, core));
}
