//! Keys of the encoded forms in a memo.

use api::resources::{Resource, StorageSpec};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// JSON without type metadata and final newline, with the resource version.
    JsonItem,
    /// Bare protobuf message with the resource version.
    Protobuf,
    /// JSON of `PartialObjectMetadata` of `meta.k8s.io/v1`, with type metadata.
    MetadataV1,
    /// JSON of `PartialObjectMetadata` of `meta.k8s.io/v1beta1`.
    MetadataV1beta1,
}

/// Returns the memo key of a form in an endpoint's version. Objects of one storage share a key only if their
/// bytes are the same.
pub(crate) fn of(endpoint: &Resource, storage: &StorageSpec, form: Form) -> u32 {
    version(endpoint, storage) << 2 | form as u32
}

/// Returns a number for the served version, below 2^24; 0 for the storage version.
pub(crate) fn version(endpoint: &Resource, storage: &StorageSpec) -> u32 {
    if endpoint.kind_group_version == storage.group_version {
        return 0;
    }
    if endpoint.message.open {
        // The first version may differ from the storage version.
        return u32::from(endpoint.custom_version).saturating_add(1);
    }
    // The name contains a major version, a stability and its version: v1, v1alpha1, v2beta3.
    let mut digits = endpoint.version.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
    let mut number = || digits.next().and_then(|text| text.parse::<u8>().ok()).unwrap_or(0);
    let major = number();
    let minor = number();
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
    fn versions_of_one_storage_have_distinct_keys() {
        let mut seen: HashMap<(&str, u32), &str> = HashMap::new();
        for row in api::resources::all() {
            let Some(storage) = &row.storage else { continue };
            let number = version(row, storage);
            assert!(number < 1 << 24);
            let earlier = seen.insert((storage.prefix, number), row.group_version);
            assert!(
                earlier.is_none_or(|earlier| earlier == row.group_version),
                "{} {earlier:?}",
                row.group_version
            );
        }
        assert!(seen.len() > 60);
    }
}
