//! Defaults of ingress classes.

use crate::defaults::fill::{if_nil, if_present};
use crate::defaults::object::Object;

pub(super) fn ingress_class(class: &mut Object) {
    if_present(class, "spec", |spec| {
        if_present(spec, "parameters", |reference| if_nil(reference, "scope", "Cluster"))
    });
}
