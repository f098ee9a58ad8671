//! RuntimeClasses: `node.k8s.io/v1`, which has no spec, and `v1alpha1`, which has one.

use super::kind::{Conversion, NONE, Spoke};
use jsontree::Value;
use schema::object::Object;

pub(super) static CONVERSION: Conversion =
    Conversion { spokes: &[Spoke::of("node.k8s.io/v1alpha1", to_hub, from_hub)], ..NONE };

/// Names at the top in `v1` and in the spec in `v1alpha1`.
const MEMBERS: [(&str, &str); 3] =
    [("handler", "runtimeHandler"), ("overhead", "overhead"), ("scheduling", "scheduling")];

fn to_hub(class: &mut Object) {
    let Some(Value::Object(mut spec)) = class.remove("spec") else { return };
    for (of_class, of_spec) in MEMBERS {
        super::move_member(&mut spec, of_spec, class, of_class);
    }
}

fn from_hub(class: &mut Object) {
    let mut spec = Object::new();
    for (of_class, of_spec) in MEMBERS {
        super::move_member(class, of_class, &mut spec, of_spec);
    }
    class.insert("spec", Value::Object(spec));
}
