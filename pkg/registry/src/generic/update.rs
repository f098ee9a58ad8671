//! PUT and PATCH: change what is there, or create it where the kind allows.

use api::managed_fields::ignore_timestamps;
use api::resources::{Resource, Storage as StorageRow};
use api::warnings;
use apimachinery::field;
use apimachinery::gvk::GroupKind;
use apimachinery::status::{OPTIMISTIC_LOCK, Status};
use apimachinery::user_info::UserInfo;
use schema::object::Object;
use storage::{KeyValue, Update, Updated};

use super::dryrun::DryRun;
use super::{Registry, Result, Target, error};
use crate::{Stored, StoredRef, codec, meta, strategy};

/// Makes the new object of the current one, which is `None` when there is none. May run several times,
/// each time on a newer state.
pub type Change<'c> = dyn FnMut(Option<&Object>) -> Result<Object> + Send + 'c;

/// What to do to an object.
pub struct UpdateRequest<'a> {
    /// The row of the endpoint: the resource itself or one of its subresources.
    pub endpoint: &'static Resource,
    /// The uid that the client believes the object to have; empty for no opinion.
    pub uid: String,
    /// Who asks, in case the object is created.
    pub user: &'a UserInfo,
    /// Check everything, write nothing.
    pub dry_run: bool,
    /// Create the object when it is missing even if its kind does not ordinarily allow that.
    pub force_allow_create: bool,
}

/// How an update ended.
pub struct UpdateOutcome {
    /// The object as it is now; for one that was deleted by losing its last finalizer, as it was.
    pub stored: Stored,
    /// It did not exist before.
    pub created: bool,
    /// What its kind warns of.
    pub warnings: Vec<String>,
}

/// What one attempt leaves behind for the answer.
#[derive(Default)]
struct Attempt {
    value: bytes::Bytes,
    created: bool,
    existing_revision: i64,
    warnings: Vec<String>,
}

impl Registry {
    /// Applies `change` to the current object (`None` when there is none), any number of times until
    /// the result is written on top of exactly what it was computed from.
    ///
    /// # Errors
    /// 404, 409 (stale version, wrong uid), 422, whatever `change` or admission says.
    pub async fn update(
        &self,
        target: &Target<'_>,
        request: &UpdateRequest<'_>,
        change: &mut Change<'_>,
    ) -> Result<UpdateOutcome> {
        let storage = self.storage_of(target, "update")?;
        let key = self.key(storage, target)?;
        let dry = DryRun::of(&self.delegator);
        let (store, turns) = if request.dry_run { dry.writer() } else { self.writer() };
        let mut attempt = Attempt::default();
        let suggestion = self.suggestion(storage, &key)?;
        let outcome = turns.guaranteed_update(store, &key, suggestion, |current| {
            self.attempt(target, storage, &key, request, current, change, &mut attempt)
        });
        let updated = outcome.await.map_err(|failure| failure.status(target, "update"))?;
        let revision = match updated {
            Updated::Written(revision) | Updated::Unchanged(revision) => revision,
            Updated::Deleted(_) => attempt.existing_revision,
        };
        let Attempt { value, created, warnings, .. } = attempt;
        Ok(UpdateOutcome { stored: Stored { key, value, revision }, created, warnings })
    }

    #[allow(clippy::too_many_arguments)]
    fn attempt(
        &self,
        target: &Target<'_>,
        storage: &StorageRow,
        key: &str,
        request: &UpdateRequest<'_>,
        current: Option<&KeyValue>,
        change: &mut Change<'_>,
        attempt: &mut Attempt,
    ) -> std::result::Result<Update, Failure> {
        let existing = match current {
            None => None,
            Some(kv) => Some(self.decode(storage, key, StoredRef::of(kv))?),
        };
        let old = existing.as_ref();
        check_uid(target, key, request, old)?;
        if old.is_none() && !target.row.allow_create_on_update && !request.force_allow_create {
            return Err(Status::not_found(&target.group_resource(), target.name).into());
        }
        let mut object = change(old)?;
        attempt.created = old.is_none();
        attempt.existing_revision = current.map_or(0, |kv| kv.mod_revision);
        let deletes = match old {
            None => {
                attempt.warnings = self.prepare_create(target, &mut object, request.user)?;
                false
            }
            Some(old) => {
                check_version(target, &mut object, old)?;
                let (user, now) = (request.user, self.clock.now());
                let context = strategy::Context { user, now, entropy: &*self.entropy };
                strategy::prepare_for_update(request.endpoint, target.row, &mut object, old, &context);
                let errors = strategy::validate_update(request.endpoint, target.row, &object, old);
                if !errors.is_empty() {
                    let name = meta::text(&object, "name");
                    return Err(Status::invalid(&target.group_kind(), name, &errors).into());
                }
                attempt.warnings =
                    warnings::on_update(target.row, request.endpoint.subresource, &object, old);
                ignore_timestamps(storage.message, old, &mut object);
                strategy::deletes_on_update(target.row, &object, old)
            }
        };
        codec::strip_revision(&mut object);
        attempt.value = codec::encode(storage, &object).map_err(Status::internal_error)?;
        Ok(match deletes {
            true => Update::Delete,
            false => Update::Write(attempt.value.clone(), self.ttl(target.row)),
        })
    }
}

/// A uid in the body that is not the object's is a precondition that fails.
fn check_uid(
    target: &Target<'_>,
    key: &str,
    request: &UpdateRequest<'_>,
    old: Option<&Object>,
) -> Result<()> {
    // An object that does not exist has an empty uid: who names one never creates it again.
    let found = old.map_or("", |old| meta::text(old, "uid"));
    if request.uid.is_empty() || found == request.uid {
        return Ok(());
    }
    let cause = format!(
        "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: \
         Precondition failed: UID in precondition: {}, UID in object meta: {found}",
        request.uid
    );
    Err(Status::conflict(&target.group_resource(), target.name, &cause).into())
}

/// The resource version in the body must be the object's, or absent where the kind allows that.
fn check_version(target: &Target<'_>, object: &mut Object, old: &Object) -> Result<()> {
    let given = super::revision(meta::text(object, "resourceVersion"))
        .map_err(|e| Status::unmapped(e.detail().to_owned()))?;
    if given == 0 {
        if target.row.allow_unconditional_update {
            meta::set_text(object, "resourceVersion", meta::text(old, "resourceVersion"));
            return Ok(());
        }
        let kind = GroupKind::new(target.row.group, target.row.plural);
        let path = field::Path::root("metadata");
        let path = path.child("resourceVersion");
        let error = field::Error::invalid(&path, 0, "must be specified for an update");
        return Err(Status::invalid(&kind, target.name, &[error]).into());
    }
    if meta::text(old, "resourceVersion") != given.to_string() {
        return Err(Status::conflict(&target.group_resource(), target.name, OPTIMISTIC_LOCK).into());
    }
    Ok(())
}

/// Why an attempt failed; storage's own failures get their resource later.
pub(super) enum Failure {
    Status(Box<Status>),
    Storage(storage::Error),
}

impl Failure {
    /// What the client is told.
    pub(super) fn status(self, target: &Target<'_>, operation: &str) -> Box<Status> {
        match self {
            Failure::Status(status) => status,
            Failure::Storage(e) => error::storage(&target.group_resource(), operation, e),
        }
    }
}

impl From<Box<Status>> for Failure {
    fn from(status: Box<Status>) -> Self {
        Failure::Status(status)
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        Failure::Status(status.into())
    }
}

impl From<storage::Error> for Failure {
    fn from(error: storage::Error) -> Self {
        Failure::Storage(error)
    }
}
