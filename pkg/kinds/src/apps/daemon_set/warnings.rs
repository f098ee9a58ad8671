//! Warnings about daemon sets.

use crate::warnings::collector::Warnings;
use crate::warnings::common::annotation;
use crate::warnings::template::template;
use schema::object::Object;

/// Annotation of a v1 `DaemonSet` that counts the changes of its template.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

pub(super) fn update(new: &Object, old: &Object, out: &mut Warnings) {
    if template_generation(new) != template_generation(old) {
        template(new, out);
    }
}

/// Returns the number of changes of a `DaemonSet`'s template.
pub(crate) fn template_generation(object: &Object) -> i64 {
    annotation(object, TEMPLATE_GENERATION).and_then(|text| text.parse().ok()).unwrap_or_default()
}
