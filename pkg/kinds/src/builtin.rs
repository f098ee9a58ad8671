//! Maps built-in kinds to their descriptors.

use crate::kind::Kind;
use crate::{
    admissionregistration, apiextensions, apiregistration, apps, authentication, authorization, autoscaling,
    batch, certificates, coordination, core, discovery, events, flowcontrol, internal, lifecycle, networking,
    node, policy, rbac, resource, scheduling, storage, storagemigration,
};
use api::resources::{Builtin, Resource};

/// Returns the descriptor of a resource, or `None` for custom resources.
pub(crate) fn kind_of(row: &Resource) -> Option<&'static Kind> {
    row.builtin.map(|builtin| descriptor_in(builtin, row.group))
}

/// Returns the descriptor of a kind by its name, which is unique among the groups. Custom resources can have
/// the same name.
pub(crate) fn kind_named(name: &str) -> Option<&'static Kind> {
    Builtin::from_name(name).map(descriptor)
}

/// Returns the descriptor of a kind. Events differ in the two API groups that serve them.
fn descriptor_in(builtin: Builtin, group: &str) -> &'static Kind {
    match builtin {
        Builtin::Event if group.is_empty() => &core::event::KIND,
        builtin => descriptor(builtin),
    }
}

/// Defines the map. The match has no wildcard, so a kind without a descriptor is a compile error.
macro_rules! descriptors {
    ($($builtin:ident => $group:ident::$module:ident;)*) => {
        fn descriptor(builtin: Builtin) -> &'static Kind {
            match builtin {
                $(Builtin::$builtin => &$group::$module::KIND,)*
            }
        }

        /// Every descriptor.
        pub(crate) static ALL: &[&Kind] = &[$(&$group::$module::KIND,)*];
    };
}

api::for_each_builtin!(descriptors);
