//! Validation of `metav1.LabelSelector`s.

use super::validate_labels;
use super::value::{invalid_each, qualified_name};
use api::tree::{children, list, text, texts};
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::names;
use schema::object::Object;

/// Validates a selector, if present. With `bad_values`, values of expressions need not be valid label values.
/// This is for updates of objects that already have such values.
pub(crate) fn label_selector(
    path: &Path<'_>,
    selector: Option<&Object>,
    bad_values: bool,
    errors: &mut ErrorList,
) {
    let Some(selector) = selector else { return };
    errors.append(validate_labels(selector, "matchLabels", &path.child("matchLabels")));
    let path = path.child("matchExpressions");
    for (index, requirement) in children(selector, "matchExpressions").enumerate() {
        label_requirement(&path.index(index), requirement, bad_values, errors);
    }
}

fn label_requirement(path: &Path<'_>, requirement: &Object, bad_values: bool, errors: &mut ErrorList) {
    let operator = text(requirement, "operator");
    let has_values = !list(requirement, "values").is_empty();
    let values = path.child("values");
    match operator {
        "In" | "NotIn" if !has_values => {
            errors.push(Error::required(&values, "must be specified when `operator` is 'In' or 'NotIn'"));
        }
        "Exists" | "DoesNotExist" if has_values => {
            let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            errors.push(Error::forbidden(&values, detail));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        _ => errors.push(Error::invalid(&path.child("operator"), operator, "not a valid selector operator")),
    }
    qualified_name(&path.child("key"), text(requirement, "key"), errors);
    if !bad_values {
        label_values(&values, requirement, errors);
    }
}

/// Checks that the `values` of a requirement are valid label values. `path` is that of the list.
pub(crate) fn label_values(path: &Path<'_>, requirement: &Object, errors: &mut ErrorList) {
    for (index, value) in texts(requirement, "values").enumerate() {
        invalid_each(&path.index(index), value, names::is_label_value(value), errors);
    }
}

/// True if an expression of a selector has a value that is not a valid label value.
pub(crate) fn has_bad_values(selector: &Object) -> bool {
    children(selector, "matchExpressions").any(requirement_has_bad_values)
}

/// True if a requirement has a value that is not a valid label value.
pub(crate) fn requirement_has_bad_values(requirement: &Object) -> bool {
    texts(requirement, "values").any(|value| !names::is_label_value(value).is_empty())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use jsontree::{Value, json};

    fn check(selector: Value, bad_values: bool, expected: &[(&str, &str)]) {
        let mut errors = ErrorList::new();
        label_selector(&Path::root("s"), selector.as_object(), bad_values, &mut errors);
        let got: Vec<(&str, &str)> = errors.iter().map(|e| (e.reason(), e.field())).collect();
        assert_eq!(got, expected, "{selector}");
    }

    #[test]
    fn operators_determine_whether_values_are_required() {
        let one = |operator: &str, values: &[&str]| json!({"matchExpressions": [{"key": "a", "operator": operator, "values": values}]});
        check(one("In", &["x"]), false, &[]);
        check(one("Exists", &[]), false, &[]);
        check(one("NotIn", &[]), false, &[("FieldValueRequired", "s.matchExpressions[0].values")]);
        check(one("DoesNotExist", &["x"]), false, &[("FieldValueForbidden", "s.matchExpressions[0].values")]);
        check(one("Gt", &["1"]), false, &[("FieldValueInvalid", "s.matchExpressions[0].operator")]);
    }

    #[test]
    fn keys_and_values_follow_label_rules() {
        let bad = json!({"matchExpressions": [{"key": "a b", "operator": "In", "values": ["x", "-"]}]});
        let key = ("FieldValueInvalid", "s.matchExpressions[0].key");
        check(bad.clone(), false, &[key, ("FieldValueInvalid", "s.matchExpressions[0].values[1]")]);
        check(bad.clone(), true, &[key]);
        assert!(has_bad_values(bad.as_object().unwrap()));
        check(json!({"matchLabels": {"a": "-"}}), true, &[("FieldValueInvalid", "s.matchLabels")]);
        check(Value::Null, false, &[]);
    }
}
