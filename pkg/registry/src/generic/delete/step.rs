//! Steps of a deletion, computed only from the object and the options.

use api::options::{DeleteOptions, Preconditions};
use api::resources::DefaultGc;
use apimachinery::gvk::GroupResource;
use apimachinery::status::Status;
use apimachinery::time::UnixTime;
use schema::object::Object;

use super::super::{Result, Target};
use crate::meta;
use kinds::strategy;

/// Finalizer that makes the garbage collector orphan dependents.
const ORPHAN: &str = "orphan";
/// Finalizer that makes the garbage collector delete dependents first.
const FOREGROUND: &str = "foregroundDeletion";

/// Stage of an object in its deletion.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stage {
    /// The object is terminating, and this deletion changes nothing. Respond as its kind does.
    Terminating,
    /// The object is in a kind-specific deletion. The response is the object.
    TerminatingSpecially,
    /// A kind-specific deletion starts.
    StartSpecial,
    /// The deletion must continue.
    Continue(Grace),
}

/// Change of an object's remaining grace period.
#[derive(Debug, Clone, Copy)]
pub(super) enum Grace {
    /// No grace period, or it has expired.
    None,
    /// A grace period of this many seconds starts.
    Start(i64),
    /// The grace period is shortened to `seconds` and ends at `end` in Unix seconds.
    Shorten { end: i64, seconds: i64 },
}

pub(super) enum Step {
    Remove,
    /// Write this and stop, because another condition must be met first.
    Mark(Object),
    /// Write this with a grace period of zero, then remove it.
    MarkAndRemove(Object),
}

impl Stage {
    pub(super) fn of(target: &Target<'_>, object: &Object, options: &DeleteOptions, now: UnixTime) -> Self {
        match strategy::special_delete(target.resource, object) {
            Some(strategy::SpecialDelete::Begin) => return Stage::StartSpecial,
            Some(strategy::SpecialDelete::Leave) => return Stage::TerminatingSpecially,
            None => {}
        }
        match (strategy::grace_period(target.resource, object, options), meta::is_deleting(object)) {
            (None, _) => Stage::Continue(Grace::None),
            (Some(seconds), false) => Stage::Continue(Grace::Start(seconds)),
            (Some(_), true) => shorten_grace(object, now.seconds, options.grace_period_seconds),
        }
    }

    /// Returns the options for admission, with the kind's grace period.
    pub(super) fn complete_options(
        self,
        target: &Target<'_>,
        object: &Object,
        options: &DeleteOptions,
    ) -> DeleteOptions {
        let mut filled = options.clone();
        filled.grace_period_seconds = match self {
            Stage::Continue(Grace::Start(seconds)) => Some(seconds),
            _ => options.grace_period_seconds.map(|seconds| if seconds < 0 { 1 } else { seconds }),
        };
        if strategy::checks_preconditions_early(target.resource) {
            let preconditions = filled.preconditions.get_or_insert_with(Preconditions::default);
            preconditions.uid.get_or_insert_with(|| meta::text(object, "uid").to_owned());
        }
        filled
    }
}

/// A second deletion can only shorten the grace period of the first.
fn shorten_grace(object: &Object, now: i64, requested: Option<i64>) -> Stage {
    let current = meta::integer(object, "deletionGracePeriodSeconds").unwrap_or(0);
    if current == 0 {
        return Stage::Continue(Grace::None);
    }
    let requested = match requested {
        Some(seconds) if seconds < 0 => 1,
        Some(seconds) => seconds,
        None => return Stage::Terminating,
    };
    if requested >= current {
        return Stage::Terminating;
    }
    let start = meta::deletion_seconds(object).unwrap_or(now).saturating_sub(current);
    let end = start.saturating_add(requested);
    Stage::Continue(if end < now {
        Grace::Shorten { end: now, seconds: i64::from(requested != 0) }
    } else {
        Grace::Shorten { end, seconds: requested }
    })
}

/// First step of a kind-specific deletion.
pub(super) fn start_special(
    target: &Target<'_>,
    mut object: Object,
    options: &DeleteOptions,
    now: UnixTime,
) -> Step {
    strategy::begin_special_delete(target.resource, &mut object, now);
    set_gc_finalizers(target, &mut object, options);
    Step::Mark(object)
}

/// Step of any other deletion.
pub(super) fn step(
    target: &Target<'_>,
    mut object: Object,
    grace: Grace,
    options: &DeleteOptions,
    now: UnixTime,
) -> Step {
    let deadline = match grace {
        Grace::None => None,
        Grace::Start(seconds) => {
            let generation = meta::generation(&object);
            if generation > 0 {
                meta::set_generation(&mut object, generation + 1);
            }
            Some((now.seconds.saturating_add(seconds), seconds))
        }
        Grace::Shorten { end, seconds } => Some((end, seconds)),
    };
    if let Some((end, seconds)) = deadline {
        meta::set_deletion_seconds(&mut object, end);
        meta::set(&mut object, "deletionGracePeriodSeconds", Some(seconds.into()));
    }
    set_gc_finalizers(target, &mut object, options);
    let pending = !meta::finalizers(&object).is_empty();
    match (deadline, pending) {
        (None, false) => Step::Remove,
        (None, true) => {
            meta::mark_as_deleting(&mut object, now);
            Step::Mark(object)
        }
        (Some(_), true) => Step::Mark(object),
        (Some((_, seconds)), false) if seconds > 0 => Step::Mark(object),
        (Some(_), false) => Step::MarkAndRemove(object),
    }
}

/// Sets the finalizers for the garbage collector.
fn set_gc_finalizers(target: &Target<'_>, object: &mut Object, options: &DeleteOptions) {
    if let Some(finalizers) = gc_finalizers(target.resource.default_gc, object, options) {
        meta::set_finalizers(object, finalizers);
    }
}

/// Returns the finalizers for the propagation policy, if they differ from the current ones.
fn gc_finalizers(default: DefaultGc, object: &Object, options: &DeleteOptions) -> Option<Vec<String>> {
    let present = meta::finalizers(object);
    let is_present = |name: &str| present.contains(&name);
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
    if is_present(ORPHAN) == orphan && is_present(FOREGROUND) == foreground {
        return None;
    }
    let others = present.iter().filter(|f| !matches!(**f, ORPHAN | FOREGROUND)).map(|f| (*f).to_owned());
    let added = [(orphan, ORPHAN), (foreground, FOREGROUND)];
    Some(
        others
            .chain(added.iter().filter(|(included, _)| *included).map(|(_, name)| (*name).to_owned()))
            .collect(),
    )
}

/// Plural of CRDs.
const DEFINITIONS: &str = "customresourcedefinitions";

/// Checks the uid and resource version in the client's preconditions (upstream's `rest.BeforeDelete`).
/// Namespaces and CRDs check them earlier, with a different text.
pub(super) fn check_preconditions(
    target: &Target<'_>,
    options: &DeleteOptions,
    object: &Object,
) -> Result<()> {
    let Some(preconditions) = &options.preconditions else { return Ok(()) };
    let early = strategy::checks_preconditions_early(target.resource);
    let named = if early {
        target.group_resource()
    } else {
        let kind = target.group_kind();
        GroupResource::new(kind.group, kind.kind)
    };
    let checks = [
        ("UID", "uid", &preconditions.uid, "deleted and then recreated"),
        ("ResourceVersion", "resourceVersion", &preconditions.resource_version, "modified"),
    ];
    for (label, member, required, fate) in checks {
        let actual = meta::text(object, member);
        let Some(required) = required.as_deref().filter(|required| *required != actual) else { continue };
        let cause = if early {
            let failed = if target.resource.plural == DEFINITIONS { "precondition" } else { "Precondition" };
            format!("{failed} failed: {label} in precondition: {required}, {label} in object meta: {actual}")
        } else {
            format!(
                "the {label} in the precondition ({required}) does not match the {label} in record ({actual}). \
             The object might have been {fate}"
            )
        };
        return Err(Status::conflict(&named, target.name, &cause).into());
    }
    Ok(())
}
