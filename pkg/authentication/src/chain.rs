//! The order in which credentials are tried, and what their failures mean.

use std::sync::Arc;

use apimachinery::status::Status;
use apimachinery::user_info::{GROUP_AUTHENTICATED, GROUP_UNAUTHENTICATED, USER_ANONYMOUS, UserInfo};
use async_trait::async_trait;

use crate::{Authenticated, ClientCertificate, bearer_token};

/// Longest bearer token that is looked at, in bytes. Anything longer is an unknown token.
const TOKEN_BYTES_MAX: usize = 64 * 1024;

/// Something that knows bearer tokens.
#[async_trait]
pub trait TokenAuthenticator: Send + Sync + 'static {
    /// The user of a token; `None` when the token is not of this authenticator's kind.
    ///
    /// # Errors
    /// The reason, for the log, why a token of this kind is not accepted. Others are asked still.
    async fn authenticate(&self, token: &str) -> Result<Option<UserInfo>, String>;
}

/// The certificate that a client presented, as the transport judged it.
#[derive(Debug, Clone)]
pub enum PresentedCertificate {
    /// Signed by an authority that may vouch for clients.
    Verified(ClientCertificate),
    /// Not acceptable, and why (for the log).
    Refused(String),
}

/// What a request carries to prove who sent it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Credentials<'a> {
    /// The connection's client certificate.
    pub certificate: Option<&'a PresentedCertificate>,
    /// The first `Authorization` header.
    pub authorization: Option<&'a str>,
    /// Seconds since 1970; a certificate that has expired since the handshake is refused.
    pub now: i64,
}

/// Every way to prove an identity that this server was configured with.
#[derive(Default)]
pub struct Authenticator {
    /// Asked in this order.
    pub tokens: Vec<Arc<dyn TokenAuthenticator>>,
    /// Whether a request without credentials is `system:anonymous` instead of a 401.
    pub anonymous: bool,
}

impl Authenticator {
    /// Finds out who sent a request.
    ///
    /// # Errors
    /// 401 when no credential was accepted although one was presented, or when none was and anonymous
    /// requests are off. The client learns nothing more; the log does.
    pub async fn authenticate(&self, credentials: Credentials<'_>) -> Result<Authenticated, Box<Status>> {
        let mut refused = false;
        match certificate_user(credentials) {
            Ok(Some(user)) => return Ok(Authenticated::new(with_authenticated_group(user))),
            Ok(None) => {}
            Err(reason) => refused = refuse(&reason),
        }
        if let Some(token) = credentials.authorization.and_then(bearer_token) {
            match self.token_user(token).await {
                Ok(user) => return Ok(Authenticated::new(with_authenticated_group(user))),
                Err(reason) => refused = refuse(&reason),
            }
        }
        match self.anonymous && !refused {
            true => Ok(Authenticated::new(UserInfo::anonymous())),
            false => Err(Box::new(Status::unauthorized())),
        }
    }

    async fn token_user(&self, token: &str) -> Result<UserInfo, String> {
        let mut reasons = Vec::new();
        if token.len() <= TOKEN_BYTES_MAX {
            for authenticator in &self.tokens {
                match authenticator.authenticate(token).await {
                    Ok(Some(user)) => return Ok(user),
                    Ok(None) => {}
                    Err(reason) => reasons.push(reason),
                }
            }
        }
        reasons.insert(0, "invalid bearer token".to_owned());
        Err(reasons.join(", "))
    }
}

fn refuse(reason: &str) -> bool {
    tracing::debug!(reason, "unable to authenticate the request");
    true
}

fn certificate_user(credentials: Credentials<'_>) -> Result<Option<UserInfo>, String> {
    match credentials.certificate {
        None => Ok(None),
        Some(PresentedCertificate::Refused(reason)) => Err(reason.clone()),
        Some(PresentedCertificate::Verified(certificate)) if certificate.not_after < credentials.now => {
            Err("the client certificate has expired".to_owned())
        }
        Some(PresentedCertificate::Verified(certificate)) => Ok(certificate.user.clone()),
    }
}

/// Puts everyone who proved an identity into `system:authenticated`, except where a credential itself
/// says "anonymous" or names one of the two groups.
fn with_authenticated_group(mut user: UserInfo) -> UserInfo {
    let said = user.groups.iter().any(|g| g == GROUP_AUTHENTICATED || g == GROUP_UNAUTHENTICATED);
    if user.name != USER_ANONYMOUS && !said {
        user.groups.push(GROUP_AUTHENTICATED.to_owned());
    }
    user
}

#[cfg(test)]
mod tests;
