//! Table columns of persistent volumes.

use crate::printers::column::{AGE, Column, NAME};
use crate::printers::format::{UNSET, quantity};
use crate::printers::volume::{access_modes, phase, storage_class};
use api::table::view::View;

pub(super) static COLUMNS: &[Column] = &[
    NAME,
    Column::text("Capacity", |object, _| quantity(object.get_path("spec.capacity.storage")).into())
        .with_description_of("io.k8s.api.core.v1.PersistentVolumeSpec", "capacity"),
    Column::text("Access Modes", |object, _| access_modes(object.get_path("spec.accessModes")).into())
        .with_description_of("io.k8s.api.core.v1.PersistentVolumeSpec", "accessModes"),
    Column::text("Reclaim Policy", |object, _| object.get_path("spec.persistentVolumeReclaimPolicy").into())
        .with_description_of("io.k8s.api.core.v1.PersistentVolumeSpec", "persistentVolumeReclaimPolicy"),
    Column::text("Status", |object, _| phase(object).into())
        .with_description_of("io.k8s.api.core.v1.PersistentVolumeStatus", "phase"),
    Column::text("Claim", |object, _| claim(object).into())
        .with_description_of("io.k8s.api.core.v1.PersistentVolumeSpec", "claimRef"),
    Column::text("StorageClass", |object, _| storage_class(object).into())
        .with_description("StorageClass of the pv"),
    Column::text("VolumeAttributesClass", |object, _| {
        object.get_path("spec.volumeAttributesClassName").text_or(UNSET).into()
    })
    .with_description("VolumeAttributesClass of the pv"),
    Column::text("Reason", |object, _| object.get_path("status.reason").into())
        .with_description_of("io.k8s.api.core.v1.PersistentVolumeStatus", "reason"),
    AGE,
    Column::text("VolumeMode", |object, _| object.get_path("spec.volumeMode").text_or(UNSET).into())
        .with_description_of("io.k8s.api.core.v1.PersistentVolumeSpec", "volumeMode")
        .wide(),
];

fn claim(volume: View<'_>) -> String {
    let claim = volume.get_path("spec.claimRef");
    if !claim.exists() {
        return String::new();
    }
    format!("{}/{}", claim.get("namespace").text(), claim.get("name").text())
}
