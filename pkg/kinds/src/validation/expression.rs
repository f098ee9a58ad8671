//! The releases whose environments expressions (CEL) are compiled in.
//!
//! What is new may use what the release before this one had, so that the server can still be rolled back;
//! what is stored already may use everything.

use super::kinds::Given;

/// The minor number of the release that new expressions are held to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Releases {
    new: u32,
}

impl Releases {
    /// As the server is set up.
    pub(crate) fn of(given: &Given) -> Self {
        Self { new: given.settings.gates.effective().min_compatibility.minor }
    }

    /// The release of an expression, which is stored already or not.
    pub(crate) fn minor(self, is_stored: bool) -> u32 {
        if is_stored { u32::MAX } else { self.new }
    }
}
