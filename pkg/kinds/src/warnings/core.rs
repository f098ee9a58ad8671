//! Warnings about quotas, secrets and service accounts (`pkg/registry/core`).

use super::collector::Warnings;
use super::key_pair;
use crate::warnings::common::annotation;
use api::tree::{child, text};
use apimachinery::quantity::Quantity;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schema::object::{Object, get_object};

const MOUNTABLE_SECRETS: &str = "kubernetes.io/enforce-mountable-secrets";

/// Warns about a created `ResourceQuota` with requests above the limits. Requests of cpu and memory also have
/// a short name.
pub(crate) fn resource_quota(quota: &Object, out: &mut Warnings) {
    let Some(hard) = get_object(quota, &["spec", "hard"]) else { return };
    let amount = |name: &str| text(hard, name).parse::<Quantity>().ok();
    for resource in ["cpu", "memory", "storage", "ephemeral-storage"] {
        let long = format!("requests.{resource}");
        let limits = format!("limits.{resource}");
        let short = matches!(resource, "cpu" | "memory") && !hard.contains_key(&long);
        let requests = if short { resource } else { &long };
        let (Some(request), Some(limit)) = (amount(requests), amount(&limits)) else { continue };
        if request > limit {
            out.add(format_args!(
                "ResourceQuota {requests} ({request}) should be less than {limits} ({limit})"
            ));
        }
    }
}

/// Warns about a TLS `Secret` with a key that does not match its certificate.
pub(crate) fn secret(secret: &Object, out: &mut Warnings) {
    if text(secret, "type") != "kubernetes.io/tls" {
        return;
    }
    let data = |key| child(secret, "data").and_then(|data| STANDARD.decode(text(data, key)).ok());
    let certificate = data("tls.crt").unwrap_or_default();
    let key = data("tls.key").unwrap_or_default();
    if let Err(error) = key_pair::check(&certificate, &key) {
        out.add(format_args!("{error}"));
    }
}

/// Warns about a `ServiceAccount` with a deprecated annotation that the old one, if present, lacks.
pub(crate) fn service_account(account: &Object, old: Option<&Object>, out: &mut Warnings) {
    let had = old.is_some_and(|old| annotation(old, MOUNTABLE_SECRETS).is_some());
    if !had && annotation(account, MOUNTABLE_SECRETS).is_some() {
        out.add(format_args!(
            "metadata.annotations[{MOUNTABLE_SECRETS}]: deprecated in v1.32+; prefer separate namespaces to \
             isolate access to mounted secrets"
        ));
    }
}

#[cfg(test)]
mod tests {
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
        let account =
            json!({"metadata": {"annotations": {"kubernetes.io/enforce-mountable-secrets": "false"}}});
        let expected =
            ["metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; \
                         prefer separate namespaces to isolate access to mounted secrets"];
        created("", "serviceaccounts", account.clone(), &expected);
        updated("", "serviceaccounts", account.clone(), json!({}), &expected);
        updated("", "serviceaccounts", account.clone(), account, &[]);
    }
}
