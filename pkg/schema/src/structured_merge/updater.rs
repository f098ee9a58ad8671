//! Who owns what after an object has been written or a configuration applied.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::{self, Display};

use compact_str::CompactString;
use jsontree::Value;

use super::conflict::{Conflict, Conflicts};
use super::filter::Filter;
use super::model::TypeRef;
use super::path::values_equal;
use super::reconcile::reconcile;
use super::set::Set;
use super::typed::{self, Comparison};

mod prune;

/// What one manager owns, in the terms of one version of the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionedSet {
    /// The fields.
    pub set: Set,
    /// The version that has these fields, such as `apps/v1`.
    pub api_version: CompactString,
    /// Whether the manager applies; otherwise it updates.
    pub applied: bool,
    /// Whether this differs from what the caller had read, so that its text must be written anew. The
    /// updater only ever sets it.
    pub changed: bool,
}

/// All managers of an object, by an identity of the caller's choice.
pub type Managers = BTreeMap<String, VersionedSet>;

/// What the updater has to know of the versions of an object's kind.
pub trait Converter {
    /// The object in another version. Where `from` is `to`, that is `value` itself.
    ///
    /// # Errors
    /// The version does not exist (any more), or the conversion failed.
    fn convert<'v>(&self, value: &'v Value, from: &str, to: &str) -> Result<Cow<'v, Value>, ConvertError>;

    /// The type of objects in this version; `None` if the version does not exist.
    fn type_of(&self, api_version: &str) -> Option<TypeRef<'_>>;

    /// Which fields count in this version, if not all.
    fn filter(&self, _api_version: &str) -> Option<&Filter> {
        None
    }
}

/// Why an object cannot be had in another version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConvertError {
    /// There is no such version. Managers that own fields of it are forgotten.
    Missing,
    /// The conversion failed.
    Failed(String),
}

impl Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConvertError::Missing => f.write_str("no such version"),
            ConvertError::Failed(text) => f.write_str(text),
        }
    }
}

/// Why a configuration was not applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApplyError {
    /// Others own what it would change.
    Conflicts(Conflicts),
    /// Something else, in upstream's words.
    Failed(String),
}

impl From<String> for ApplyError {
    fn from(text: String) -> Self {
        ApplyError::Failed(text)
    }
}

/// Computes owners, and for an apply the object. Objects carry no managed fields; before its creation
/// an object is empty. All objects given are of the version that is given with them.
#[derive(Debug, Clone, Copy)]
pub struct Updater<'a, C: ?Sized>(pub &'a C);

/// What changes in the terms of one version; `None` if the version does not exist.
type Changes = Vec<(CompactString, Option<Comparison>)>;

impl<C: Converter + ?Sized> Updater<'_, C> {
    /// The managers after `manager` has turned `live` into `new`: it owns what it has changed, and
    /// nobody else does.
    ///
    /// # Errors
    /// An object is not of its type, or cannot be converted to the version of a manager.
    pub fn update(
        &self,
        live: &Value,
        new: &Value,
        version: &str,
        mut managers: Managers,
        manager: &str,
    ) -> Result<Managers, String> {
        self.reconcile(&mut managers);
        let changes = self.changes(live, new, version, &mut managers, manager)?;
        remove_ownership(&changes, &mut managers, manager);
        let (mut set, had) = match managers.remove(manager) {
            Some(old) => {
                let same = old.api_version == version && !old.applied && !old.changed;
                (old.set, same)
            }
            None => (Set::new(), false),
        };
        let mut changed = !had;
        if let Some((_, Some(own))) = changes.into_iter().next() {
            changed |= set.subtract(&own.removed);
            changed |= set.unite(own.modified);
            changed |= set.unite(own.added);
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

    /// Applies `config`, which is all that `manager` wants of the object: merges it into `live` and
    /// takes out what the manager has applied before, does not apply now, and nobody else owns.
    /// Returns the object, or `None` if it stays as it is, and the managers.
    ///
    /// # Errors
    /// Without `force`, the object would change in fields that others own. Otherwise as
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
        let merged =
            typed::merge(live, config, ty).map_err(|error| format!("failed to merge config: {error}"))?;
        let mut set = set.map_err(|error| format!("failed to get field set: {error}"))?;
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
                .map_err(|error| format!("failed to prune fields: {error}"))?,
        };
        let changes = self.changes(live, &new, version, &mut managers, manager)?;
        if !force {
            check_conflicts(&changes, &managers, manager)?;
        }
        remove_ownership(&changes, &mut managers, manager);
        Ok(((!values_equal(live, &new)).then_some(new), managers))
    }

    fn type_of(&self, version: &str) -> Result<TypeRef<'_>, String> {
        self.0.type_of(version).ok_or_else(|| format!("no corresponding type for {version}"))
    }

    /// Fits all sets to the types of today and forgets managers whose version is gone.
    fn reconcile(&self, managers: &mut Managers) {
        managers.retain(|_, managed| {
            let Some(ty) = self.0.type_of(&managed.api_version) else { return false };
            managed.changed |= reconcile(&mut managed.set, ty);
            true
        });
    }

    /// Compares the objects in `version`, which comes first, and in the versions of all managers but
    /// the one that `acts`. Managers whose version is gone are forgotten.
    fn changes(
        &self,
        old: &Value,
        new: &Value,
        version: &str,
        managers: &mut Managers,
        acts: &str,
    ) -> Result<Changes, String> {
        let mut changes = vec![(version.into(), Some(self.compare(old, new, version)?))];
        for (_, managed) in managers.iter().filter(|(name, _)| *name != acts) {
            if changes.iter().all(|(known, _)| *known != managed.api_version) {
                let change = self.compare_converted(old, new, version, &managed.api_version)?;
                changes.push((managed.api_version.clone(), change));
            }
        }
        managers.retain(|name, managed| name == acts || find(&changes, managed).is_some());
        Ok(changes)
    }

    fn compare(&self, old: &Value, new: &Value, version: &str) -> Result<Comparison, String> {
        let mut change = typed::compare(old, new, self.type_of(version)?)
            .map_err(|error| format!("failed to compare objects: {error}"))?;
        if let Some(filter) = self.0.filter(version) {
            filter.apply(&mut change.removed);
            filter.apply(&mut change.modified);
            filter.apply(&mut change.added);
        }
        Ok(change)
    }

    /// What changes in the terms of version `to`; `None` if it does not exist.
    fn compare_converted(
        &self,
        old: &Value,
        new: &Value,
        from: &str,
        to: &str,
    ) -> Result<Option<Comparison>, String> {
        let convert = |value, what| match self.0.convert(value, from, to) {
            Ok(value) => Ok(Some(value)),
            Err(ConvertError::Missing) => Ok(None),
            Err(ConvertError::Failed(text)) => Err(format!("failed to convert {what} object: {text}")),
        };
        let Some(old) = convert(old, "old")? else { return Ok(None) };
        let Some(new) = convert(new, "new")? else { return Ok(None) };
        self.compare(&old, &new, to).map(Some)
    }
}

/// What changes in the version of a manager.
fn find<'c>(changes: &'c Changes, managed: &VersionedSet) -> Option<&'c Comparison> {
    let (_, change) = changes.iter().find(|(version, _)| *version == managed.api_version)?;
    change.as_ref()
}

/// Fails if a field that is added or changed has an owner other than the manager that `acts`.
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

/// Takes what has changed from all managers but the one that `acts`, and forgets those who are left
/// with nothing.
fn remove_ownership(changes: &Changes, managers: &mut Managers, acts: &str) {
    managers.retain(|name, managed| {
        if name != acts
            && let Some(change) = find(changes, managed)
        {
            for lost in [&change.modified, &change.added, &change.removed] {
                managed.changed |= managed.set.subtract(lost);
            }
        }
        !managed.set.is_empty()
    });
}

#[cfg(test)]
mod tests;
