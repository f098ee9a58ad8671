//! Defaults of replication controllers.

use crate::defaults::fill::{default_struct, if_nil, if_present};
use crate::defaults::object::Object;
use crate::defaults::pod_spec;
use crate::defaults::workload::{TEMPLATE_LABELS, labels_from_template};

pub(super) fn replication_controller(controller: &mut Object) {
    if controller.is_zero_at(&["spec", "selector"]) {
        controller.copy(TEMPLATE_LABELS, &["spec", "selector"]);
    }
    labels_from_template(controller);
    default_struct(controller, "spec", |spec| {
        if_nil(spec, "replicas", 1);
        if_present(spec, "template", pod_spec::template);
    });
}
