//! DELETE of one object: at once, after a grace period, or when the last finalizer is gone.

use api::options::DeleteOptions;
use api::resources::{DefaultGc, Storage as StorageRow};
use apimachinery::gvk::GroupResource;
use apimachinery::status::{Details, Status};
use schema::object::Object;
use storage::{KeyValue, Storage, Written};

use super::dryrun::DryRun;
use super::{Registry, Result, Target, error};
use crate::{Stored, codec, meta, strategy};

/// The finalizer that makes the garbage collector orphan dependents.
const ORPHAN: &str = "orphan";
/// The finalizer that makes the garbage collector delete dependents first.
const FOREGROUND: &str = "foregroundDeletion";

/// Lost races before a deletion is given up; each lost race means that somebody else made progress.
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

impl Registry {
    /// Deletes an object.
    ///
    /// # Errors
    /// 404, 409 for preconditions that do not hold, what admission says, storage's failures.
    pub async fn delete(&self, target: &Target<'_>, request: &DeleteRequest<'_>) -> Result<DeleteOutcome> {
        let storage = self.storage_of(target, "delete")?;
        let key = self.key(storage, target)?;
        let resource = target.group_resource();
        let dry = DryRun(self.delegator.storage().clone());
        let store: &dyn Storage = if request.dry_run { &dry } else { &**self.delegator.storage() };
        let failed = |e| error::storage(&resource, "delete", e);
        let mut current = store.get(&key).await.map_err(failed)?.kv;
        for _ in 0..ATTEMPTS_MAX {
            let Some(kv) = current else {
                return Err(Status::not_found(&resource, target.name).into());
            };
            let stored = Stored { key: kv.key.clone(), value: kv.value.clone(), revision: kv.mod_revision };
            let existing = self.decode(storage, &key, stored.as_ref())?;
            check_preconditions(target, request.options, &existing)?;
            match self.step(target, request.options, existing.clone()) {
                Step::Leave => return Ok(self.answer(target, &existing, stored, false)),
                Step::Remove => match store.delete(&key, kv.mod_revision).await.map_err(failed)? {
                    Written::Done(revision) => return Ok(self.gone(target, &existing, kv, revision)),
                    Written::Stale { current: now, .. } => current = now,
                },
                Step::Mark(marked) => match self.write(target, store, storage, &kv, marked).await? {
                    Ok(stored) => return Ok(DeleteOutcome::Object { stored, gone: false }),
                    Err(now) => current = now,
                },
                Step::MarkAndRemove(marked) => {
                    match self.write(target, store, storage, &kv, marked.clone()).await? {
                        Ok(stored) => {
                            let deleted = store.delete(&key, stored.revision).await.map_err(failed)?;
                            match deleted {
                                Written::Done(revision) => {
                                    let kv = KeyValue { value: stored.value, ..kv };
                                    return Ok(self.gone(target, &marked, kv, revision));
                                }
                                Written::Stale { current: now, .. } => current = now,
                            }
                        }
                        Err(now) => current = now,
                    }
                }
            }
        }
        Err(failed(storage::Error::Unavailable(format!("{key} changed on every attempt"))))
    }

    /// Writes a marked object over `kv`; `Err` holds what is there instead.
    async fn write(
        &self,
        target: &Target<'_>,
        store: &dyn Storage,
        storage: &StorageRow,
        kv: &KeyValue,
        mut object: Object,
    ) -> Result<std::result::Result<Stored, Option<KeyValue>>> {
        codec::strip_revision(&mut object);
        let value = codec::encode(storage, &object).map_err(Status::internal_error)?;
        let written = store.put(&kv.key, value.clone(), kv.mod_revision, self.ttl(target.row)).await;
        Ok(match written.map_err(|e| error::storage(&target.group_resource(), "delete", e))? {
            Written::Done(revision) => Ok(Stored { key: kv.key.clone(), value, revision }),
            Written::Stale { current, .. } => Err(current),
        })
    }

    fn gone(&self, target: &Target<'_>, object: &Object, kv: KeyValue, revision: i64) -> DeleteOutcome {
        self.answer(target, object, Stored { key: kv.key, value: kv.value, revision }, true)
    }

    /// The object or a Status, as the kind answers.
    fn answer(&self, target: &Target<'_>, object: &Object, stored: Stored, gone: bool) -> DeleteOutcome {
        if target.row.returns_deleted_object {
            return DeleteOutcome::Object { stored, gone };
        }
        DeleteOutcome::Status(Status::success(Details {
            name: meta::text(object, "name").to_owned(),
            group: target.row.group.to_owned(),
            kind: target.row.plural.to_owned(),
            uid: meta::text(object, "uid").to_owned(),
            ..Details::default()
        }))
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
        false => GroupResource::new(target.row.group, target.row.kind),
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
