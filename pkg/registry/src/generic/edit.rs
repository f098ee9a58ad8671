//! Changes that the server itself makes to an object for a request about something else. They skip the kind's
//! strategy and admission, like upstream's subresources that call `GuaranteedUpdate` directly.

use api::options::Preconditions;
use apimachinery::status::Status;
use schema::object::Object;
use storage::{KeyValue, Update, UpdateResult};

use super::dryrun::DryRun;
use super::{Registry, Result, Target};
use crate::{StoredObject, StoredRef, codec, meta};

/// Edits the current object in place. May run several times, each time with a newer state.
pub type Edit<'e> = dyn FnMut(&mut Object) -> Result<()> + Send + 'e;

impl Registry {
    /// Edits an object that meets the preconditions. Retries until the result replaces exactly the state that
    /// it was computed from.
    ///
    /// # Errors
    /// 404, 409 for failed preconditions, the error of `edit`, storage errors.
    pub async fn edit(
        &self,
        target: &Target<'_>,
        preconditions: &Preconditions,
        dry_run: bool,
        edit: &mut Edit<'_>,
    ) -> Result<StoredObject> {
        let storage = self.storage_of(target, "update")?;
        let key = self.key(storage, target)?;
        let dry = DryRun::of(&self.delegator);
        let (store, queues) = if dry_run { dry.writer() } else { self.writer() };
        let suggestion = self.suggestion(storage, &key)?;
        let key_in_errors = self.key_in_errors(storage, &key, dry_run)?;
        let mut value = bytes::Bytes::new();
        let outcome = queues.guaranteed_update(store, &key, suggestion, |current: Option<&KeyValue>| {
            let Some(kv) = current else {
                return Err(Status::not_found(&target.group_resource(), target.name).into());
            };
            let mut object = self.decode(storage, &kv.key, StoredRef::of(kv))?;
            check(target, &key_in_errors, preconditions, &object)?;
            edit(&mut object)?;
            codec::strip_revision(&mut object);
            value = codec::encode(storage, &object)?;
            Ok(Update::Write(self.emulated_storage.convert(storage, &value)?, self.ttl(target.resource)))
        });
        let updated = outcome.await.map_err(|error| self.update_failed(target, storage, dry_run, error))?;
        let (UpdateResult::Written(revision)
        | UpdateResult::Deleted(revision)
        | UpdateResult::Unchanged(revision)) = updated;
        Ok(StoredObject { key, value, revision })
    }
}

/// Checks preconditions with the error texts of storage.
fn check(target: &Target<'_>, key: &str, preconditions: &Preconditions, object: &Object) -> Result<()> {
    let checks = [
        ("UID", "uid", &preconditions.uid),
        ("ResourceVersion", "resourceVersion", &preconditions.resource_version),
    ];
    for (label, member, required) in checks {
        let actual = meta::text(object, member);
        let Some(required) = required.as_deref().filter(|required| *required != actual) else { continue };
        let cause = format!(
            "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: \
             Precondition failed: {label} in precondition: {required}, {label} in object meta: {actual}"
        );
        return Err(Status::conflict(&target.group_resource(), target.name, &cause).into());
    }
    Ok(())
}
