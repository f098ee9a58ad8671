//! PodDisruptionBudgets. Upstream's rules for the kind do not check metadata, beyond the registry's checks
//! for all kinds.

mod columns;

use crate::kind::{Columns, Kind, NO_DEFAULTS, RareProperties, Validation, WarningRules};
use crate::strategy::hooks::Common;
use crate::validation::conditions::conditions;
use crate::validation::go_value::go_value;
use crate::validation::int_or_percent::{at_most_100_percent, int_or_percent};
use crate::validation::kinds::workload::none_negative;
use crate::validation::rules::Rules;
use crate::validation::selector::label_selector;
use crate::validation::value::supported_value;
use api::name_rule::NameRule;
use api::tree::{child, maybe_text};
use apimachinery::field::{Error, ErrorList, Path};
use schema::builtin::IO_K8S_API_POLICY_V1_PODDISRUPTIONBUDGETSPEC as SPEC;
use schema::object::Object;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::PathSegment,
    qualified_finalizers: false,
    defaults: NO_DEFAULTS,
    validation: Validation::Objects(RULES),
    warnings: WarningRules::NONE,
    columns: Columns::Custom(columns::COLUMNS),
    gated: &[],
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};

pub(crate) const RULES: Rules = Rules { create, update };

fn create(new: &Object) -> ErrorList {
    spec(new, false)
}

fn update(subresource: &str, new: &Object, old: &Object) -> ErrorList {
    if subresource == "status" {
        return status(new);
    }
    // If the old selector has any error, invalid label values are allowed.
    let mut before = ErrorList::new();
    let selector = child(old, "spec").and_then(|spec| child(spec, "selector"));
    label_selector(&Path::NIL, selector, false, &mut before);
    spec(new, !before.is_empty())
}

fn spec(new: &Object, bad_selector: bool) -> ErrorList {
    let empty = Object::new();
    let spec = child(new, "spec").unwrap_or(&empty);
    let path = Path::root("spec");
    let mut errors = ErrorList::new();
    let bounds = ["minAvailable", "maxUnavailable"];
    if bounds.iter().all(|bound| spec.contains_key(*bound)) {
        let detail = "minAvailable and maxUnavailable cannot be both set";
        errors.push(Error::invalid(&path, go_value(&SPEC, spec), detail));
    }
    for bound in bounds {
        if let Some(value) = spec.get(bound) {
            int_or_percent(&path.child(bound), Some(value), &mut errors);
            at_most_100_percent(&path.child(bound), Some(value), &mut errors);
        }
    }
    label_selector(&path.child("selector"), child(spec, "selector"), bad_selector, &mut errors);
    if let Some(policy) = maybe_text(spec, "unhealthyPodEvictionPolicy") {
        let path = path.child("unhealthyPodEvictionPolicy");
        supported_value(&path, policy, &["AlwaysAllow", "IfHealthyBudget"], &mut errors);
    }
    errors
}

fn status(new: &Object) -> ErrorList {
    let empty = Object::new();
    let status = child(new, "status").unwrap_or(&empty);
    let path = Path::root("status");
    let mut errors = ErrorList::new();
    conditions(&path.child("conditions"), status, &mut errors);
    let counters = ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"];
    none_negative(&path, status, &counters, &mut errors);
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::{Value, json};

    fn budget(spec: Value) -> Object {
        Object::from_iter([("spec".to_owned(), spec)])
    }

    fn texts_of(errors: &ErrorList) -> Vec<String> {
        errors.iter().map(Error::to_string).collect()
    }

    #[test]
    fn budgets_have_one_bound() {
        let check = |spec: Value, expected: &[&str]| assert_eq!(texts_of(&create(&budget(spec))), expected);
        check(json!({"minAvailable": "50%"}), &[]);
        check(json!({}), &[]);
        check(
            json!({"minAvailable": 1, "maxUnavailable": "101%"}),
            &[
                "spec: Invalid value: {\"MinAvailable\":1,\"Selector\":null,\"MaxUnavailable\":\"101%\",\
                 \"UnhealthyPodEvictionPolicy\":null}: minAvailable and maxUnavailable cannot be both set",
                "spec.maxUnavailable: Invalid value: \"101%\": must not be greater than 100%",
            ],
        );
        check(
            json!({"unhealthyPodEvictionPolicy": ""}),
            &[
                "spec.unhealthyPodEvictionPolicy: Unsupported value: \"\": supported values: \"AlwaysAllow\", \
               \"IfHealthyBudget\"",
            ],
        );
    }

    #[test]
    fn existing_bad_selector_values_are_allowed() {
        let bad = budget(
            json!({"selector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["-"]}]}}),
        );
        let fields = |errors: &ErrorList| errors.iter().map(|e| e.field().to_owned()).collect::<Vec<_>>();
        assert_eq!(fields(&create(&bad)), ["spec.selector.matchExpressions[0].values[0]"]);
        assert_eq!(fields(&update("", &bad, &bad)), [""; 0]);
    }

    #[test]
    fn counters_of_a_status_are_not_negative() {
        let object = json!({"status": {"currentHealthy": -1, "expectedPods": 2}});
        let errors = update("status", object.as_object().unwrap_or(&Object::new()), &Object::new());
        let expected = ["status.currentHealthy: Invalid value: -1: must be greater than or equal to 0"];
        assert_eq!(texts_of(&errors), expected);
    }
}
