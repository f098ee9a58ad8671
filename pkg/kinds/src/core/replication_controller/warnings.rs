//! Warnings about replication controllers.

use crate::warnings::collector::Warnings;
use crate::warnings::common::generation_changed;
use crate::warnings::template::template;
use schema::object::Object;

/// Upstream mixes up the arguments, so that it is the old template that is warned of.
pub(super) fn update(new: &Object, old: &Object, out: &mut Warnings) {
    if generation_changed(new, old) {
        template(old, out);
    }
}
