//! The versions of custom resources, for the controllers that register them.

use std::collections::BTreeSet;

/// The versions of custom resources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CustomVersions {
    /// Group and version of served ones.
    pub served: BTreeSet<(String, String)>,
    /// True if the list is complete. False if there may be unreadable CRDs.
    pub complete: bool,
}
