//! The `scale` subresource: `autoscaling/v1` Scale as a view on an object's replicas.

use api::validation::{NameRule, validate_object_meta};
use apimachinery::field;
use apimachinery::labels::Selector;
use schema::object::Object;
use serde_json::{Value, json};

use crate::meta;

/// The Scale of an object that has replicas. Metadata is the object's own, reduced to what names it.
pub fn scale_of(object: &Object) -> Object {
    let metadata = meta::metadata(object);
    let kept = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"];
    let metadata: Object = kept
        .iter()
        .filter_map(|name| metadata?.get(*name).map(|v| ((*name).to_owned(), v.clone())))
        .collect();
    let number =
        |parent: &str| object.get(parent).and_then(|p| p.get("replicas")).cloned().unwrap_or(Value::from(0));
    let mut status = Object::new();
    status.insert("replicas".to_owned(), number("status"));
    let selector = selector_text(object);
    if !selector.is_empty() {
        status.insert("selector".to_owned(), Value::from(selector));
    }
    let scale = json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": {"replicas": number("spec")},
        "status": status,
    });
    match scale {
        Value::Object(map) => map,
        _ => Object::new(),
    }
}

/// Puts the replicas (and the resource version, which is the precondition) of a Scale into an object.
pub fn apply_scale(object: &mut Object, scale: &Object) {
    let replicas = scale.get("spec").and_then(|s| s.get("replicas")).cloned().unwrap_or(Value::from(0));
    if let Some(spec) = super::child(object, "spec") {
        spec.insert("replicas".to_owned(), replicas);
    }
    let version = meta::text(scale, "resourceVersion").to_owned();
    if !version.is_empty() {
        meta::set_text(object, "resourceVersion", &version);
    }
}

/// What is wrong with a Scale (upstream's `ValidateScale`).
pub fn validate_scale(scale: &Object) -> field::ErrorList {
    let mut errors =
        validate_object_meta(scale, true, NameRule::DnsSubdomain, &field::Path::root("metadata"));
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

/// The object's selector in text form: a plain map (replication controllers) or a label selector.
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
