//! Storage in an older version than the row's, because servers of an older release may share the store
//! (`--min-compatibility-version`; upstream's `emulatedStorageVersion`).
//!
//! Everything in this process still uses the row's storage version. Bytes are converted in the last step
//! before the store, and in the first step after it.

use std::collections::HashMap;

use api::resources;
use api::resources::{Resource, StorageSpec};
use bytes::Bytes;
use component_base::features::Effective;

use super::Result;
use crate::codec;

/// Storage specs that differ from the rows, by storage prefix. Usually empty.
#[derive(Debug, Default)]
pub(super) struct EmulatedStorage(HashMap<&'static str, StorageSpec<'static>>);

impl EmulatedStorage {
    /// Returns the specs of a server of these releases.
    pub(super) fn new(releases: Effective) -> Self {
        EmulatedStorage(resources::all().filter_map(|row| emulated_spec(row, releases)).collect())
    }

    /// True if the stored form differs from the row's.
    pub(super) fn differs(&self, storage: &StorageSpec) -> bool {
        self.0.contains_key(storage.prefix)
    }

    /// Converts bytes from the row's form to the stored form.
    ///
    /// # Errors
    /// 500 for bytes in another form.
    pub(super) fn convert(&self, storage: &StorageSpec, value: &Bytes) -> Result<Bytes> {
        let Some(older) = self.0.get(storage.prefix) else { return Ok(value.clone()) };
        let object = codec::decode_value(storage, value)?;
        let object = codec::to_row_version(older, object, storage.group_version);
        Ok(codec::encode(older, &object)?)
    }
}

/// Returns the spec of a resource in a server of these releases, if it differs from the row's.
fn emulated_spec(
    row: &Resource<'static>,
    releases: Effective,
) -> Option<(&'static str, StorageSpec<'static>)> {
    let storage = row.storage.filter(|storage| storage.group_version == row.group_version)?;
    let group = resources::groups().iter().find(|group| group.name == row.group)?;
    let readable = resources::storage_version(group, row.plural, releases)?;
    let version = group
        .resources
        .iter()
        .find(|of| of.group_version == readable && of.plural == row.plural && of.subresource.is_empty())?;
    let form = StorageSpec { group_version: version.group_version, message: version.message, ..storage };
    (readable != storage.group_version).then_some((storage.prefix, form))
}
