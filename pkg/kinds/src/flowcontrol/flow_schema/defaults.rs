//! Defaults of flow schemas.

use crate::defaults::fill::{if_zero, within};
use crate::defaults::object::Object;

pub(super) fn flow_schema(schema: &mut Object) {
    within(schema, "spec", |spec| if_zero(spec, "matchingPrecedence", 1000));
}
