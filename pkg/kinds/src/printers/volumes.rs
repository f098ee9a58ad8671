//! Rows of persistent volumes and their claims.

use super::Cell;
use super::format::{UNSET, age, quantity};
use super::view::View;
use apimachinery::time::UnixTime;

/// Names the storage class where `spec.storageClassName` came too late.
const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

pub(super) fn persistent_volume(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    let spec = object.get("spec");
    let claim = spec.get("claimRef");
    let claim = if claim.exists() {
        format!("{}/{}", claim.get("namespace").text(), claim.get("name").text())
    } else {
        String::new()
    };
    vec![
        object.name(),
        quantity(spec.at("capacity.storage")).into(),
        access_modes(spec.get("accessModes")).into(),
        spec.get("persistentVolumeReclaimPolicy").into(),
        phase(object).into(),
        claim.into(),
        storage_class(object).into(),
        spec.get("volumeAttributesClassName").text_or(UNSET).into(),
        object.at("status.reason").into(),
        age(object, now),
        spec.get("volumeMode").text_or(UNSET).into(),
    ]
}

pub(super) fn persistent_volume_claim(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    let (spec, status) = (object.get("spec"), object.get("status"));
    let volume = spec.get("volumeName").text();
    let (capacity, modes) = match volume {
        "" => (String::new(), String::new()),
        _ => (quantity(status.at("capacity.storage")), access_modes(status.get("accessModes"))),
    };
    vec![
        object.name(),
        phase(object).into(),
        volume.into(),
        capacity.into(),
        modes.into(),
        storage_class(object).into(),
        spec.get("volumeAttributesClassName").text_or(UNSET).into(),
        age(object, now),
        spec.get("volumeMode").text_or(UNSET).into(),
    ]
}

fn phase<'a>(object: View<'a>) -> &'a str {
    let terminating = object.at("metadata.deletionTimestamp").exists();
    if terminating { "Terminating" } else { object.at("status.phase").text() }
}

fn storage_class<'a>(object: View<'a>) -> &'a str {
    let name = object.at("spec.storageClassName").text();
    object.at("metadata.annotations").get(BETA_CLASS).text_or(name)
}

/// Abbreviations in a fixed order, each once.
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
