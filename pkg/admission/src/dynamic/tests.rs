//! Tests of rule matching.
#![allow(clippy::unwrap_used)]

use jsontree::{Value, json};

use super::*;
use crate::Operation;

fn rule(value: &Value) -> Rule {
    Rule::read(value.as_object().unwrap())
}

fn place<'a>(group: &'a str, plural: &'a str, subresource: &'a str, namespaced: bool) -> RuleTarget<'a> {
    RuleTarget { operation: Operation::Create, group, version: "v1", plural, subresource, namespaced }
}

#[test]
fn rule_matches_listed_resources() {
    let check = |resources: &[&str], place: RuleTarget<'_>, expected: bool| {
        let rule = rule(&json!({
            "operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["*"], "resources": resources
        }));
        assert_eq!(rule.matches(&place), expected, "{resources:?}");
    };
    check(&["pods"], place("", "pods", "", true), true);
    check(&["pods"], place("", "pods", "status", true), false);
    check(&["pods/*"], place("", "pods", "status", true), true);
    check(&["pods/*"], place("", "pods", "", true), true);
    check(&["*"], place("", "pods", "status", true), false);
    check(&["*/*"], place("", "pods", "status", true), true);
    check(&["*/scale"], place("", "pods", "status", true), false);
    check(&["pods"], place("apps", "pods", "", true), false);
}

#[test]
fn operations_match_exactly_or_by_wildcard() {
    let check = |operations: &[&str], operation: Operation, expected: bool| {
        let rule = rule(&json!({
            "operations": operations, "apiGroups": ["*"], "apiVersions": ["v1"], "resources": ["*"]
        }));
        assert_eq!(rule.matches(&RuleTarget { operation, ..place("", "pods", "", true) }), expected);
    };
    check(&["*"], Operation::Connect, true);
    check(&["CREATE", "DELETE"], Operation::Delete, true);
    check(&["CREATE"], Operation::Update, false);
}

#[test]
fn namespaces_are_cluster_scoped() {
    let check = |scope: &str, place: RuleTarget<'_>, expected: bool| {
        let rule = rule(&json!({
            "operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "scope": scope
        }));
        assert_eq!(rule.matches(&place), expected, "{scope} {place:?}");
    };
    check("Namespaced", place("", "pods", "", true), true);
    check("Namespaced", place("", "nodes", "", false), false);
    check("Namespaced", place("", "namespaces", "", true), false);
    check("Cluster", place("", "namespaces", "", true), true);
    check("Cluster", place("", "pods", "", true), false);
    check("*", place("", "pods", "", true), true);
}
