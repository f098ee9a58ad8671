//! The descriptor of a built-in kind: everything in which its objects differ from those of other kinds.

use api::name_rule::NameRule;
use api::options::DeleteOptions;
use api::table::view::View;
use apimachinery::time::UnixTime;
use component_base::features::Gate;
use schema::object::Object;

use crate::defaults::object::{Object as Incomplete, Rule};
use crate::printers::column::{Column, RowCondition};
use crate::strategy::gated::fields::GatedPath;
use crate::strategy::hooks::Strategy;
use crate::validation::rules::{ContextRules, Rules};
use crate::warnings::collector::Warnings;

/// Behaviour of a built-in kind. A descriptor states every field, even if it is empty.
pub(crate) struct Kind {
    pub(crate) names: NameRule,
    /// True if finalizers must be qualified (`example.com/x`), except for the three that Kubernetes itself uses.
    pub(crate) qualified_finalizers: bool,
    /// Defaults by version; either none or an entry for every served version.
    pub(crate) defaults: &'static [Version],
    pub(crate) validation: Validation,
    pub(crate) warnings: WarningRules,
    /// Columns of the Table, with their cells and descriptions.
    pub(crate) columns: Columns,
    /// Fields behind feature gates.
    pub(crate) gated: &'static [GatedPath],
    pub(crate) strategy: &'static dyn Strategy,
    pub(crate) rare_properties: RareProperties,
}

/// Defaults of a kind for which upstream registers none in any version.
pub(crate) const NO_DEFAULTS: &[Version] = &[];

/// Defaults of a kind in one version.
pub(crate) struct Version {
    pub(crate) api_version: &'static str,
    pub(crate) defaults: Option<Rule>,
}

impl Version {
    pub(crate) const fn with_defaults(api_version: &'static str, defaults: Rule) -> Self {
        Version { api_version, defaults: Some(defaults) }
    }

    /// Creates a version for which upstream registers no defaults, although it does for others.
    pub(crate) const fn without_defaults(api_version: &'static str) -> Self {
        Version { api_version, defaults: None }
    }
}

/// Defaults of the body of a subresource, which is of another kind.
pub(crate) struct SubresourceDefaults {
    pub(crate) api_version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) rule: Rule,
}

/// Sets times in parts of an object that lack them.
pub(crate) type TimeRule = fn(&mut Incomplete, now: UnixTime);

/// Columns of the Table of a kind.
pub(crate) enum Columns {
    /// The columns of kinds for which upstream has no printer.
    NameAndCreation,
    Custom(&'static [Column]),
    /// The columns of each served version (`autoscaling/v2`).
    ByVersion(&'static [(&'static str, &'static [Column])]),
}

/// Properties that few kinds have.
pub(crate) struct RareProperties {
    /// Fields that an update through a subresource (empty for the resource itself) takes from the old object,
    /// where upstream's `PrepareForUpdate` differs from the reset fields that it declares.
    pub(crate) resets: &'static [(&'static str, &'static [&'static str])],
    /// True if creation leaves the status to the strategy.
    pub(crate) initial_status: bool,
    pub(crate) generation: Generation,
    /// True if the generation counts changes before the strategy edits the object, not after.
    pub(crate) counts_before_strategy: bool,
    /// Map in the metadata whose changes count as changes of the desired state.
    pub(crate) counted_metadata: Option<&'static str>,
    /// True if the kind checks the preconditions of a deletion itself, before the common path does.
    pub(crate) early_preconditions: bool,
    /// True if objects may come from manifests on the server's disk, which have reserved names.
    pub(crate) from_manifests: bool,
    /// Returns the reason why objects of a name must not be deleted, or `None` if they may be.
    pub(crate) undeletable: fn(name: &str) -> Option<&'static str>,
    /// Times that upstream's defaulting sets, by version.
    pub(crate) times: &'static [(&'static str, TimeRule)],
    /// Version in which defaulting gives an object the labels of its pod template as the same map.
    pub(crate) shares_labels: Option<&'static str>,
    pub(crate) subresource_defaults: &'static [SubresourceDefaults],
    /// Completes stored objects of the storage version, but not those of requests (upstream's `Decorator`).
    pub(crate) completes_stored: Option<Rule>,
    /// Returns the condition of an object's row in a Table.
    pub(crate) row_condition: for<'a> fn(View<'a>) -> Option<RowCondition>,
}

impl RareProperties {
    /// No exceptions.
    pub(crate) const NONE: Self = RareProperties {
        resets: &[],
        initial_status: false,
        generation: Generation::OfResource,
        counts_before_strategy: false,
        counted_metadata: None,
        early_preconditions: false,
        from_manifests: false,
        undeletable: |_| None,
        times: &[],
        shares_labels: None,
        subresource_defaults: &[],
        completes_stored: None,
        row_condition: |_| None,
    };
}

/// Validation of a kind's objects.
pub(crate) enum Validation {
    /// Metadata alone.
    Metadata,
    /// Rules that need no more than the objects.
    Objects(Rules),
    /// Rules that also need the server's settings or the time.
    Settings(ContextRules),
}

/// Warnings about objects that are written. The objects are of the storage version, after defaults.
pub(crate) struct WarningRules {
    /// While a new object is prepared, before validation.
    pub(crate) before_create: fn(new: &Object, out: &mut Warnings),
    pub(crate) create: fn(new: &Object, out: &mut Warnings),
    pub(crate) update: OnUpdate,
    pub(crate) update_status: fn(new: &Object, out: &mut Warnings),
    pub(crate) delete: fn(options: &DeleteOptions) -> Option<String>,
}

impl WarningRules {
    /// No warnings.
    pub(crate) const NONE: Self = WarningRules {
        before_create: |_, _| {},
        create: |_, _| {},
        update: OnUpdate::AsOnCreate,
        update_status: |_, _| {},
        delete: |_| None,
    };
}

/// Warnings about an object that replaces another.
pub(crate) enum OnUpdate {
    /// Warnings about a new object.
    AsOnCreate,
    Custom(fn(new: &Object, old: &Object, out: &mut Warnings)),
}

/// Changes of `metadata.generation` by updates.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Generation {
    /// Counted if the resource sets the generation on creation.
    OfResource,
    /// Counted, although creation leaves the generation unset.
    FromFirstUpdate,
    /// Set on creation and never changed.
    Constant,
    /// Set on creation and counted while the gate is enabled.
    Gated(Gate),
}

#[cfg(test)]
mod tests;
