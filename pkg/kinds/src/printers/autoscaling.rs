//! Rows of autoscalers, and of the `scale` subresource.

use super::format::{UNSET, age};
use super::view::View;
use super::{Cell, Cells, metrics};
use apimachinery::time::UnixTime;

pub(super) fn printer(version: &str, resource: &str) -> Option<Cells> {
    Some(match (version, resource) {
        ("v1", "horizontalpodautoscalers") => |object, now| autoscaler(object, metrics::v1(object), now),
        (_, "horizontalpodautoscalers") => |object, now| autoscaler(object, metrics::v2(object), now),
        (_, "scale") => scale,
        _ => return None,
    })
}

fn autoscaler(object: View<'_>, metrics: String, now: UnixTime) -> Vec<Cell<'_>> {
    let spec = object.get("spec");
    let target = spec.get("scaleTargetRef");
    let min = spec.get("minReplicas");
    vec![
        object.name(),
        format!("{}/{}", target.get("kind").text(), target.get("name").text()).into(),
        metrics.into(),
        if min.exists() { min.int().to_string() } else { UNSET.to_owned() }.into(),
        spec.get("maxReplicas").int().into(),
        object.at("status.currentReplicas").int().into(),
        age(object, now),
    ]
}

pub(super) fn scale(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    vec![
        object.name(),
        object.at("spec.replicas").int().into(),
        object.at("status.replicas").int().into(),
        age(object, now),
    ]
}
