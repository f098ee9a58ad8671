//! Tolerations of pods: which of two says more, and lists of them without the redundant ones
//! (upstream's `pkg/util/tolerations`).

use api::tree::{maybe_integer, text};
use schema::object::Object;
use serde_json::Value;

/// Both lists as one, without what another of them covers.
pub(crate) fn merge(first: &[Value], second: &[Value]) -> Vec<Value> {
    let all: Vec<&Value> = first.iter().chain(second).collect();
    let mut merged: Vec<Value> = Vec::with_capacity(all.len());
    for (i, toleration) in all.iter().enumerate() {
        let later = all.iter().skip(i + 1).filter(|other| !equal(toleration, other));
        if !merged.iter().chain(later.copied()).any(|other| covers(other, toleration)) {
            merged.push((*toleration).clone());
        }
    }
    merged
}

/// Whether each toleration is covered by one of `allowed`; an empty list allows everything.
pub(crate) fn all_covered(tolerations: &[Value], allowed: &[Value]) -> bool {
    allowed.is_empty() || tolerations.iter().all(|t| allowed.iter().any(|other| covers(other, t)))
}

/// Whether `wide` tolerates all that `narrow` does. An empty operator is `Equal` in `wide` alone, as upstream
/// has it.
fn covers(wide: &Value, narrow: &Value) -> bool {
    if equal(wide, narrow) {
        return true;
    }
    let (Some(wide), Some(narrow)) = (wide.as_object(), narrow.as_object()) else { return false };
    let same = |name| text(wide, name) == text(narrow, name);
    let any_key = text(wide, "key").is_empty() && text(wide, "operator") == "Exists";
    let any_effect = text(wide, "effect").is_empty();
    if !(same("key") || any_key) || !(same("effect") || any_effect) {
        return false;
    }
    if text(wide, "effect") == "NoExecute" {
        let seconds = |object| maybe_integer(object, "tolerationSeconds");
        if seconds(wide).is_some_and(|limit| seconds(narrow).is_none_or(|seconds| seconds > limit)) {
            return false;
        }
    }
    match text(wide, "operator") {
        "" | "Equal" => text(narrow, "operator") == "Equal" && same("value"),
        operator => operator == "Exists",
    }
}

fn equal(a: &Value, b: &Value) -> bool {
    let (Some(a), Some(b)) = (a.as_object(), b.as_object()) else { return a == b };
    ["key", "operator", "value", "effect"].iter().all(|name| text(a, name) == text(b, name))
        && seconds_equal(a, b)
}

fn seconds_equal(a: &Object, b: &Object) -> bool {
    maybe_integer(a, "tolerationSeconds") == maybe_integer(b, "tolerationSeconds")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(first: Value, second: Value, expected: Value) {
        let items = |list: &Value| list.as_array().cloned().unwrap_or_default();
        assert_eq!(merge(&items(&first), &items(&second)), items(&expected), "{first} {second}");
    }

    #[test]
    fn what_another_toleration_covers_is_left_out() {
        let exact = json!({"key": "a", "operator": "Equal", "value": "1", "effect": "NoSchedule"});
        let key = json!({"key": "a", "operator": "Exists"});
        let everything = json!({"operator": "Exists"});
        let other = json!({"key": "b", "operator": "Exists"});
        check(json!([exact]), json!([exact]), json!([exact]));
        check(json!([exact]), json!([key]), json!([key]));
        check(json!([key]), json!([exact, other]), json!([key, other]));
        check(json!([key, other]), json!([everything]), json!([everything]));
        check(json!([]), json!([]), json!([]));
    }

    #[test]
    fn a_shorter_time_covers_no_longer_one() {
        let short = json!({"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1});
        let long = json!({"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 2});
        check(json!([short]), json!([long]), json!([long]));
    }
}
