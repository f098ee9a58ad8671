//! Defaults of flow schemas.

use crate::defaults::fill::{default_struct, if_zero};
use crate::defaults::object::Object;

pub(super) fn flow_schema(schema: &mut Object) {
    default_struct(schema, "spec", |spec| if_zero(spec, "matchingPrecedence", 1000));
}
