//! DELETE of one object: at once, after a grace period, or when the last finalizer is gone.

use api::options::DeleteOptions;
use api::resources::{DefaultGc, Storage as StorageRow};
use apimachinery::gvk::GroupResource;
use apimachinery::status::{Details, Status};
use bytes::Bytes;
use schema::object::Object;
use storage::{KeyValue, Update, Updated, Written};

use super::dryrun::DryRun;
use super::update::Failure;
use super::{Registry, Result, Target, error};
use crate::{Stored, StoredRef, codec, meta, strategy};

/// The finalizer that makes the garbage collector orphan dependents.
const ORPHAN: &str = "orphan";
/// The finalizer that makes the garbage collector delete dependents first.
const FOREGROUND: &str = "foregroundDeletion";

/// Races lost between marking and removing before a deletion is given up; each lost race means that
/// somebody else made progress.
const ATTEMPTS_MAX: usize = 1_000;

/// What to delete and how.
pub struct DeleteRequest<'a> {
    /// The client's options, already validated.
    pub options: &'a DeleteOptions,
    /// Check everything, write nothing.
    pub dry_run: bool,
}

/// How a deletion ended.
pub enum DeleteOutcome {
    /// The object is gone, or on its way; this is it.
    Object {
        /// The object as it was, or as it is now.
        stored: Stored,
        /// Whether it is gone.
        gone: bool,
    },
    /// The object is gone; its kind answers with a Status.
    Status(Status),
}

/// What to do with the object as it is now.
enum Step {
    /// Remove it.
    Remove,
    /// Write this and stop: something else has to happen first.
    Mark(Object),
    /// Write this (its grace is zero), then remove it.
    MarkAndRemove(Object),
    /// It is already on its way.
    Leave,
}

/// What one look at the object leads to.
struct Planned {
    name: String,
    uid: String,
    /// The bytes that are answered: as marked, where the object is marked.
    value: Bytes,
    then: Then,
}

/// How the deletion goes on when the write of [`Planned`] is done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    /// The object was left alone or removed.
    Answer,
    /// It was marked.
    Marked,
    /// It was marked and can be removed now.
    Removable,
}

impl Registry {
    /// Deletes an object.
    ///
    /// # Errors
    /// 404, 409 for preconditions that do not hold, what admission says, storage's failures.
    pub async fn delete(&self, target: &Target<'_>, request: &DeleteRequest<'_>) -> Result<DeleteOutcome> {
        let storage = self.storage_of(target, "delete")?;
        let suggestion = self.suggestion(storage, &self.key(storage, target)?)?;
        self.delete_suggested(target, request, suggestion).await
    }

    /// Deletes an object, beginning with what it may look like.
    pub(super) async fn delete_suggested(
        &self,
        target: &Target<'_>,
        request: &DeleteRequest<'_>,
        mut suggestion: Option<KeyValue>,
    ) -> Result<DeleteOutcome> {
        let storage = self.storage_of(target, "delete")?;
        let key = self.key(storage, target)?;
        let dry = DryRun::of(&self.delegator);
        let (store, turns) = if request.dry_run { dry.writer() } else { self.writer() };
        for _ in 0..ATTEMPTS_MAX {
            let mut planned = None;
            let updated =
                turns.guaranteed_update(store, &key, suggestion.take(), |current: Option<&KeyValue>| {
                    let (update, plan) = self.plan(target, storage, request.options, current)?;
                    planned = Some(plan);
                    Ok(update)
                });
            let updated = updated.await.map_err(|failure: Failure| failure.status(target, "delete"))?;
            let Some(Planned { name, uid, value, then }) = planned else { break };
            let (Updated::Written(revision) | Updated::Deleted(revision) | Updated::Unchanged(revision)) =
                updated;
            let mut stored = Stored { key: key.clone(), value, revision };
            let gone = match then {
                Then::Marked => return Ok(DeleteOutcome::Object { stored, gone: false }),
                Then::Answer => matches!(updated, Updated::Deleted(_)),
                Then::Removable => match store.delete(&key, revision).await {
                    Ok(Written::Done(revision)) => {
                        stored.revision = revision;
                        true
                    }
                    // Somebody else was faster, which is as good (kubernetes/kubernetes#19403).
                    Ok(Written::Stale { current: None, .. }) => true,
                    Ok(Written::Stale { current, .. }) => {
                        suggestion = current;
                        continue;
                    }
                    Err(e) => return Err(error::storage(&target.group_resource(), "delete", e)),
                },
            };
            if gone {
                self.release(storage, &stored, request.dry_run).await;
            }
            return Ok(answer(target, name, uid, stored, gone));
        }
        let error = storage::Error::Unavailable(format!("{key} changed on every attempt"));
        Err(error::storage(&target.group_resource(), "delete", error))
    }

    /// Gives back what an object held that is gone.
    pub(super) async fn release(&self, storage: &StorageRow<'_>, gone: &Stored, dry_run: bool) {
        let Some(allocator) = self.allocator(storage.prefix) else { return };
        // One that cannot be read any more is for those who repair the pools.
        if let Ok(object) = self.decode(storage, &gone.key, gone.as_ref()) {
            allocator.release(&object, dry_run).await;
        }
    }

    /// What to do about the object as it is now.
    fn plan(
        &self,
        target: &Target<'_>,
        storage: &StorageRow<'_>,
        options: &DeleteOptions,
        current: Option<&KeyValue>,
    ) -> std::result::Result<(Update, Planned), Failure> {
        let Some(kv) = current else {
            return Err(Status::not_found(&target.group_resource(), target.name).into());
        };
        let existing = self.decode(storage, &kv.key, StoredRef::of(kv))?;
        check_preconditions(target, options, &existing)?;
        let (name, uid) = (meta::text(&existing, "name").to_owned(), meta::text(&existing, "uid").to_owned());
        let (mut marked, then) = match self.step(target, options, existing) {
            Step::Mark(marked) => (marked, Then::Marked),
            Step::MarkAndRemove(marked) => (marked, Then::Removable),
            step => {
                let update = if matches!(step, Step::Remove) { Update::Delete } else { Update::Keep };
                let value = kv.value.clone();
                return Ok((update, Planned { name, uid, value, then: Then::Answer }));
            }
        };
        codec::strip_revision(&mut marked);
        let value = codec::encode(storage, &marked).map_err(Status::internal_error)?;
        let update = Update::Write(value.clone(), self.ttl(target.row));
        Ok((update, Planned { name, uid, value, then }))
    }

    /// Decides from the object alone; pure but for the clock.
    fn step(&self, target: &Target<'_>, options: &DeleteOptions, mut object: Object) -> Step {
        let now = self.clock.now();
        if let Some(step) = strategy::special_delete(target.row, &mut object, now) {
            return match step {
                strategy::SpecialDelete::Mark => {
                    if let Some(finalizers) = gc_finalizers(target.row.default_gc, &object, options) {
                        meta::set_finalizers(&mut object, finalizers);
                    }
                    Step::Mark(object)
                }
                strategy::SpecialDelete::Leave => Step::Leave,
            };
        }
        let grace = strategy::grace_period(target.row, &object, options);
        let (graceful, period) = match (grace, meta::is_deleting(&object)) {
            (None, _) => (false, 0),
            (Some(period), false) => {
                begin_grace(&mut object, now.seconds, period);
                (true, period)
            }
            (Some(_), true) => match shorten_grace(&mut object, now.seconds, options.grace_period_seconds) {
                Shortened::Over => (false, 0),
                Shortened::Pending => return Step::Leave,
                Shortened::To(period) => (true, period),
            },
        };
        if let Some(finalizers) = gc_finalizers(target.row.default_gc, &object, options) {
            meta::set_finalizers(&mut object, finalizers);
        }
        let pending = !meta::finalizers(&object).is_empty();
        match (graceful, pending) {
            (false, false) => Step::Remove,
            (false, true) => {
                meta::mark_as_deleting(&mut object, now);
                Step::Mark(object)
            }
            (true, true) => Step::Mark(object),
            (true, false) if period > 0 => Step::Mark(object),
            (true, false) => Step::MarkAndRemove(object),
        }
    }
}

/// The object or a Status, as the kind answers.
fn answer(target: &Target<'_>, name: String, uid: String, stored: Stored, gone: bool) -> DeleteOutcome {
    if target.row.returns_deleted_object {
        return DeleteOutcome::Object { stored, gone };
    }
    let (group, kind) = (target.row.group.to_owned(), target.row.plural.to_owned());
    DeleteOutcome::Status(Status::success(Details { name, uid, group, kind, ..Details::default() }))
}

/// Marks the object for deletion after `period` seconds.
fn begin_grace(object: &mut Object, now: i64, period: i64) {
    meta::set_deletion_seconds(object, now.saturating_add(period));
    meta::set(object, "deletionGracePeriodSeconds", Some(period.into()));
    let generation = meta::generation(object);
    if generation > 0 {
        meta::set_generation(object, generation + 1);
    }
}

enum Shortened {
    /// The grace period is over.
    Over,
    /// It runs on.
    Pending,
    /// It was shortened to so many seconds.
    To(i64),
}

/// A second deletion may only shorten the grace period of the first.
fn shorten_grace(object: &mut Object, now: i64, wanted: Option<i64>) -> Shortened {
    let current = meta::integer(object, "deletionGracePeriodSeconds").unwrap_or(0);
    if current == 0 {
        return Shortened::Over;
    }
    let wanted = match wanted {
        Some(seconds) if seconds < 0 => 1,
        Some(seconds) => seconds,
        None => return Shortened::Pending,
    };
    if wanted >= current {
        return Shortened::Pending;
    }
    let begun = meta::deletion_seconds(object).unwrap_or(now).saturating_sub(current);
    let (mut ends, mut period) = (begun.saturating_add(wanted), wanted);
    if ends < now {
        ends = now;
        period = i64::from(period != 0);
    }
    meta::set_deletion_seconds(object, ends);
    meta::set(object, "deletionGracePeriodSeconds", Some(period.into()));
    Shortened::To(period)
}

/// The finalizers that the propagation policy asks for, if they differ from what is there.
fn gc_finalizers(default: DefaultGc, object: &Object, options: &DeleteOptions) -> Option<Vec<String>> {
    let present = meta::finalizers(object);
    let had = |name: &str| present.contains(&name);
    let policy = options.propagation_policy.as_deref();
    let (orphan, foreground) = match (default, options.orphan_dependents, policy) {
        (DefaultGc::Unsupported, _, _) => (false, false),
        (_, Some(orphan), _) => (orphan, false),
        (_, None, Some("Orphan")) => (true, false),
        (_, None, Some("Foreground")) => (false, true),
        (_, None, Some(_)) => (false, false),
        (_, None, None) => match present.iter().find(|f| matches!(**f, ORPHAN | FOREGROUND)) {
            Some(first) => (*first == ORPHAN, *first == FOREGROUND),
            None => (default == DefaultGc::OrphanDependents, false),
        },
    };
    if had(ORPHAN) == orphan && had(FOREGROUND) == foreground {
        return None;
    }
    let others = present.iter().filter(|f| !matches!(**f, ORPHAN | FOREGROUND)).map(|f| (*f).to_owned());
    let ours = [(orphan, ORPHAN), (foreground, FOREGROUND)];
    Some(
        others.chain(ours.iter().filter(|(wanted, _)| *wanted).map(|(_, name)| (*name).to_owned())).collect(),
    )
}

/// The uid and resource version that the client insists on (upstream's `rest.BeforeDelete`; namespaces
/// and CRDs check before that, and word it differently).
fn check_preconditions(target: &Target<'_>, options: &DeleteOptions, object: &Object) -> Result<()> {
    let Some(preconditions) = &options.preconditions else { return Ok(()) };
    let early = strategy::checks_preconditions_early(target.row);
    let named = match early {
        true => target.group_resource(),
        false => {
            let kind = target.group_kind();
            GroupResource::new(kind.group, kind.kind)
        }
    };
    let checks = [
        ("UID", "uid", &preconditions.uid, "deleted and then recreated"),
        ("ResourceVersion", "resourceVersion", &preconditions.resource_version, "modified"),
    ];
    for (what, member, wanted, fate) in checks {
        let found = meta::text(object, member);
        let Some(wanted) = wanted.as_deref().filter(|wanted| *wanted != found) else { continue };
        let cause = match early {
            true => {
                format!(
                    "Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}"
                )
            }
            false => format!(
                "the {what} in the precondition ({wanted}) does not match the {what} in record ({found}). \
                 The object might have been {fate}"
            ),
        };
        return Err(Status::conflict(&named, target.name, &cause).into());
    }
    Ok(())
}
