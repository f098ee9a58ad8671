//! Behavior of a HorizontalPodAutoscaler inside an annotation of `autoscaling/v1`. The annotation is the JSON
//! of an internal type, with Go's field names.

use super::json_text;
use crate::tree::{child, children, integer, text};
use apimachinery::quantity::Quantity;
use jsontree::Value;
use schema::object::Object;
use std::fmt::Write;

const RULES: [(&str, &str); 2] = [("ScaleUp", "scaleUp"), ("ScaleDown", "scaleDown")];

pub(super) fn to_text(behavior: &Object) -> String {
    let mut out = String::new();
    for (index, (go_name, name)) in RULES.iter().enumerate() {
        let _ = write!(out, "{}\"{go_name}\":", if index == 0 { '{' } else { ',' });
        match child(behavior, name) {
            Some(rules) => write_rules(rules, &mut out),
            None => out.push_str("null"),
        }
    }
    out.push('}');
    out
}

fn write_rules(rules: &Object, out: &mut String) {
    let window = rules.get("stabilizationWindowSeconds").and_then(Value::as_i64);
    let window = window.map_or_else(|| "null".to_owned(), |seconds| seconds.to_string());
    let _ = write!(out, "{{\"StabilizationWindowSeconds\":{window},\"SelectPolicy\":");
    write_text_or_null(rules.get("selectPolicy"), out);
    out.push_str(",\"Policies\":");
    if rules.get("policies").is_some_and(Value::is_array) {
        write_policies(rules, out)
    } else {
        out.push_str("null")
    }
    out.push_str(",\"Tolerance\":");
    write_text_or_null(rules.get("tolerance"), out);
    out.push('}');
}

fn write_policies(rules: &Object, out: &mut String) {
    out.push('[');
    for (index, policy) in children(rules, "policies").enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let kind = json_text::string(text(policy, "type"));
        let value = integer(policy, "value");
        let period = integer(policy, "periodSeconds");
        let _ = write!(out, "{comma}{{\"Type\":{kind},\"Value\":{value},\"PeriodSeconds\":{period}}}");
    }
    out.push(']');
}

fn write_text_or_null(value: Option<&Value>, out: &mut String) {
    match value.and_then(Value::as_str) {
        Some(text) => out.push_str(&json_text::string(text)),
        None => out.push_str("null"),
    }
}

/// Parses the behavior in an annotation. Returns `None` if the text is malformed or sets nothing.
pub(super) fn from_text(text: &str) -> Option<Object> {
    let value: Value = serde_json::from_str(text).ok()?;
    let rules = members(&value, &RULES, rules)?;
    (!rules.is_empty()).then_some(rules)
}

fn rules(_: &str, value: &Value) -> Option<Value> {
    let names = [
        ("StabilizationWindowSeconds", "stabilizationWindowSeconds"),
        ("SelectPolicy", "selectPolicy"),
        ("Policies", "policies"),
        ("Tolerance", "tolerance"),
    ];
    members(value, &names, rule).map(Value::Object)
}

fn rule(name: &str, value: &Value) -> Option<Value> {
    match name {
        "stabilizationWindowSeconds" => int32(value),
        "selectPolicy" => value.as_str().map(Value::from),
        "tolerance" => tolerance(value),
        _ => value.as_array()?.iter().map(policy).collect::<Option<Vec<Value>>>().map(Value::from),
    }
}

fn policy(value: &Value) -> Option<Value> {
    let names = [("Type", "type"), ("Value", "value"), ("PeriodSeconds", "periodSeconds")];
    let convert = |name: &str, value: &Value| match name {
        "type" => value.as_str().map(Value::from),
        _ => int32(value),
    };
    match value {
        Value::Null => Some(Value::Object(Object::new())),
        value => members(value, &names, convert).map(Value::Object),
    }
}

/// Returns the known members of an object, with Go's case-insensitive matching. Returns `None` if the value
/// is not an object or `convert` rejects a member. Null members are omitted.
fn members(
    value: &Value,
    names: &[(&str, &str)],
    convert: impl Fn(&str, &Value) -> Option<Value>,
) -> Option<Object> {
    let mut converted = Object::new();
    for (key, value) in value.as_object()?.iter().filter(|(_, value)| !value.is_null()) {
        if let Some((_, name)) = names.iter().find(|(go_name, _)| go_name.eq_ignore_ascii_case(key)) {
            converted.insert((*name).to_owned(), convert(name, value)?);
        }
    }
    Some(converted)
}

fn int32(value: &Value) -> Option<Value> {
    value.as_i64().and_then(|number| i32::try_from(number).ok()).map(Value::from)
}

/// Converts a quantity. Like Go, it accepts a bare number and surrounding blanks.
fn tolerance(value: &Value) -> Option<Value> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string().into(),
        _ => return None,
    };
    text.trim().parse::<Quantity>().ok().map(|quantity| Value::from(quantity.to_string()))
}
