//! Table columns of persistent volume claims.

use crate::printers::column::{AGE, Column, NAME};
use crate::printers::format::{UNSET, quantity};
use crate::printers::volume::{access_modes, phase, storage_class};
use api::table::view::View;

pub(super) static COLUMNS: &[Column] = &[
    NAME,
    Column::text("Status", |object, _| phase(object).into())
        .with_description_of("io.k8s.api.core.v1.PersistentVolumeClaimStatus", "phase"),
    Column::text("Volume", |object, _| object.get_path("spec.volumeName").into())
        .with_description_of("io.k8s.api.core.v1.PersistentVolumeClaimSpec", "volumeName"),
    Column::text("Capacity", |object, _| {
        if_bound(object, |status| quantity(status.get_path("capacity.storage"))).into()
    })
    .with_description_of("io.k8s.api.core.v1.PersistentVolumeClaimStatus", "capacity"),
    Column::text("Access Modes", |object, _| {
        if_bound(object, |status| access_modes(status.get("accessModes"))).into()
    })
    .with_description_of("io.k8s.api.core.v1.PersistentVolumeClaimStatus", "accessModes"),
    Column::text("StorageClass", |object, _| storage_class(object).into())
        .with_description("StorageClass of the pvc"),
    Column::text("VolumeAttributesClass", |object, _| {
        object.get_path("spec.volumeAttributesClassName").text_or(UNSET).into()
    })
    .with_description("VolumeAttributesClass of the pvc"),
    AGE,
    Column::text("VolumeMode", |object, _| object.get_path("spec.volumeMode").text_or(UNSET).into())
        .with_description_of("io.k8s.api.core.v1.PersistentVolumeClaimSpec", "volumeMode")
        .wide(),
];

/// Facts about the volume of a claim, once there is one.
fn if_bound(claim: View<'_>, fact: fn(View<'_>) -> String) -> String {
    if claim.get_path("spec.volumeName").text().is_empty() {
        String::new()
    } else {
        fact(claim.get("status"))
    }
}
