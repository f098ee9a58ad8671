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
        Column::text("Reference", |object, _| target(object).into()).described_as(SPEC, "scaleTargetRef"),
        Column::text("Targets", metrics).described_as(SPEC, "metrics"),
        Column::text("MinPods", |object, _| min_replicas(object).into()).described_as(SPEC, "minReplicas"),
        Column::text("MaxPods", |object, _| object.at("spec.maxReplicas").int().into())
            .described_as(SPEC, "maxReplicas"),
        Column::text("Replicas", |object, _| object.at("status.currentReplicas").int().into())
            .described_as(STATUS, "currentReplicas"),
        AGE,
    ]
}

fn target(autoscaler: View<'_>) -> String {
    let target = autoscaler.at("spec.scaleTargetRef");
    format!("{}/{}", target.get("kind").text(), target.get("name").text())
}

fn min_replicas(autoscaler: View<'_>) -> String {
    let min = autoscaler.at("spec.minReplicas");
    if min.exists() { min.int().to_string() } else { UNSET.to_owned() }
}
