//! Tolerations of a pod, and the effects of taints.

use crate::validation::value::{qualified_name, supported_value};
use api::tree::{children, is_set, text};
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::go_quote::quote;
use apimachinery::names;
use jsontree::Value;
use schema::object::Object;
use std::collections::BTreeSet;

const EFFECTS: &[&str] = &["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// Validates the tolerations. `path` is that of the list. With `comparisons`, numeric operators are allowed.
/// That feature is off by default; it is allowed for objects that already use it.
pub(crate) fn tolerations<'o>(
    path: &Path<'_>,
    tolerations: impl Iterator<Item = &'o Object>,
    comparisons: bool,
    errors: &mut ErrorList,
) {
    for (index, item) in tolerations.enumerate() {
        toleration(&path.index(index), item, comparisons, errors);
    }
}

/// True if a pod spec has tolerations with numeric operators.
pub(super) fn has_comparisons(spec: &Object) -> bool {
    children(spec, "tolerations").any(|item| matches!(text(item, "operator"), "Lt" | "Gt"))
}

/// Checks that an update keeps the old tolerations, except for their seconds, and validates the new ones.
pub(super) fn only_additions(
    path: &Path<'_>,
    new: &Object,
    old: &Object,
    comparisons: bool,
    errors: &mut ErrorList,
) {
    let remaining: BTreeSet<[&str; 4]> = children(new, "tolerations").map(all_but_seconds).collect();
    if !children(old, "tolerations").all(|old| remaining.contains(&all_but_seconds(old))) {
        let detail = "existing toleration can not be modified except its tolerationSeconds";
        errors.push(Error::forbidden(path, detail));
        return;
    }
    tolerations(path, children(new, "tolerations"), comparisons, errors);
}

/// Returns the identity of a toleration, which excludes its seconds.
fn all_but_seconds(toleration: &Object) -> [&str; 4] {
    ["key", "operator", "value", "effect"].map(|member| text(toleration, member))
}

fn toleration(path: &Path<'_>, item: &Object, comparisons: bool, errors: &mut ErrorList) {
    let key = text(item, "key");
    let effect = text(item, "effect");
    let operator = text(item, "operator");
    if !key.is_empty() {
        qualified_name(&path.child("key"), key, errors);
    } else if operator != "Exists" {
        let detail =
            "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
        errors.push(Error::invalid(&path.child("operator"), operator, detail));
    }
    if is_set(item, "tolerationSeconds") && effect != "NoExecute" {
        let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
        errors.push(Error::invalid(&path.child("effect"), effect, detail));
    }
    operand(path, operator, text(item, "value"), comparisons, errors);
    if !effect.is_empty() {
        supported_value(&path.child("effect"), effect, EFFECTS, errors);
    }
}

/// Validates the operator and the value that the taint's value is compared with.
fn operand(path: &Path<'_>, operator: &str, value: &str, comparisons: bool, errors: &mut ErrorList) {
    let operator_path = path.child("operator");
    match operator {
        "Equal" | "" => {
            let messages = names::is_label_value(value);
            if !messages.is_empty() {
                errors.push(Error::invalid(&operator_path, value, messages.join(";")));
            }
        }
        "Exists" if value.is_empty() => {}
        "Exists" => {
            let detail = "value must be empty when `operator` is 'Exists'";
            errors.push(Error::invalid(&operator_path, value, detail));
        }
        "Lt" | "Gt" if comparisons => number(&path.child("value"), value, errors),
        "Lt" | "Gt" => {
            let supported = ["Equal", "Exists", "Lt", "Gt"];
            errors.push(Error::not_supported(&operator_path, operator, &supported));
        }
        _ => errors.push(Error::not_supported(&operator_path, operator, &["Equal", "Exists"])),
    }
}

/// Checks for a 64-bit decimal number without leading zeros.
fn number(path: &Path<'_>, value: &str, errors: &mut ErrorList) {
    let digits = value.strip_prefix('-').unwrap_or(value);
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if value.is_empty() {
        errors.push(Error::invalid(path, value, "must be non-empty"));
    } else if !plain || (digits.starts_with('0') && value != "0") {
        let detail = "must be a valid decimal integer in canonical form";
        errors.push(Error::invalid(path, value, detail));
    }
    if value.parse::<i64>().is_err() {
        let why = if plain { "value out of range" } else { "invalid syntax" };
        let detail = format!("strconv.ParseInt: parsing {}: {why}", quote(value));
        errors.push(Error::invalid(path, value, detail));
    }
}

/// Parses the tolerations in the annotation of a very old pod, or returns the error.
pub(super) fn from_annotation(annotation: &str) -> Result<Vec<Object>, serde_json::Error> {
    let items: Vec<Value> = serde_json::from_str(annotation)?;
    Ok(items.into_iter().filter_map(|item| item.as_object().cloned()).collect())
}
