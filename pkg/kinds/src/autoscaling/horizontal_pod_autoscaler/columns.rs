//! Table columns of horizontal pod autoscalers.

mod metrics;

use crate::printers::column::{AGE, Column, MakeCell, NAME};
use crate::printers::format::UNSET;
use api::table::view::View;

pub(super) static V1: &[Column] = &autoscaler(|object, _| metrics::v1(object).into());

pub(super) static V2: &[Column] = &autoscaler(|object, _| metrics::v2(object).into());

const SPEC: &str = "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerSpec";

const STATUS: &str = "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerStatus";

/// Only the metrics differ between versions.
const fn autoscaler(metrics: MakeCell) -> [Column; 7] {
    [
        NAME,
        Column::text("Reference", |object, _| target(object).into())
            .with_description_of(SPEC, "scaleTargetRef"),
        Column::text("Targets", metrics).with_description_of(SPEC, "metrics"),
        Column::text("MinPods", |object, _| min_replicas(object).into())
            .with_description_of(SPEC, "minReplicas"),
        Column::text("MaxPods", |object, _| object.get_path("spec.maxReplicas").int().into())
            .with_description_of(SPEC, "maxReplicas"),
        Column::text("Replicas", |object, _| object.get_path("status.currentReplicas").int().into())
            .with_description_of(STATUS, "currentReplicas"),
        AGE,
    ]
}

fn target(autoscaler: View<'_>) -> String {
    let target = autoscaler.get_path("spec.scaleTargetRef");
    format!("{}/{}", target.get("kind").text(), target.get("name").text())
}

fn min_replicas(autoscaler: View<'_>) -> String {
    let min = autoscaler.get_path("spec.minReplicas");
    if min.exists() { min.int().to_string() } else { UNSET.to_owned() }
}
