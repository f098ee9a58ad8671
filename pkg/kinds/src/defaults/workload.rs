//! Rules that several workloads share: labels and selectors from the pod template, rolling updates.

use crate::defaults::fill::{default_struct, if_zero, text};
use crate::defaults::object::Object;

/// Path of the labels of a workload's pod template.
pub(crate) const TEMPLATE_LABELS: &[&str] = &["spec", "template", "metadata", "labels"];

/// Copies the labels of the pod template to an object without labels.
pub(crate) fn labels_from_template(object: &mut Object) {
    if object.is_zero_at(&["metadata", "labels"]) {
        object.copy(TEMPLATE_LABELS, &["metadata", "labels"]);
    }
}

pub(crate) const ROLLING_UPDATE: &str = "RollingUpdate";

/// Derives an absent pod selector and absent labels from the pod template.
pub(crate) fn selector_from_template(object: &mut Object) {
    if object.is_nil_at(&["spec", "selector"]) {
        object.copy(TEMPLATE_LABELS, &["spec", "selector", "matchLabels"]);
    }
    labels_from_template(object);
}

/// Sets the update strategy to a rolling update if it is absent. `steps` then sets the details of a rolling
/// update.
pub(crate) fn rolling_update(strategy: &mut Object, steps: impl FnOnce(&mut Object)) {
    if_zero(strategy, "type", ROLLING_UPDATE);
    if text(strategy, "type") == ROLLING_UPDATE {
        default_struct(strategy, "rollingUpdate", steps);
    }
}
