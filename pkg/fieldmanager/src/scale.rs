//! Managed fields of an object and its Scale: the owner of the replicas is the same in both.
//!
//! A Scale has no managed fields of its own. They are derived from its parent before a write, and changes are
//! copied back afterwards.

use crate::structured_merge::updater::VersionedSet;
use crate::structured_merge::{PathElement, Set};
use schema::object::Object;

use super::entries::{self, EntryError, Managed};

/// `apiVersion` of Scale.
const SCALE: &str = "autoscaling/v1";

/// Path of the replicas in each `apiVersion` of the parent. A version that is not listed is unknown, and its
/// entries are dropped. An empty path means a version without replicas.
pub type ReplicasPaths<'a> = &'a [(&'a str, Vec<&'a str>)];

/// Sets the managed fields of a Scale from those of its parent.
///
/// # Errors
/// The parent's entries cannot be decoded; upstream returns 500 with the text.
pub fn to_scale(parent: &Object, paths: ReplicasPaths<'_>, scale: &mut Object) -> Result<(), EntryError> {
    let mut managed = Managed::decode_stored(entries::of(parent).unwrap_or_default())?;
    managed.sets.retain(|_, set| {
        let path = replicas_path(paths, &set.api_version).unwrap_or_default();
        set.set.has(&path)
    });
    for set in managed.sets.values_mut() {
        set.set = only(&replicas_path_in_scale());
        set.changed = true;
        set.api_version = SCALE.into();
    }
    entries::set(scale, managed.encode());
    Ok(())
}

/// Copies the managed fields of a Scale back to its parent, whose `apiVersion` is `parent_version`. Managers
/// that are missing in the Scale lose the replicas, and new ones get them.
///
/// # Errors
/// The entries of the Scale or the parent cannot be decoded; upstream returns 500 with the text.
pub fn to_parent(
    scale: &Object,
    paths: ReplicasPaths<'_>,
    parent_version: &str,
    parent: &mut Object,
) -> Result<(), EntryError> {
    let mut managed = Managed::decode_stored(entries::of(parent).unwrap_or_default())?;
    let mut in_scale = Managed::decode(entries::of(scale).unwrap_or_default())?;

    managed.sets.retain(|identifier, set| {
        let Some(path) = replicas_path(paths, &set.api_version) else { return false };
        if path.is_empty() || !set.set.has(&path) || in_scale.sets.remove(identifier).is_some() {
            return true;
        }
        set.changed |= set.set.subtract(&only(&path));
        !set.set.is_empty()
    });

    let path = replicas_path(paths, parent_version).unwrap_or_default();
    for (identifier, set) in in_scale.sets {
        if !set.set.has(&replicas_path_in_scale()) {
            continue;
        }
        let Some(mut origin) = in_scale.origins.remove(&identifier) else { continue };
        // A manager that is new in the parent has no time yet.
        origin.time = managed.origins.get(&identifier).and_then(|existing| existing.time);
        let set = VersionedSet { set: only(&path), api_version: parent_version.into(), changed: true, ..set };
        managed.sets.insert(identifier.clone(), set);
        managed.origins.insert(identifier, origin);
    }
    entries::set(parent, managed.encode());
    Ok(())
}

/// Returns the path in a version of the parent; empty without replicas, `None` for an unknown version.
fn replicas_path(paths: ReplicasPaths<'_>, api_version: &str) -> Option<Vec<PathElement>> {
    let (_, path) = paths.iter().find(|(version, _)| *version == api_version)?;
    Some(path.iter().map(|name| PathElement::field(name)).collect())
}

fn replicas_path_in_scale() -> [PathElement; 2] {
    ["spec", "replicas"].map(PathElement::field)
}

fn only(path: &[PathElement]) -> Set {
    Set::of([path])
}
