//! Tests of invalid configurations.
#![allow(clippy::unwrap_used)]

use apimachinery::field::aggregate;
use jsontree::{Value, json};

use super::*;

/// Returns a valid configuration of one issuer, with these fields replaced.
fn with(changes: &[(&str, Value)]) -> Value {
    let mut jwt = json!({
        "issuer": {"url": "https://i", "audiences": ["a"]},
        "claimMappings": {"username": {"claim": "sub", "prefix": ""}},
    });
    for (pointer, value) in changes {
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        jwt.pointer_mut(parent).unwrap()[name] = value.clone();
    }
    json!({"jwt": [jwt]})
}

fn flaws(config: Value) -> String {
    let config: AuthenticationConfiguration = jsontree::from_value(config).unwrap();
    let limits = Limits { disallowed: vec!["https://own".to_owned()], egress: true };
    aggregate(&validate(&config, &limits)).unwrap_or_default()
}

fn check(changes: &[(&str, Value)], expected: &str) {
    assert_eq!(flaws(with(changes)), expected, "{changes:?}");
}

#[test]
fn issuer_urls_are_valid_and_unique() {
    check(&[], "");
    check(&[("/issuer/url", json!(""))], "jwt[0].issuer.url: Required value");
    let url = |url: &str, detail: &str| {
        check(
            &[("/issuer/url", json!(url))],
            &format!("jwt[0].issuer.url: Invalid value: \"{url}\": {detail}"),
        );
    };
    url("http://i", "URL scheme must be https");
    url("https://u:p@i", "URL must not contain a username or password");
    url("https://i?q=1", "URL must not contain a query");
    url("https://i#f", "URL must not contain a fragment");
    url("https://own", "URL must not overlap with disallowed issuers: [https://own]");
    url("https://i:x", "parse \"https://i:x\": invalid port \":x\" after host");
    let duplicate =
        "jwt[0].issuer.discoveryURL: Invalid value: \"https://i/\": discoveryURL must be different from URL";
    check(&[("/issuer/discoveryURL", json!("https://i/"))], duplicate);
    let jwt = &with(&[("/issuer/discoveryURL", json!("https://d"))])["jwt"][0];
    assert_eq!(
        flaws(json!({"jwt": [jwt, jwt]})),
        "[jwt[1].issuer.url: Duplicate value: \"https://i\", jwt[1].issuer.discoveryURL: Duplicate value: \"https://d\"]"
    );
    assert_eq!(flaws(json!({"jwt": vec![jwt; 65]})), "jwt: Too many: 65: must have at most 64 items");
}

#[test]
fn audiences_are_required() {
    let audiences = json!([]);
    let none = "jwt[0].issuer.audiences: Required value: at least one jwt[0].issuer.audiences is required";
    check(&[("/issuer/audiences", audiences)], none);
    let twice = "[jwt[0].issuer.audiences[1]: Duplicate value: \"a\", jwt[0].issuer.audienceMatchPolicy: Invalid value: \"\": audienceMatchPolicy must be MatchAny for multiple audiences]";
    check(&[("/issuer/audiences", json!(["a", "a"]))], twice);
    let policy = "jwt[0].issuer.audienceMatchPolicy: Invalid value: \"All\": audienceMatchPolicy must be empty or MatchAny for single audience";
    check(&[("/issuer/audienceMatchPolicy", json!("All"))], policy);
    check(
        &[("/issuer/audiences", json!(["a", "b"])), ("/issuer/audienceMatchPolicy", json!("MatchAny"))],
        "",
    );
}

#[test]
fn ca_bundle_and_egress_type_are_validated() {
    let authority = "jwt[0].issuer.certificateAuthority: Invalid value: \"<omitted>\": data does not contain any valid RSA or ECDSA certificates";
    check(&[("/issuer/certificateAuthority", json!("x"))], authority);
    let selector = "jwt[0].issuer.egressSelectorType: Invalid value: \"etcd\": egress selector must be either controlplane or cluster";
    check(&[("/issuer/egressSelectorType", json!("etcd"))], selector);
}

#[test]
fn mappings_are_a_claim_or_an_expression() {
    let username = "/claimMappings/username";
    let check_username = |value: Value, expected: &str| check(&[(username, value)], expected);
    check_username(
        json!({}),
        "jwt[0].claimMappings.username: Required value: claim or expression is required",
    );
    check_username(
        json!({"claim": "sub"}),
        "jwt[0].claimMappings.username.prefix: Required value: prefix is required when claim is set. It can be set to an empty string to disable prefixing",
    );
    check_username(
        json!({"claim": "sub", "expression": "claims.sub"}),
        "jwt[0].claimMappings.username: Invalid value: \"\": claim and expression can't both be set",
    );
    check_username(
        json!({"prefix": "x", "expression": "claims.sub"}),
        "jwt[0].claimMappings.username.prefix: Invalid value: \"x\": may not be specified when expression is set",
    );
    check_username(
        json!({"expression": "claims.email"}),
        "jwt[0].claimMappings.username.expression: Invalid value: \"claims.email\": claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression",
    );
    let verified = json!([{"expression": "claims.?email_verified.orValue(true) == true"}]);
    check(&[(username, json!({"expression": "claims.email"})), ("/claimValidationRules", verified)], "");
    check_username(
        json!({"expression": "a."}),
        "jwt[0].claimMappings.username.expression: Invalid value: \"a.\": compilation failed: ERROR: <input>:1:3: Syntax error: no viable alternative at input '.'\n | a.\n | ..^",
    );
    let uid = "jwt[0].claimMappings.uid: Invalid value: \"\": claim and expression can't both be set";
    check(&[("/claimMappings/uid", json!({"claim": "a", "expression": "b"}))], uid);
}

#[test]
fn extra_keys_need_valid_domains() {
    let extra = |keys: &[&str]| {
        let mappings: Vec<Value> =
            keys.iter().map(|key| json!({"key": key, "valueExpression": "claims.a"})).collect();
        ("/claimMappings/extra", json!(mappings))
    };
    let path = "jwt[0].claimMappings.extra";
    check(&[extra(&["a.io/b"])], "");
    check(&[extra(&[""])], &format!("{path}[0].key: Required value"));
    let unprefixed = "Invalid value: \"b\": must be a domain-prefixed path (such as \"acme.io/foo\")";
    check(&[extra(&["b"])], &format!("{path}[0].key: {unprefixed}"));
    check(&[extra(&["a.io/B"])], &format!("{path}[0].key: Invalid value: \"a.io/B\": must be lowercase"));
    let reserved = "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use";
    check(&[extra(&["x.k8s.io/b"])], &format!("{path}[0].key: Invalid value: \"x.k8s.io/b\": {reserved}"));
    check(&[extra(&["xk8s.io/b"])], "");
    check(&[extra(&["a.io/b", "a.io/b"])], &format!("{path}[1].key: Duplicate value: \"a.io/b\""));
    check(
        &[("/claimMappings/extra", json!([{"key": "a.io/b"}]))],
        &format!("{path}[0].valueExpression: Required value"),
    );
}

#[test]
fn rules_are_unique_and_unambiguous() {
    let check_rules = |rules: Value, expected: &str| check(&[("/claimValidationRules", rules)], expected);
    let path = "jwt[0].claimValidationRules";
    check_rules(json!([{}]), &format!("{path}[0]: Required value: claim or expression is required"));
    let claim_and_expression =
        format!("{path}[0]: Invalid value: \"a\": claim and expression can't both be set");
    check_rules(json!([{"claim": "a", "expression": "true"}]), &claim_and_expression);
    check_rules(
        json!([{"claim": "a", "message": "m"}, {"claim": "a"}]),
        &format!(
            "[{path}[0].message: Invalid value: \"m\": may not be specified when claim is set, {path}[1].claim: Duplicate value: \"a\"]"
        ),
    );
    check_rules(
        json!([{"expression": "true", "requiredValue": "v"}, {"expression": "true"}, {"expression": "1"}]),
        &format!(
            "[{path}[0].requiredValue: Invalid value: \"v\": may not be specified when expression is set, {path}[1].expression: Duplicate value: \"true\", {path}[2].expression: Invalid value: \"1\": must evaluate to bool]"
        ),
    );
    let users = json!([{}, {"expression": "true"}, {"expression": "true"}, {"expression": "user.username"}]);
    let path = "jwt[0].userValidationRules";
    check(
        &[("/userValidationRules", users)],
        &format!(
            "[{path}[0].expression: Required value, {path}[2].expression: Duplicate value: \"true\", {path}[3].expression: Invalid value: \"user.username\": must evaluate to bool]"
        ),
    );
}

#[test]
fn conditions_require_enabled_anonymous_access() {
    let config = json!({"anonymous": {"enabled": false, "conditions": [{"path": "/livez"}]}});
    let expected = "anonymous.conditions: Invalid value: [{\"Path\":\"/livez\"}]: enabled should be set to true when conditions are defined";
    assert_eq!(flaws(config), expected);
}
