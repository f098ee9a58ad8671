//! Workloads: `apps/v1`, and the early versions `apps/v1beta1` and `extensions/v1beta1`, which have fields
//! where later versions have annotations.

use super::kind::{Conversion, NONE, NormaliseError, ROLLBACK_TO, Spoke};
use super::pod::pod_template;
use crate::tree::{child_mut, children_mut, integer};
use apimachinery::strconv::parse_int;
use jsontree::Value;
use schema::object::{self, Object};

pub(super) static DAEMON_SET: Conversion = Conversion {
    spokes: &[Spoke::of("extensions/v1beta1", daemon_set_to_hub, daemon_set_from_hub)],
    normalise: normalise_daemon_set,
    internal_annotation: Some(TEMPLATE_GENERATION),
};

pub(super) static DEPLOYMENT: Conversion = Conversion {
    spokes: &[
        Spoke::of("apps/v1beta1", deployment_to_hub, deployment_from_hub),
        Spoke::of("extensions/v1beta1", deployment_to_hub, deployment_from_hub),
    ],
    normalise: normalise_deployment,
    internal_annotation: Some(ROLLBACK_TO),
};

pub(super) static STATEFUL_SET: Conversion = Conversion {
    spokes: &[Spoke::of("apps/v1beta1", stateful_set_to_hub, stateful_set_from_hub)],
    normalise: normalise_stateful_set,
    ..NONE
};

/// Annotation with the template generation of a DaemonSet.
pub(super) const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

/// The field takes precedence; an annotation with the same meaning is dropped.
fn deployment_to_hub(deployment: &mut Object) {
    if let Some(annotations) = annotations_mut(deployment) {
        annotations.remove(ROLLBACK_TO);
    }
    if let Some(Value::Object(rollback)) = object::remove(deployment, &["spec", "rollbackTo"]) {
        let revision = integer(&rollback, "revision").to_string();
        object::set(deployment, &["metadata", "annotations", ROLLBACK_TO], revision);
    }
}

fn deployment_from_hub(deployment: &mut Object) {
    if let Some(revision) = take_number(deployment, ROLLBACK_TO) {
        object::set(deployment, &["spec", "rollbackTo", "revision"], revision);
    }
}

fn daemon_set_to_hub(daemon_set: &mut Object) {
    let generation = object::remove(daemon_set, &["spec", "templateGeneration"]);
    let generation = generation.as_ref().and_then(Value::as_i64).unwrap_or_default().to_string();
    object::set(daemon_set, &["metadata", "annotations", TEMPLATE_GENERATION], generation);
}

fn daemon_set_from_hub(daemon_set: &mut Object) {
    if let Some(generation) = take_number(daemon_set, TEMPLATE_GENERATION) {
        object::set(daemon_set, &["spec", "templateGeneration"], generation);
    }
}

/// An absent observed generation becomes 0, which is equivalent in `apps/v1`.
fn stateful_set_to_hub(_: &mut Object) {}

/// In `apps/v1beta1` the observed generation is a pointer. It is never nil after a conversion from the hub.
fn stateful_set_from_hub(stateful_set: &mut Object) {
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

fn normalise_deployment(object: &mut Object) -> Result<(), NormaliseError> {
    pod_template(object, &["spec", "template"]);
    let Some(annotations) = annotations_mut(object) else { return Ok(()) };
    let Some(value) = annotations.remove(ROLLBACK_TO) else { return Ok(()) };
    let revision = value.as_str().unwrap_or_default();
    if !revision.is_empty() {
        let number = parse_int(revision)
            .map_err(|source| NormaliseError::RollbackTo { revision: revision.to_owned(), source })?;
        annotations.insert(ROLLBACK_TO.to_owned(), Value::from(number.to_string()));
    }
    Ok(())
}

fn normalise_daemon_set(object: &mut Object) -> Result<(), NormaliseError> {
    pod_template(object, &["spec", "template"]);
    let path = ["metadata", "annotations", TEMPLATE_GENERATION];
    let generation = match object::get_str(object, &path) {
        Some(text) => parse_int(text).map_err(NormaliseError::TemplateGeneration)?,
        None => 0,
    };
    object::set(object, &path, generation.to_string());
    // The internal type has no pointer to either number.
    let update = ["spec", "updateStrategy", "rollingUpdate"];
    if let Some(update) = update.iter().try_fold(object, |at, step| child_mut(at, step)) {
        for member in ["maxUnavailable", "maxSurge"] {
            let number = update.entry(member).or_insert(Value::Null);
            if number.is_null() {
                *number = Value::from(0);
            }
        }
    }
    Ok(())
}

fn normalise_stateful_set(object: &mut Object) -> Result<(), NormaliseError> {
    pod_template(object, &["spec", "template"]);
    let Some(spec) = child_mut(object, "spec") else { return Ok(()) };
    for claim in children_mut(spec, "volumeClaimTemplates") {
        claim.insert("apiVersion", Value::from("v1"));
        claim.insert("kind", Value::from("PersistentVolumeClaim"));
    }
    Ok(())
}
