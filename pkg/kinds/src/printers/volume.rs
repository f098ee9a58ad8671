//! Cells that persistent volumes and their claims share.

use api::table::view::View;

/// Annotation with the storage class, from before `spec.storageClassName` existed.
const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

pub(crate) fn phase<'a>(object: View<'a>) -> &'a str {
    let terminating = object.get_path("metadata.deletionTimestamp").exists();
    if terminating { "Terminating" } else { object.get_path("status.phase").text() }
}

pub(crate) fn storage_class<'a>(object: View<'a>) -> &'a str {
    let name = object.get_path("spec.storageClassName").text();
    object.get_path("metadata.annotations").get(BETA_CLASS).text_or(name)
}

/// Returns the abbreviations in a fixed order, each once.
pub(crate) fn access_modes(modes: View<'_>) -> String {
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
