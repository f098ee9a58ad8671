//! Defaults of nodes.

use crate::defaults::fill::{copy_missing, if_present, is_nil, is_zero};
use crate::defaults::object::Object;
use crate::defaults::resource_list::round;

/// The allocatable resources of a node default to its capacity.
pub(super) fn node(node: &mut Object) {
    if_present(node, "status", |status| {
        if is_nil(status, "allocatable") && !is_zero(status, "capacity") {
            copy_missing(status, "capacity", "allocatable");
        }
        round(status, "capacity");
        round(status, "allocatable");
    });
}
