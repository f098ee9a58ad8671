//! Rows of leases and the candidates for them.

use super::format::age;
use super::view::View;
use super::{Cell, Cells};
use apimachinery::time::UnixTime;

pub(super) fn printer(resource: &str) -> Option<Cells> {
    Some(match resource {
        "leasecandidates" => candidate,
        "leases" => lease,
        _ => return None,
    })
}

fn candidate(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    let spec = object.get("spec");
    vec![
        object.name(),
        spec.get("leaseName").into(),
        spec.get("binaryVersion").into(),
        spec.get("emulationVersion").into(),
        age(object, now),
    ]
}

fn lease(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    vec![object.name(), object.at("spec.holderIdentity").into(), age(object, now)]
}
