//! Attributes that a request derives from the attributes of its devices (KEP-6080).

use super::configuration::{compiled, too_complex};
use super::duplicates::duplicates;
use api::tree::{children, maybe_text, text, texts};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use cel::devices::{DERIVED_COST_MAX, Selectors};
use schema::object::Object;
use std::collections::{BTreeMap, BTreeSet};

/// Expressions of a claim. Derived attributes share a cost limit.
pub(super) struct Expressions<'o> {
    pub(super) compiler: Selectors,
    /// Attributes in constraints by the name of the request; those for all requests are under the empty name.
    constrained: BTreeMap<&'o str, BTreeSet<&'o str>>,
    /// Sum of the maximum costs of the derived attributes.
    cost: u64,
}

impl<'o> Expressions<'o> {
    pub(super) fn new(claim: &'o Object, compiler: Selectors) -> Self {
        let mut constrained: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for constraint in children(claim, "constraints") {
            let members = ["matchAttribute", "distinctAttribute"];
            let Some(attribute) = members.into_iter().find_map(|member| maybe_text(constraint, member))
            else {
                continue;
            };
            let mut requests = texts(constraint, "requests").peekable();
            if requests.peek().is_none() {
                constrained.entry("").or_default().insert(attribute);
            }
            for request in requests {
                constrained.entry(request).or_default().insert(attribute);
            }
        }
        Expressions { compiler, constrained, cost: 0 }
    }

    /// Validates the derived attributes of a request. `path` is that of the list. `name` is how constraints refer to
    /// the request.
    pub(super) fn derived_attributes(
        &mut self,
        path: &Path<'_>,
        request: &Object,
        name: &str,
        errors: &mut ErrorList,
    ) {
        for (index, attribute) in children(request, "derivedAttributes").enumerate() {
            let path = path.index(index);
            let attribute_name = text(attribute, "name");
            // The declared rules report empty values.
            if !attribute_name.is_empty() && !self.is_constrained(attribute_name, name) {
                let detail = "must be referenced by at least one matchAttribute or distinctAttribute constraint \
                              targeting this request";
                let value = BadValue::json_text(attribute_name);
                errors.push(Error::invalid(&path.child("name"), value, detail));
            }
            let expression = text(attribute, "expression");
            if !expression.is_empty() {
                self.expression(&path.child("expression"), expression, errors);
            }
        }
        let names = children(request, "derivedAttributes").map(|attribute| text(attribute, "name"));
        duplicates(path, names, errors);
    }

    /// True if a constraint for all requests, for this one, or for the one with this alternative has the attribute.
    fn is_constrained(&self, attribute: &str, request: &str) -> bool {
        let parent = request.split_once('/').map(|(parent, _)| parent);
        let names = ["", request].into_iter().chain(parent);
        names.filter_map(|name| self.constrained.get(name)).any(|names| names.contains(attribute))
    }

    fn expression(&mut self, path: &Path<'_>, expression: &str, errors: &mut ErrorList) {
        match compiled(path, expression, |text| self.compiler.derived_attribute_cost(text)) {
            Ok(cost) => {
                if cost > DERIVED_COST_MAX {
                    errors.push(too_complex(path));
                }
                self.cost = self.cost.wrapping_add(cost);
            }
            Err(error) => errors.push(error),
        }
    }

    /// Reports derived attributes that cost too much together. `path` is that of `devices`.
    pub(super) fn total_cost(&self, path: &Path<'_>, errors: &mut ErrorList) {
        if self.cost > DERIVED_COST_MAX {
            let detail = "too complex, total cost of derived attribute CEL expressions in the claim exceeds cost limit";
            errors.push(Error::forbidden(path, detail));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CLAIMS, ValidationContext};
    use super::*;
    use jsontree::{Value, json};

    fn errors(attributes: Value, constraints: Value) -> Vec<String> {
        let exactly =
            json!({"deviceClassName": "a", "allocationMode": "All", "derivedAttributes": attributes});
        let requests = json!([{"name": "r", "exactly": exactly}]);
        let claim = json!({
            "metadata": {"name": "c", "namespace": "n"},
            "spec": {"devices": {"requests": requests, "constraints": constraints}},
        });
        let claim = claim.as_object().cloned().unwrap_or_default();
        (CLAIMS.create)(&claim, &ValidationContext::default()).iter().map(Error::to_string).collect()
    }

    #[test]
    fn attributes_are_constrained() {
        let attribute = json!([{"name": "a.b/c", "expression": "device.driver"}]);
        let unused = "spec.devices.requests[0].exactly.derivedAttributes[0].name: Invalid value: \"a.b/c\": must be \
                      referenced by at least one matchAttribute or distinctAttribute constraint targeting this request";
        let none: [&str; 0] = [];
        assert_eq!(errors(attribute.clone(), json!([{"matchAttribute": "a.b/c"}])), none);
        assert_eq!(
            errors(attribute.clone(), json!([{"requests": ["r"], "distinctAttribute": "a.b/c"}])),
            none
        );
        assert_eq!(errors(attribute.clone(), json!([{"matchAttribute": "a.b/d"}])), [unused]);
        assert_eq!(errors(attribute, json!([])), [unused]);
    }

    #[test]
    fn expressions_have_scalar_results() {
        let constraints = json!([{"matchAttribute": "a.b/c"}]);
        let attribute = json!([{"name": "a.b/c", "expression": "device"}]);
        let expected = "spec.devices.requests[0].exactly.derivedAttributes[0].expression: Invalid value: \"device\": must \
                        evaluate to a primitive scalar (string, integer, boolean, semver), not kubernetes.DRADevice";
        assert_eq!(errors(attribute, constraints.clone()), [expected]);
        let costly = "device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, \
                      device.attributes.all(d, a.contains(b) && c.contains(d)))))";
        let attribute = json!([{"name": "a.b/c", "expression": costly}]);
        let forbidden = [
            "spec.devices.requests[0].exactly.derivedAttributes[0].expression: Forbidden: too complex, exceeds cost limit",
            "spec.devices: Forbidden: too complex, total cost of derived attribute CEL expressions in the claim exceeds \
             cost limit",
        ];
        assert_eq!(errors(attribute, constraints), forbidden);
    }
}
