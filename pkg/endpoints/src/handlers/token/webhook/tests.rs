//! Tests of tokens for webhooks. Their use is tested on a whole server.
#![allow(clippy::unwrap_used)]

use jsontree::json;

use super::*;

fn object(value: Value) -> Object {
    value.as_object().unwrap().clone()
}

fn check_errors(spec: Value, expected: &[&str]) {
    let request = object(json!({ "spec": spec }));
    let errors = validate(&request, ErrorList::new());
    let errors: Vec<String> = errors.iter().map(Error::to_string).collect();
    assert_eq!(errors, expected, "{request:?}");
}

#[test]
fn attestations_need_a_webhook() {
    let detail = "attestations may only be specified with a webhook bound object reference";
    let invalid = format!("spec.attestations: Invalid value: {{\"k\":[\"v\"]}}: {detail}");
    check_errors(json!({}), &[]);
    check_errors(json!({"attestations": {"k": ["v"]}}), &[&invalid]);
    let other = json!({"apiVersion": "v1", "kind": "ValidatingWebhookConfiguration", "name": "n"});
    check_errors(json!({"attestations": {"k": ["v"]}, "boundObjectRef": other}), &[&invalid]);
}

#[test]
fn webhook_needs_one_audience_and_attestation() {
    let check = |audiences: Value, attestations: Value, expected: &[&str]| {
        let kind = "MutatingWebhookConfiguration";
        let bound_ref = json!({"apiVersion": GROUP_VERSION, "kind": kind, "name": "n"});
        let spec = json!({
            "audiences": audiences, "attestations": attestations, "boundObjectRef": bound_ref,
        });
        check_errors(spec, expected);
    };
    let groups = |group: &str| json!({"admissionReviewAPIGroups": [group]});
    check(json!(["a"]), groups("apps"), &[]);
    check(json!(["a"]), groups("*"), &[]);
    let audiences =
        "spec.audiences: Invalid value: [\"a\",\"b\"]: must be length 1 when bound to a webhook config";
    check(json!(["a", "b"]), groups("apps"), &[audiences]);
    let detail = "webhook bound requests require exactly one admissionReviewAPIGroups attestation";
    check(json!(["a"]), Value::Null, &[&format!("spec.attestations: Invalid value: null: {detail}")]);
    let at = "spec.attestations[admissionReviewAPIGroups]";
    check(json!(["a"]), groups(""), &[&format!("{at}[0]: Invalid value: \"\": may not be an empty string")]);
    let several = json!({"admissionReviewAPIGroups": ["a", "b"]});
    let detail = "must specify a single value";
    check(json!(["a"]), several, &[&format!("{at}: Invalid value: [\"a\",\"b\"]: {detail}")]);
    let unknown =
        "spec.attestations[x]: Unsupported value: \"x\": supported values: \"admissionReviewAPIGroups\"";
    check(json!(["a"]), json!({"x": ["a"]}), &[unknown]);
}

#[test]
fn one_webhook_has_audience_and_group() {
    let service = |path: Value| json!({"service": {"name": "n", "namespace": "ns", "path": path}});
    let webhook =
        |client: Value, group: &str| json!({"clientConfig": client, "rules": [{"apiGroups": [group]}]});
    let check = |audience: &str, group: &str, expected: bool| {
        let configuration = object(json!({"webhooks": [
            webhook(json!({"url": "https://u"}), "apps"),
            webhook(service(json!("p")), "*"),
            webhook(service(Value::Null), ""),
        ]}));
        assert_eq!(accepts(&configuration, audience, group), expected, "{audience} {group}");
    };
    check("https://u", "apps", true);
    check("https://u", "batch", false);
    check("https://u/", "apps", false);
    check("https://n.ns.svc:443/p", "batch", true);
    check("https://n.ns.svc:443/", "batch", false);
    check("https://n.ns.svc:443/", "", true);
    check("anything", "*", true);
}
