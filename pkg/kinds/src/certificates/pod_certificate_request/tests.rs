//! Tests of requests of pods for certificates.
#![allow(clippy::unwrap_used)]

use super::*;
use apimachinery::time::parse_time;
use jsontree::{Value, json};

const REQUEST: &str = include_str!("../../../testdata/x509/p256.csr");
const SMALL: &str = include_str!("../../../testdata/x509/rsa2048.csr");
const LEAF: &str = include_str!("../../../testdata/x509/leaf.crt");
const OTHER: &str = include_str!("../../../testdata/x509/ca.crt");
/// Start of the leaf's validity.
const BEGIN: &str = "2026-11-21T23:07:16Z";
const END: &str = "2026-11-22T23:07:16Z";

/// Returns the base64 inside a PEM text.
fn der(pem: &str) -> String {
    pem.lines().filter(|line| !line.starts_with('-')).collect()
}

fn request(changes: Value, status: Value) -> Object {
    let mut spec = json!({
        "signerName": "a.b/c", "podName": "p", "podUID": "1", "serviceAccountName": "s", "nodeName": "n",
        "serviceAccountUID": "2", "nodeUID": "3", "maxExpirationSeconds": 86400,
        "stubPKCS10Request": der(REQUEST),
    });
    if let (Some(spec), Value::Object(changes)) = (spec.as_object_mut(), changes) {
        spec.extend(changes);
    }
    let meta = json!({"name": "r", "namespace": "ns", "resourceVersion": "1"});
    json!({"metadata": meta, "spec": spec, "status": status}).as_object().cloned().unwrap()
}

fn texts(errors: &ErrorList) -> Vec<(&str, &str)> {
    errors.iter().map(|error| (error.field(), error.detail())).collect()
}

#[test]
fn a_request_names_pod_account_and_node() {
    let check = |changes: Value, expected: &[&str]| {
        let errors = create(&request(changes, json!({})));
        assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), expected);
    };
    check(json!({}), &[]);
    check(json!({"podName": "P", "podUID": ""}), &["spec.podName", "spec.podUID"]);
    check(json!({"nodeUID": "u".repeat(129)}), &["spec.nodeUID"]);
    check(json!({"maxExpirationSeconds": null}), &["spec.maxExpirationSeconds"]);
    check(json!({"maxExpirationSeconds": 3599}), &["spec.maxExpirationSeconds"]);
    check(
        json!({"signerName": "kubernetes.io/x", "maxExpirationSeconds": 86401}),
        &["spec.maxExpirationSeconds"],
    );
    check(json!({"unverifiedUserAnnotations": {"a.b/c": "d"}}), &[]);
    check(json!({"unverifiedUserAnnotations": {"c": "d"}}), &["spec.unverifiedUserAnnotations"]);
}

#[test]
fn a_key_is_given_in_one_way() {
    let check = |changes: Value, expected: &[(&str, &str)]| {
        assert_eq!(texts(&create(&request(changes, json!({})))), expected);
    };
    let one = "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set";
    check(json!({"pkixPublicKey": "AAAA"}), &[("spec", one)]);
    let path = "spec.stubPKCS10Request";
    check(json!({"stubPKCS10Request": "AAAA"}), &[(path, "must be a valid PKCS#10 CSR")]);
    let small = json!({"stubPKCS10Request": der(SMALL)});
    check(small, &[(path, "RSA keys must have modulus size 3072 or 4096")]);
    let long = STANDARD.encode([0; BYTES_MAX + 1]);
    check(json!({"stubPKCS10Request": long}), &[(path, "may not be more than 10240 bytes")]);
    check(
        json!({"stubPKCS10Request": null, "pkixPublicKey": "AAAA", "proofOfPossession": "AAAA"}),
        &[("spec.pkixPublicKey", "must be a valid PKIX-serialized public key")],
    );
}

fn condition(kind: &str) -> Value {
    json!({"type": kind, "status": "True", "reason": "R", "lastTransitionTime": BEGIN})
}

fn answer(changes: Value) -> Object {
    let mut status = json!({
        "conditions": [condition("Issued")], "certificateChain": LEAF, "notBefore": BEGIN, "notAfter": END,
        "beginRefreshAt": "2026-11-22T12:00:00Z",
    });
    if let (Some(status), Value::Object(changes)) = (status.as_object_mut(), changes) {
        status.extend(changes);
    }
    request(json!({}), status)
}

#[test]
fn issued_certificate_matches_the_request() {
    let check = |changes: Value, late: i64, expected: &[(&str, &str)]| {
        let mut context =
            ValidationContext { now: parse_time(BEGIN).unwrap(), ..ValidationContext::default() };
        context.now.seconds += late;
        let errors = update("status", &answer(changes), &request(json!({}), json!({})), &context);
        assert_eq!(texts(&errors), expected);
    };
    check(json!({}), 0, &[]);
    let chain = "status.certificateChain";
    let two_leaves = format!("{LEAF}{OTHER}");
    check(json!({"certificateChain": two_leaves}), 299, &[]);
    let late = "must be set to within 5 minutes of kube-apiserver's current time";
    check(json!({}), 300, &[("status.notBefore", late)]);
    let none = "issued certificate chain must contain at least one certificate";
    check(json!({"certificateChain": ""}), 0, &[(chain, none)]);
    let after = format!("{LEAF}{}", REQUEST);
    let kind = "issued certificate chain must consist entirely of CERTFICATE PEM blocks";
    check(json!({"certificateChain": after}), 0, &[(chain, kind)]);
    let end = "must be set to the NotAfter time encoded in the leaf certificate";
    check(json!({"notAfter": BEGIN}), 0, &[("status.notAfter", end)]);
    let early = "must be at least 10 minutes after status.notBefore";
    check(json!({"beginRefreshAt": BEGIN}), 0, &[("status.beginRefreshAt", early)]);
    let set = "must be present and consistent with the issued certificate";
    check(json!({"notAfter": null}), 0, &[("status.notAfter", set)]);
}

#[test]
fn a_request_ends_once() {
    let check = |new: &Object, old: &Object, expected: &[(&str, &str)]| {
        assert_eq!(texts(&update("status", new, old, &ValidationContext::default())), expected);
    };
    let with = |conditions: Value| request(json!({}), json!({"conditions": conditions}));
    let open = with(json!([]));
    let denied = with(json!([condition("Denied")]));
    check(&denied, &open, &[]);
    check(&denied, &denied, &[]);
    let immutable = "immutable after PodCertificateRequest is issued, denied, or failed";
    check(&open, &denied, &[("status", immutable)]);
    let twice = "There may be at most one condition with type \"Issued\", \"Denied\", or \"Failed\"";
    let denied_and_failed = with(json!([condition("Denied"), condition("Failed")]));
    check(&denied_and_failed, &open, &[("status.conditions.[1].type", twice)]);
    let unknown = "supported values: \"Issued\", \"Denied\", \"Failed\"";
    check(&with(json!([condition("X")])), &open, &[("status.conditions.[0].type", unknown)]);
    let empty = "non-condition status fields must be empty when denying or failing the PodCertificateRequest";
    let more = answer(json!({"conditions": [condition("Failed")]}));
    check(&more, &open, &[("status", empty)]);
    let change = "status is immutable unless transitioning to \"Issued\", \"Denied\", or \"Failed\"";
    check(&request(json!({}), json!({"certificateChain": "x"})), &open, &[("status", change)]);
    let errors =
        update("", &request(json!({"podName": "q"}), json!({})), &open, &ValidationContext::default());
    assert_eq!(texts(&errors), [("spec", "field is immutable")]);
}
