//! What is stored in an older version than its row's, because a server of an older release may be beside this
//! one (`--min-compatibility-version`; upstream's `emulatedStorageVersion`).
//!
//! Everything in this process has the shape of the row's storage version all the same: bytes are converted on
//! their last step to the store, and on their first one from it.

use std::collections::HashMap;

use api::resources;
use api::resources::{Resource, StorageSpec};
use apimachinery::status::Status;
use bytes::Bytes;
use component_base::features::Release;

use super::Result;
use crate::codec;

/// The forms that differ from those of rows, by storage prefix. None as a rule.
#[derive(Debug, Default)]
pub(super) struct EmulatedStorage(HashMap<&'static str, StorageSpec<'static>>);

impl EmulatedStorage {
    /// Those that servers of the `oldest` release can read.
    pub(super) fn beside(oldest: Release) -> Self {
        EmulatedStorage(resources::all().filter_map(|row| older(row, oldest)).collect())
    }

    /// Whether what is in the store has another form than rows say.
    pub(super) fn is_of(&self, storage: &StorageSpec) -> bool {
        self.0.contains_key(storage.prefix)
    }

    /// What to store for bytes of the row's form.
    ///
    /// # Errors
    /// 500 for bytes that are not of that form.
    pub(super) fn bytes(&self, storage: &StorageSpec, value: &Bytes) -> Result<Bytes> {
        let Some(older) = self.0.get(storage.prefix) else { return Ok(value.clone()) };
        let object = codec::decode_value(storage, value).map_err(Status::internal_error)?;
        let object = codec::in_row_version(older, object, storage.group_version);
        Ok(codec::encode(older, &object).map_err(Status::internal_error)?)
    }
}

/// The form of a resource beside servers of the `oldest` release, if its row is the one that says another.
fn older(row: &Resource<'static>, oldest: Release) -> Option<(&'static str, StorageSpec<'static>)> {
    let storage = row.storage.filter(|storage| storage.group_version == row.group_version)?;
    let group = resources::groups().iter().find(|group| group.name == row.group)?;
    let readable = resources::storage_version(group, row.plural, oldest)?;
    let version = group
        .resources
        .iter()
        .find(|of| of.group_version == readable && of.plural == row.plural && of.subresource.is_empty())?;
    let form = StorageSpec { group_version: version.group_version, message: version.message, ..storage };
    (readable != storage.group_version).then_some((storage.prefix, form))
}
