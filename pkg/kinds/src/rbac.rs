//! The kinds of the API group `rbac`.

pub(crate) mod cluster_role;
pub(crate) mod cluster_role_binding;
pub(crate) mod columns;
pub(crate) mod defaults;
pub(crate) mod role;
pub(crate) mod role_binding;
pub(crate) mod rules;
