//! Reinvocation of webhooks and policies after later plugins have changed the object (both upstream files
//! named `reinvocationcontext.go`).

use std::collections::BTreeSet;

use schema::object::Object;

/// Tracks the webhooks or policies to reinvoke after the object has changed.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ReinvocationContext {
    /// The object after the last webhook or policy.
    pub(crate) last_output: Option<Object>,
    /// Already called, and eligible for reinvocation.
    pub(crate) previously_invoked: BTreeSet<Box<str>>,
    /// Must be reinvoked.
    pub(crate) to_reinvoke: BTreeSet<Box<str>>,
}

impl ReinvocationContext {
    /// Marks every eligible webhook or policy for reinvocation, because the object has changed.
    pub(crate) fn require_reinvocation(&mut self) {
        self.to_reinvoke.append(&mut self.previously_invoked);
    }

    /// Keeps the object for a later comparison, if a reinvocation is still possible.
    pub(crate) fn set_last_output(&mut self, object: Option<&Object>) {
        let waits = !self.previously_invoked.is_empty() || !self.to_reinvoke.is_empty();
        self.last_output = object.filter(|_| waits).cloned();
    }
}
