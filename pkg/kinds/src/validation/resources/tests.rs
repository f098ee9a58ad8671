//! Tests of resource requirements.

use super::*;
use crate::validation::resource_name::container_resource;
use jsontree::json;

fn check(requirements: Value, expected: &[&str]) {
    check_with(
        &Requirements {
            name: container_resource,
            claims: &BTreeSet::from(["b", "a"]),
            allow_partial_huge_pages: false,
        },
        requirements,
        expected,
    );
}

fn check_with(rule: &Requirements<'_>, requirements: Value, expected: &[&str]) {
    let Value::Object(requirements) = requirements else { unreachable!("tests give objects") };
    let mut errors = ErrorList::new();
    rule.validate(&requirements, &Path::root("r"), &mut errors);
    let texts: Vec<String> = errors.iter().map(Error::to_string).collect();
    assert_eq!(texts, expected, "{requirements:?}");
}

#[test]
fn requests_stay_within_limits() {
    check(json!({}), &[]);
    check(json!({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Mi"}}), &[]);
    check(
        json!({"limits": {"cpu": "500m"}, "requests": {"cpu": "1"}}),
        &["r.requests: Invalid value: \"1\": must be less than or equal to cpu limit of 500m"],
    );
}

#[test]
fn quantities_are_not_negative_and_extended_ones_integers() {
    check(
        json!({"limits": {"cpu": "-1"}}),
        &["r.limits[cpu]: Invalid value: \"-1\": must be greater than or equal to 0"],
    );
    check(
        json!({"limits": {"example.com/gpu": "500m"}}),
        &["r.limits[example.com/gpu]: Invalid value: \"500m\": must be an integer"],
    );
}

#[test]
fn extended_resources_and_huge_pages_cannot_be_overcommitted() {
    check(
        json!({"requests": {"example.com/gpu": "1"}}),
        &["r.limits: Required value: Limit must be set for non overcommitable resources"],
    );
    check(
        json!({"limits": {"example.com/gpu": "2"}, "requests": {"example.com/gpu": "1"}}),
        &["r.requests: Invalid value: \"1\": must be equal to example.com/gpu limit of 2"],
    );
}

#[test]
fn huge_pages_are_whole_and_need_cpu_memory() {
    check(json!({"limits": {"hugepages-2Mi": "4Mi", "cpu": "1"}}), &[]);
    check(json!({"limits": {"hugepages-2Mi": "4Mi"}}), &["r: Forbidden: HugePages require cpu or memory"]);
    let partial = json!({"limits": {"hugepages-2Mi": "3Mi", "cpu": "1"}});
    let detail = "3Mi is not positive integer multiple of hugepages-2Mi";
    check(partial.clone(), &[&format!("r.limits[hugepages-2Mi]: Invalid value: \"3Mi\": {detail}")]);
    let ratcheted =
        Requirements { name: container_resource, claims: &BTreeSet::new(), allow_partial_huge_pages: true };
    check_with(&ratcheted, partial.clone(), &[]);
    assert!(partial["limits"].as_object().is_some_and(has_partial_huge_pages));
}

#[test]
fn claims_are_known_and_do_not_overlap() {
    check(
        json!({"claims": [{"name": "a"}, {"name": "b", "request": "x"}, {"name": "b", "request": "y"}]}),
        &[],
    );
    check(json!({"claims": [{}]}), &["r.claims[0]: Required value"]);
    check(json!({"claims": [{"name": "a"}, {"name": "a"}]}), &["r.claims[1]: Duplicate value: \"a\""]);
    check(
        json!({"claims": [{"name": "a"}, {"name": "a", "request": "x"}]}),
        &["r.claims[1]: Duplicate value: \"a\""],
    );
    check(
        json!({"claims": [{"name": "a", "request": "x"}, {"name": "a", "request": "x"}, {"name": "a"}]}),
        &["r.claims[1]: Duplicate value: \"a/x\"", "r.claims[2]: Duplicate value: \"a\""],
    );
    let detail = "must be one of the names in pod.spec.resourceClaims: a, b";
    check(json!({"claims": [{"name": "c"}]}), &[&format!("r.claims[0]: Not found: \"c\": {detail}")]);
}
