//! Claims of service account tokens. Fields are in alphabetical order, as upstream writes them.

use std::collections::BTreeMap;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// The lifetime in seconds that kubelets request for pods whose programs may not reload tokens. Such a token
/// is valid for a year. Uses after this time cause a warning (KEP-1205,
/// `--service-account-extend-token-expiration`).
pub const WARN_AFTER_SECONDS: i64 = 60 * 60 + 7;

/// Reference to an object in a token.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Uid; empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
}

/// Values of attestations by key. Only tokens for webhooks have attestations.
pub type Attestations = BTreeMap<String, Vec<String>>;

/// Key of the attestation with the API group of an `AdmissionReview`.
pub const ADMISSION_REVIEW_API_GROUPS: &str = "admissionReviewAPIGroups";

/// Parameters of a new token.
#[derive(Debug, Clone, Default)]
pub struct Grant {
    /// Id of the token.
    pub id: String,
    pub namespace: String,
    pub account: Reference,
    /// The pod that the token is bound to.
    pub pod: Option<Reference>,
    /// The secret that the token is bound to.
    pub secret: Option<Reference>,
    /// The node of the pod. Without a pod, the node that the token is bound to.
    pub node: Option<Reference>,
    /// The `ValidatingWebhookConfiguration` that the token is bound to.
    pub validating_webhook: Option<Reference>,
    /// The `MutatingWebhookConfiguration` that the token is bound to.
    pub mutating_webhook: Option<Reference>,
    /// Values of attestations by key.
    pub attestations: Attestations,
    pub audiences: Vec<String>,
    /// Current time in seconds since 1970.
    pub now: i64,
    /// Lifetime in seconds.
    pub seconds: i64,
    /// Seconds after which a use causes a warning.
    pub warn_after: Option<i64>,
}

/// Claims of a token.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    #[serde(
        rename = "aud",
        default,
        deserialize_with = "one_or_many",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub(super) audiences: Vec<String>,
    #[serde(rename = "exp", default, deserialize_with = "date", skip_serializing_if = "Option::is_none")]
    pub(super) expires: Option<i64>,
    #[serde(rename = "iat", default, deserialize_with = "date", skip_serializing_if = "Option::is_none")]
    pub(super) issued: Option<i64>,
    #[serde(rename = "iss", default, skip_serializing_if = "String::is_empty")]
    pub(super) issuer: String,
    #[serde(rename = "jti", default, skip_serializing_if = "String::is_empty")]
    pub(super) id: String,
    #[serde(rename = "kubernetes.io", default)]
    pub(super) binding: Binding,
    #[serde(rename = "nbf", default, deserialize_with = "date", skip_serializing_if = "Option::is_none")]
    pub(super) not_before: Option<i64>,
    #[serde(rename = "sub", default, skip_serializing_if = "String::is_empty")]
    pub(super) subject: String,
}

/// Namespace, service account and bound objects of a token.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Binding {
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) attestations: Attestations,
    #[serde(rename = "mutatingwebhookconfiguration", default, skip_serializing_if = "Option::is_none")]
    pub(super) mutating_webhook: Option<Reference>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) namespace: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) node: Option<Reference>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pod: Option<Reference>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) secret: Option<Reference>,
    #[serde(rename = "serviceaccount", default)]
    pub(super) account: Reference,
    #[serde(rename = "validatingwebhookconfiguration", default, skip_serializing_if = "Option::is_none")]
    pub(super) validating_webhook: Option<Reference>,
    #[serde(
        rename = "warnafter",
        default,
        deserialize_with = "date",
        skip_serializing_if = "Option::is_none"
    )]
    pub(super) warn_after: Option<i64>,
}

impl Binding {
    /// True if the token is bound to a webhook configuration.
    pub(super) fn is_for_webhook(&self) -> bool {
        self.validating_webhook.is_some() || self.mutating_webhook.is_some()
    }

    /// API groups of the admission reviews that the token may be used for.
    pub(super) fn attested_groups(&self) -> &[String] {
        self.attestations.get(ADMISSION_REVIEW_API_GROUPS).map_or(&[], Vec::as_slice)
    }
}

impl Claims {
    /// Builds the claims for a grant.
    pub fn of(grant: Grant) -> Self {
        Claims {
            subject: super::username(&grant.namespace, &grant.account.name),
            audiences: grant.audiences,
            expires: Some(grant.now.saturating_add(grant.seconds)),
            issued: Some(grant.now),
            not_before: Some(grant.now),
            issuer: String::new(),
            id: grant.id,
            binding: Binding {
                attestations: grant.attestations,
                mutating_webhook: grant.mutating_webhook,
                namespace: grant.namespace,
                node: grant.node,
                pod: grant.pod,
                secret: grant.secret,
                account: grant.account,
                validating_webhook: grant.validating_webhook,
                warn_after: grant.warn_after.map(|seconds| grant.now.saturating_add(seconds)),
            },
        }
    }
}

/// Claims of a legacy token.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct LegacyClaims {
    #[serde(rename = "sub")]
    pub(super) subject: String,
    #[serde(rename = "kubernetes.io/serviceaccount/namespace")]
    pub(super) namespace: String,
    #[serde(rename = "kubernetes.io/serviceaccount/secret.name")]
    pub(super) secret_name: String,
    #[serde(rename = "kubernetes.io/serviceaccount/service-account.name")]
    pub(super) account_name: String,
    #[serde(rename = "kubernetes.io/serviceaccount/service-account.uid")]
    pub(super) account_uid: String,
}

/// Reads audiences: a list or a single string (RFC 7519, 4.1.3).
pub(super) fn one_or_many<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany {
        One(String),
        Many(Vec<String>),
    }
    match OneOrMany::deserialize(from) {
        Ok(OneOrMany::One(text)) => Ok(vec![text]),
        Ok(OneOrMany::Many(texts)) => Ok(texts),
        Err(_) => Err(D::Error::custom(
            "go-jose/go-jose/jwt: expected string or array value to unmarshal to Audience",
        )),
    }
}

/// Reads a map that can be null.
fn nullable<'de, D: Deserializer<'de>>(from: D) -> Result<Attestations, D::Error> {
    Ok(Option::<BTreeMap<String, Option<Vec<String>>>>::deserialize(from)?
        .unwrap_or_default()
        .into_iter()
        .map(|(key, values)| (key, values.unwrap_or_default()))
        .collect())
}

/// Reads a date: seconds since 1970, with an optional fraction that is dropped (RFC 7519, 2).
fn date<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    let number = Option::<serde_json::Number>::deserialize(from).map_err(|_| {
        D::Error::custom("go-jose/go-jose/jwt: expected number value to unmarshal NumericDate")
    })?;
    Ok(number.map(|n| n.as_i64().unwrap_or_else(|| n.as_f64().unwrap_or_default() as i64)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn claims_contain_all_grant_fields() {
        let named = |name: &str| Reference { name: name.to_owned(), uid: format!("uid-{name}") };
        let claims = Claims::of(Grant {
            id: "id".to_owned(),
            namespace: "ns".to_owned(),
            account: named("sa"),
            pod: Some(named("p")),
            node: Some(Reference { name: "n".to_owned(), uid: String::new() }),
            validating_webhook: Some(named("v")),
            mutating_webhook: Some(named("m")),
            attestations: [("k".to_owned(), vec!["a".to_owned()])].into(),
            audiences: vec!["a".to_owned()],
            now: 1000,
            seconds: 600,
            warn_after: Some(60),
            ..Grant::default()
        });
        let expected = concat!(
            r#"{"aud":["a"],"exp":1600,"iat":1000,"jti":"id","kubernetes.io":{"attestations":{"k":["a"]},"#,
            r#""mutatingwebhookconfiguration":{"name":"m","uid":"uid-m"},"namespace":"ns","#,
            r#""node":{"name":"n"},"pod":{"name":"p","uid":"uid-p"},"#,
            r#""serviceaccount":{"name":"sa","uid":"uid-sa"},"#,
            r#""validatingwebhookconfiguration":{"name":"v","uid":"uid-v"},"warnafter":1060},"#,
            r#""nbf":1000,"sub":"system:serviceaccount:ns:sa"}"#
        );
        assert_eq!(serde_json::to_string(&claims).unwrap(), expected);
        assert_eq!(serde_json::from_str::<Claims>(expected).unwrap(), claims);
    }

    #[test]
    fn all_rfc_forms_of_claims_are_read() {
        let check = |claims: serde_json::Value, audiences: &[&str], expires: Option<i64>| {
            let read: Claims = serde_json::from_value(claims).unwrap();
            assert_eq!(
                (read.audiences.iter().map(String::as_str).collect(), read.expires),
                (audiences.to_vec(), expires)
            );
        };
        check(json!({}), &[], None);
        check(json!({"aud": "a", "exp": 7}), &["a"], Some(7));
        check(json!({"aud": ["a", "b"], "exp": 7.9}), &["a", "b"], Some(7));
        check(json!({"exp": null, "aud": [], "other": {}}), &[], None);
        for broken in [json!({"exp": "7"}), json!({"aud": 1}), json!({"aud": [1]}), json!({"iss": 1})] {
            assert!(serde_json::from_value::<Claims>(broken).is_err());
        }
    }
}
