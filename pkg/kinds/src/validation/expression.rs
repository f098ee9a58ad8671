//! Releases of the CEL environments for expressions.
//!
//! A new expression may only use features of the previous release, so that the server can be rolled back. A
//! stored expression may use all features.

use crate::validation::rules::ValidationContext;

/// Minor version of the release for new expressions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Releases {
    new: u32,
}

impl Releases {
    /// Derives the release from the server's settings.
    pub(crate) fn of(context: &ValidationContext) -> Self {
        Self { new: context.settings.gates.effective().min_compatibility.minor }
    }

    /// Returns the minor version for a stored or new expression.
    pub(crate) fn minor(self, is_stored: bool) -> u32 {
        if is_stored { u32::MAX } else { self.new }
    }
}
