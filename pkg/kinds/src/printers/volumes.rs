//! Rows of persistent volumes and their claims.

use super::column::{AGE, Column, NAME, text};
use super::format::{UNSET, quantity};
use super::view::View;

pub(super) static PERSISTENT_VOLUME: &[Column] = &[
    NAME,
    text("Capacity", |object, _| quantity(object.at("spec.capacity.storage")).into())
        .described_as("io.k8s.api.core.v1.PersistentVolumeSpec", "capacity"),
    text("Access Modes", |object, _| access_modes(object.at("spec.accessModes")).into())
        .described_as("io.k8s.api.core.v1.PersistentVolumeSpec", "accessModes"),
    text("Reclaim Policy", |object, _| object.at("spec.persistentVolumeReclaimPolicy").into())
        .described_as("io.k8s.api.core.v1.PersistentVolumeSpec", "persistentVolumeReclaimPolicy"),
    text("Status", |object, _| phase(object).into())
        .described_as("io.k8s.api.core.v1.PersistentVolumeStatus", "phase"),
    text("Claim", |object, _| claim(object).into())
        .described_as("io.k8s.api.core.v1.PersistentVolumeSpec", "claimRef"),
    text("StorageClass", |object, _| storage_class(object).into()).described("StorageClass of the pv"),
    text("VolumeAttributesClass", |object, _| {
        object.at("spec.volumeAttributesClassName").text_or(UNSET).into()
    })
    .described("VolumeAttributesClass of the pv"),
    text("Reason", |object, _| object.at("status.reason").into())
        .described_as("io.k8s.api.core.v1.PersistentVolumeStatus", "reason"),
    AGE,
    text("VolumeMode", |object, _| object.at("spec.volumeMode").text_or(UNSET).into())
        .described_as("io.k8s.api.core.v1.PersistentVolumeSpec", "volumeMode")
        .wide(),
];

pub(super) static PERSISTENT_VOLUME_CLAIM: &[Column] = &[
    NAME,
    text("Status", |object, _| phase(object).into())
        .described_as("io.k8s.api.core.v1.PersistentVolumeClaimStatus", "phase"),
    text("Volume", |object, _| object.at("spec.volumeName").into())
        .described_as("io.k8s.api.core.v1.PersistentVolumeClaimSpec", "volumeName"),
    text("Capacity", |object, _| if_bound(object, |status| quantity(status.at("capacity.storage"))).into())
        .described_as("io.k8s.api.core.v1.PersistentVolumeClaimStatus", "capacity"),
    text("Access Modes", |object, _| {
        if_bound(object, |status| access_modes(status.get("accessModes"))).into()
    })
    .described_as("io.k8s.api.core.v1.PersistentVolumeClaimStatus", "accessModes"),
    text("StorageClass", |object, _| storage_class(object).into()).described("StorageClass of the pvc"),
    text("VolumeAttributesClass", |object, _| {
        object.at("spec.volumeAttributesClassName").text_or(UNSET).into()
    })
    .described("VolumeAttributesClass of the pvc"),
    AGE,
    text("VolumeMode", |object, _| object.at("spec.volumeMode").text_or(UNSET).into())
        .described_as("io.k8s.api.core.v1.PersistentVolumeClaimSpec", "volumeMode")
        .wide(),
];

fn claim(volume: View<'_>) -> String {
    let claim = volume.at("spec.claimRef");
    if !claim.exists() {
        return String::new();
    }
    format!("{}/{}", claim.get("namespace").text(), claim.get("name").text())
}

/// Facts about the volume of a claim, once there is one.
fn if_bound(claim: View<'_>, fact: fn(View<'_>) -> String) -> String {
    if claim.at("spec.volumeName").text().is_empty() { String::new() } else { fact(claim.get("status")) }
}

/// Annotation with the storage class, from before `spec.storageClassName` existed.
const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

fn phase<'a>(object: View<'a>) -> &'a str {
    let terminating = object.at("metadata.deletionTimestamp").exists();
    if terminating { "Terminating" } else { object.at("status.phase").text() }
}

fn storage_class<'a>(object: View<'a>) -> &'a str {
    let name = object.at("spec.storageClassName").text();
    object.at("metadata.annotations").get(BETA_CLASS).text_or(name)
}

/// Returns the abbreviations in a fixed order, each once.
fn access_modes(modes: View<'_>) -> String {
    const ABBREVIATIONS: [(&str, &str); 4] = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let present = ABBREVIATIONS.iter().filter(|(mode, _)| modes.items().any(|m| m.text() == *mode));
    let abbreviations: Vec<&str> = present.map(|(_, abbreviation)| *abbreviation).collect();
    abbreviations.join(",")
}
