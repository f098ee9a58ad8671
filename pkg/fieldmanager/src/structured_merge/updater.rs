//! Ownership after an update or an apply.

use std::borrow::Cow;
use std::collections::BTreeMap;

use compact_str::CompactString;
use jsontree::Value;

use super::conflict::{Conflict, Conflicts};
use super::error::UpdateError;
pub use super::error::{ApplyError, ConvertError};
use super::filter::Filter;
use super::model::TypeRef;
use super::path::values_equal;
use super::reconcile::reconcile;
use super::set::Set;
use super::typed::{self, Comparison};

mod prune;

/// The fields of one manager in one version of the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionedSet {
    /// The owned fields.
    pub set: Set,
    /// The version of these fields, such as `apps/v1`.
    pub api_version: CompactString,
    /// True for an applier, false for an updater.
    pub applied: bool,
    /// True if the set differs from the caller's, so that its text must be encoded again. The updater only
    /// sets it.
    pub changed: bool,
}

/// All managers of an object, by an identity chosen by the caller.
pub type Managers = BTreeMap<String, VersionedSet>;

/// Versions of an object's kind.
pub trait Converter {
    /// Converts the object to another version. Returns `value` itself if `from` equals `to`.
    ///
    /// # Errors
    /// The version does not exist (anymore), or the conversion failed.
    fn convert<'v>(&self, value: &'v Value, from: &str, to: &str) -> Result<Cow<'v, Value>, ConvertError>;

    /// The type of objects in this version; `None` if the version does not exist.
    fn type_of(&self, api_version: &str) -> Option<TypeRef<'_>>;

    /// The fields that can be owned in this version, if not all.
    fn filter(&self, _api_version: &str) -> Option<&Filter> {
        None
    }
}

/// Computes owners, and for an apply the object. Objects must not contain managed fields; a new object's live
/// object is empty. All objects are of the version passed with them.
#[derive(Debug, Clone, Copy)]
pub struct Updater<'a, C: ?Sized>(pub &'a C);

/// The changes by version; `None` if the version does not exist.
type Changes = Vec<(CompactString, Option<Comparison>)>;

impl<C: Converter + ?Sized> Updater<'_, C> {
    /// Returns the managers after `manager` has changed `live` to `new`: it owns its changes exclusively.
    ///
    /// # Errors
    /// An object does not match its type, or cannot be converted to a manager's version.
    pub fn update(
        &self,
        live: &Value,
        new: &Value,
        version: &str,
        mut managers: Managers,
        manager: &str,
    ) -> Result<Managers, UpdateError> {
        self.reconcile(&mut managers);
        let changes = self.changes(live, new, version, &mut managers, manager)?;
        remove_ownership(&changes, &mut managers, manager);
        let (mut set, was_unchanged) = match managers.remove(manager) {
            Some(old) => {
                let unchanged = old.api_version == version && !old.applied && !old.changed;
                (old.set, unchanged)
            }
            None => (Set::new(), false),
        };
        let mut changed = !was_unchanged;
        if let Some((_, Some(change))) = changes.into_iter().next() {
            changed |= set.subtract(&change.removed);
            changed |= set.unite(change.modified);
            changed |= set.unite(change.added);
        }
        if let Some(filter) = self.0.filter(version) {
            changed |= filter.apply(&mut set);
        }
        if !set.is_empty() {
            let owner = VersionedSet { set, api_version: version.into(), applied: false, changed };
            managers.insert(manager.to_owned(), owner);
        }
        Ok(managers)
    }

    /// Applies `config`, the complete intent of `manager`: merges it into `live`, and removes fields that the
    /// manager applied before, does not apply now, and that no other manager owns. Returns the object, or
    /// `None` if it is unchanged, and the managers.
    ///
    /// # Errors
    /// Without `force`, other managers own fields that the object would change. Otherwise as for
    /// [`update`](Self::update).
    pub fn apply(
        &self,
        live: &Value,
        config: Value,
        version: &str,
        mut managers: Managers,
        manager: &str,
        force: bool,
    ) -> Result<(Option<Value>, Managers), ApplyError> {
        self.reconcile(&mut managers);
        let ty = self.type_of(version)?;
        let set = typed::field_set(&config, ty);
        let merged = typed::merge(live, config, ty)
            .map_err(|error| UpdateError::new(format!("failed to merge config: {error}")))?;
        let mut set = set.map_err(|error| UpdateError::new(format!("failed to get field set: {error}")))?;
        if let Some(filter) = self.0.filter(version) {
            filter.apply(&mut set);
        }
        let mut owner = VersionedSet { set, api_version: version.into(), applied: true, changed: false };
        let last = managers.remove(manager);
        owner.changed = last.as_ref().is_none_or(|last| *last != owner);
        managers.insert(manager.to_owned(), owner);
        let new = match last.filter(|last| !last.set.is_empty()) {
            None => merged,
            Some(last) => self
                .prune(merged, version, &managers, manager, &last)
                .map_err(|error| UpdateError::new(format!("failed to prune fields: {error}")))?,
        };
        // Changes affect only other managers. Without any, the comparison would be a second set of all fields.
        let has_others = managers.len() > 1;
        let changes = if has_others {
            self.changes(live, &new, version, &mut managers, manager)?
        } else {
            Changes::new()
        };
        if !force {
            check_conflicts(&changes, &managers, manager)?;
        }
        remove_ownership(&changes, &mut managers, manager);
        Ok(((!values_equal(live, &new)).then_some(new), managers))
    }

    fn type_of(&self, version: &str) -> Result<TypeRef<'_>, UpdateError> {
        self.0
            .type_of(version)
            .ok_or_else(|| UpdateError::new(format!("no corresponding type for {version}")))
    }

    /// Adapts all sets to the current types, and drops managers whose version no longer exists.
    fn reconcile(&self, managers: &mut Managers) {
        managers.retain(|_, managed| {
            let Some(ty) = self.0.type_of(&managed.api_version) else { return false };
            managed.changed |= reconcile(&mut managed.set, ty);
            true
        });
    }

    /// Compares the objects in `version`, which comes first, and in the versions of all managers except
    /// `acts`. Managers whose version does not exist are dropped.
    fn changes(
        &self,
        old: &Value,
        new: &Value,
        version: &str,
        managers: &mut Managers,
        acts: &str,
    ) -> Result<Changes, UpdateError> {
        let mut changes = vec![(version.into(), Some(self.compare(old, new, version)?))];
        for (_, managed) in managers.iter().filter(|(name, _)| *name != acts) {
            if changes.iter().all(|(compared, _)| *compared != managed.api_version) {
                let change = self.compare_converted(old, new, version, &managed.api_version)?;
                changes.push((managed.api_version.clone(), change));
            }
        }
        managers.retain(|name, managed| name == acts || find(&changes, managed).is_some());
        Ok(changes)
    }

    /// Compares two objects of a version, without the fields that cannot be owned in it.
    ///
    /// # Errors
    /// An object does not match its type.
    pub fn compare(&self, old: &Value, new: &Value, version: &str) -> Result<Comparison, UpdateError> {
        let mut change = typed::compare(old, new, self.type_of(version)?)
            .map_err(|error| UpdateError::new(format!("failed to compare objects: {error}")))?;
        if let Some(filter) = self.0.filter(version) {
            filter.apply(&mut change.removed);
            filter.apply(&mut change.modified);
            filter.apply(&mut change.added);
        }
        Ok(change)
    }

    /// The changes in version `to`; `None` if it does not exist.
    fn compare_converted(
        &self,
        old: &Value,
        new: &Value,
        from: &str,
        to: &str,
    ) -> Result<Option<Comparison>, UpdateError> {
        let convert = |value, label| match self.0.convert(value, from, to) {
            Ok(value) => Ok(Some(value)),
            Err(ConvertError::Missing) => Ok(None),
            Err(error) => Err(UpdateError::new(format!("failed to convert {label} object: {error}"))),
        };
        let Some(old) = convert(old, "old")? else { return Ok(None) };
        let Some(new) = convert(new, "new")? else { return Ok(None) };
        self.compare(&old, &new, to).map(Some)
    }
}

/// The changes in the version of a manager.
fn find<'c>(changes: &'c Changes, managed: &VersionedSet) -> Option<&'c Comparison> {
    let (_, change) = changes.iter().find(|(version, _)| *version == managed.api_version)?;
    change.as_ref()
}

/// Fails if an added or changed field is owned by a manager other than `acts`.
fn check_conflicts(changes: &Changes, managers: &Managers, acts: &str) -> Result<(), ApplyError> {
    let mut conflicts = Conflicts(Vec::new());
    for (name, managed) in managers.iter().filter(|(name, _)| *name != acts) {
        let Some(change) = find(changes, managed) else { continue };
        let mut fields = managed.set.intersection(&change.modified);
        fields.unite(managed.set.intersection(&change.added));
        if !fields.is_empty() {
            conflicts.0.push(Conflict { manager: name.clone(), fields });
        }
    }
    if conflicts.0.is_empty() { Ok(()) } else { Err(ApplyError::Conflicts(conflicts)) }
}

/// Removes the changed fields from all managers except `acts`, and drops managers without fields.
fn remove_ownership(changes: &Changes, managers: &mut Managers, acts: &str) {
    managers.retain(|name, managed| {
        if name != acts
            && let Some(change) = find(changes, managed)
        {
            for removed in [&change.modified, &change.added, &change.removed] {
                managed.changed |= managed.set.subtract(removed);
            }
        }
        !managed.set.is_empty()
    });
}

#[cfg(test)]
mod tests;
