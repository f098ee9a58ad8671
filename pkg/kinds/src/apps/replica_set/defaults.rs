//! Defaults of replica sets.

use crate::defaults::fill::{default_struct, if_nil};
use crate::defaults::object::Object;
use crate::defaults::pod_spec;
use crate::defaults::workload::selector_from_template;

pub(super) fn replica_set(set: &mut Object) {
    default_struct(set, "spec", |spec| {
        if_nil(spec, "replicas", 1);
        default_struct(spec, "template", pod_spec::template);
    });
}

pub(super) fn replica_set_of_extensions(set: &mut Object) {
    selector_from_template(set);
    replica_set(set);
}
