//! PodDisruptionBudgets: `policy/v1`, in which an empty selector matches every pod, and `v1beta1`, in which
//! it matches none. In each version a reserved label expresses the meaning of the other version's empty
//! selector. The label never appears together with a user's own terms.

use super::kind::{Conversion, NONE, Spoke};
use crate::tree::{child, child_mut, list, text};
use jsontree::{Value, json};
use schema::object::Object;

pub(super) static CONVERSION: Conversion = Conversion {
    spokes: &[Spoke::of("policy/v1beta1", to_hub, from_hub)],
    normalise: |object| {
        normalise(object);
        Ok(())
    },
    ..NONE
};

const RESERVED: &str = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match";
/// In `v1`, matches nothing.
const MATCH_NONE: &str = "Exists";
/// In `v1beta1`, matches everything.
const MATCH_ALL: &str = "DoesNotExist";

fn to_hub(budget: &mut Object) {
    let Some(selector) = selector_mut(budget) else { return };
    if is_empty(selector) {
        set_only(selector, MATCH_NONE);
    } else if is_only(selector, MATCH_ALL) {
        selector.clear();
    } else {
        strip(selector);
    }
}

fn from_hub(budget: &mut Object) {
    normalise(budget);
    let Some(selector) = selector_mut(budget) else { return };
    if is_only(selector, MATCH_NONE) {
        selector.clear();
    } else if is_empty(selector) {
        set_only(selector, MATCH_ALL);
    }
}

/// Applies the changes of decoding a `v1` object.
fn normalise(budget: &mut Object) {
    if let Some(selector) = selector_mut(budget).filter(|selector| !is_only(selector, MATCH_NONE)) {
        strip(selector);
    }
}

fn selector_mut(budget: &mut Object) -> Option<&mut Object> {
    child_mut(budget, "spec").and_then(|spec| child_mut(spec, "selector"))
}

fn strip(selector: &mut Object) {
    if let Some(Value::Array(expressions)) = selector.get_mut("matchExpressions") {
        expressions.retain(|expression| expression.get("key").and_then(Value::as_str) != Some(RESERVED));
    }
}

fn has_no_labels(selector: &Object) -> bool {
    child(selector, "matchLabels").is_none_or(Object::is_empty)
}

fn is_empty(selector: &Object) -> bool {
    has_no_labels(selector) && list(selector, "matchExpressions").is_empty()
}

/// True if the selector consists of the reserved label alone.
fn is_only(selector: &Object, operator: &str) -> bool {
    let [Value::Object(only)] = list(selector, "matchExpressions") else { return false };
    has_no_labels(selector)
        && text(only, "key") == RESERVED
        && text(only, "operator") == operator
        && list(only, "values").is_empty()
}

fn set_only(selector: &mut Object, operator: &str) {
    selector.clear();
    selector.insert("matchExpressions", json!([{"key": RESERVED, "operator": operator}]));
}
