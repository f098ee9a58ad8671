//! Table columns of deployments.

use crate::printers::column::{AGE, CONTAINERS, Column, IMAGES, NAME};
use crate::printers::format::ready_replicas as ready;
use api::table::view::View;
use apimachinery::labels::from_label_selector;

pub(super) static COLUMNS: &[Column] = &[
    NAME,
    Column::text("Ready", |object, _| ready(object).into())
        .with_description("Number of the pod with ready state"),
    Column::text("Up-to-date", |object, _| object.get_path("status.updatedReplicas").int().into())
        .with_description_of("io.k8s.api.apps.v1.DeploymentStatus", "updatedReplicas"),
    Column::text("Available", |object, _| object.get_path("status.availableReplicas").int().into())
        .with_description_of("io.k8s.api.apps.v1.DeploymentStatus", "availableReplicas"),
    AGE,
    CONTAINERS,
    IMAGES,
    Column::text("Selector", |object, _| deployment_selector(object).into())
        .with_description_of("io.k8s.api.apps.v1.DeploymentSpec", "selector")
        .wide(),
];

fn deployment_selector(object: View<'_>) -> String {
    // Other kinds print `<none>` and `<error>` here.
    match from_label_selector(object.get_path("spec.selector").object().as_deref()) {
        Ok(selector) => selector.to_string(),
        Err(_) => "<invalid>".to_owned(),
    }
}
