//! Rows of autoscalers, and of the `scale` subresource.

use super::column::{AGE, Column, MakeCell, NAME, integer, text};
use super::format::UNSET;
use super::view::View;

use super::metrics;

const SPEC: &str = "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerSpec";
const STATUS: &str = "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerStatus";

pub(super) static AUTOSCALER_V1: &[Column] = &autoscaler(|object, _| metrics::v1(object).into());
pub(super) static AUTOSCALER: &[Column] = &autoscaler(|object, _| metrics::v2(object).into());

/// Only the metrics differ between versions.
const fn autoscaler(metrics: MakeCell) -> [Column; 7] {
    [
        NAME,
        text("Reference", |object, _| target(object).into()).described_as(SPEC, "scaleTargetRef"),
        text("Targets", metrics).described_as(SPEC, "metrics"),
        text("MinPods", |object, _| min_replicas(object).into()).described_as(SPEC, "minReplicas"),
        text("MaxPods", |object, _| object.at("spec.maxReplicas").int().into())
            .described_as(SPEC, "maxReplicas"),
        text("Replicas", |object, _| object.at("status.currentReplicas").int().into())
            .described_as(STATUS, "currentReplicas"),
        AGE,
    ]
}

/// Columns of the `scale` subresource, whose name has no format.
pub(super) static SCALE: &[Column] = &[
    NAME.format(""),
    integer("Desired", |object, _| object.at("spec.replicas").int().into())
        .described_as("io.k8s.api.autoscaling.v1.ScaleSpec", "replicas"),
    integer("Available", |object, _| object.at("status.replicas").int().into())
        .described_as("io.k8s.api.autoscaling.v1.ScaleStatus", "replicas"),
    AGE,
];

fn target(autoscaler: View<'_>) -> String {
    let target = autoscaler.at("spec.scaleTargetRef");
    format!("{}/{}", target.get("kind").text(), target.get("name").text())
}

fn min_replicas(autoscaler: View<'_>) -> String {
    let min = autoscaler.at("spec.minReplicas");
    if min.exists() { min.int().to_string() } else { UNSET.to_owned() }
}
