//! Tests of token requests. The responses are tested on a whole server.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use authentication::service_account::{Issuer, Signer, SigningKey};
use jsontree::json;
use registry::Entropy;

use super::*;

struct Ids;

impl Entropy for Ids {
    fn uid(&self) -> String {
        "id".to_owned()
    }

    fn number(&self) -> u32 {
        0
    }
}

fn requests(lifetime_max: i64, extend: bool) -> TokenRequests {
    let key = SigningKey::from_pem(&SigningKey::generate_pem().unwrap()).unwrap();
    TokenRequests {
        issuer: Issuer::new("https://issuer".to_owned(), Signer::Key(Box::new(key))),
        api_audiences: vec!["api".to_owned(), "too".to_owned()],
        lifetime_max,
        extend,
        extended_max: i64::MAX,
        entropy: Arc::new(Ids),
    }
}

fn object(value: Value) -> Object {
    value.as_object().unwrap().clone()
}

#[test]
fn requested_lifetime_is_limited() {
    let check = |max: i64, requested: i64, reported_seconds: i64| {
        let expected = Lifetime { reported_seconds, token_seconds: reported_seconds, warn_after: None };
        assert_eq!(requests(max, true).lifetime(requested, false, &[]), expected);
    };
    check(0, 1 << 32, 1 << 32);
    check(7200, 7200, 7200);
    check(7200, 7201, 7200);
}

#[test]
fn kubelet_style_pod_token_is_extended() {
    let check =
        |max: i64, extend: bool, requested_seconds: i64, of_pod: bool, audience: &str, extended: bool| {
            let lifetime = requests(max, extend).lifetime(requested_seconds, of_pod, &[audience.to_owned()]);
            assert_eq!(
                (lifetime.warn_after, lifetime.token_seconds == 31_536_000),
                (extended.then_some(3607), extended)
            );
            assert_eq!(lifetime.reported_seconds, requested_seconds.min(3607));
        };
    check(0, true, 3607, true, "api", true);
    check(0, true, 3607, true, "too", true);
    check(0, false, 3607, true, "api", false);
    check(0, true, 3606, true, "api", false);
    check(0, true, 3607, false, "api", false);
    check(0, true, 3607, true, "other", false);
    // The requested lifetime is limited first.
    check(3607, true, 5000, true, "api", true);
}

#[test]
fn lifetime_is_10m_to_2_32_seconds() {
    let check = |seconds: i64, expected: &[&str]| {
        let request = object(json!({"spec": {"expirationSeconds": seconds}}));
        let errors: Vec<_> = errors(&request).iter().map(ToString::to_string).collect();
        assert_eq!(errors, expected);
    };
    check(600, &[]);
    check(1 << 32, &[]);
    check(
        -5,
        &["spec.expirationSeconds: Invalid value: -5: may not specify a duration less than 10 minutes"],
    );
    check(
        599,
        &["spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes"],
    );
    check(
        (1 << 32) + 1,
        &[
            "spec.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds",
        ],
    );
}

#[test]
fn defaults_are_applied() {
    let check = |mut request: Value, spec: Value| {
        let account = object(json!({"metadata": {"name": "sa", "namespace": "ns", "uid": "u"}}));
        let request = request.as_object_mut().unwrap();
        default(request);
        complete(request, &account, &["api".to_owned()], UnixTime::from_seconds(0));
        let metadata = json!({
            "name": "sa", "namespace": "ns", "uid": "u", "creationTimestamp": "1970-01-01T00:00:00Z",
        });
        assert_eq!(Value::Object(request.clone()), json!({"metadata": metadata, "spec": spec}));
    };
    let spec = json!({"audiences": ["api"], "expirationSeconds": 3600});
    check(json!({}), spec.clone());
    check(json!({"spec": null, "status": {"token": "x"}}), spec.clone());
    check(
        json!({"spec": {"audiences": []}, "metadata": {"creationTimestamp": "1999-01-01T00:00:00Z"}}),
        spec,
    );
    let spec = json!({"audiences": [""], "expirationSeconds": 0});
    check(json!({"spec": spec}), spec);
}

#[test]
fn name_and_uid_must_match_service_account() {
    let account = object(json!({"metadata": {"name": "sa", "uid": "u"}}));
    let check = |metadata: Value, expected: Result<(), &str>| {
        let request = object(json!({"metadata": metadata}));
        let checked = check_name(&request, "sa").and_then(|()| check_account(&request, &account, true));
        assert_eq!(checked.map(drop).map_err(|status| status.message), expected.map_err(str::to_owned));
    };
    check(json!({}), Ok(()));
    check(json!({"name": "sa", "uid": "u"}), Ok(()));
    let request = object(json!({"metadata": {"uid": "v"}}));
    let cause = "the UID in the token request (v) does not match the UID of the service account (u)";
    assert_eq!(
        check_account(&request, &account, false),
        Ok(Some(cause.to_owned())),
        "where it is not enforced"
    );
    let text = "TokenRequest.authentication.k8s.io \"sa\" is invalid: metadata.name: Invalid value: \"x\": must \
                match the service account name if specified";
    check(json!({"name": "x"}), Err(text));
    let text = "Operation cannot be fulfilled on TokenRequest.authentication.k8s.io \"sa\": the UID in the token \
                request (v) does not match the UID of the service account (u)";
    check(json!({"uid": "v"}), Err(text));
}
