//! Tests of role and binding reconciliation.
#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;

fn object(value: Value) -> Object {
    let Value::Object(object) = value else { panic!("{value} is no object") };
    object
}

fn metadata(annotation: &str) -> Value {
    json!({"name": "x", "labels": {"l": "1"}, "annotations": {AUTO_UPDATE: annotation}})
}

fn rules(verbs: &[&str]) -> Value {
    json!([{"apiGroups": [""], "resources": ["pods"], "verbs": verbs}])
}

#[test]
fn role_gains_rules_and_never_loses_any() {
    let expected = object(json!({"metadata": metadata("true"), "rules": rules(&["get"])}));
    let check = |current: Value, changed: Option<Value>| {
        assert_eq!(role(Some(&object(current)), &expected), changed.map(object));
    };
    assert_eq!(role(None, &expected), Some(expected.clone()));
    check(json!({"metadata": metadata("true"), "rules": rules(&["get"])}), None);
    // More permissions, other labels.
    let more = json!({
        "metadata": {"name": "x", "labels": {"l": "2", "m": "3"}, "annotations": {AUTO_UPDATE: "true", "n": ""}},
        "rules": rules(&["get", "list"]),
    });
    check(more, None);
    // Fewer.
    check(
        json!({"metadata": {"name": "x"}, "rules": rules(&["list"])}),
        Some(json!({"metadata": metadata("true"), "rules": [rules(&["list"])[0], rules(&["get"])[0]]})),
    );
    check(
        json!({"metadata": metadata("true")}),
        Some(json!({"metadata": metadata("true"), "rules": rules(&["get"])})),
    );
    // Protected.
    check(json!({"metadata": metadata("false")}), None);
    // No longer aggregated.
    check(
        json!({"metadata": metadata("true"), "rules": rules(&["get"]), "aggregationRule": {}}),
        Some(json!({"metadata": metadata("true"), "rules": rules(&["get"])})),
    );
}

#[test]
fn aggregated_role_keeps_rules_and_gains_selectors() {
    let selectors = |labels: &[&str]| {
        let selectors: Vec<Value> = labels.iter().map(|l| json!({"matchLabels": {*l: "true"}})).collect();
        json!({"clusterRoleSelectors": selectors})
    };
    let expected = object(json!({"metadata": metadata("true"), "aggregationRule": selectors(&["a"])}));
    let check = |before: Option<Value>, after: Option<Value>| {
        let role_with = |rule: Option<Value>| {
            let mut role = object(json!({"metadata": metadata("true"), "rules": rules(&["get"])}));
            rule.map(|rule| role.insert("aggregationRule".to_owned(), rule));
            role
        };
        assert_eq!(role(Some(&role_with(before)), &expected), after.map(|rule| role_with(Some(rule))));
    };
    check(Some(selectors(&["a"])), None);
    check(Some(selectors(&["b", "a"])), None);
    check(Some(selectors(&["b"])), Some(selectors(&["b", "a"])));
    check(None, Some(selectors(&["a"])));
}

#[test]
fn binding_gains_subjects_and_keeps_role() {
    let subject = |name: &str| json!({"kind": "User", "apiGroup": GROUP, "name": name});
    let bound = |annotation: &str, to: &str, subjects: &[Value]| {
        object(json!({
            "metadata": metadata(annotation),
            "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": to},
            "subjects": subjects,
        }))
    };
    let a = subject("a");
    let b = subject("b");
    let expected = bound("true", "r", std::slice::from_ref(&a));
    let check = |current: Object, changed: Option<Object>| {
        assert_eq!(binding(Some(&current), &expected), changed);
    };
    assert_eq!(binding(None, &expected), Some(expected.clone()));
    check(expected.clone(), None);
    check(bound("true", "r", &[b.clone(), a.clone()]), None);
    check(bound("true", "r", std::slice::from_ref(&b)), Some(bound("true", "r", &[b.clone(), a.clone()])));
    check(bound("false", "r", &[]), None);
    check(bound("true", "other", &[]), None);
    assert!(!same_role(&bound("true", "other", &[]), &expected));
}
