//! Tokens of older releases, which were kept in Secrets and know no time. They are no longer issued, but
//! whoever holds one may go on using it, unless its Secret is gone or labelled as invalid (KEP-2799).

use std::sync::Arc;

use apimachinery::clock::Clock;
use apimachinery::names::{name_is_dns_label, name_is_dns_subdomain};
use apimachinery::time::UnixTime;
use async_trait::async_trait;
use sha2::{Digest, Sha256};

use super::claims::LegacyClaims;
use super::counters::{TokenCounters, count};
use super::verifier::{Verified, Verifier};
use super::{ObjectKind, Reference, SecretState, TokenObjects, USERNAME_PREFIX, VerificationKeys, user};
use crate::chain::{TokenAuthenticator, TokenUser};

/// Who issued them.
const ISSUER: &str = "kubernetes/serviceaccount";
/// The label that says since when a Secret's token does not count.
const INVALID_SINCE: &str = "kubernetes.io/legacy-token-invalid-since";

const SECONDS_OF_DAY: i64 = 86_400;

/// Accepts the tokens of Secrets.
pub struct LegacyTokens {
    verifier: Verifier,
    /// `None` where a signature is enough (`--service-account-lookup=false`).
    objects: Option<Arc<dyn TokenObjects>>,
    clock: Arc<dyn Clock>,
    counters: Arc<TokenCounters>,
}

impl LegacyTokens {
    /// Tokens signed with one of `keys`, meant for `api_audiences`. Without `objects` nobody asks whether
    /// their Secrets still exist.
    pub fn new(
        keys: impl Into<VerificationKeys>,
        api_audiences: Vec<String>,
        objects: Option<Arc<dyn TokenObjects>>,
        clock: Arc<dyn Clock>,
        counters: Arc<TokenCounters>,
    ) -> Self {
        let verifier =
            Verifier::new(vec![ISSUER.to_owned()], keys.into(), api_audiences, Arc::clone(&counters.cache));
        LegacyTokens { verifier, objects, clock, counters }
    }
}

#[async_trait]
impl TokenAuthenticator for LegacyTokens {
    async fn authenticate(&self, token: &str, audiences: &[String]) -> Result<Option<TokenUser>, String> {
        let verified = self.verifier.verify::<LegacyClaims>(token, audiences).await?;
        let Some(Verified { claims, audiences }) = verified else { return Ok(None) };
        check_claims(&claims)?;
        if let Some(objects) = &self.objects {
            self.check_objects(&**objects, &claims, token).await?;
        }
        count(&self.counters.legacy);
        let account = Reference { name: claims.account_name, uid: claims.account_uid };
        Ok(Some(TokenUser { user: user(&claims.namespace, &account), audiences }))
    }
}

/// Whether a token says everything that it has to, and the same everywhere.
fn check_claims(claims: &LegacyClaims) -> Result<(), String> {
    for (claim, value) in [
        ("sub", &claims.subject),
        ("namespace", &claims.namespace),
        ("secretName", &claims.secret_name),
        ("serviceAccountName", &claims.account_name),
        ("serviceAccountUID", &claims.account_uid),
    ] {
        if value.is_empty() {
            return Err(format!("{claim} claim is missing"));
        }
    }
    if split_username(&claims.subject) != Some((&claims.namespace, &claims.account_name)) {
        return Err("sub claim is invalid".to_owned());
    }
    Ok(())
}

/// Namespace and name of the service account that a user is; `None` for other users.
pub fn split_username(username: &str) -> Option<(&str, &str)> {
    let (namespace, name) = username.strip_prefix(USERNAME_PREFIX)?.split_once(':')?;
    let valid =
        name_is_dns_label(namespace, false).is_empty() && name_is_dns_subdomain(name, false).is_empty();
    valid.then_some((namespace, name))
}

impl LegacyTokens {
    /// Whether the token is still in its Secret, and stands for a service account that is there. Its use is noted.
    async fn check_objects(
        &self,
        objects: &dyn TokenObjects,
        claims: &LegacyClaims,
        token: &str,
    ) -> Result<(), String> {
        let LegacyClaims { namespace, secret_name, account_name, account_uid, .. } = claims;
        let secret = objects.secret(namespace, secret_name).await.ok();
        let secret = secret.filter(|secret| secret.state.deletion.is_none());
        let secret = secret.ok_or("Token has been invalidated")?;
        // By digest, so that the time it takes says nothing about how much of a guess was right.
        if Sha256::digest(&secret.token) != Sha256::digest(token) {
            return Err("Token does not match server's copy".to_owned());
        }
        let account = objects.state(ObjectKind::ServiceAccount, namespace, account_name).await?;
        if account.deletion.is_some() {
            return Err(format!("ServiceAccount {namespace}/{account_name} has been deleted"));
        }
        if account.uid != *account_uid {
            let uid = account.uid;
            return Err(format!("ServiceAccount UID ({uid}) does not match claim ({account_uid})"));
        }
        let invalid = !secret.invalid_since.is_empty();
        count(match invalid {
            true => &self.counters.invalid,
            false if objects.lists_secret(namespace, account_name, secret_name).await => &self.counters.auto,
            false => &self.counters.manual,
        });
        self.mark_used(objects, namespace, secret_name, &secret).await;
        if invalid {
            return Err(format!(
                "the token in secret {namespace}/{secret_name} for service account {namespace}/{account_name} \
             has been marked invalid. Use tokens from the TokenRequest API or manually created secret-based \
             tokens, or remove the '{INVALID_SINCE}' label from the secret to temporarily allow use of this \
             token"
            ));
        }
        Ok(())
    }

    /// Notes that the token of a Secret was used. Servers do not agree about when a day ends.
    async fn mark_used(&self, objects: &dyn TokenObjects, namespace: &str, name: &str, secret: &SecretState) {
        let now = self.clock.now();
        let day = |seconds: i64| -> String {
            let time = UnixTime { seconds, nanos: 0 };
            time.rfc3339().to_string().chars().take(10).collect()
        };
        let (today, tomorrow) = (day(now.seconds), day(now.seconds.saturating_add(SECONDS_OF_DAY)));
        if secret.last_used != today && secret.last_used != tomorrow {
            objects.mark_used(namespace, name, &secret.state.uid, &today).await;
        }
    }
}

#[cfg(test)]
mod tests;
