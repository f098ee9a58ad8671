//! Lists of responders in the status of an eviction.

use api::tree::{children, text};
use schema::object::Object;
use std::collections::BTreeSet;

/// Limit of responders: those of the pod and the one that evicts through the API.
pub(super) const RESPONDERS_MAX: usize = 11;

/// True if two items of a list have the same name.
pub(super) fn has_duplicates(status: &Object, list: &str) -> bool {
    let mut names = BTreeSet::new();
    !children(status, list).all(|item| names.insert(text(item, "name")))
}

/// Returns the names of the items of a list.
pub(super) fn names<'o>(status: &'o Object, list: &str) -> BTreeSet<&'o str> {
    children(status, list).map(|item| text(item, "name")).collect()
}
