//! Declarations of gated fields, for the descriptors of kinds.

use component_base::features::Gate;
use schema::object::Object;

/// Member names, one per step.
pub(crate) type Path = &'static [&'static str];

/// Step into every item of a list, or every value of a map.
pub(crate) const EACH: &str = "*";

/// Step into every item of a list. In a [`GatedPath`] it pairs the items by their `name`, where [`EACH`] pairs them by
/// position.
pub(crate) const EACH_NAMED: &str = "*name";

/// Prefix of a last step that excludes one text: a field with that text neither counts as used nor is dropped.
pub(super) const EXCEPT: &str = "!=";

/// Step that excludes the default of `procMount`.
pub(crate) const EXCEPT_DEFAULT: &str = "!=Default";

/// Step that excludes the restart policy of a sidecar.
pub(crate) const EXCEPT_ALWAYS: &str = "!=Always";

/// Gated fields below one path of an object.
pub(crate) struct GatedPath {
    pub(crate) path: Path,
    pub(crate) fields: &'static [GatedFields],
    /// Subresource whose writes do not drop these fields, although it writes them.
    pub(crate) not_through: Option<&'static str>,
}

pub(crate) const fn gated_path(path: Path, fields: &'static [GatedFields]) -> GatedPath {
    GatedPath { path, fields, not_through: None }
}

pub(crate) const fn gated_by(gate: Gate, fields: &'static [Path]) -> GatedFields {
    GatedFields { gate: Some(gate), fields, used_by: &[], with_empty_parent: false, drop: None }
}

/// Fields that are dropped whatever the gates are.
pub(crate) const fn always_dropped(fields: &'static [Path]) -> GatedFields {
    GatedFields { gate: None, fields, used_by: &[], with_empty_parent: false, drop: None }
}

impl GatedFields {
    pub(crate) const fn used_by(self, used_by: &'static [Path]) -> Self {
        GatedFields { used_by, ..self }
    }

    pub(crate) const fn dropped_by(self, drop: fn(&mut Object)) -> Self {
        GatedFields { drop: Some(drop), ..self }
    }

    pub(crate) const fn with_empty_parent(self) -> Self {
        GatedFields { with_empty_parent: true, ..self }
    }
}

/// Fields that belong together: if the old object has any of them, the new one may have all.
pub(crate) struct GatedFields {
    /// The fields are dropped while this gate is disabled; always without a gate.
    pub(super) gate: Option<Gate>,
    pub(super) fields: &'static [Path],
    /// Other fields of the old object that show that the fields are in use; empty for the fields themselves.
    pub(super) used_by: &'static [Path],
    /// True to drop a parent that loses its last member.
    pub(super) with_empty_parent: bool,
    /// Replaces the removal of the fields.
    pub(super) drop: Option<fn(&mut Object)>,
}
