//! Columns of the `scale` subresource of any kind.

use crate::printers::column::{AGE, Column, NAME};

/// Columns of the `scale` subresource, whose name has no format.
pub(super) static SCALE: &[Column] = &[
    NAME.format(""),
    Column::integer("Desired", |object, _| object.get_path("spec.replicas").int().into())
        .with_description_of("io.k8s.api.autoscaling.v1.ScaleSpec", "replicas"),
    Column::integer("Available", |object, _| object.get_path("status.replicas").int().into())
        .with_description_of("io.k8s.api.autoscaling.v1.ScaleStatus", "replicas"),
    AGE,
];
