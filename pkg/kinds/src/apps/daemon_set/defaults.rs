//! Defaults of daemon sets.

use crate::defaults::fill::{default_struct, if_nil, if_zero};
use crate::defaults::object::Object;
use crate::defaults::pod_spec;
use crate::defaults::workload::{rolling_update, selector_from_template};

pub(super) fn daemon_set(set: &mut Object) {
    default_struct(set, "spec", |spec| {
        default_struct(spec, "updateStrategy", |strategy| {
            rolling_update(strategy, |update| {
                if_nil(update, "maxUnavailable", 1);
                if_nil(update, "maxSurge", 0);
            })
        });
        if_nil(spec, "revisionHistoryLimit", 10);
        default_struct(spec, "template", pod_spec::template);
    });
}

pub(super) fn daemon_set_of_extensions(set: &mut Object) {
    default_struct(set, "spec", |spec| {
        default_struct(spec, "updateStrategy", |strategy| if_zero(strategy, "type", "OnDelete"));
    });
    selector_from_template(set);
    daemon_set(set);
}
