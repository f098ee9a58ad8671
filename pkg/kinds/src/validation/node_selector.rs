//! Node selectors: the nodes on which a pod may run, or from which a volume or device is accessible.

use super::selector::{label_values, requirement_has_bad_values};
use super::value::{dns_subdomain, qualified_name};
use api::tree::{children, list, text, texts};
use apimachinery::field::{Error, ErrorList, Path};
use schema::object::Object;

/// Validates a node selector. With `bad_values`, values need not be valid label values. This is for updates
/// of objects that already have such values.
pub(crate) fn node_selector(path: &Path<'_>, selector: &Object, bad_values: bool, errors: &mut ErrorList) {
    let path = path.child("nodeSelectorTerms");
    if list(selector, "nodeSelectorTerms").is_empty() {
        errors.push(Error::required(&path, "must have at least one node selector term"));
    }
    for (index, term) in children(selector, "nodeSelectorTerms").enumerate() {
        node_selector_term(&path.index(index), term, bad_values, errors);
    }
}

pub(crate) fn node_selector_term(path: &Path<'_>, term: &Object, bad_values: bool, errors: &mut ErrorList) {
    let expressions = path.child("matchExpressions");
    for (index, requirement) in children(term, "matchExpressions").enumerate() {
        label_requirement(&expressions.index(index), requirement, bad_values, errors);
    }
    let fields = path.child("matchFields");
    for (index, requirement) in children(term, "matchFields").enumerate() {
        field_requirement(&fields.index(index), requirement, errors);
    }
}

/// True if a node selector has values that are not valid label values.
pub(crate) fn has_bad_values(selector: &Object) -> bool {
    let terms = children(selector, "nodeSelectorTerms");
    terms.flat_map(|term| children(term, "matchExpressions")).any(requirement_has_bad_values)
}

fn label_requirement(path: &Path<'_>, requirement: &Object, bad_values: bool, errors: &mut ErrorList) {
    let operator = text(requirement, "operator");
    let values = path.child("values");
    errors.extend(match (operator, list(requirement, "values").len()) {
        ("In" | "NotIn", 0) => {
            Some(Error::required(&values, "must be specified when `operator` is 'In' or 'NotIn'"))
        }
        ("Exists" | "DoesNotExist", 1..) => {
            let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            Some(Error::forbidden(&values, detail))
        }
        ("Gt" | "Lt", 0 | 2..) => {
            let detail = "must be specified single value when `operator` is 'Lt' or 'Gt'";
            Some(Error::required(&values, detail))
        }
        ("In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt", _) => None,
        _ => Some(Error::invalid(&path.child("operator"), operator, "not a valid selector operator")),
    });
    qualified_name(&path.child("key"), text(requirement, "key"), errors);
    if !bad_values {
        label_values(&values, requirement, errors);
    }
}

/// The only supported field is the node's name.
fn field_requirement(path: &Path<'_>, requirement: &Object, errors: &mut ErrorList) {
    let operator = text(requirement, "operator");
    let values = path.child("values");
    if !matches!(operator, "In" | "NotIn") {
        errors.push(Error::invalid(&path.child("operator"), operator, "not a valid selector operator"));
    } else if list(requirement, "values").len() != 1 {
        let detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
        errors.push(Error::required(&values, detail));
    }
    let key = text(requirement, "key");
    if key != "metadata.name" {
        errors.push(Error::invalid(&path.child("key"), key, "not a valid field selector key"));
        return;
    }
    for (index, value) in texts(requirement, "values").enumerate() {
        dns_subdomain(&values.index(index), value, errors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::{Value, json};

    fn check(term: Value, expected: &[(&str, &str)]) {
        let mut errors = ErrorList::new();
        let term = term.as_object().cloned().unwrap_or_default();
        node_selector_term(&Path::root("t"), &term, false, &mut errors);
        let got: Vec<(&str, &str)> = errors.iter().map(|e| (e.reason(), e.field())).collect();
        assert_eq!(got, expected, "{term:?}");
    }

    #[test]
    fn numbers_are_compared_with_one_value() {
        let one = |operator: &str, values: &[&str]| json!({"matchExpressions": [{"key": "a", "operator": operator, "values": values}]});
        check(one("Gt", &["1"]), &[]);
        check(one("Gt", &[]), &[("FieldValueRequired", "t.matchExpressions[0].values")]);
        check(one("Lt", &["1", "2"]), &[("FieldValueRequired", "t.matchExpressions[0].values")]);
        check(one("In", &[]), &[("FieldValueRequired", "t.matchExpressions[0].values")]);
        check(one("Exists", &["1"]), &[("FieldValueForbidden", "t.matchExpressions[0].values")]);
        check(one("Equals", &["1"]), &[("FieldValueInvalid", "t.matchExpressions[0].operator")]);
        check(one("NotIn", &["a b"]), &[("FieldValueInvalid", "t.matchExpressions[0].values[0]")]);
    }

    #[test]
    fn the_only_field_is_the_name() {
        let one = |key: &str, operator: &str, values: &[&str]| json!({"matchFields": [{"key": key, "operator": operator, "values": values}]});
        check(one("metadata.name", "In", &["n1"]), &[]);
        check(
            one("metadata.name", "In", &["n1", "n2"]),
            &[("FieldValueRequired", "t.matchFields[0].values")],
        );
        check(one("metadata.name", "In", &["N"]), &[("FieldValueInvalid", "t.matchFields[0].values[0]")]);
        check(
            one("spec.x", "Exists", &[]),
            &[
                ("FieldValueInvalid", "t.matchFields[0].operator"),
                ("FieldValueInvalid", "t.matchFields[0].key"),
            ],
        );
    }
}
