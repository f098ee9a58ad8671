//! Changes to limit ranges before a write.

use crate::strategy::hooks::{Context, Strategy};
use api::meta;
use schema::object::Object;

/// A limit range without a name gets one (upstream's `registry/core/limitrange/strategy.go`).
pub(crate) struct LimitRanges;

impl Strategy for LimitRanges {
    fn prepare_for_create(&self, range: &mut Object, context: &Context<'_>) {
        if meta::text(range, "name").is_empty() {
            meta::set_text(range, "name", &context.entropy.uid());
        }
    }
}
