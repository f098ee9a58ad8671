//! Defaults of ingresses.

use crate::defaults::fill::{each, if_nil, if_present};
use crate::defaults::object::Object;

pub(super) fn ingress_v1beta1(ingress: &mut Object) {
    if_present(ingress, "spec", |spec| {
        each(spec, "rules", |rule| {
            if_present(rule, "http", |http| {
                each(http, "paths", |path| if_nil(path, "pathType", "ImplementationSpecific"));
            });
        });
    });
}
