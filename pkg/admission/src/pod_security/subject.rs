//! Subject and result of a check.

use schema::object::Object;

/// A violation of a policy by a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Violation {
    /// In one or two words.
    pub(super) reason: &'static str,
    /// The fields to change.
    pub(super) detail: String,
}

/// A pod or pod template, and the minor version of the rules.
#[derive(Clone, Copy)]
pub(super) struct Subject<'p> {
    pub(super) template: &'p Object,
    pub(super) spec: &'p Object,
    pub(super) minor: u32,
}
