//! Warnings about runtime classes.

use crate::warnings::collector::Warnings;
use crate::warnings::node::old_label;
use api::tree::{child, pairs};
use schema::object::Object;

/// Warns about a `RuntimeClass`. The warning does not contain the label.
pub(super) fn runtime_class(class: &Object, out: &mut Warnings) {
    let Some(scheduling) = child(class, "scheduling") else { return };
    for message in pairs(scheduling, "nodeSelector").filter_map(|(key, _)| old_label(key)) {
        out.add(format_args!("scheduling.nodeSelector: {message}"));
    }
}
