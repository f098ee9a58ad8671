//! Objects that cannot be decoded (KEP-3926, the gate `AllowUnsafeMalformedObjectDeletion`): errors that
//! identify them, and their deletion.

use std::fmt::Write as _;

use api::resources::StorageSpec;
use apimachinery::status::{Cause, Details, Reason, Status};
use cacher::{Damage, Element, Scope};
use component_base::features::Gate;
use component_base::weakened::WeakenedKind;
use storage::PutResult;

use super::update::AttemptError;
use super::{Registry, Result, StoredResource, Target, error};
use crate::codec::StoredRef;

/// Maximum number of concurrent writes by others during a deletion. After each one the object is checked
/// again, because it may have become readable.
const ATTEMPTS_MAX: usize = 100;
/// Maximum number of objects in the error of one list (upstream's value).
const LISTED_MAX: usize = 100;

impl Registry {
    /// Returns the error for an object that could not be read. With the gate enabled, the text states that
    /// the object can be deleted unread.
    pub(super) fn get_failed(
        &self,
        target: &Target<'_>,
        storage: &StorageSpec<'_>,
        failure: cacher::Error,
    ) -> Box<Status> {
        let resource = target.group_resource();
        self.report_undecryptable(&failure);
        match failure {
            cacher::Error::Corrupt { key, message, damage, revision } if self.marks_corrupt() => {
                let prefix = self.stored(storage).map(|stored| stored.resource.config().prefix.clone());
                let name = prefix.ok().and_then(|prefix| key.strip_prefix(&prefix).map(str::to_owned));
                let path = format!("/{}/{}", storage.prefix, name.unwrap_or_default());
                Status::internal_error(damage_text(&path, damage, revision, &message)).into()
            }
            failure => error::read(&resource, "get", failure),
        }
    }

    /// Returns the error of a failed update. Unlike a read, an update of an object that cannot be decrypted does not
    /// report the key. A dry run reads the object first, as upstream does.
    pub(super) fn update_failed(
        &self,
        target: &Target<'_>,
        storage: &StorageSpec<'_>,
        dry_run: bool,
        failure: AttemptError,
    ) -> Box<Status> {
        match failure {
            AttemptError::Storage(storage::Error::Unreadable { key, message }) if self.marks_corrupt() => {
                let damage = Damage::Undecryptable;
                if dry_run {
                    let message = message.to_string();
                    let failure = cacher::Error::Corrupt { key, message, damage, revision: 0 };
                    return self.get_failed(target, storage, failure);
                }
                tracing::error!(key, %message, "stored object cannot be decrypted");
                Status::internal_error(damage_reason(damage, 0, &message)).into()
            }
            failure => failure.status(target, "update"),
        }
    }

    /// Returns the error for an object that could not be deleted. Upstream reads it first, which fails.
    pub(super) async fn delete_failed(&self, target: &Target<'_>, failure: Box<Status>) -> Box<Status> {
        if failure.code != 500 || !self.marks_corrupt() {
            return failure;
        }
        self.get(target, "").await.err().unwrap_or(failure)
    }

    /// Returns the error for a failed list. With the gate enabled, it lists the objects that cannot be
    /// decoded.
    pub(super) async fn list_failed(
        &self,
        target: &Target<'_>,
        stored: &StoredResource,
        scope: &Scope,
        failure: cacher::Error,
    ) -> Box<Status> {
        let resource = target.group_resource();
        self.report_undecryptable(&failure);
        if !matches!(failure, cacher::Error::Corrupt { .. }) || !self.marks_corrupt() {
            return error::read(&resource, "list", failure);
        }
        let unreadable = self.delegator.unreadable(&stored.resource, &scope.prefix, LISTED_MAX).await;
        let mut causes: Vec<Cause> = match &unreadable {
            Ok(unreadable) => {
                unreadable.iter().take(LISTED_MAX).filter_map(|element| cause(element)).collect()
            }
            Err(_) => return error::read(&resource, "list", failure),
        };
        // Without a cause, the objects have become readable meanwhile.
        let Some(first) = causes.first() else { return error::read(&resource, "list", failure) };
        let mut message =
            format!("failed to read one or more {resource} from the storage: {}", first.message);
        if causes.len() > 1 {
            let _ = write!(message, " (and {} more)", causes.len() - 1);
        }
        if causes.len() == LISTED_MAX {
            let message = "too many errors, the list is truncated".to_owned();
            causes.push(Cause { reason: "FieldValueTooMany".to_owned(), message, ..Cause::default() });
        }
        tracing::error!(objects = causes.len(), "{message}");
        let group = target.resource.group.to_owned();
        let kind = target.resource.plural.to_owned();
        let details = Details { name: "list".to_owned(), group, kind, causes, ..Details::default() };
        Status::failure(500, Reason::StorageReadError, message).with_details(details).into()
    }

    /// Deletes an object that cannot be decoded, without regard to finalizers and dependents, which are
    /// unknown. As in upstream, any failure to decrypt or decode it counts, even a temporary one. With
    /// `dry_run` it only checks that the object cannot be decoded.
    ///
    /// # Errors
    /// 404 for a missing object, 409 for a readable one; storage errors.
    pub async fn delete_corrupt(&self, target: &Target<'_>, dry_run: bool) -> Result<Status> {
        let storage = self.storage_of(target, "delete")?;
        let key = self.key(storage, target)?;
        let (store, _) = self.writer();
        let failed = |error| error::storage(&target.group_resource(), "delete", error);
        for _ in 0..ATTEMPTS_MAX {
            let Some(stored) = store.get(&key).await.map_err(failed)?.kv else {
                return Err(Status::not_found(&target.group_resource(), target.name).into());
            };
            let is_readable =
                stored.readable().is_ok() && self.decode(storage, &key, StoredRef::of(&stored)).is_ok();
            if is_readable {
                return Err(readable_error(target, &key));
            }
            if dry_run {
                return Ok(deleted_status(target));
            }
            tracing::warn!(key, "deleting an object that cannot be read");
            match store.delete(&key, stored.mod_revision).await.map_err(failed)? {
                PutResult::Done(_) | PutResult::Stale { current: None, .. } => {
                    return Ok(deleted_status(target));
                }
                PutResult::Stale { .. } => {}
            }
        }
        Err(failed(storage::Error::Unavailable(format!("{key} changed on every attempt"))))
    }

    /// Records the failure of a read, if an object that cannot be decrypted caused it. The cache records other
    /// unreadable objects.
    fn report_undecryptable(&self, failure: &cacher::Error) {
        if let cacher::Error::Corrupt { key, message, damage: Damage::Undecryptable, .. } = failure {
            self.weakened.record(WeakenedKind::UnreadableElement, key, message);
        }
    }

    /// Returns the error for a write of an object that cannot be decoded. The key is only logged.
    pub(super) fn undecodable(&self, key: &str, revision: i64, message: &str) -> Box<Status> {
        let failure = error::corrupt(key, message);
        if self.marks_corrupt() {
            return Status::unmapped(damage_reason(Damage::Malformed, revision, message)).into();
        }
        failure
    }

    fn marks_corrupt(&self) -> bool {
        self.gates().enabled(Gate::AllowUnsafeMalformedObjectDeletion)
    }
}

/// Describes the damage of an object in the wording of upstream's storage errors.
fn damage_text(key: &str, damage: Damage, revision: i64, message: &str) -> String {
    let reason = damage_reason(damage, revision, message);
    format!(
        "StorageError: corrupt object, Code: 7, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {reason}"
    )
}

fn damage_reason(damage: Damage, revision: i64, message: &str) -> String {
    let (text, revision) = match damage {
        Damage::Undecryptable => ("data from the storage is not transformable", 0),
        Damage::Malformed | Damage::Unserved => ("object not decodable", revision),
    };
    format!("{text} revision={revision}: {message}")
}

/// Returns the cause for an element that cannot be decoded.
fn cause(element: &Element) -> Option<Cause> {
    let (damage, message) = element.damage()?;
    Some(Cause {
        reason: "UnexpectedServerResponse".to_owned(),
        message: damage_text(element.key(), damage, element.revision(), message),
        field: element.key().to_owned(),
    })
}

/// Returns the error for an object that can be deleted normally.
fn readable_error(target: &Target<'_>, key: &str) -> Box<Status> {
    let cause = format!(
        "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: unsafe \
         deletion is not allowed because the object is decodable from storage"
    );
    Status::conflict(&target.group_resource(), target.name, &cause).into()
}

/// Only the name of the object is known. Other deletions report no code.
fn deleted_status(target: &Target<'_>) -> Status {
    let name = target.name.to_owned();
    let kind = target.resource.kind.to_owned();
    let mut status = Status::success(Details { name, kind, ..Details::default() });
    status.code = 200;
    status
}
