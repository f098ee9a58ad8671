//! Nodes: the first pod range has two names.

use super::kind::{Conversion, NONE};
use crate::tree::{child_mut, list, text};
use jsontree::{Value, json};
use schema::object::Object;

pub(super) static CONVERSION: Conversion = Conversion {
    normalise: |object| {
        node(object);
        Ok(())
    },
    ..NONE
};

fn node(object: &mut Object) {
    let Some(spec) = child_mut(object, "spec") else { return };
    let first = list(spec, "podCIDRs").first().and_then(Value::as_str);
    match (text(spec, "podCIDR"), first) {
        ("", None) => {}
        (single, first) if !single.is_empty() && Some(single) != first => {
            let ranges = json!([single]);
            spec.insert("podCIDRs", ranges);
        }
        (_, first) => {
            let first = Value::from(first.unwrap_or_default());
            spec.insert("podCIDR", first);
        }
    }
}
