//! Bound service account tokens: they expire and are bound to objects.

use std::sync::Arc;

use apimachinery::go_quote::quote;
use apimachinery::request_notes::Notes;
use apimachinery::time::UnixTime;
use apimachinery::user_info::UserInfo;
use async_trait::async_trait;
use component_base::clock::Clock;

use super::claims::{ADMISSION_REVIEW_API_GROUPS, Binding, Claims};
use super::metrics::TokenMetrics;
use super::verifier::{VerifiedToken, Verifier};
use super::{ObjectKind, ObjectState, Reference, TokenObjects, VerificationKeys, note_binding, user_info};
use crate::Error;
use crate::chain::{TokenAuthenticator, TokenUser};

/// Tolerated clock skew in seconds. A token also outlives the deletion of its bound object by this time.
const LEEWAY_SECONDS: i64 = 60;

/// The only message for clients if a bound object no longer exists.
const INVALIDATED: &str = "service account token has been invalidated";

/// Authenticator for tokens that an [`Issuer`](super::Issuer) signed. The bound objects must exist.
pub struct BoundTokens {
    verifier: Verifier,
    objects: Arc<dyn TokenObjects>,
    clock: Arc<dyn Clock>,
    metrics: Arc<TokenMetrics>,
    accepts_webhook_tokens: bool,
}

impl BoundTokens {
    /// Creates an authenticator for tokens of `issuers`, signed with one of `keys`. `api_audiences` apply to
    /// tokens without audiences.
    pub fn new(
        issuers: Vec<String>,
        keys: impl Into<VerificationKeys>,
        api_audiences: Vec<String>,
        objects: Arc<dyn TokenObjects>,
        clock: Arc<dyn Clock>,
        metrics: Arc<TokenMetrics>,
    ) -> Self {
        let verifier = Verifier::new(issuers, keys.into(), api_audiences, Arc::clone(&metrics.cache));
        BoundTokens { verifier, objects, clock, metrics, accepts_webhook_tokens: false }
    }

    /// Sets if tokens that are bound to webhook configurations are accepted
    /// (`APIServerWebhookAuthenticationToken`).
    pub fn accepting_webhook_tokens(self, accepts_webhook_tokens: bool) -> Self {
        BoundTokens { accepts_webhook_tokens, ..self }
    }

    /// Checks that the objects of a binding still exist.
    async fn check_binding(&self, binding: &Binding, deleted_before: UnixTime) -> Result<(), Error> {
        // The node of a pod is informational only.
        let node = binding.node.as_ref().filter(|_| binding.pod.is_none());
        self.check_webhook_token(binding)?;
        for (kind, object) in [
            (ObjectKind::Secret, binding.secret.as_ref()),
            (ObjectKind::Pod, binding.pod.as_ref()),
            (ObjectKind::Node, node),
            (ObjectKind::ValidatingWebhookConfiguration, binding.validating_webhook.as_ref()),
            (ObjectKind::MutatingWebhookConfiguration, binding.mutating_webhook.as_ref()),
        ] {
            if let Some(object) = object {
                let namespace = if kind.is_namespaced() { &*binding.namespace } else { "" };
                let stored = self.objects.state(kind, namespace, &object.name).await;
                check_bound(kind, object, stored, deleted_before)?;
            }
        }
        Ok(())
    }

    /// Checks that a token for a webhook is accepted and has its attestation.
    fn check_webhook_token(&self, binding: &Binding) -> Result<(), Error> {
        if !binding.is_for_webhook() {
            return Ok(());
        }
        if !self.accepts_webhook_tokens {
            let gate = quote("APIServerWebhookAuthenticationToken");
            let message = format!("feature gate {gate} is disabled, but token is webhook bound");
            return Err(Error::credential(message));
        }
        if binding.attested_groups().is_empty() {
            let key = quote(ADMISSION_REVIEW_API_GROUPS);
            let message = format!("bound object was a webhook config, but {key} attestation is missing");
            return Err(Error::credential(message));
        }
        Ok(())
    }

    /// Returns the user of a verified token.
    async fn user(&self, claims: Claims, notes: &Notes) -> Result<UserInfo, Error> {
        let now = self.clock.now();
        check_times(&claims, now)?;
        let deleted_before = UnixTime { seconds: now.seconds.saturating_sub(LEEWAY_SECONDS), ..now };
        let binding = &claims.binding;
        let namespace = &*binding.namespace;
        let account = &binding.account;
        let stored = self.objects.state(ObjectKind::ServiceAccount, namespace, &account.name).await?;
        if stored.uid != account.uid {
            return Err(Error::credential(format!(
                "service account UID ({}) does not match claim ({})",
                stored.uid, account.uid
            )));
        }
        if stored.deleted_before(deleted_before) {
            return Err(Error::credential(format!(
                "service account {namespace}/{} has been deleted",
                account.name
            )));
        }
        self.check_binding(binding, deleted_before).await?;
        if let Some(warn_after) = binding.warn_after.filter(|seconds| *seconds != 0) {
            let uses = if UnixTime::from_seconds(warn_after) < now {
                let subject = &claims.subject;
                let late = now.seconds.saturating_sub(warn_after);
                let text = format!("subject: {subject}, seconds after warning threshold: {late}");
                notes.annotate("authentication.k8s.io/stale-token", text);
                &self.metrics.stale
            } else {
                &self.metrics.valid
            };
            uses.increment();
        }
        let mut user = user_info(namespace, account);
        note_binding(&mut user, &claims.id, binding);
        Ok(user)
    }
}

#[async_trait]
impl TokenAuthenticator for BoundTokens {
    async fn authenticate(
        &self,
        token: &str,
        audiences: &[String],
        notes: &Notes,
    ) -> Result<Option<TokenUser>, Error> {
        match self.verifier.verify(token, audiences).await? {
            None => Ok(None),
            Some(VerifiedToken { claims, audiences }) => {
                Ok(Some(TokenUser { user: self.user(claims, notes).await?, audiences }))
            }
        }
    }
}

/// Checks the time claims of a token.
///
/// # Errors
/// The reason for the rejection.
fn check_times(claims: &Claims, now: UnixTime) -> Result<(), Error> {
    let shifted = |seconds: i64| UnixTime { seconds: now.seconds.saturating_add(seconds), ..now };
    let earliest = shifted(-LEEWAY_SECONDS);
    let latest = shifted(LEEWAY_SECONDS);
    if claims.not_before.is_some_and(|at| latest < UnixTime::from_seconds(at)) {
        return Err(Error::credential("service account token is not valid yet".to_owned()));
    }
    if claims.expires.is_some_and(|at| earliest > UnixTime::from_seconds(at)) {
        return Err(Error::credential("service account token has expired".to_owned()));
    }
    if claims.issued.is_some_and(|at| latest < UnixTime::from_seconds(at)) {
        return Err(Error::credential("service account token is issued in the future".to_owned()));
    }
    Ok(())
}

/// Checks that a bound object still exists.
///
/// # Errors
/// The reason for the rejection.
fn check_bound(
    kind: ObjectKind,
    claim: &Reference,
    stored: Result<ObjectState, Error>,
    deleted_before: UnixTime,
) -> Result<(), Error> {
    let stored = stored.map_err(|_| Error::credential(INVALIDATED.to_owned()))?;
    if stored.uid != claim.uid {
        return Err(Error::credential(format!(
            "{} UID ({}) does not match service account {} ref claim ({})",
            kind.name(),
            stored.uid,
            kind.claim(),
            claim.uid
        )));
    }
    if stored.deleted_before(deleted_before) {
        return Err(Error::credential(INVALIDATED.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
