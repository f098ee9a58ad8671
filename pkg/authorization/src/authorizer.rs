//! The authorizer contract, the trivial authorizers, and the proof of authorization.

mod union;

use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;

use apimachinery::go_quote::Quoted;
use apimachinery::gvk::GroupResource;
use apimachinery::request_info::RequestInfo;
use apimachinery::status::Status;
use apimachinery::user_info::{GROUP_MASTERS, UserInfo};

use crate::{Attributes, Rules};

pub use union::{Member, Union};

/// Future that completes when an authorizer's data is loaded.
pub type LoadFuture<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Decision of one authorizer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Allowed, final. The reason may be empty.
    Allow(Arc<str>),
    /// Denied, final, with the reason.
    Deny(String),
    /// Undecided: the next authorizer decides. The reason is part of a later denial.
    NoOpinion(String),
    Failed(AuthorizerError),
}

/// Error of an authorizer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct AuthorizerError {
    /// True if the failure denies the request; otherwise the next authorizer decides.
    pub denied: bool,
    /// Reason of the denial; may be empty.
    pub reason: String,
    /// Upstream's text. That of a union joins the texts of its members.
    pub error: String,
}

/// A denial.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Denial {
    /// True for an explicit deny; false if every authorizer had no opinion.
    pub denied: bool,
    /// The authorizer's reason; may be empty.
    pub reason: String,
    /// An error during the check, if any.
    pub error: Option<String>,
}

impl Denial {
    /// Joins error and reason (upstream's `error: reason`).
    pub fn message(self) -> String {
        match self.error {
            None => self.reason,
            Some(error) if self.reason.is_empty() => error,
            Some(error) => format!("{error}: {}", self.reason),
        }
    }
}

impl Decision {
    /// Converts the decision to a result with the reason.
    ///
    /// # Errors
    /// [`Denial`] for everything except `Allow`.
    pub fn outcome(self) -> Result<Arc<str>, Denial> {
        match self {
            Decision::Allow(reason) => Ok(reason),
            Decision::Deny(reason) => Err(Denial { denied: true, reason, error: None }),
            Decision::NoOpinion(reason) => Err(Denial { denied: false, reason, error: None }),
            Decision::Failed(AuthorizerError { denied, reason, error }) => {
                Err(Denial { denied, reason, error: Some(error) })
            }
        }
    }
}

#[async_trait]
pub trait Authorizer: Send + Sync + 'static {
    /// Decides about one request.
    async fn decide(&self, attributes: Attributes<'_>) -> Decision;

    /// Lists the rules of a user in a namespace, as far as possible.
    async fn rules(&self, _user: &UserInfo, _namespace: &str) -> Rules {
        Rules::unknown()
    }
}

/// Proof that a request was authorized, with its user. Only [`authorize`] creates it.
#[derive(Debug, Clone)]
pub struct Authorized {
    user: UserInfo,
    reason: Arc<str>,
}

impl Authorized {
    pub fn user(&self) -> &UserInfo {
        &self.user
    }

    /// The authorizer's reason, for audit; may be empty.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

/// Reason why a request is not authorized.
#[derive(Debug)]
pub enum Unauthorized {
    /// The request is denied.
    Forbidden {
        /// Upstream's 403.
        status: Box<Status>,
        /// The authorizer's reason, for audit; may be empty.
        reason: String,
        /// True for an explicit deny; false if every authorizer had no opinion.
        denied: bool,
    },
    /// The check failed with this error.
    Failed(String),
}

/// Authorizes a request of a user.
///
/// # Errors
/// [`Unauthorized`].
pub async fn authorize(
    authorizer: &dyn Authorizer,
    user: UserInfo,
    info: &RequestInfo,
) -> Result<Authorized, Unauthorized> {
    let reason = allowed(authorizer, Attributes::of_request(&user, info)).await?;
    Ok(Authorized { user, reason })
}

/// Proof that a user may read every object of the cluster. Only [`authorize_all_reads`] creates it.
#[derive(Debug, Clone)]
pub struct AllReads(());

/// Requires the right to `get` and `list` all resources of all groups, in all namespaces and by any name, in
/// addition to an earlier authorization. An RBAC rule grants it only if its groups and its resources are `*`.
///
/// # Errors
/// [`Unauthorized`], for the first verb that is denied.
pub async fn authorize_all_reads(
    authorizer: &dyn Authorizer,
    Authorized { user, mut reason }: Authorized,
) -> Result<(Authorized, AllReads), Unauthorized> {
    for verb in ["get", "list"] {
        let of_user = Attributes::of_user(&user);
        let attributes =
            Attributes { verb, resource_request: true, group: "*", version: "*", resource: "*", ..of_user };
        reason = allowed(authorizer, attributes).await?;
    }
    Ok((Authorized { user, reason }, AllReads(())))
}

/// Runs `authorizer` and returns the reason of an `Allow`.
async fn allowed(authorizer: &dyn Authorizer, attributes: Attributes<'_>) -> Result<Arc<str>, Unauthorized> {
    authorizer.decide(attributes).await.outcome().map_err(|denial| match denial {
        Denial { error: Some(error), .. } => Unauthorized::Failed(error),
        Denial { denied, reason, .. } => {
            let status = Box::new(forbidden(attributes, &reason));
            Unauthorized::Forbidden { status, reason, denied }
        }
    })
}

/// Runs `authorizer` and returns the reason of an `Allow`. Everything else becomes upstream's 403, and a
/// failure becomes a 500 (apiserver `endpoints/handlers/responsewriters/errors.go`).
///
/// # Errors
/// The Status.
pub async fn require(
    authorizer: &dyn Authorizer,
    attributes: Attributes<'_>,
) -> Result<Arc<str>, Box<Status>> {
    authorizer.decide(attributes).await.outcome().map_err(|refused| {
        Box::new(match refused.error {
            Some(error) => Status::internal_error(error),
            None => forbidden(attributes, &refused.reason),
        })
    })
}

/// Builds upstream's 403 with a reason, which may be empty. Names from the request are quoted as in Go. `&`,
/// `<` and `>` are escaped, so that browsers do not interpret the text as markup.
pub fn forbidden(attributes: Attributes<'_>, reason: &str) -> Status {
    let Attributes { user, verb, group, .. } = attributes;
    let name = Quoted(&user.name);
    if !attributes.resource_request {
        let cause = format!("User {name} cannot {verb} path {}", Quoted(attributes.path));
        return Status::forbidden(&GroupResource::new("", ""), "", &with_reason(&cause, reason));
    }
    let resource = match attributes.subresource {
        "" => attributes.resource.to_owned(),
        sub => format!("{}/{sub}", attributes.resource),
    };
    let scope = match attributes.namespace {
        "" => "at the cluster scope".to_owned(),
        namespace => format!("in the namespace {}", Quoted(namespace)),
    };
    let cause = format!(
        "User {name} cannot {verb} resource {} in API group {} {scope}",
        Quoted(&resource),
        Quoted(group)
    );
    let named = GroupResource::new(group, attributes.resource);
    Status::forbidden(&named, attributes.name, &with_reason(&cause, reason))
}

fn with_reason(cause: &str, reason: &str) -> String {
    let cause = cause.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    if reason.is_empty() { cause } else { format!("{cause}: {reason}") }
}

/// `--authorization-mode AlwaysAllow`.
pub struct AlwaysAllow;

#[async_trait]
impl Authorizer for AlwaysAllow {
    async fn decide(&self, _: Attributes<'_>) -> Decision {
        Decision::Allow(Arc::default())
    }

    async fn rules(&self, _: &UserInfo, _: &str) -> Rules {
        Rules::everything()
    }
}

/// `--authorization-mode AlwaysDeny`.
pub struct AlwaysDeny;

#[async_trait]
impl Authorizer for AlwaysDeny {
    async fn decide(&self, _: Attributes<'_>) -> Decision {
        Decision::NoOpinion("Everything is forbidden.".to_owned())
    }

    async fn rules(&self, _: &UserInfo, _: &str) -> Rules {
        Rules::default()
    }
}

/// Allows `system:masters` and has no opinion about other users. Upstream runs it before all configured
/// modes.
pub struct MastersOnly;

#[async_trait]
impl Authorizer for MastersOnly {
    async fn decide(&self, attributes: Attributes<'_>) -> Decision {
        if attributes.user.in_group(GROUP_MASTERS) {
            Decision::Allow(Arc::default())
        } else {
            Decision::NoOpinion(String::new())
        }
    }

    /// As in upstream, reviews of rules list the configured modes only.
    async fn rules(&self, _: &UserInfo, _: &str) -> Rules {
        Rules::default()
    }
}

#[cfg(test)]
mod tests;
