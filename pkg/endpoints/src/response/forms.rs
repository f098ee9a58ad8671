//! The numbers of encoded forms, under which a memo keeps them.

use api::resources::{Resource, StorageSpec};

/// A form of one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// JSON without type and final newline, with the resource version.
    JsonItem,
    /// A bare protobuf message with the resource version.
    Protobuf,
    /// `PartialObjectMetadata` of `meta.k8s.io/v1` in JSON, with its type.
    MetadataV1,
    /// The same of `v1beta1`.
    MetadataV1beta1,
}

/// The number of a form in an endpoint's version. Objects of one storage never share a number unless
/// their bytes are the same.
pub(crate) fn of(endpoint: &Resource, storage: &StorageSpec, form: Form) -> u32 {
    version(endpoint, storage) << 2 | form as u32
}

/// A number for the version that an endpoint serves a stored kind in, below 2^24; 0 for the storage
/// version.
pub(crate) fn version(endpoint: &Resource, storage: &StorageSpec) -> u32 {
    if endpoint.kind_group_version == storage.group_version {
        return 0;
    }
    if endpoint.message.open {
        // The first version may be another than the stored one.
        return u32::from(endpoint.custom_version).saturating_add(1);
    }
    // Version, stability and its version: v1, v1alpha1, v2beta3.
    let mut digits = endpoint.version.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
    let mut number = || digits.next().and_then(|text| text.parse::<u8>().ok()).unwrap_or(0);
    let (major, minor) = (number(), number());
    let stability = match () {
        () if endpoint.version.contains("alpha") => 1,
        () if endpoint.version.contains("beta") => 2,
        () => 3,
    };
    u32::from(major) << 16 | stability << 8 | u32::from(minor)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn versions_of_one_storage_have_numbers_of_their_own() {
        let mut seen: HashMap<(&str, u32), &str> = HashMap::new();
        for row in api::resources::all() {
            let Some(storage) = &row.storage else { continue };
            let number = version(row, storage);
            assert!(number < 1 << 24);
            let other = seen.insert((storage.prefix, number), row.group_version);
            assert!(other.is_none_or(|other| other == row.group_version), "{} {other:?}", row.group_version);
        }
        assert!(seen.len() > 60);
    }
}
