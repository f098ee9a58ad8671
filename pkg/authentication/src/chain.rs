//! The order of credentials and the meaning of their failures.

use std::net::IpAddr;
use std::sync::Arc;

use apimachinery::request_notes::Notes;
use apimachinery::status::Status;
use apimachinery::user_info::{GROUP_AUTHENTICATED, GROUP_UNAUTHENTICATED, USER_ANONYMOUS, UserInfo};
use async_trait::async_trait;
use http::HeaderMap;
use http::header::AUTHORIZATION;

use crate::Error;
use crate::bearer::{SPACE_WARNING, has_space_before_token};
use crate::{Authenticated, ClientCertificate, RequestHeaders, bearer_token, websocket};

/// Maximum length in bytes of a bearer token. A longer token is unknown.
const TOKEN_BYTES_MAX: usize = 64 * 1024;

/// Origin of a token. Authenticators with limited capacity share it among the origins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenOrigin<'a> {
    /// A request of the client at this address.
    Client(IpAddr),
    /// A token review of this user.
    Review {
        /// The name of the user.
        user: &'a str,
    },
    /// Any other.
    Unknown,
}

/// Authenticator for bearer tokens.
#[async_trait]
pub trait TokenAuthenticator: Send + Sync + 'static {
    /// Returns the user of a token; `None` if the token has another format. If the token lists audiences, it
    /// must list one of `audiences`, unless that is empty. Warnings and audit annotations go to `notes`.
    ///
    /// # Errors
    /// The reason for the rejection, for the log and for token reviews. The next authenticators are still
    /// tried.
    async fn authenticate(
        &self,
        token: &str,
        audiences: &[String],
        notes: &Notes,
    ) -> Result<Option<TokenUser>, Error>;

    /// Like [`authenticate`](Self::authenticate), for a token of this origin.
    ///
    /// # Errors
    /// As [`authenticate`](Self::authenticate).
    async fn authenticate_from(
        &self,
        _origin: TokenOrigin<'_>,
        token: &str,
        audiences: &[String],
        notes: &Notes,
    ) -> Result<Option<TokenUser>, Error> {
        self.authenticate(token, audiences, notes).await
    }
}

/// Identity of an accepted token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenUser {
    pub user: UserInfo,
    /// The requested audiences that the token is valid for. Empty if the tokens of the authenticator contain
    /// no audiences: they are valid for this API.
    pub audiences: Vec<String>,
}

/// A client certificate after verification by the transport.
#[derive(Debug, Clone)]
pub enum PresentedCertificate {
    /// Signed by a trusted client CA.
    Verified(ClientCertificate),
    /// Rejected, with the reason for the log.
    Rejected(String),
}

/// A client certificate, verified against each kind of CA.
#[derive(Debug, Clone, Default)]
pub struct PresentedCertificates {
    /// Result for the client CAs; `None` without a certificate or without CAs.
    pub client: Option<PresentedCertificate>,
    /// Result for the proxy CAs; `None` without a certificate or without CAs.
    pub proxy: Option<PresentedCertificate>,
}

/// Credentials of a request.
#[derive(Debug, Clone, Copy, Default)]
pub struct Credentials<'a> {
    /// The client certificate of the connection.
    pub certificates: Option<&'a PresentedCertificates>,
    /// The first `Authorization` header.
    pub authorization: Option<&'a str>,
    /// All headers, for proxies and WebSocket tokens.
    pub headers: Option<&'a HeaderMap>,
    /// The path of the request. Anonymous access may depend on it.
    pub path: &'a str,
    /// The address of the connection's other end.
    pub source: Option<IpAddr>,
    /// Current time in seconds since 1970. A certificate that has expired since the handshake is rejected.
    pub now: i64,
    /// Receiver of warnings and audit annotations about the credentials.
    pub notes: Option<&'a Notes>,
}

/// All configured authentication methods. Cheap to clone.
#[derive(Clone, Default)]
pub struct Authenticator {
    /// Tried in this order.
    pub tokens: Vec<Arc<dyn TokenAuthenticator>>,
    /// `--api-audiences`: the identifiers of this API. A token must contain one of them. An empty list
    /// disables the check.
    pub api_audiences: Vec<String>,
    /// Trusted proxies, if any.
    pub request_headers: Option<Arc<RequestHeaders>>,
    /// Requests without credentials that become `system:anonymous` instead of a 401.
    pub anonymous: Anonymous,
}

/// Reason why a request is not authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unauthenticated {
    /// The request has no credential.
    NoCredential,
    /// A credential was rejected.
    Rejected,
}

/// Clients get the same Status for both.
impl From<Unauthenticated> for Box<Status> {
    fn from(_: Unauthenticated) -> Self {
        Box::new(Status::unauthorized())
    }
}

/// Requests that may be anonymous.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Anonymous {
    /// None.
    #[default]
    Disabled,
    /// All.
    AllPaths,
    /// Requests for one of these paths.
    Paths(Arc<[String]>),
}

impl Anonymous {
    /// True if a request for this path may be anonymous.
    pub fn allows_path(&self, path: &str) -> bool {
        match self {
            Anonymous::Disabled => false,
            Anonymous::AllPaths => true,
            Anonymous::Paths(paths) => paths.iter().any(|one| one == path),
        }
    }
}

impl Authenticator {
    /// Authenticates a request.
    ///
    /// # Errors
    /// A credential was presented and none was accepted, or there was no credential and anonymous requests
    /// are disabled. The client gets a bare 401; the log contains the reason.
    pub async fn authenticate(&self, credentials: Credentials<'_>) -> Result<Authenticated, Unauthenticated> {
        let mut refused = false;
        for user in [self.proxied_user(credentials), certificate_user(credentials)] {
            match user {
                Ok(Some(user)) => return Ok(Authenticated::new(with_authenticated_group(user))),
                Ok(None) => {}
                Err(error) => refused = log_rejection(&error.to_string()),
            }
        }
        let websocket = match credentials.headers.map_or(Ok(None), websocket::token) {
            Ok(token) => token,
            Err(reason) => {
                refused = log_rejection(reason);
                None
            }
        };
        let unheard = Notes::default();
        let notes = credentials.notes.unwrap_or(&unheard);
        if credentials.authorization.is_some_and(has_space_before_token) {
            notes.warn(SPACE_WARNING);
        }
        let origin = credentials.source.map_or(TokenOrigin::Unknown, TokenOrigin::Client);
        let bearer = credentials.authorization.and_then(bearer_token);
        for token in bearer.into_iter().chain(websocket.as_deref()) {
            match self.token_user(origin, token, &self.api_audiences, notes).await {
                Ok(authenticated) => return Ok(Authenticated::new(authenticated.user)),
                Err(reasons) => refused = log_rejection(&aggregate(reasons)),
            }
        }
        match !refused && self.anonymous.allows_path(credentials.path) {
            true => Ok(Authenticated::new(UserInfo::anonymous())),
            false if refused => Err(Unauthenticated::Rejected),
            false => Err(Unauthenticated::NoCredential),
        }
    }

    fn proxied_user(&self, credentials: Credentials<'_>) -> Result<Option<UserInfo>, Error> {
        let (Some(trusted), Some(headers)) = (&self.request_headers, credentials.headers) else {
            return Ok(None);
        };
        let proxy = credentials.certificates.and_then(|certificates| certificates.proxy.as_ref());
        trusted.user(proxy, headers, credentials.now)
    }

    /// Removes all credentials from a request, so that later stages cannot log or forward them.
    pub fn remove_credentials(&self, headers: &mut HeaderMap) {
        headers.remove(AUTHORIZATION);
        websocket::clear(headers);
        if headers.keys().any(|name| name.as_str().starts_with("x-remote-")) {
            RequestHeaders::standard().clear(headers);
        }
        if let Some(trusted) = &self.request_headers {
            trusted.clear(headers);
        }
    }

    /// Authenticates a token for a token review of the user `reviewer`, for one of `audiences` or, if that is
    /// empty, of this API's audiences. The token is parsed as in a header, so white space makes it no credential. The result is
    /// then anonymous, or `None` if not all requests may be anonymous.
    ///
    /// # Errors
    /// The reason for the rejection, for the client of the review.
    pub async fn review(
        &self,
        reviewer: &UserInfo,
        token: &str,
        audiences: &[String],
        notes: &Notes,
    ) -> Result<Option<TokenUser>, Error> {
        let origin = TokenOrigin::Review { user: &reviewer.name };
        let audiences = if audiences.is_empty() { &self.api_audiences } else { audiences };
        match bearer_token(&format!("Bearer {token}")) {
            Some(token) => {
                let result = self.token_user(origin, token, audiences, notes).await;
                result.map(Some).map_err(|errors| Error::credential(aggregate(errors)))
            }
            None => Ok((self.anonymous == Anonymous::AllPaths)
                .then(|| TokenUser { user: UserInfo::anonymous(), audiences: audiences.to_vec() })),
        }
    }

    async fn token_user(
        &self,
        origin: TokenOrigin<'_>,
        token: &str,
        audiences: &[String],
        notes: &Notes,
    ) -> Result<TokenUser, Vec<String>> {
        let mut reasons = vec!["invalid bearer token".to_owned()];
        if token.len() > TOKEN_BYTES_MAX {
            return Err(reasons);
        }
        for authenticator in &self.tokens {
            match authenticator.authenticate_from(origin, token, audiences, notes).await {
                Ok(Some(token_user)) => {
                    if let Some(token_user) = self.with_requested_audiences(token_user, audiences) {
                        return Ok(TokenUser {
                            user: with_authenticated_group(token_user.user),
                            ..token_user
                        });
                    }
                }
                Ok(None) => {}
                Err(error) => reasons.push(error.to_string()),
            }
        }
        Err(reasons)
    }

    /// Assigns this API's audiences to a token without audiences. `None` if none of them was requested.
    fn with_requested_audiences(&self, token_user: TokenUser, requested: &[String]) -> Option<TokenUser> {
        if requested.is_empty() || !token_user.audiences.is_empty() {
            return Some(token_user);
        }
        let audiences: Vec<String> =
            self.api_audiences.iter().filter(|audience| requested.contains(audience)).cloned().collect();
        (!audiences.is_empty()).then_some(TokenUser { audiences, ..token_user })
    }
}

/// Joins reasons in the format of upstream's aggregate.
fn aggregate(mut reasons: Vec<String>) -> String {
    match reasons.len() {
        1 => reasons.swap_remove(0),
        _ => format!("[{}]", reasons.join(", ")),
    }
}

fn log_rejection(reason: &str) -> bool {
    tracing::debug!(reason, "unable to authenticate the request");
    true
}

fn certificate_user(credentials: Credentials<'_>) -> Result<Option<UserInfo>, Error> {
    match credentials.certificates.and_then(|certificates| certificates.client.as_ref()) {
        None => Ok(None),
        Some(PresentedCertificate::Rejected(reason)) => Err(Error::credential(reason.clone())),
        Some(PresentedCertificate::Verified(certificate)) if certificate.not_after < credentials.now => {
            Err(Error::credential("the client certificate has expired".to_owned()))
        }
        Some(PresentedCertificate::Verified(certificate)) => Ok(certificate.user.clone()),
    }
}

/// Adds `system:authenticated`, unless the credential itself is anonymous or contains one of the two groups.
fn with_authenticated_group(mut user: UserInfo) -> UserInfo {
    let has_group = user.groups.iter().any(|g| g == GROUP_AUTHENTICATED || g == GROUP_UNAUTHENTICATED);
    if user.name != USER_ANONYMOUS && !has_group {
        user.groups.push(GROUP_AUTHENTICATED.to_owned());
    }
    user
}

#[cfg(test)]
mod tests;
