//! Validation of `metav1.Condition`s in statuses.

use super::value::{invalid_each, qualified_name};
use api::tree::{children, integer, is_set, text};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::names;
use schema::object::Object;
use std::collections::BTreeSet;

/// Length limit of a reason in bytes.
const REASON_BYTES_MAX: usize = 1024;
/// Length limit of a message in bytes.
const MESSAGE_BYTES_MAX: usize = 32 * 1024;

const STATUSES: &[&str] = &["False", "True", "Unknown"];

/// Validates the conditions of a status. `path` is that of the list.
pub(crate) fn conditions(path: &Path<'_>, status: &Object, errors: &mut ErrorList) {
    let mut seen = BTreeSet::new();
    for (index, condition) in children(status, "conditions").enumerate() {
        let path = path.index(index);
        let kind = text(condition, "type");
        if !seen.insert(kind) {
            errors.push(Error::duplicate(&path, kind));
        }
        validate_condition(&path, condition, errors);
    }
}

/// Validates the reasons in the health of a volume (KEP-1432). `path` is that of `owner`.
pub(crate) fn health_conditions(path: &Path<'_>, owner: &Object, errors: &mut ErrorList) {
    let path = path.child("healthConditions");
    for (index, condition) in children(owner, "healthConditions").enumerate() {
        let reason = text(condition, "reason");
        if !reason.is_empty() {
            let path = path.index(index);
            invalid_each(&path.child("reason"), reason, reason_messages(reason), errors);
        }
    }
}

fn validate_condition(path: &Path<'_>, condition: &Object, errors: &mut ErrorList) {
    match text(condition, "type") {
        "" => errors.push(Error::required(&path.child("type"), "is required")),
        kind => qualified_name(&path.child("type"), kind, errors),
    }
    let status = text(condition, "status");
    if status.is_empty() {
        errors.push(Error::required(&path.child("status"), ""));
    } else if !STATUSES.contains(&status) {
        errors.push(Error::not_supported(&path.child("status"), BadValue::json_text(status), STATUSES));
    }
    let generation = integer(condition, "observedGeneration");
    if generation < 0 {
        let detail = "must be greater than or equal to zero";
        errors.push(Error::invalid(&path.child("observedGeneration"), generation, detail));
    }
    if !is_set(condition, "lastTransitionTime") {
        errors.push(Error::required(&path.child("lastTransitionTime"), ""));
    }
    let reason = text(condition, "reason");
    let path_of_reason = path.child("reason");
    if reason.is_empty() {
        errors.push(Error::required(&path_of_reason, ""));
    } else {
        invalid_each(&path_of_reason, reason, reason_messages(reason), errors);
        if reason.len() > REASON_BYTES_MAX {
            errors.push(Error::too_long(&path_of_reason, Some(REASON_BYTES_MAX)));
        }
    }
    if text(condition, "message").len() > MESSAGE_BYTES_MAX {
        errors.push(Error::too_long(&path.child("message"), Some(MESSAGE_BYTES_MAX)));
    }
}

/// Returns the errors of a reason: it must start with a letter and not end in `,` or `:`.
pub(crate) fn reason_messages(reason: &str) -> Vec<String> {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let valid = reason.starts_with(|c: char| c.is_ascii_alphabetic())
        && reason.bytes().all(|byte| word(byte) || matches!(byte, b',' | b':'))
        && reason.bytes().last().is_some_and(word);
    if valid {
        return Vec::new();
    }
    vec![names::regex_error(
        "a condition reason must start with alphabetic character, optionally followed by a string of \
         alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
        "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?",
        &["my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"],
    )]
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::{Value, json};

    fn check(list: Value, expected: &[(&str, &str)]) {
        let status = Object::from_iter([("conditions".to_owned(), list)]);
        let mut errors = ErrorList::new();
        conditions(&Path::root("c"), &status, &mut errors);
        let got: Vec<(&str, &str)> = errors.iter().map(|error| (error.reason(), error.field())).collect();
        assert_eq!(got, expected);
    }

    fn condition(members: Value) -> Value {
        let mut all = json!({"type": "A", "status": "True", "reason": "R", "lastTransitionTime": "2020-01-01T00:00:00Z"});
        if let (Some(all), Value::Object(members)) = (all.as_object_mut(), members) {
            all.extend(members);
        }
        all
    }

    #[test]
    fn conditions_need_type_status_time_and_reason() {
        check(json!([condition(json!({})), condition(json!({"type": "B"}))]), &[]);
        check(
            json!([{}]),
            &[
                ("FieldValueRequired", "c[0].type"),
                ("FieldValueRequired", "c[0].status"),
                ("FieldValueRequired", "c[0].lastTransitionTime"),
                ("FieldValueRequired", "c[0].reason"),
            ],
        );
        check(json!([condition(json!({})), condition(json!({}))]), &[("FieldValueDuplicate", "c[1]")]);
        check(
            json!([condition(json!({"observedGeneration": -1}))]),
            &[("FieldValueInvalid", "c[0].observedGeneration")],
        );
    }

    #[test]
    fn reasons_are_words() {
        for good in ["A", "ReasonA:ReasonB", "a_"] {
            check(json!([condition(json!({"reason": good}))]), &[]);
        }
        for bad in ["1a", "A:", "A b", "_a"] {
            check(json!([condition(json!({"reason": bad}))]), &[("FieldValueInvalid", "c[0].reason")]);
        }
        let reason = "R".repeat(REASON_BYTES_MAX + 1);
        let message = "m".repeat(MESSAGE_BYTES_MAX + 1);
        check(
            json!([condition(json!({"reason": reason, "message": message}))]),
            &[("FieldValueTooLong", "c[0].reason"), ("FieldValueTooLong", "c[0].message")],
        );
    }
}
