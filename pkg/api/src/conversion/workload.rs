//! Workloads: `apps/v1`, and the early versions `apps/v1beta1` and `extensions/v1beta1`, which have fields
//! where later versions have annotations.

use crate::tree::{child_mut, integer};
use apimachinery::strconv::parse_int;
use jsontree::Value;
use schema::object::{self, Object};

/// Annotation that requests the rollback of a Deployment to a revision.
pub(super) const ROLLBACK_TO: &str = "deprecated.deployment.rollback.to";
/// Annotation with the template generation of a DaemonSet.
pub(super) const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

/// The field takes precedence; an annotation with the same meaning is dropped.
pub(super) fn deployment_to_hub(deployment: &mut Object) {
    if let Some(annotations) = annotations_mut(deployment) {
        annotations.remove(ROLLBACK_TO);
    }
    if let Some(Value::Object(rollback)) = object::remove(deployment, &["spec", "rollbackTo"]) {
        let revision = integer(&rollback, "revision").to_string();
        object::set(deployment, &["metadata", "annotations", ROLLBACK_TO], revision);
    }
}

pub(super) fn deployment_from_hub(deployment: &mut Object) {
    if let Some(revision) = take_number(deployment, ROLLBACK_TO) {
        object::set(deployment, &["spec", "rollbackTo", "revision"], revision);
    }
}

pub(super) fn daemon_set_to_hub(daemon_set: &mut Object) {
    let generation = object::remove(daemon_set, &["spec", "templateGeneration"]);
    let generation = generation.as_ref().and_then(Value::as_i64).unwrap_or_default().to_string();
    object::set(daemon_set, &["metadata", "annotations", TEMPLATE_GENERATION], generation);
}

pub(super) fn daemon_set_from_hub(daemon_set: &mut Object) {
    if let Some(generation) = take_number(daemon_set, TEMPLATE_GENERATION) {
        object::set(daemon_set, &["spec", "templateGeneration"], generation);
    }
}

/// An absent observed generation becomes 0, which is equivalent in `apps/v1`.
pub(super) fn stateful_set_to_hub(_: &mut Object) {}

/// In `apps/v1beta1` the observed generation is a pointer. It is never nil after a conversion from the hub.
pub(super) fn stateful_set_from_hub(stateful_set: &mut Object) {
    super::fill(stateful_set, &["status", "observedGeneration"], 0);
}

/// Removes a number from an annotation and returns it. Other text stays; upstream could not have decoded an
/// object with such text in its hub version.
fn take_number(object: &mut Object, annotation: &str) -> Option<i64> {
    let annotations = annotations_mut(object)?;
    let number = parse_int(annotations.get(annotation)?.as_str()?).ok()?;
    annotations.remove(annotation);
    Some(number)
}

fn annotations_mut(object: &mut Object) -> Option<&mut Object> {
    child_mut(object, "metadata").and_then(|metadata| child_mut(metadata, "annotations"))
}
