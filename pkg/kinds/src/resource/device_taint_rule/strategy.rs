//! Changes to device taint rules before a write.

use crate::strategy::hooks::{Context, Strategy};
use schema::object::{self, Object};

/// The time of a taint is reset when its effect changes (upstream's `registry/resource/devicetaintrule`).
pub(crate) struct DeviceTaintRules;

impl Strategy for DeviceTaintRules {
    fn prepare_for_update(&self, subresource: &str, new: &mut Object, old: &Object, context: &Context<'_>) {
        let effect = ["spec", "taint", "effect"];
        let added = ["spec", "taint", "timeAdded"];
        let is_unchanged = |path: &[&str]| object::get(new, path) == object::get(old, path);
        if subresource.is_empty() && !is_unchanged(&effect) && is_unchanged(&added) {
            object::set(new, &added, context.timestamp());
        }
    }
}
