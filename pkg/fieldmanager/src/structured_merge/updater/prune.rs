//! Removes fields that an applier no longer applies.

use std::borrow::Cow;
use std::collections::BTreeMap;

use jsontree::Value;

use super::UpdateError;
use super::{ConvertError, Converter, Managers, Updater, VersionedSet};
use crate::structured_merge::model::TypeRef;
use crate::structured_merge::set::Set;
use crate::structured_merge::typed::{ensure_named_fields_are_members, field_set, remove};

/// An object in one version.
struct View<'v> {
    value: Cow<'v, Value>,
    version: &'v str,
    ty: TypeRef<'v>,
}

impl View<'_> {
    /// All fields of the object. `what` and `place` are part of the error text.
    fn fields(&self, label: &str, place: &str) -> Result<Set, UpdateError> {
        field_set(&self.value, self.ty).map_err(|error| {
            UpdateError::new(format!("failed to create field set from {label} object {place}: {error}"))
        })
    }

    /// Like [`fields`](Self::fields), with the enclosing structs.
    fn all_fields(&self, label: &str, place: &str) -> Result<Set, UpdateError> {
        Ok(ensure_named_fields_are_members(&self.fields(label, place)?, self.ty))
    }
}

impl<C: Converter + ?Sized> Updater<'_, C> {
    /// Removes from `merged`, an object of `version`, the fields and items of `last`, the applier's previous
    /// set, that none of `managers` owns now.
    pub(super) fn prune(
        &self,
        merged: Value,
        version: &str,
        managers: &Managers,
        applier: &str,
        last: &VersionedSet,
    ) -> Result<Value, UpdateError> {
        let still_managed = managers
            .get(applier)
            .is_some_and(|now| now.api_version == last.api_version && last.set.is_subset(&now.set));
        let pruned = self.pruned(&merged, version, managers, last, still_managed)?;
        Ok(pruned.unwrap_or(merged))
    }

    /// Like [`prune`](Self::prune); `None` if nothing is removed. `kept` is true if the applier still applies
    /// all of `last`.
    fn pruned(
        &self,
        merged: &Value,
        version: &str,
        managers: &Managers,
        last: &VersionedSet,
        still_managed: bool,
    ) -> Result<Option<Value>, UpdateError> {
        let view = View { value: Cow::Borrowed(merged), version, ty: self.type_of(version)? };
        let merged = match self.view(&view, &last.api_version) {
            Ok(view) => view,
            Err(ConvertError::Missing) => return Ok(None),
            Err(error) => {
                return Err(UpdateError::new(format!(
                    "failed to convert merged object to last applied version: {error}"
                )));
            }
        };
        let merged_fields = merged
            .fields("merged", &format!("at version {}", merged.version))
            .map_err(|error| UpdateError::new(format!("failed add back owned items: {error}")))?;
        // Applying the same configuration again is frequent and prunes nothing: the items and keys on the
        // paths to the applied fields are applied too, so all of it is added back. The exception is an empty
        // struct or null that is applied over a struct with fields: these are not owned and may be removed.
        if still_managed && last.set.leaves_are_subset(&merged_fields) {
            return Ok(None);
        }
        let merged_fields = ensure_named_fields_are_members(&merged_fields, merged.ty);
        let last_set = ensure_named_fields_are_members(&last.set, merged.ty);
        let without = View { value: Cow::Owned(remove(&merged.value, &last_set, merged.ty)), ..merged };
        let with_owned = self
            .add_back_owned(&merged, &merged_fields, without, managers)
            .map_err(|error| UpdateError::new(format!("failed add back owned items: {error}")))?;
        let removed = self
            .without_dangling(&merged, merged_fields, with_owned, &last_set)
            .map_err(|error| UpdateError::new(format!("failed add back dangling items: {error}")))?;
        if removed.is_empty() {
            return Ok(None);
        }
        let pruned = View { value: Cow::Owned(remove(&merged.value, &removed, merged.ty)), ..merged };
        self.view(&pruned, version)
            .map(|view| Some(view.value.into_owned()))
            .map_err(|error| UpdateError::new(error.to_string()))
    }

    /// Converts the object to another version.
    fn view<'v>(&'v self, view: &'v View<'_>, to: &'v str) -> Result<View<'v>, ConvertError> {
        let ty = self.0.type_of(to).ok_or(ConvertError::Missing)?;
        let value = self.0.convert(&view.value, view.version, to)?;
        Ok(View { value, version: to, ty })
    }

    /// Restores those fields missing in `pruned` that have an owner: in the version of `merged` first,
    /// because without them the object might not be convertible.
    fn add_back_owned<'v>(
        &'v self,
        merged: &'v View<'_>,
        all: &Set,
        mut pruned: View<'v>,
        managers: &'v Managers,
    ) -> Result<View<'v>, UpdateError> {
        let mut owned: BTreeMap<&str, Vec<Set>> = BTreeMap::new();
        for managed in managers.values() {
            owned.entry(&managed.api_version).or_default().push(managed.set.clone());
        }
        let first = owned.remove_entry(merged.version);
        for (version, owned) in first.into_iter().chain(owned) {
            let place = format!("at version {version}");
            let failed =
                |label, error| UpdateError::new(format!("failed to convert {label} object {place}: {error}"));
            let in_version = match self.view(merged, version) {
                Ok(view) => view,
                Err(ConvertError::Missing) => continue,
                Err(error) => return Err(failed("merged", error)),
            };
            let pruned_fields = match self.view(&pruned, version) {
                Ok(view) => view.all_fields("pruned", &place)?,
                Err(ConvertError::Missing) => continue,
                Err(error) => return Err(failed("pruned", error)),
            };
            let mut removed = if version == merged.version {
                all.clone()
            } else {
                in_version.all_fields("merged", &place)?
            };
            removed.subtract(&pruned_fields);
            removed.subtract(&ensure_named_fields_are_members(&Set::union_of(owned), in_version.ty));
            let value = Cow::Owned(remove(&in_version.value, &removed, in_version.ty));
            pruned = View { value, version, ty: in_version.ty };
        }
        Ok(pruned)
    }

    /// The part of `all` fields to remove from `merged`: those missing in `pruned` that the applier owned.
    /// Fields without an owner remain.
    fn without_dangling(
        &self,
        merged: &View<'_>,
        all: Set,
        pruned: View<'_>,
        last: &Set,
    ) -> Result<Set, UpdateError> {
        let pruned = match self.view(&pruned, merged.version) {
            Ok(view) => view.all_fields("pruned", "in last applied version")?,
            Err(ConvertError::Missing) => return Ok(Set::new()),
            Err(error) => {
                return Err(UpdateError::new(format!(
                    "failed to convert pruned object to last applied version: {error}"
                )));
            }
        };
        Ok(all.difference(&pruned).intersection(last))
    }
}
