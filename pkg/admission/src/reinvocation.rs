//! Reinvocation of webhooks and policies after later plugins have changed the object (both upstream files
//! named `reinvocationcontext.go`).

use std::collections::BTreeSet;

use schema::object::Object;

/// Tracks the webhooks or policies to reinvoke after the object has changed.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ReinvocationContext {
    /// The object after the last webhook or policy.
    pub(crate) left: Option<Object>,
    /// Already called, and eligible for reinvocation.
    pub(crate) asked: BTreeSet<Box<str>>,
    /// Must be reinvoked.
    pub(crate) wanted: BTreeSet<Box<str>>,
}

impl ReinvocationContext {
    /// Marks every eligible webhook or policy for reinvocation, because the object has changed.
    pub(crate) fn changed(&mut self) {
        self.wanted.append(&mut self.asked);
    }

    /// Keeps the object for a later comparison, if a reinvocation is still possible.
    pub(crate) fn leave(&mut self, object: Option<&Object>) {
        let waits = !self.asked.is_empty() || !self.wanted.is_empty();
        self.left = object.filter(|_| waits).cloned();
    }
}
