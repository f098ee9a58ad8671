//! Managed fields of a written object, on plain values: upstream's chain of managers as one function per
//! verb. Independent of trees and storage; a [`Converter`] converts objects to other versions.

use crate::structured_merge::conflict::Conflict;
use crate::structured_merge::model::TypeRef;
use crate::structured_merge::typed::{self, Duplicates};
use crate::structured_merge::updater::{ApplyError, Converter, Updater};
use crate::structured_merge::{PathElement, Set};
use apimachinery::status::Status;
use apimachinery::time::UnixTime;
use jsontree::Value;

use super::cap::cap_updaters;
use super::entries::{Managed, Operation, Origin};
use super::error::Error;
use super::versions::kind_text;
use super::{ApplyOptions, conflict, last_applied};

mod same_owners;

/// Placeholder for the manager of an update until the changed fields are known.
const CURRENT: &str = "current-operation";
/// Owner of all existing fields when an object without managed fields is applied to.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Metadata fields without an owner, in addition to `apiVersion`, `kind` and `metadata` itself.
const UNOWNED_METADATA: [&str; 9] = [
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
];

/// Endpoint properties that managed fields depend on.
pub(super) struct Engine<'a> {
    pub(super) converter: &'a dyn Converter,
    /// `apiVersion` and kind of the endpoint's objects.
    pub(super) api_version: &'a str,
    pub(super) kind: &'a str,
    pub(super) subresource: &'a str,
    /// Result of [`unowned`], computed once.
    pub(super) unowned: &'a Set,
    /// Empty object of the kind.
    pub(super) empty: &'a Value,
    /// Result of [`ServedVersion::rejects_merged`](super::versions::ServedVersion::rejects_merged).
    pub(super) rejects_merged: bool,
}

/// Returns the paths that no manager owns.
pub(super) fn unowned() -> Set {
    let mut set = Set::new();
    for name in ["apiVersion", "kind", "metadata"] {
        set.insert(&[PathElement::field(name)]);
    }
    for name in UNOWNED_METADATA {
        set.insert(&["metadata", name].map(PathElement::field));
    }
    set
}

impl Engine<'_> {
    /// Computes the owners after `writer` has updated `live` to `new`, both in the endpoint's version.
    ///
    /// # Errors
    /// Upstream's text; the object then loses its managed fields.
    pub(super) fn update(
        &self,
        live: &Value,
        new: &Value,
        managed: Managed,
        writer: Origin,
    ) -> Result<Managed, Error> {
        let ty = self.type_of()?;
        for (value, label) in [(new, "new"), (live, "live")] {
            typed::validate(value, ty, Duplicates::Allow).map_err(|error| {
                let name = self.name(value);
                Error::Failed(format!("failed to convert {label} object ({name}) to smd typed: {error}"))
            })?;
        }
        let Managed { sets, mut origins } = managed;
        let mut sets =
            Updater(self.converter).update(live, new, self.api_version, sets, CURRENT).map_err(|error| {
                Error::Failed(format!("failed to update ManagedFields ({}): {error}", self.name(new)))
            })?;
        if let Some(mut changed) = sets.remove(CURRENT) {
            changed.set.subtract(self.unowned);
            if !changed.set.is_empty() {
                let identifier = writer.identifier();
                if let Some(previous) = sets.remove(&identifier) {
                    changed.set.unite(previous.set);
                    changed.changed = true;
                }
                sets.insert(identifier.clone(), changed);
                origins.insert(identifier, writer);
            }
        }
        let mut managed = Managed { sets, origins };
        cap_updaters(&mut managed);
        Ok(managed)
    }

    /// Applies `patch` to `live`. The value is `None` if nothing changed, except possibly owners. The patch
    /// is consumed. If it may have to be applied twice, `again` is a copy of it.
    ///
    /// # Errors
    /// See [`Error`].
    pub(super) fn apply(
        &self,
        live: &Value,
        patch: Value,
        again: Option<&Value>,
        managed: Managed,
        options: ApplyOptions<'_>,
    ) -> Result<(Option<Value>, Managed), Error> {
        self.check_kind(&patch)?;
        let managed = self.begin_tracking(live, managed, options.now)?;
        if patch.pointer("/metadata/managedFields").is_some_and(Value::is_array) {
            let status = Status::bad_request("metadata.managedFields must be nil");
            return Err(Error::Status(Box::new(status)));
        }
        let ty = self.type_of()?;
        typed::validate(&patch, ty, Duplicates::Reject).map_err(|error| {
            Error::Failed(format!("failed to create typed patch object ({}): {error}", self.name(&patch)))
        })?;
        typed::validate(live, ty, Duplicates::Allow).map_err(|error| {
            Error::Failed(format!("failed to create typed live object ({}): {error}", self.name(live)))
        })?;

        // Only a conflict needs the managers again, and a forced apply has none.
        let before = if options.force { Managed::default() } else { managed.clone() };
        match self.merge(live, patch, managed, options) {
            Ok(applied) => Ok(applied),
            Err(ApplyError::Failed(error)) => Err(error.into()),
            Err(ApplyError::Conflicts(conflicts)) => {
                let conflicts = self.remaining_conflicts(live, ty, conflicts.0, options.manager);
                let Some(patch) = again.filter(|_| conflicts.is_empty()) else {
                    return Err(Error::Status(conflict::status(&conflicts, &before)));
                };
                let forced = ApplyOptions { force: true, ..options };
                self.merge(live, patch.clone(), before, forced).map_err(|error| match error {
                    ApplyError::Failed(error) => error.into(),
                    ApplyError::Conflicts(_) => Error::Failed("a forced apply has conflicts".to_owned()),
                })
            }
        }
    }

    /// Makes one attempt to apply.
    fn merge(
        &self,
        live: &Value,
        patch: Value,
        managed: Managed,
        options: ApplyOptions<'_>,
    ) -> Result<(Option<Value>, Managed), ApplyError> {
        let origin = self.origin(options.manager, Operation::Apply, None);
        let identifier = origin.identifier();
        let Managed { sets, mut origins } = managed;
        let (value, mut sets) =
            Updater(self.converter).apply(live, patch, self.api_version, sets, &identifier, options.force)?;
        if let Some(new_set) = sets.get_mut(&identifier) {
            new_set.changed |= new_set.set.subtract(self.unowned);
            if new_set.set.is_empty() {
                sets.remove(&identifier);
            }
        }
        // An apply without changes keeps the time of the previous apply, if there was one.
        let origin = origins.entry(identifier).or_insert(origin);
        if value.is_some() {
            origin.time = Some(options.now);
        }
        Ok((value, Managed { sets, origins }))
    }

    /// The first apply to an object without managed fields assigns all existing fields to one manager.
    fn begin_tracking(&self, live: &Value, managed: Managed, now: UnixTime) -> Result<Managed, Error> {
        if !managed.sets.is_empty() {
            return Ok(managed);
        }
        let tracked = if self.rejects_merged {
            Err(self.unconvertible("live", self.empty))
        } else {
            self.update(self.empty, live, managed, self.updater(BEFORE_FIRST_APPLY, now))
        };
        tracked
            .map_err(|error| Error::Failed(format!("failed to create manager for existing fields: {error}")))
    }

    /// Returns the remaining conflicts when `kubectl` takes over from client-side apply.
    fn remaining_conflicts(
        &self,
        live: &Value,
        ty: TypeRef<'_>,
        mut conflicts: Vec<Conflict>,
        manager: &str,
    ) -> Vec<Conflict> {
        if manager == last_applied::KUBECTL
            && let Some(owned) = last_applied::owned_fields(live, ty)
        {
            conflicts.retain_mut(|conflict| {
                conflict.fields.subtract(&owned);
                !conflict.fields.is_empty()
            });
        }
        conflicts
    }

    fn check_kind(&self, patch: &Value) -> Result<(), Error> {
        let text = |name: &str| patch.get(name).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = match text("apiVersion") {
            malformed if malformed.matches('/').count() > 1 => ("", ""),
            api_version => (api_version, text("kind")),
        };
        if (api_version, kind) == (self.api_version, self.kind) {
            return Ok(());
        }
        let type_text = kind_text(api_version, kind);
        Err(Error::Status(Box::new(Status::bad_request(format!("invalid object type: {type_text}")))))
    }

    /// Returns the origin of an update. An empty name of the manager becomes `unknown`.
    pub(super) fn updater(&self, manager: &str, now: UnixTime) -> Origin {
        self.origin(manager, Operation::Update, Some(now))
    }

    fn origin(&self, manager: &str, operation: Operation, time: Option<UnixTime>) -> Origin {
        let manager = if manager.is_empty() { "unknown" } else { manager };
        Origin {
            manager: manager.to_owned(),
            operation,
            api_version: self.api_version.to_owned(),
            subresource: self.subresource.to_owned(),
            time,
            written: None,
        }
    }

    fn type_of(&self) -> Result<TypeRef<'_>, Error> {
        self.converter.type_of(self.api_version).ok_or_else(|| {
            Error::Failed(format!("no corresponding type for {}", kind_text(self.api_version, self.kind)))
        })
    }

    /// Error for an object that a merge created and that cannot be converted.
    pub(super) fn unconvertible(&self, label: &str, object: &Value) -> Error {
        Error::Failed(format!(
            "failed to convert {label} object ({}) to proper version: request to convert CR to an invalid \
             group/version: {}",
            self.name(object),
            self.api_version
        ))
    }

    /// Returns the name of an object in upstream's errors.
    pub(super) fn name(&self, value: &Value) -> String {
        let text = |path: &str| value.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let kind = kind_text(self.api_version, self.kind);
        format!("{}/{}; {kind}", text("/metadata/namespace"), text("/metadata/name"))
    }
}
