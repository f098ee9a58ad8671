//! Comparison with upstream's bootstrap policy v1.37.2 (`testdata/bootstrap-gates.json`): what it lacks without a
//! gate, and by default in each release that can be emulated, compared with all gates.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;

use component_base::features::{Effective, Gate, Gates, Release};
use jsontree::{Value, json};
use registry::meta;
use schema::object::Object;

use super::super::objects::{all_of_kind, of_kind};
use super::first;

const RECORDED: &str = include_str!("../../../testdata/bootstrap-gates.json");
const GROUP_VERSION: &str = "rbac.authorization.k8s.io/v1";

/// Missing indexes of rules and missing paths by role, and "absent" for an object that is missing completely.
type Missing = BTreeMap<String, Value>;

fn missing(gates: &Gates) -> Missing {
    let mut missing = Missing::new();
    for kind in ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"] {
        let enabled = of_kind(GROUP_VERSION, kind, gates).unwrap();
        for object in all_of_kind(GROUP_VERSION, kind).unwrap() {
            let name = meta::text(&object, "name");
            let namespace = meta::text(&object, "namespace");
            let found = enabled.iter().find(|other| {
                meta::text(other, "name") == name && meta::text(other, "namespace") == namespace
            });
            let lacks = found.map_or_else(|| json!("absent"), |found| json!(missing_rules(&object, found)));
            if lacks != json!([]) {
                missing.insert(format!("{kind}/{name}"), lacks);
            }
        }
    }
    missing
}

fn rules(role: &Object) -> Vec<Value> {
    role.get("rules").and_then(Value::as_array).cloned().unwrap_or_default()
}

fn missing_rules(all: &Object, enabled: &Object) -> Vec<Value> {
    let mut missing = Vec::new();
    let mut left = rules(enabled).into_iter().peekable();
    for (index, rule) in rules(all).iter().enumerate() {
        let paths = |rule: &Value| rule.get("nonResourceURLs").and_then(Value::as_array).cloned();
        if left.next_if_eq(rule).is_some() {
            continue;
        }
        match (paths(rule), left.peek().and_then(paths)) {
            (Some(all), Some(enabled)) => {
                missing.extend(all.into_iter().filter(|path| !enabled.contains(path)));
                left.next();
            }
            _ => missing.push(json!(index)),
        }
    }
    assert_eq!(left.next(), None, "{}", first(all, "kind"));
    missing
}

#[test]
fn objects_and_rules_need_upstreams_gates() {
    let Value::Object(recorded) = schema::json::decode_untyped(RECORDED.as_bytes()).unwrap().value else {
        panic!("the recording is no object")
    };
    let enabled = Gate::ALL.iter().fold(Gates::default(), |gates, gate| gates.with(*gate, true));
    assert_eq!(missing(&enabled), Missing::new());
    for (key, expected) in recorded.iter() {
        let key: &str = key;
        let gates = match key.strip_prefix('-') {
            Some(gate) => enabled.with(Gate::find(gate).unwrap(), false),
            None => Gates::defaults(Effective::emulating(Release::parse(key).unwrap().0)),
        };
        let expected = expected.as_object().unwrap().iter();
        let expected: Missing = expected.map(|(name, lacks)| (name.to_string(), lacks.clone())).collect();
        assert_eq!(missing(&gates), expected, "{key}");
    }
}
