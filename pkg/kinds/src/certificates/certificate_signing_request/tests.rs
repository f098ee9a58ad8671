//! Tests of certificate signing requests.

use super::*;
use jsontree::json;

const REQUEST: &str = include_str!("../../../testdata/x509/p256.csr");
const CERTIFICATE: &str = include_str!("../../../testdata/x509/leaf.crt");

fn pem(kind: &str) -> String {
    STANDARD.encode(format!("-----BEGIN {kind}-----\nAAAA\n-----END {kind}-----\n"))
}

fn request(changes: &Value, status: &Value) -> Object {
    let mut spec = json!({
        "request": STANDARD.encode(REQUEST), "usages": ["client auth"], "signerName": "a.b/c",
    });
    if let (Some(spec), Value::Object(changes)) = (spec.as_object_mut(), changes) {
        spec.extend(changes.clone());
    }
    let object = json!({"metadata": {"name": "r", "resourceVersion": "1"}, "spec": spec, "status": status});
    object.as_object().cloned().unwrap_or_default()
}

fn check(changes: Value, expected: &[&str]) {
    let errors = validate(&request(&changes, &json!({})), Options::default());
    assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), expected, "{changes}");
}

#[test]
fn requests_need_usages() {
    check(json!({}), &[]);
    check(json!({"request": pem("CERTIFICATE")}), &["spec.request"]);
    check(json!({"request": pem("CERTIFICATE REQUEST")}), &["spec.request"]);
    check(json!({"usages": []}), &["spec.usages"]);
    check(json!({"usages": ["x", "any", "any"]}), &["spec.usages[0]", "spec.usages[2]"]);
    check(
        json!({"signerName": LEGACY_SIGNER, "expirationSeconds": 599}),
        &["spec.signerName", "spec.expirationSeconds"],
    );
}

#[test]
fn a_request_is_decided_once() {
    let condition = |kind: &str, status: &str| json!({"type": kind, "status": status});
    let with = |conditions: &[Value]| request(&json!({}), &json!({"conditions": conditions}));
    let check = |subresource: &str, new: &Object, old: &Object, expected: &[&str]| {
        let errors = update(subresource, new, old);
        let details: Vec<&str> =
            errors.iter().map(|e| e.detail().lines().next().unwrap_or_default()).collect();
        assert_eq!(details, expected);
    };
    let none = with(&[]);
    let approved = with(&[condition("Approved", "True")]);
    check("approval", &approved, &none, &[]);
    check("status", &approved, &none, &["updates may not add a condition of type \"Approved\""]);
    check("approval", &none, &approved, &["updates may not remove a condition of type \"Approved\""]);
    let approved_and_denied = with(&[condition("Approved", "True"), condition("Denied", "True")]);
    check(
        "approval",
        &approved_and_denied,
        &none,
        &["Approved and Denied conditions are mutually exclusive"],
    );
    check("approval", &approved_and_denied, &approved_and_denied, &[]);
    let mut changed = condition("Approved", "True");
    changed["reason"] = "x".into();
    check(
        "status",
        &with(&[changed]),
        &approved,
        &["updates may not modify a condition of type \"Approved\""],
    );
    check("approval", &with(&[condition("Failed", "False")]), &none, &["supported values: \"True\""]);
}

#[test]
fn a_certificate_is_issued_once() {
    let with = |certificate: &str| request(&json!({}), &json!({"certificate": certificate}));
    let check = |subresource: &str, new: &Object, old: &Object, expected: &[&str]| {
        let errors = update(subresource, new, old);
        assert_eq!(errors.iter().map(Error::detail).collect::<Vec<_>>(), expected);
    };
    let none = with("");
    let issued = with(&STANDARD.encode(CERTIFICATE));
    check("status", &issued, &none, &[]);
    check("", &issued, &none, &["updates may not set certificate content"]);
    check("status", &none, &issued, &["updates may not modify existing certificate content"]);
    check("status", &with("AAAA"), &none, &["must contain at least one CERTIFICATE PEM block"]);
    check("status", &with(&pem("CERTIFICATE")), &none, &["x509: malformed certificate"]);
    check("status", &with(&pem("KEY")), &none, &["only CERTIFICATE PEM blocks are allowed, found \"KEY\""]);
}
