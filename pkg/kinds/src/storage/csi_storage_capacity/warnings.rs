//! Warnings about CSI storage capacities.

use crate::warnings::collector::Warnings;
use crate::warnings::node;
use api::tree::child;
use apimachinery::field::Path;
use schema::object::Object;

pub(super) fn capacity(capacity: &Object, out: &mut Warnings) {
    if let Some(topology) = child(capacity, "nodeTopology") {
        node::label_selector(&Path::root("nodeTopology"), topology, out);
    }
}
