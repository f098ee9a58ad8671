//! Conditions that the server itself sets on pods (upstream's `podutil.UpdatePodCondition`).

use crate::strategy::hooks::child;
use api::tree;
use apimachinery::time::UnixTime;
use jsontree::{Value, json};
use schema::object::Object;

#[derive(Debug, Clone, Copy)]
pub struct Condition<'a> {
    pub condition_type: &'a str,
    /// Reason as one word; may be empty.
    pub reason: &'a str,
    /// Message for humans; may be empty.
    pub message: &'a str,
}

/// Sets a condition of a pod to `True`. If it already was, its transition time is kept. Empty texts are
/// omitted.
pub fn set_condition_true(pod: &mut Object, condition: Condition<'_>, now: UnixTime) {
    let Some(status) = child(pod, "status") else { return };
    let before = tree::children(status, "conditions")
        .find(|old| tree::text(old, "type") == condition.condition_type)
        .filter(|old| tree::text(old, "status") == "True")
        .and_then(|old| old.get("lastTransitionTime").cloned());
    let since = before.unwrap_or_else(|| UnixTime { nanos: 0, ..now }.rfc3339().to_string().into());
    let mut new = json!({"type": condition.condition_type, "status": "True", "lastTransitionTime": since});
    for (name, text) in [("reason", condition.reason), ("message", condition.message)] {
        if !text.is_empty() {
            new[name] = text.into();
        }
    }
    let conditions = status.entry("conditions").or_insert(Value::Null);
    if !conditions.is_array() {
        *conditions = Value::Array(Vec::new());
    }
    let Some(conditions) = conditions.as_array_mut() else { return };
    let is_same_type =
        |old: &&mut Value| old.get("type").and_then(Value::as_str) == Some(condition.condition_type);
    match conditions.iter_mut().find(is_same_type) {
        Some(old) => *old = new,
        None => conditions.push(new),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn condition_keeps_transition_time() {
        let check = |conditions: Value, expected: Value| {
            let mut pod = json!({"status": {"conditions": conditions}}).as_object().unwrap().clone();
            let condition = Condition { condition_type: "A", reason: "R", message: "" };
            set_condition_true(&mut pod, condition, UnixTime { seconds: 60, nanos: 5 });
            assert_eq!(pod["status"]["conditions"], expected);
        };
        let met = |since: &str| {
            let since = format!("1970-01-01T00:{since}:00Z");
            json!({"type": "A", "status": "True", "lastTransitionTime": since, "reason": "R"})
        };
        let other = json!({"type": "B", "status": "True"});
        check(Value::Null, json!([met("01")]));
        check(json!([other]), json!([other, met("01")]));
        check(json!([{"type": "A", "status": "False"}, other]), json!([met("01"), other]));
        let old = json!({"type": "A", "status": "True", "lastTransitionTime": "1970-01-01T00:00:00Z"});
        check(json!([old]), json!([met("00")]));
    }
}
