//! Validation of leases.

use crate::coordination::rules::strategy;
use crate::validation::rules::Rules;
use crate::validation::value::NEGATIVE;
use crate::validation::{NameRule, validate_object_meta, validate_object_meta_update};
use api::tree::{child, maybe_integer, maybe_text, text};
use apimachinery::field::{Error, ErrorList, Path};
use schema::object::Object;

pub(super) const RULES: Rules = Rules { create: lease, update: lease_update };

fn lease(new: &Object) -> ErrorList {
    let mut errors = validate_object_meta(new, true, NameRule::DnsSubdomain, &Path::root("metadata"));
    lease_spec(new, &mut errors);
    errors
}

fn lease_update(_: &str, new: &Object, old: &Object) -> ErrorList {
    let mut errors = validate_object_meta_update(new, old, &Path::root("metadata"));
    lease_spec(new, &mut errors);
    errors
}

fn lease_spec(lease: &Object, errors: &mut ErrorList) {
    let Some(spec) = child(lease, "spec") else { return };
    let path = Path::root("spec");
    for (member, least, detail) in
        [("leaseDurationSeconds", 1, "must be greater than 0"), ("leaseTransitions", 0, NEGATIVE)]
    {
        if let Some(value) = maybe_integer(spec, member).filter(|value| *value < least) {
            errors.push(Error::invalid(&path.child(member), value, detail));
        }
    }
    let strategy_of = maybe_text(spec, "strategy");
    if let Some(value) = strategy_of {
        strategy(&path.child("strategy"), value, errors);
    }
    if !text(spec, "preferredHolder").is_empty() && strategy_of.unwrap_or_default().is_empty() {
        let detail = "may only be specified if `strategy` is defined";
        errors.push(Error::forbidden(&path.child("preferredHolder"), detail));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::{Value, json};

    fn object(spec: &Value) -> Object {
        let object =
            json!({"metadata": {"name": "l", "namespace": "n", "resourceVersion": "1"}, "spec": spec});
        object.as_object().cloned().unwrap_or_default()
    }

    fn check(validate: fn(&Object) -> ErrorList, spec: Value, expected: &[&str]) {
        let errors = validate(&object(&spec));
        assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), expected, "{spec}");
    }

    #[test]
    fn leases_last_and_change_hands() {
        check(lease, json!({"leaseDurationSeconds": 1, "leaseTransitions": 0}), &[]);
        check(
            lease,
            json!({"leaseDurationSeconds": 0, "leaseTransitions": -1}),
            &["spec.leaseDurationSeconds", "spec.leaseTransitions"],
        );
        check(lease, json!({"strategy": "x"}), &["spec.strategy.strategy"]);
        check(lease, json!({"strategy": "a.b/c", "preferredHolder": "x"}), &[]);
        check(lease, json!({"preferredHolder": "x"}), &["spec.preferredHolder"]);
    }
}
