//! `AlwaysAdmit`: has no objections. Deprecated, and kept because flags name it.

use crate::{Attributes, Plugin};

/// The plugin.
pub struct AlwaysAdmit;

impl Plugin for AlwaysAdmit {
    fn name(&self) -> &'static str {
        "AlwaysAdmit"
    }

    fn handles(&self, _: &Attributes<'_>) -> bool {
        false
    }
}
