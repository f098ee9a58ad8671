//! The versions of custom resources, for the controllers that register them.

use std::collections::BTreeSet;

/// The versions of custom resources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CustomVersions {
    /// Group and version of those that are served.
    pub served: BTreeSet<(String, String)>,
    /// There are no others. Without it there may be definitions that cannot be read.
    pub complete: bool,
}
