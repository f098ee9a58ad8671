//! Tests of warnings about quotas, secrets and service accounts (`pkg/registry/core`).

use crate::warnings::testing::{created, updated};
use jsontree::{Value, json};

fn quota(hard: Value, expected: &[&str]) {
    let object = json!({"spec": {"hard": hard}});
    created("", "resourcequotas", object.clone(), expected);
    updated("", "resourcequotas", object.clone(), object, &[]);
}

#[test]
fn requests_are_no_more_than_limits() {
    quota(json!({"cpu": "1", "limits.cpu": "2", "requests.memory": "1Gi", "limits.memory": "1Gi"}), &[]);
    quota(
        json!({
            "cpu": "3", "limits.cpu": "2500m",
            "memory": "3Gi", "requests.memory": "2Gi", "limits.memory": "1Gi",
            "storage": "2", "limits.storage": "1",
            "requests.ephemeral-storage": "2", "limits.ephemeral-storage": "1",
        }),
        &[
            "ResourceQuota cpu (3) should be less than limits.cpu (2500m)",
            "ResourceQuota requests.memory (2Gi) should be less than limits.memory (1Gi)",
            "ResourceQuota requests.ephemeral-storage (2) should be less than limits.ephemeral-storage (1)",
        ],
    );
}

#[test]
fn tls_secrets_hold_a_certificate() {
    let secret = |kind: &str| json!({"type": kind, "data": {"tls.crt": "Yw==", "tls.key": "aw=="}});
    let expected = ["tls: failed to find any PEM data in certificate input"];
    created("", "secrets", secret("kubernetes.io/tls"), &expected);
    updated("", "secrets", secret("kubernetes.io/tls"), json!({}), &expected);
    created("", "secrets", secret("Opaque"), &[]);
}

#[test]
fn new_service_account_annotation_warns() {
    let account = json!({"metadata": {"annotations": {"kubernetes.io/enforce-mountable-secrets": "false"}}});
    let expected = ["metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; \
                     prefer separate namespaces to isolate access to mounted secrets"];
    created("", "serviceaccounts", account.clone(), &expected);
    updated("", "serviceaccounts", account.clone(), json!({}), &expected);
    updated("", "serviceaccounts", account.clone(), account, &[]);
}
