//! DELETE of one object: immediately, after a grace period, or after its last finalizer was removed.

mod step;

use std::borrow::Cow;

use api::options::DeleteOptions;
use api::resources::StorageSpec;
use apimachinery::status::{Details, Status};
use bytes::Bytes;
use schema::object::Object;
use storage::{KeyValue, PutResult, Update, UpdateResult};

use super::dryrun::DryRun;
use super::update::AttemptError;
use super::{Admit, Registry, Result, Target, error};
use crate::{StoredObject, codec, meta};
use step::{Stage, Step};

/// Maximum number of conflicts between marking and removing; after each one, another writer has made
/// progress.
const ATTEMPTS_MAX: usize = 1_000;

/// Parameters of a delete.
pub struct DeleteRequest<'a> {
    /// Validated options of the client.
    pub options: &'a DeleteOptions,
    /// True to check everything and write nothing.
    pub dry_run: bool,
    /// Admission of the request.
    pub admit: &'a dyn Admit,
}

/// Result of a delete.
pub enum DeleteOutcome {
    /// The object is removed or terminating.
    Object {
        /// The removed object, or its current state.
        stored: StoredObject,
        /// True if the object is removed.
        gone: bool,
    },
    /// The object is removed, and its kind returns a Status.
    Status(Status),
}

/// Plan of a deletion for one state of the object.
struct DeletePlan {
    name: String,
    uid: String,
    /// Bytes of the response; if the object is marked, the marked state.
    value: Bytes,
    continuation: DeleteContinuation,
}

/// Continuation of a deletion after the write of [`DeletePlan`].
enum DeleteContinuation {
    /// The object was unchanged or removed; respond as its kind does.
    Respond,
    /// The object remains and is the response.
    RespondWithObject,
    /// The object was marked as given here and can be removed now.
    Remove(Object),
}

/// Deletion, which may need several attempts.
struct Deletion<'a> {
    registry: &'a Registry,
    target: &'a Target<'a>,
    storage: &'a StorageSpec<'a>,
    request: &'a DeleteRequest<'a>,
    /// True if admission gets the options with the kind's grace period. For a collection it gets the original
    /// options.
    fills_options: bool,
    plan: Option<DeletePlan>,
}

impl Registry {
    /// Deletes an object.
    ///
    /// # Errors
    /// 404, 409 for failed preconditions, rejections by admission, storage errors.
    pub async fn delete(&self, target: &Target<'_>, request: &DeleteRequest<'_>) -> Result<DeleteOutcome> {
        let storage = self.storage_of(target, "delete")?;
        let suggestion = self.suggestion(storage, &self.key(storage, target)?)?;
        match self.delete_suggested(target, request, suggestion, true).await {
            Ok(outcome) => Ok(outcome),
            Err(failure) => Err(self.delete_failed(target, failure).await),
        }
    }

    /// Deletes an object, starting from a possibly outdated state.
    pub(super) async fn delete_suggested(
        &self,
        target: &Target<'_>,
        request: &DeleteRequest<'_>,
        mut suggestion: Option<KeyValue>,
        fills_options: bool,
    ) -> Result<DeleteOutcome> {
        let storage = self.storage_of(target, "delete")?;
        let key = self.key(storage, target)?;
        let dry = DryRun::of(&self.delegator);
        let (store, queues) = if request.dry_run { dry.writer() } else { self.writer() };
        let mut deletion = Deletion { registry: self, target, storage, request, fills_options, plan: None };
        for _ in 0..ATTEMPTS_MAX {
            let updated = queues.guaranteed_update(store, &key, suggestion.take(), &mut deletion);
            let updated = updated.await.map_err(|error: AttemptError| error.status(target, "delete"))?;
            let Some(DeletePlan { name, uid, value, continuation }) = deletion.plan.take() else { break };
            let (UpdateResult::Written(revision)
            | UpdateResult::Deleted(revision)
            | UpdateResult::Unchanged(revision)) = updated;
            let mut stored = StoredObject { key: key.clone(), value, revision };
            let is_gone = match continuation {
                DeleteContinuation::RespondWithObject => {
                    return Ok(DeleteOutcome::Object { stored, gone: false });
                }
                DeleteContinuation::Respond => matches!(updated, UpdateResult::Deleted(_)),
                DeleteContinuation::Remove(marked) => {
                    deletion.admit_removal(marked, revision).await?;
                    match store.delete(&key, revision).await {
                        Ok(PutResult::Done(revision)) => {
                            stored.revision = revision;
                            true
                        }
                        // Another client was faster, which counts as success (kubernetes/kubernetes#19403).
                        Ok(PutResult::Stale { current: None, .. }) => true,
                        Ok(PutResult::Stale { current, .. }) => {
                            suggestion = current;
                            continue;
                        }
                        Err(e) => return Err(error::storage(&target.group_resource(), "delete", e)),
                    }
                }
            };
            if is_gone {
                self.release(storage, &stored, request.dry_run).await;
            }
            return Ok(outcome(target, name, uid, stored, is_gone));
        }
        let error = storage::Error::Unavailable(format!("{key} changed on every attempt"));
        Err(error::storage(&target.group_resource(), "delete", error))
    }

    /// Releases the allocations of a removed object.
    pub(super) async fn release(&self, storage: &StorageSpec<'_>, removed: &StoredObject, dry_run: bool) {
        let Some(allocator) = self.allocator(storage.prefix) else { return };
        // Repair controllers handle an object that cannot be decoded.
        if let Ok(object) = self.decode(storage, &removed.key, removed.as_ref()) {
            allocator.release(&object, dry_run).await;
        }
    }
}

impl storage::Change<AttemptError> for &mut Deletion<'_> {
    /// Preconditions are checked before admission, and admission runs before any change. A terminating object
    /// is not subject to admission.
    async fn change(&mut self, current: Option<&KeyValue>) -> std::result::Result<Update, AttemptError> {
        let target = self.target;
        let options = self.request.options;
        let Some(kv) = current else {
            return Err(Status::not_found(&target.group_resource(), target.name).into());
        };
        let existing = self.registry.decode_current(target, self.storage, kv).await?;
        step::check_preconditions(target, options, &existing)?;
        let now = self.registry.now();
        let stage = Stage::of(target, &existing, options, now);
        let name = meta::text(&existing, "name").to_owned();
        let uid = meta::text(&existing, "uid").to_owned();
        let response_object = self.requested_form(kv, &existing)?;
        let step = match stage {
            Stage::Terminating => {
                return Ok(self.plan_unchanged(response_object, name, uid, DeleteContinuation::Respond));
            }
            Stage::TerminatingSpecially => {
                return Ok(self.plan_unchanged(
                    response_object,
                    name,
                    uid,
                    DeleteContinuation::RespondWithObject,
                ));
            }
            Stage::StartSpecial => {
                self.admit(&existing, stage).await?;
                step::start_special(target, existing, options, now)
            }
            Stage::Continue(grace) => {
                self.admit(&existing, stage).await?;
                step::step(target, existing, grace, options, now)
            }
        };
        let (mut marked, is_last) = match step {
            Step::Remove => {
                self.plan_unchanged(response_object, name, uid, DeleteContinuation::Respond);
                return Ok(Update::Delete);
            }
            Step::Mark(marked) => (marked, false),
            Step::MarkAndRemove(marked) => (marked, true),
        };
        codec::strip_revision(&mut marked);
        let value = codec::encode(self.storage, &marked)?;
        let written = self.registry.to_store(target, self.storage, &marked, &value).await?;
        let continuation =
            if is_last { DeleteContinuation::Remove(marked) } else { DeleteContinuation::RespondWithObject };
        self.plan = Some(DeletePlan { name, uid, value, continuation });
        Ok(Update::Write(written, self.registry.ttl(target.resource)))
    }
}

impl Deletion<'_> {
    /// Plans a response with the object as it was read.
    fn plan_unchanged(
        &mut self,
        value: Bytes,
        name: String,
        uid: String,
        continuation: DeleteContinuation,
    ) -> Update {
        self.plan = Some(DeletePlan { name, uid, value, continuation });
        Update::Keep
    }

    /// Returns the bytes of the object as it was read, in the version of the request.
    fn requested_form(&self, kv: &KeyValue, existing: &Object) -> Result<Bytes> {
        if !self.storage.custom.is_some_and(|kind| kind.converts_by_webhook) {
            return Ok(codec::reader_form(self.storage, kv.value.clone(), self.registry.gates()));
        }
        let mut object = existing.clone();
        codec::strip_revision(&mut object);
        Ok(codec::encode(self.storage, &object)?)
    }

    /// Runs admission for the object as it was read.
    async fn admit(&self, existing: &Object, stage: Stage) -> Result<()> {
        let DeleteRequest { options, admit, .. } = self.request;
        let options = if self.fills_options {
            Cow::Owned(stage.complete_options(self.target, existing, options))
        } else {
            Cow::Borrowed(*options)
        };
        admit.delete(existing, &options).await
    }

    /// Runs admission again for a marked object before its removal, because it has changed. With `dry_run` it
    /// has not changed.
    async fn admit_removal(&self, mut marked: Object, revision: i64) -> Result<()> {
        if self.request.dry_run {
            return Ok(());
        }
        meta::set_text(&mut marked, "resourceVersion", &codec::revision_text(revision));
        self.admit(&marked, Stage::Continue(step::Grace::Start(0))).await
    }
}

/// Returns the object or a Status, as its kind does.
fn outcome(
    target: &Target<'_>,
    name: String,
    uid: String,
    stored: StoredObject,
    gone: bool,
) -> DeleteOutcome {
    if target.resource.returns_deleted_object {
        return DeleteOutcome::Object { stored, gone };
    }
    let group = target.resource.group.to_owned();
    let kind = target.resource.plural.to_owned();
    DeleteOutcome::Status(Status::success(Details { name, uid, group, kind, ..Details::default() }))
}
