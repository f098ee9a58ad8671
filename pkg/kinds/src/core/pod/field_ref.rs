//! References to fields of the pod and to resources of its containers (downward API), in environment
//! variables and volumes.

use crate::validation::resources::quantity;
use crate::validation::value::qualified_name;
use api::tree::text;
use apimachinery::field::{Error, ErrorList, Path};
use schema::object::Object;

/// Fields for environment variables.
const ENV_FIELDS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

/// Fields in upstream's field selectors for pods, which upstream checks first.
const SELECTABLE: &[&str] = &[
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.phase",
    "status.podIP",
    "status.podIPs",
];

/// Resources for variables and files, in addition to huge pages.
const RESOURCES: &[&str] = &[
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

const SIZE_DIVISORS: &[&str] =
    &["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];

/// Validates a field reference in a variable.
pub(super) fn env_field(selector: &Object, path: &Path<'_>, errors: &mut ErrorList) {
    field(selector, ENV_FIELDS, path, errors);
}

/// Validates a reference to one of the `supported` fields (sorted), or to a single annotation or label.
pub(super) fn field(selector: &Object, supported: &[&str], path: &Path<'_>, errors: &mut ErrorList) {
    let version = text(selector, "apiVersion");
    let name = text(selector, "fieldPath");
    let name_path = path.child("fieldPath");
    if version.is_empty() {
        errors.push(Error::required(&path.child("apiVersion"), ""));
        return;
    }
    if name.is_empty() {
        errors.push(Error::required(&name_path, ""));
        return;
    }
    match internal_name(version, name) {
        Err(reason) => {
            let detail = format!("error converting fieldPath: {reason}");
            errors.push(Error::invalid(&name_path, name, detail));
        }
        Ok(("metadata.annotations", Some(key))) => qualified_name(path, &key.to_lowercase(), errors),
        Ok((_, Some(key))) => qualified_name(path, key, errors),
        Ok((name, None)) if !supported.contains(&name) => {
            errors.push(Error::not_supported(&name_path, name, supported));
        }
        Ok(_) => {}
    }
}

/// Validates a resource reference in a variable; the default is the container itself.
pub(super) fn env_resource(selector: &Object, path: &Path<'_>, errors: &mut ErrorList) {
    resource(selector, false, path, errors);
}

/// Validates a resource reference. Volumes do not belong to a container, so they must name one.
pub(super) fn resource(selector: &Object, in_volume: bool, path: &Path<'_>, errors: &mut ErrorList) {
    let name = text(selector, "resource");
    if in_volume && text(selector, "containerName").is_empty() {
        errors.push(Error::required(&path.child("containerName"), ""));
    } else if name.is_empty() {
        errors.push(Error::required(&path.child("resource"), ""));
    } else if !RESOURCES.contains(&name) && !is_huge_pages(name) {
        errors.push(Error::not_supported(&path.child("resource"), name, RESOURCES));
    }
    let divisor = quantity(selector.get("divisor"));
    let Some((divisors, kind)) = divisors(name).filter(|_| !divisor.is_zero()) else { return };
    if !divisors.contains(&divisor.to_string().as_str()) {
        let list = match divisors {
            SIZE_DIVISORS => SIZE_DIVISORS.join(", "),
            _ => divisors.join(" and "),
        };
        let detail = format!("only divisor's values {list} are supported with the {kind} resource");
        errors.push(Error::invalid(&path.child("divisor"), name, detail));
    }
}

/// Error of a field's path, in upstream's wording.
#[derive(Debug, thiserror::Error)]
enum FieldLabelError {
    #[error("unsupported pod version: {0}")]
    Version(String),
    #[error("field label does not support subscript: {0}")]
    Subscript(String),
    #[error("field label not supported: {0}")]
    Unsupported(String),
}

/// Returns the field and its optional key: `metadata.labels['key']`.
fn internal_name<'o>(version: &str, name: &'o str) -> Result<(&'o str, Option<&'o str>), FieldLabelError> {
    if version != "v1" {
        return Err(FieldLabelError::Version(version.to_owned()));
    }
    let subscripted = name.strip_suffix("']").and_then(|rest| rest.split_once("['"));
    match subscripted {
        Some((field @ ("metadata.annotations" | "metadata.labels"), key)) => Ok((field, Some(key))),
        Some((field, _)) if !field.is_empty() => Err(FieldLabelError::Subscript(name.to_owned())),
        // The field's name for the node in the first versions.
        _ if name == "spec.host" => Ok(("spec.nodeName", None)),
        _ if SELECTABLE.contains(&name) => Ok((name, None)),
        _ => Err(FieldLabelError::Unsupported(name.to_owned())),
    }
}

/// Returns the allowed divisors of a resource, and its name in errors.
fn divisors(resource: &str) -> Option<(&'static [&'static str], &'static str)> {
    match resource {
        "limits.cpu" | "requests.cpu" => Some((&["1m", "1"], "cpu")),
        "limits.memory" | "requests.memory" => Some((SIZE_DIVISORS, "memory")),
        "limits.ephemeral-storage" | "requests.ephemeral-storage" => {
            Some((SIZE_DIVISORS, "local ephemeral storage"))
        }
        name if is_huge_pages(name) => Some((SIZE_DIVISORS, "hugepages")),
        _ => None,
    }
}

fn is_huge_pages(name: &str) -> bool {
    name.starts_with("limits.hugepages-") || name.starts_with("requests.hugepages-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::{Value, json};

    fn check(rule: fn(&Object, &Path<'_>, &mut ErrorList), selector: Value, expected: &[&str]) {
        let Value::Object(selector) = selector else { unreachable!("tests give objects") };
        let mut errors = ErrorList::new();
        rule(&selector, &Path::root("r"), &mut errors);
        let texts: Vec<String> = errors.iter().map(Error::to_string).collect();
        assert_eq!(texts, expected, "{selector:?}");
    }

    fn field_path(path: &str) -> Value {
        json!({"apiVersion": "v1", "fieldPath": path})
    }

    #[test]
    fn variables_hold_some_fields() {
        check(env_field, field_path("metadata.name"), &[]);
        check(env_field, field_path("spec.host"), &[]);
        check(env_field, field_path("metadata.labels['a.b/c']"), &[]);
        check(env_field, field_path("metadata.annotations['A.b/C']"), &[]);
        check(env_field, json!({}), &["r.apiVersion: Required value"]);
        check(env_field, json!({"apiVersion": "v1"}), &["r.fieldPath: Required value"]);
        let error = |path: &str, reason: &str| {
            format!("r.fieldPath: Invalid value: \"{path}\": error converting fieldPath: {reason}")
        };
        let unknown = error("spec.x", "field label not supported: spec.x");
        check(env_field, field_path("spec.x"), &[&unknown]);
        let no_map = error("spec.x['y']", "field label does not support subscript: spec.x['y']");
        check(env_field, field_path("spec.x['y']"), &[&no_map]);
        let version = error("metadata.name", "unsupported pod version: v2");
        check(env_field, json!({"apiVersion": "v2", "fieldPath": "metadata.name"}), &[&version]);
        let supported = ENV_FIELDS.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
        let unsupported =
            format!("r.fieldPath: Unsupported value: \"status.phase\": supported values: {supported}");
        check(env_field, field_path("status.phase"), &[&unsupported]);
    }

    #[test]
    fn keys_are_qualified_names() {
        let mut errors = ErrorList::new();
        let Value::Object(selector) = field_path("metadata.labels['bad key']") else { unreachable!() };
        env_field(&selector, &Path::root("r"), &mut errors);
        assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), ["r"]);
    }

    #[test]
    fn resources_have_known_divisors() {
        check(env_resource, json!({"resource": "limits.cpu", "divisor": "1m"}), &[]);
        check(env_resource, json!({"resource": "limits.hugepages-2Mi", "divisor": "1Mi"}), &[]);
        check(env_resource, json!({}), &["r.resource: Required value"]);
        check(
            env_resource,
            json!({"resource": "limits.cpu", "divisor": "2"}),
            &[
                "r.divisor: Invalid value: \"limits.cpu\": only divisor's values 1m and 1 are supported with the cpu resource",
            ],
        );
        let sizes = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei";
        check(
            env_resource,
            json!({"resource": "requests.memory", "divisor": "1m"}),
            &[&format!(
                "r.divisor: Invalid value: \"requests.memory\": only divisor's values {sizes} are supported with \
                 the memory resource"
            )],
        );
    }

    #[test]
    fn volumes_name_the_container() {
        let in_volume = |selector: &Object, path: &Path<'_>, errors: &mut ErrorList| {
            resource(selector, true, path, errors);
        };
        check(in_volume, json!({"resource": "limits.cpu"}), &["r.containerName: Required value"]);
        check(in_volume, json!({"resource": "limits.cpu", "containerName": "c"}), &[]);
    }
}
