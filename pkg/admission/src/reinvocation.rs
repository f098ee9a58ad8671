//! Who is asked again after others have changed an object: webhooks and policies alike (upstream's
//! `reinvocationcontext.go` of either).

use std::collections::BTreeSet;

use schema::object::Object;

/// Which webhooks or policies are asked again after others have changed the object.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ReinvocationContext {
    /// The object as the last one left it.
    pub(crate) left: Option<Object>,
    /// Asked, and ready to be asked again.
    pub(crate) asked: BTreeSet<Box<str>>,
    /// To be asked again.
    pub(crate) wanted: BTreeSet<Box<str>>,
}

impl ReinvocationContext {
    /// The object has changed since they were asked.
    pub(crate) fn changed(&mut self) {
        self.wanted.append(&mut self.asked);
    }

    /// Remembers the object, if anybody waits for it to change.
    pub(crate) fn leave(&mut self, object: Option<&Object>) {
        let waits = !self.asked.is_empty() || !self.wanted.is_empty();
        self.left = object.filter(|_| waits).cloned();
    }
}
