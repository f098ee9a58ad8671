//! Defaults of limit ranges.

use crate::defaults::fill::{copy_missing, each, if_present, text};
use crate::defaults::object::Object;
use crate::defaults::resource_list::round;

pub(super) fn limit_range(range: &mut Object) {
    if_present(range, "spec", |spec| each(spec, "limits", limit_range_item));
}

/// Derives a container's default limit from the maximum. Its default request follows from that limit, or from
/// the minimum. Other types have no such defaults.
fn limit_range_item(item: &mut Object) {
    if text(item, "type") == "Container" {
        copy_missing(item, "max", "default");
        copy_missing(item, "default", "defaultRequest");
        copy_missing(item, "min", "defaultRequest");
    }
    for list in ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"] {
        round(item, list);
    }
}
