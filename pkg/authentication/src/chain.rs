//! The order in which credentials are tried, and what their failures mean.

use std::sync::Arc;

use apimachinery::request_notes::Notes;
use apimachinery::status::Status;
use apimachinery::user_info::{GROUP_AUTHENTICATED, GROUP_UNAUTHENTICATED, USER_ANONYMOUS, UserInfo};
use async_trait::async_trait;
use http::HeaderMap;
use http::header::AUTHORIZATION;

use crate::bearer::{SPACE_WARNING, has_space_before_token};
use crate::{Authenticated, ClientCertificate, RequestHeaders, bearer_token, websocket};

/// Longest bearer token that is looked at, in bytes. Anything longer is an unknown token.
const TOKEN_BYTES_MAX: usize = 64 * 1024;

/// Something that knows bearer tokens.
#[async_trait]
pub trait TokenAuthenticator: Send + Sync + 'static {
    /// The user of a token; `None` when the token is not of this authenticator's kind. A token that
    /// names whom it is meant for has to name one of `audiences`, unless that is empty. What is to be said of
    /// the token besides goes to `notes`.
    ///
    /// # Errors
    /// The reason, for the log and for token reviews, why a token of this kind is not accepted. Others
    /// are asked still.
    async fn authenticate(
        &self,
        token: &str,
        audiences: &[String],
        notes: &Notes,
    ) -> Result<Option<TokenUser>, String>;
}

/// Whom a token stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenUser {
    /// The user.
    pub user: UserInfo,
    /// Those of the audiences asked about whom the token is meant for. An authenticator whose tokens say
    /// nothing of audiences leaves this empty: they are meant for this API.
    pub audiences: Vec<String>,
}

/// The certificate that a client presented, as the transport judged it.
#[derive(Debug, Clone)]
pub enum PresentedCertificate {
    /// Signed by an authority that may vouch for clients.
    Verified(ClientCertificate),
    /// Not acceptable, and why (for the log).
    Refused(String),
}

/// The certificate that a client presented, as each kind of authority judges it.
#[derive(Debug, Clone, Default)]
pub struct PresentedCertificates {
    /// By the authorities that may vouch for clients; `None` if there is none of either.
    pub client: Option<PresentedCertificate>,
    /// By the authorities that may vouch for proxies; `None` if there is none of either.
    pub proxy: Option<PresentedCertificate>,
}

/// What a request carries to prove who sent it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Credentials<'a> {
    /// The connection's client certificate.
    pub certificates: Option<&'a PresentedCertificates>,
    /// The first `Authorization` header.
    pub authorization: Option<&'a str>,
    /// All headers, for what proxies and browsers say in theirs.
    pub headers: Option<&'a HeaderMap>,
    /// What is asked for, on which it may depend whether that may be asked without any credential.
    pub path: &'a str,
    /// Seconds since 1970; a certificate that has expired since the handshake is refused.
    pub now: i64,
    /// Where to note what is to be said of the credentials.
    pub notes: Option<&'a Notes>,
}

/// Every way to prove an identity that this server was configured with. Cheap to clone.
#[derive(Clone, Default)]
pub struct Authenticator {
    /// Asked in this order.
    pub tokens: Vec<Arc<dyn TokenAuthenticator>>,
    /// `--api-audiences`: the names of this API, one of which a token has to be meant for. Audiences do
    /// not matter where there is none.
    pub api_audiences: Vec<String>,
    /// The proxies that are believed, if any.
    pub request_headers: Option<Arc<RequestHeaders>>,
    /// Which requests without credentials are `system:anonymous` instead of a 401.
    pub anonymous: Anonymous,
}

/// Why a request is from nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unauthenticated {
    /// It shows nothing that could prove anything.
    NothingShown,
    /// It shows something that is wrong.
    Refused,
}

/// Both are the same to clients.
impl From<Unauthenticated> for Box<Status> {
    fn from(_: Unauthenticated) -> Self {
        Box::new(Status::unauthorized())
    }
}

/// Who may be anonymous.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Anonymous {
    /// Nobody.
    #[default]
    Nobody,
    /// Everybody.
    Everybody,
    /// Whoever asks for one of these paths.
    Paths(Arc<[String]>),
}

impl Anonymous {
    /// Whether whoever asks for this path may be anonymous.
    pub fn may_ask(&self, path: &str) -> bool {
        match self {
            Anonymous::Nobody => false,
            Anonymous::Everybody => true,
            Anonymous::Paths(paths) => paths.iter().any(|one| one == path),
        }
    }
}

impl Authenticator {
    /// Finds out who sent a request.
    ///
    /// # Errors
    /// No credential was accepted although one was presented, or none was and anonymous requests are off. The
    /// client learns nothing more than a 401; the log does.
    pub async fn authenticate(&self, credentials: Credentials<'_>) -> Result<Authenticated, Unauthenticated> {
        let mut refused = false;
        for user in [self.proxied_user(credentials), certificate_user(credentials)] {
            match user {
                Ok(Some(user)) => return Ok(Authenticated::new(with_authenticated_group(user))),
                Ok(None) => {}
                Err(reason) => refused = refuse(&reason),
            }
        }
        let websocket = match credentials.headers.map_or(Ok(None), websocket::token) {
            Ok(token) => token,
            Err(reason) => {
                refused = refuse(reason);
                None
            }
        };
        let unheard = Notes::default();
        let notes = credentials.notes.unwrap_or(&unheard);
        if credentials.authorization.is_some_and(has_space_before_token) {
            notes.warn(SPACE_WARNING);
        }
        let bearer = credentials.authorization.and_then(bearer_token);
        for token in bearer.into_iter().chain(websocket.as_deref()) {
            match self.token_user(token, &self.api_audiences, notes).await {
                Ok(found) => return Ok(Authenticated::new(found.user)),
                Err(reasons) => refused = refuse(&joined(reasons)),
            }
        }
        match !refused && self.anonymous.may_ask(credentials.path) {
            true => Ok(Authenticated::new(UserInfo::anonymous())),
            false if refused => Err(Unauthenticated::Refused),
            false => Err(Unauthenticated::NothingShown),
        }
    }

    fn proxied_user(&self, credentials: Credentials<'_>) -> Result<Option<UserInfo>, String> {
        let (Some(trusted), Some(headers)) = (&self.request_headers, credentials.headers) else {
            return Ok(None);
        };
        let proxy = credentials.certificates.and_then(|certificates| certificates.proxy.as_ref());
        trusted.user(proxy, headers, credentials.now)
    }

    /// Takes everything that may have proved something off a request, so that nobody behind can log or forward it.
    pub fn clear(&self, headers: &mut HeaderMap) {
        headers.remove(AUTHORIZATION);
        websocket::clear(headers);
        if headers.keys().any(|name| name.as_str().starts_with("x-remote-")) {
            RequestHeaders::standard().clear(headers);
        }
        if let Some(trusted) = &self.request_headers {
            trusted.clear(headers);
        }
    }

    /// Finds out for somebody else whom a token stands for, if it is meant for one of `audiences`, or of
    /// this API's when those are empty. The token is read as if it stood in a header, so white space
    /// makes it no credential at all; `None` is the answer to that where nobody may be anonymous.
    ///
    /// # Errors
    /// Why the token is not accepted, for whoever asks.
    pub async fn review(
        &self,
        token: &str,
        audiences: &[String],
        notes: &Notes,
    ) -> Result<Option<TokenUser>, String> {
        let audiences = if audiences.is_empty() { &self.api_audiences } else { audiences };
        match bearer_token(&format!("Bearer {token}")) {
            Some(token) => self.token_user(token, audiences, notes).await.map(Some).map_err(joined),
            None => Ok((self.anonymous == Anonymous::Everybody)
                .then(|| TokenUser { user: UserInfo::anonymous(), audiences: audiences.to_vec() })),
        }
    }

    async fn token_user(
        &self,
        token: &str,
        audiences: &[String],
        notes: &Notes,
    ) -> Result<TokenUser, Vec<String>> {
        let mut reasons = vec!["invalid bearer token".to_owned()];
        if token.len() > TOKEN_BYTES_MAX {
            return Err(reasons);
        }
        for authenticator in &self.tokens {
            match authenticator.authenticate(token, audiences, notes).await {
                Ok(Some(found)) => {
                    if let Some(found) = self.meant_for(found, audiences) {
                        return Ok(TokenUser { user: with_authenticated_group(found.user), ..found });
                    }
                }
                Ok(None) => {}
                Err(reason) => reasons.push(reason),
            }
        }
        Err(reasons)
    }

    /// Takes a token that says nothing of audiences for one that is meant for this API. `None` if that
    /// is not asked about.
    fn meant_for(&self, found: TokenUser, asked: &[String]) -> Option<TokenUser> {
        if asked.is_empty() || !found.audiences.is_empty() {
            return Some(found);
        }
        let audiences: Vec<String> =
            self.api_audiences.iter().filter(|audience| asked.contains(audience)).cloned().collect();
        (!audiences.is_empty()).then_some(TokenUser { audiences, ..found })
    }
}

/// Several reasons as upstream's aggregate prints them.
fn joined(mut reasons: Vec<String>) -> String {
    match reasons.len() {
        1 => reasons.swap_remove(0),
        _ => format!("[{}]", reasons.join(", ")),
    }
}

fn refuse(reason: &str) -> bool {
    tracing::debug!(reason, "unable to authenticate the request");
    true
}

fn certificate_user(credentials: Credentials<'_>) -> Result<Option<UserInfo>, String> {
    match credentials.certificates.and_then(|certificates| certificates.client.as_ref()) {
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
