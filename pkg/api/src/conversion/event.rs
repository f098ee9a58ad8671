//! Events: `v1`, the stored version, and the versions of `events.k8s.io`, which rename some fields.

use super::kind::{Conversion, NONE, Spoke};
use crate::tree::rename;
use schema::object::Object;

pub(super) static CONVERSION: Conversion = Conversion {
    spokes: &[
        Spoke::of("events.k8s.io/v1", to_hub, from_hub),
        Spoke::of("events.k8s.io/v1beta1", to_hub, from_hub),
    ],
    ..NONE
};

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

fn to_hub(event: &mut Object) {
    RENAMED.iter().for_each(|(core, events)| rename(event, events, core));
}

fn from_hub(event: &mut Object) {
    RENAMED.iter().for_each(|(core, events)| rename(event, core, events));
}
