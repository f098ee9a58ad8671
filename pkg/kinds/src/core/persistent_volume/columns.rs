//! Table columns of persistent volumes.

use crate::printers::column::{AGE, Column, NAME};
use crate::printers::format::{UNSET, quantity};
use crate::printers::volume::{access_modes, phase, storage_class};
use api::table::view::View;

pub(super) static COLUMNS: &[Column] = &[
    NAME,
    Column::text("Capacity", |object, _| quantity(object.at("spec.capacity.storage")).into())
        .described_as("io.k8s.api.core.v1.PersistentVolumeSpec", "capacity"),
    Column::text("Access Modes", |object, _| access_modes(object.at("spec.accessModes")).into())
        .described_as("io.k8s.api.core.v1.PersistentVolumeSpec", "accessModes"),
    Column::text("Reclaim Policy", |object, _| object.at("spec.persistentVolumeReclaimPolicy").into())
        .described_as("io.k8s.api.core.v1.PersistentVolumeSpec", "persistentVolumeReclaimPolicy"),
    Column::text("Status", |object, _| phase(object).into())
        .described_as("io.k8s.api.core.v1.PersistentVolumeStatus", "phase"),
    Column::text("Claim", |object, _| claim(object).into())
        .described_as("io.k8s.api.core.v1.PersistentVolumeSpec", "claimRef"),
    Column::text("StorageClass", |object, _| storage_class(object).into())
        .described("StorageClass of the pv"),
    Column::text("VolumeAttributesClass", |object, _| {
        object.at("spec.volumeAttributesClassName").text_or(UNSET).into()
    })
    .described("VolumeAttributesClass of the pv"),
    Column::text("Reason", |object, _| object.at("status.reason").into())
        .described_as("io.k8s.api.core.v1.PersistentVolumeStatus", "reason"),
    AGE,
    Column::text("VolumeMode", |object, _| object.at("spec.volumeMode").text_or(UNSET).into())
        .described_as("io.k8s.api.core.v1.PersistentVolumeSpec", "volumeMode")
        .wide(),
];

fn claim(volume: View<'_>) -> String {
    let claim = volume.at("spec.claimRef");
    if !claim.exists() {
        return String::new();
    }
    format!("{}/{}", claim.get("namespace").text(), claim.get("name").text())
}
