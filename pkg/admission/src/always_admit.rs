//! `AlwaysAdmit` accepts every request. It is deprecated and exists because flags can name it.

use crate::{Attributes, Plugin};

pub struct AlwaysAdmit;

impl Plugin for AlwaysAdmit {
    fn name(&self) -> &'static str {
        "AlwaysAdmit"
    }

    fn handles(&self, _: &Attributes<'_>) -> bool {
        false
    }
}
