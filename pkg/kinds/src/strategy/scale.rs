//! The `scale` subresource: `autoscaling/v1` Scale as a view of an object's replicas.

use api::resources::Resource;
use api::resources::custom::{ScaleFieldError, ScalePaths};
use apimachinery::field;
use apimachinery::labels::Selector;
use jsontree::{Value, json};
use schema::object::Object;

use api::meta;

/// Replicas of a Scale whose object has no such field. Not valid in a request.
pub const NO_REPLICAS: i64 = i32::MIN as i64;

/// Returns the Scale of an object with replicas. Its metadata are the identifying part of the object's.
///
/// # Errors
/// The value in place of the replicas of a custom object, if it is no integer.
pub fn scale_of(row: &Resource<'_>, object: &Object) -> Result<Object, ScaleFieldError> {
    match row.custom.and_then(|custom| custom.version.scale.as_ref()) {
        None => Ok(builtin(object)),
        Some(paths) => {
            let replicas = |path| {
                Ok::<_, ScaleFieldError>(Value::from(ScalePaths::replicas_at(object, path)?.unwrap_or(0)))
            };
            let desired = replicas(&paths.spec_replicas)?;
            let current = replicas(&paths.status_replicas)?;
            let selector =
                paths.selector.as_ref().map_or(Ok(""), |path| ScalePaths::selector_at(object, path))?;
            Ok(scale(object, desired, current, selector.to_owned()))
        }
    }
}

/// Returns the replicas path of a custom object if the object has no value there.
pub fn missing_replicas(row: &Resource<'_>, object: &Object) -> Option<String> {
    let path = &row.custom?.version.scale.as_ref()?.spec_replicas;
    let missing = ScalePaths::replicas_at(object, path).is_ok_and(|replicas| replicas.is_none());
    missing.then(|| format!(".{}", path.join(".")))
}

fn builtin(object: &Object) -> Object {
    let number =
        |parent: &str| object.get(parent).and_then(|p| p.get("replicas")).cloned().unwrap_or(Value::from(0));
    scale(object, number("spec"), number("status"), selector_text(object))
}

fn scale(object: &Object, desired: Value, current: Value, selector: String) -> Object {
    let metadata = meta::metadata(object);
    let copied = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"];
    let metadata: Object = copied
        .iter()
        .filter_map(|name| metadata?.get(*name).map(|v| ((*name).to_owned(), v.clone())))
        .collect();
    let mut status = Object::new();
    status.insert("replicas", current);
    if !selector.is_empty() {
        status.insert("selector", Value::from(selector));
    }
    let scale = json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": {"replicas": desired},
        "status": status,
    });
    match scale {
        Value::Object(map) => map,
        _ => Object::new(),
    }
}

/// Sets the replicas and the resource version (the precondition) of a Scale in an object.
pub fn apply_scale(row: &Resource<'_>, object: &mut Object, scale: &Object) {
    let replicas = scale.get("spec").and_then(|s| s.get("replicas")).cloned().unwrap_or(Value::from(0));
    match row.custom.and_then(|custom| custom.version.scale.as_ref()) {
        Some(paths) => {
            let path: Vec<&str> = paths.spec_replicas.iter().map(String::as_str).collect();
            schema::object::set(object, &path, replicas);
        }
        None => {
            if let Some(spec) = super::hooks::child(object, "spec") {
                spec.insert("replicas", replicas);
            }
        }
    }
    let version = meta::text(scale, "resourceVersion").to_owned();
    if !version.is_empty() {
        meta::set_text(object, "resourceVersion", &version);
    }
}

/// Validates a Scale (upstream's `ValidateScaleUpdate`). The metadata are not written, so they are not validated.
pub fn validate_scale(scale: &Object) -> field::ErrorList {
    let mut errors = field::ErrorList::new();
    let replicas = schema::object::get_i64(scale, &["spec", "replicas"]).unwrap_or(0);
    if replicas < 0 {
        let spec = field::Path::root("spec");
        errors.push(field::Error::invalid(
            &spec.child("replicas"),
            replicas,
            "must be greater than or equal to 0",
        ));
    }
    errors
}

/// Selector of the object as text: from a plain map (replication controllers) or a label selector.
fn selector_text(object: &Object) -> String {
    let Some(selector) = object.get("spec").and_then(|s| s.get("selector")).and_then(Value::as_object) else {
        return String::new();
    };
    let structured = selector.contains_key("matchLabels") || selector.contains_key("matchExpressions");
    let labels =
        if structured { selector.get("matchLabels").and_then(Value::as_object) } else { Some(selector) };
    let mut terms: Vec<String> = labels
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or("")))
        .collect();
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    terms.extend(expressions.into_iter().flatten().filter_map(expression_text));
    match Selector::parse(&terms.join(",")) {
        Ok(selector) => selector.to_string(),
        Err(_) => String::new(),
    }
}

fn expression_text(expression: &Value) -> Option<String> {
    let key = expression.get("key")?.as_str()?;
    let values: Vec<&str> = expression
        .get("values")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    match expression.get("operator")?.as_str()? {
        "In" => Some(format!("{key} in ({})", values.join(","))),
        "NotIn" => Some(format!("{key} notin ({})", values.join(","))),
        "Exists" => Some(key.to_owned()),
        "DoesNotExist" => Some(format!("!{key}")),
        _ => None,
    }
}
