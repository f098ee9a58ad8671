//! The pod around a container, for the rules of containers.

use super::options::PodOptions;
use schema::object::Object;
use std::collections::{BTreeMap, BTreeSet};

/// Properties of the enclosing pod, and of the replaced one, that the rules of containers depend on.
pub(super) struct PodContext<'a> {
    /// `os.name`, if `os` is set.
    pub os: Option<&'a str>,
    /// Volumes by name, without those with invalid names.
    pub volumes: &'a BTreeMap<&'a str, &'a Object>,
    /// The names in `resourceClaims`.
    pub claims: &'a BTreeSet<&'a str>,
    /// `terminationGracePeriodSeconds`.
    pub grace_period: Option<i64>,
    pub restart_policy: &'a str,
    /// `hostUsers`, by default true.
    pub host_users: bool,
    /// Relaxed rules.
    pub options: &'a PodOptions,
}
