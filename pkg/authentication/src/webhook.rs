//! `--authentication-token-webhook-config-file`: sends a `TokenReview` to a webhook, which returns the user
//! of a token.

use std::collections::BTreeMap;

use apimachinery::foreign_text::ForeignText;
use apimachinery::request_notes::Notes;
use apimachinery::user_info::UserInfo;
use async_trait::async_trait;
use bytes::Bytes;
use client::webhook::Webhook;
use jsontree::json;
use serde::Deserialize;

use crate::Error;
use crate::chain::{TokenAuthenticator, TokenUser};

/// Supported versions of token reviews.
const VERSIONS: [&str; 2] = ["v1", "v1beta1"];

/// Authenticator that sends tokens to a webhook.
pub struct WebhookTokens {
    webhook: Webhook,
    api_version: String,
    api_audiences: Vec<String>,
}

impl WebhookTokens {
    /// Creates an authenticator with this version of reviews. If a response contains no audiences,
    /// `api_audiences` apply.
    ///
    /// # Errors
    /// Upstream's message for an unsupported version.
    pub fn new(webhook: Webhook, version: &str, api_audiences: Vec<String>) -> Result<Self, Error> {
        if !VERSIONS.contains(&version) {
            return Err(Error::Configuration(format!(
                "unsupported authentication webhook version {}, supported versions are \"v1\", \"v1beta1\"",
                apimachinery::go_quote::quote(version)
            )));
        }
        Ok(WebhookTokens { webhook, api_version: format!("authentication.k8s.io/{version}"), api_audiences })
    }

    fn review(&self, token: &str, audiences: &[String]) -> Bytes {
        let mut spec = json!({"token": token});
        if !audiences.is_empty() {
            spec["audiences"] = json!(audiences);
        }
        let review = json!({
            "kind": "TokenReview",
            "apiVersion": self.api_version,
            "metadata": {},
            "spec": spec,
            "status": {"user": {}},
        });
        Bytes::from(review.to_string())
    }
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct TokenReviewResponse {
    kind: ForeignText,
    api_version: ForeignText,
    status: Option<ReviewStatus>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ReviewStatus {
    authenticated: bool,
    user: Option<User>,
    audiences: Option<Vec<String>>,
    error: Option<ForeignText>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct User {
    username: Option<String>,
    uid: Option<String>,
    groups: Option<Vec<String>>,
    extra: Option<BTreeMap<String, Option<Vec<String>>>>,
}

impl From<User> for UserInfo {
    fn from(user: User) -> Self {
        let extra = user.extra.unwrap_or_default().into_iter();
        UserInfo {
            name: user.username.unwrap_or_default(),
            uid: user.uid.unwrap_or_default(),
            groups: user.groups.unwrap_or_default(),
            extra: extra.map(|(key, values)| (key, values.unwrap_or_default())).collect(),
        }
    }
}

/// Evaluates a response for a token with the `requested` audiences.
fn parse_review(
    body: &[u8],
    api_version: &str,
    requested: &[String],
    api: &[String],
) -> Result<Option<TokenUser>, Error> {
    let review: TokenReviewResponse =
        serde_json::from_slice(body).map_err(|error| Error::unavailable(ForeignText::displayed(error)))?;
    if review.kind != *"TokenReview" || review.api_version != *api_version {
        let TokenReviewResponse { kind, api_version: actual, .. } = review;
        return Err(Error::unavailable(format!(
            "the webhook answered with {actual}, Kind={kind} where {api_version}, Kind=TokenReview was asked for"
        )));
    }
    let status = review.status.unwrap_or_default();
    let accepted = status.audiences.filter(|accepted| !accepted.is_empty()).unwrap_or_else(|| api.to_vec());
    let audiences: Vec<String> =
        requested.iter().filter(|audience| accepted.contains(audience)).cloned().collect();
    if !requested.is_empty() && audiences.is_empty() {
        return Ok(None);
    }
    match (status.authenticated, status.error.unwrap_or_default()) {
        (true, _) => Ok(Some(TokenUser { user: status.user.unwrap_or_default().into(), audiences })),
        (false, error) if error.is_empty() => Ok(None),
        (false, error) => Err(Error::credential(error)),
    }
}

#[async_trait]
impl TokenAuthenticator for WebhookTokens {
    async fn authenticate(
        &self,
        token: &str,
        audiences: &[String],
        _: &Notes,
    ) -> Result<Option<TokenUser>, Error> {
        let response = self.webhook.call(self.review(token, audiences), |_| {}).await.map_err(|failure| {
            tracing::error!(error = %failure, "failed to make webhook authenticator request");
            Error::unavailable(failure.into_message())
        })?;
        parse_review(&response, &self.api_version, audiences, &self.api_audiences)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const V1: &str = "authentication.k8s.io/v1";

    fn of(status: &str, requested: &[&str]) -> Result<Option<TokenUser>, Error> {
        let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        let review = format!(r#"{{"kind":"TokenReview","apiVersion":"{V1}","status":{status}}}"#);
        parse_review(review.as_bytes(), V1, &owned(requested), &owned(&["api"]))
    }

    #[test]
    fn response_sets_all_user_fields() {
        let status = r#"{"authenticated":true,"user":{"username":"ann","uid":"1","groups":["a"],"extra":{"k":["v"],"n":null}}}"#;
        let user = of(status, &[]).unwrap().unwrap().user;
        assert_eq!((user.name.as_str(), user.uid.as_str(), user.groups), ("ann", "1", vec!["a".to_owned()]));
        assert_eq!(user.extra["k"], ["v"]);
        assert_eq!(user.extra["n"], [""; 0]);
    }

    #[test]
    fn audiences_must_intersect() {
        let check = |audiences_member: &str, requested: &[&str], expected: Option<&[&str]>| {
            let token_user =
                of(&format!(r#"{{"authenticated":true{audiences_member}}}"#), requested).unwrap();
            assert_eq!(
                token_user.map(|token_user| token_user.audiences).as_deref(),
                expected.map(|e| e.iter().map(|&t| t.to_owned()).collect::<Vec<_>>()).as_deref()
            );
        };
        check("", &["api"], Some(&["api"]));
        check("", &["other"], None);
        check(r#","audiences":["other"]"#, &["api", "other"], Some(&["other"]));
        check(r#","audiences":["other"]"#, &["api"], None);
        check(r#","audiences":["other"]"#, &[], Some(&[]));
    }

    #[test]
    fn rejection_can_contain_reason() {
        assert_eq!(
            of(r#"{"authenticated":false,"error":"too old"}"#, &[]),
            Err(Error::credential("too old".to_owned()))
        );
        assert_eq!(of("{}", &["api"]), Ok(None));
        assert_eq!(of("null", &["api"]), Ok(None));
    }

    #[test]
    fn other_responses_than_reviews_are_errors() {
        let check = |text: &str| assert!(parse_review(text.as_bytes(), V1, &[], &[]).is_err(), "{text}");
        check("");
        check("[]");
        check(r#"{"kind":"Status","apiVersion":"v1"}"#);
        check(
            r#"{"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1beta1","status":{"authenticated":true}}"#,
        );
    }
}
