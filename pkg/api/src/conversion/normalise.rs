//! Implicit changes from upstream's round trip through internal types: aliases are synchronized, write-only
//! members are moved, and fields of removed versions are dropped.
//!
//! It happens whenever an object is decoded, from a request or from storage, after conversion and defaulting.
//! It is idempotent.

use super::workload::{ROLLBACK_TO, TEMPLATE_GENERATION};
use super::{horizontal_pod_autoscaler, pod_disruption_budget};
use crate::resources::Builtin;
use crate::tree::{child_mut, children_mut, integer, list, pairs, rename, text};
use apimachinery::strconv::{NumError, parse_int};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jsontree::{Value, json};
use schema::object::{self, Object};
use thiserror::Error;

const INIT_CONTAINER_ANNOTATIONS: [&str; 4] = [
    "pod.beta.kubernetes.io/init-containers",
    "pod.alpha.kubernetes.io/init-containers",
    "pod.beta.kubernetes.io/init-container-statuses",
    "pod.alpha.kubernetes.io/init-container-statuses",
];

/// Decoding error: an annotation that represents a number does not parse.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NormaliseError {
    /// Rollback revision of a Deployment.
    #[error("failed to parse annotation[{ROLLBACK_TO}]={0} as int64: {1}")]
    RollbackTo(String, NumError),
    /// Template generation of a DaemonSet.
    #[error(transparent)]
    TemplateGeneration(NumError),
}

/// Returns the annotation of a kind that represents a field of upstream's internal type. Responses with
/// metadata only do not contain it, because upstream takes the metadata from the internal type.
pub fn internal_field_annotation(kind: Option<Builtin>) -> Option<&'static str> {
    match kind {
        Some(Builtin::DaemonSet) => Some(TEMPLATE_GENERATION),
        Some(Builtin::Deployment) => Some(ROLLBACK_TO),
        _ => None,
    }
}

/// Normalizes an object in the shape of the storage version.
///
/// # Errors
/// See [`NormaliseError`]. Upstream returns 400 with this text in its usual decode error.
pub fn normalise_for_storage(group: &str, kind: &str, object: &mut Object) -> Result<(), NormaliseError> {
    match (group, kind) {
        ("", "Pod") => pod(object),
        ("", "PodTemplate") => pod_template(object, &["template"]),
        ("", "ReplicationController") | ("apps", "ReplicaSet") | ("batch", "Job") => {
            pod_template(object, &["spec", "template"]);
        }
        ("apps", "StatefulSet") => stateful_set(object),
        ("apps", "Deployment") => {
            pod_template(object, &["spec", "template"]);
            return deployment(object);
        }
        ("apps", "DaemonSet") => {
            pod_template(object, &["spec", "template"]);
            return daemon_set(object);
        }
        ("batch", "CronJob") => pod_template(object, &["spec", "jobTemplate", "spec", "template"]),
        ("", "Node") => node(object),
        ("", "Secret") => secret(object),
        ("autoscaling", "HorizontalPodAutoscaler") => horizontal_pod_autoscaler::drop_annotations(object),
        ("policy", "PodDisruptionBudget") => pod_disruption_budget::normalise(object),
        _ => {}
    }
    Ok(())
}

fn pod(pod: &mut Object) {
    drop_init_container_annotations(pod);
    pod_spec(pod);
    if let Some(spec) = child_mut(pod, "spec")
        && integer(spec, "terminationGracePeriodSeconds") < 0
    {
        spec.insert("terminationGracePeriodSeconds", Value::from(1));
    }
    let Some(status) = child_mut(pod, "status") else { return };
    let first = list(status, "podIPs").first().and_then(Value::as_object).map(|ip| text(ip, "ip"));
    match (text(status, "podIP"), first) {
        ("", None) => {}
        // The single address takes precedence, because an old kubelet sets only that one.
        (single, first) if !single.is_empty() && Some(single) != first => {
            let addresses = json!([{"ip": single}]);
            status.insert("podIPs", addresses);
        }
        (_, first) => {
            let first = Value::from(first.unwrap_or_default());
            status.insert("podIP", first);
        }
    }
}

fn pod_template(object: &mut Object, path: &[&str]) {
    let template = path.iter().try_fold(object, |at, step| child_mut(at, step));
    if let Some(template) = template {
        drop_init_container_annotations(template);
        pod_spec(template);
    }
}

fn pod_spec(template: &mut Object) {
    let spec = template.entry("spec").or_insert_with(|| Value::Object(Object::new()));
    let Value::Object(spec) = spec else { return };
    if text(spec, "serviceAccountName").is_empty() {
        rename(spec, "serviceAccount", "serviceAccountName");
    }
    match text(spec, "serviceAccountName").to_owned() {
        name if name.is_empty() => drop(spec.remove("serviceAccount")),
        name => drop(spec.insert("serviceAccount", Value::from(name))),
    }
    let context = spec.entry("securityContext").or_insert(Value::Null);
    if context.is_null() {
        *context = Value::Object(Object::new());
    }
}

fn drop_init_container_annotations(object: &mut Object) {
    if let Some(annotations) = annotations_mut(object) {
        annotations.retain(|name, _| !INIT_CONTAINER_ANNOTATIONS.contains(&name.as_str()));
    }
}

fn stateful_set(object: &mut Object) {
    pod_template(object, &["spec", "template"]);
    let Some(spec) = child_mut(object, "spec") else { return };
    for claim in children_mut(spec, "volumeClaimTemplates") {
        claim.insert("apiVersion", Value::from("v1"));
        claim.insert("kind", Value::from("PersistentVolumeClaim"));
    }
}

fn deployment(object: &mut Object) -> Result<(), NormaliseError> {
    let Some(annotations) = annotations_mut(object) else { return Ok(()) };
    let Some(value) = annotations.remove(ROLLBACK_TO) else { return Ok(()) };
    let revision = value.as_str().unwrap_or_default();
    if !revision.is_empty() {
        let number =
            parse_int(revision).map_err(|error| NormaliseError::RollbackTo(revision.to_owned(), error))?;
        annotations.insert(ROLLBACK_TO.to_owned(), Value::from(number.to_string()));
    }
    Ok(())
}

fn daemon_set(object: &mut Object) -> Result<(), NormaliseError> {
    let path = ["metadata", "annotations", TEMPLATE_GENERATION];
    let generation = match object::get_str(object, &path) {
        Some(text) => parse_int(text).map_err(NormaliseError::TemplateGeneration)?,
        None => 0,
    };
    object::set(object, &path, generation.to_string());
    Ok(())
}

fn node(object: &mut Object) {
    let Some(spec) = child_mut(object, "spec") else { return };
    let first = list(spec, "podCIDRs").first().and_then(Value::as_str);
    match (text(spec, "podCIDR"), first) {
        ("", None) => {}
        (single, first) if !single.is_empty() && Some(single) != first => {
            let ranges = json!([single]);
            spec.insert("podCIDRs", ranges);
        }
        (_, first) => {
            let first = Value::from(first.unwrap_or_default());
            spec.insert("podCIDR", first);
        }
    }
}

fn secret(object: &mut Object) {
    let texts: Vec<(String, Value)> = pairs(object, "stringData")
        .map(|(key, text)| (key.to_owned(), Value::from(STANDARD.encode(text))))
        .collect();
    object.remove("stringData");
    if texts.is_empty() {
        return;
    }
    let data = object.entry("data").or_insert(Value::Null);
    if !data.is_object() {
        *data = Value::Object(Object::new());
    }
    if let Value::Object(data) = data {
        data.extend(texts);
    }
}

fn annotations_mut(object: &mut Object) -> Option<&mut Object> {
    child_mut(object, "metadata").and_then(|metadata| child_mut(metadata, "annotations"))
}

#[cfg(test)]
mod tests;
