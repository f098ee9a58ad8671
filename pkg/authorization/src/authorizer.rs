//! The authorizer contract, the trivial authorizers, and the proof that a request passed.

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

/// Done when what an authorizer decides by is there.
pub type LoadFuture<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// What one authorizer says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Yes, whatever others would say, and why, which may be empty.
    Allow(Arc<str>),
    /// No, whatever others would say, and why.
    Deny(String),
    /// Not my business; ask the next one. The reason ends up in the refusal.
    NoOpinion(String),
    /// It could not be found out.
    Failed(Failure),
}

/// An authorizer that could not find out, and what is to be done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Whether the answer is no, whatever others would say; if not, the next one is asked.
    pub denied: bool,
    /// Why it is no, where that is known; may be empty.
    pub reason: String,
    /// What went wrong.
    pub error: String,
}

/// Why something is not allowed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Denial {
    /// Whether somebody said no; if not, nobody said yes.
    pub denied: bool,
    /// In the authorizer's words; may be empty.
    pub reason: String,
    /// What went wrong while it was found out, if anything did.
    pub error: Option<String>,
}

impl Denial {
    /// What went wrong and why not, in one text (upstream's `error: reason`).
    pub fn explained(self) -> String {
        match self.error {
            None => self.reason,
            Some(error) if self.reason.is_empty() => error,
            Some(error) => format!("{error}: {}", self.reason),
        }
    }
}

impl Decision {
    /// Whether it is a yes, and why, or why not.
    ///
    /// # Errors
    /// [`Refused`] for everything but a yes.
    pub fn outcome(self) -> Result<Arc<str>, Denial> {
        match self {
            Decision::Allow(reason) => Ok(reason),
            Decision::Deny(reason) => Err(Denial { denied: true, reason, error: None }),
            Decision::NoOpinion(reason) => Err(Denial { denied: false, reason, error: None }),
            Decision::Failed(Failure { denied, reason, error }) => {
                Err(Denial { denied, reason, error: Some(error) })
            }
        }
    }
}

/// Decides about requests.
#[async_trait]
pub trait Authorizer: Send + Sync + 'static {
    /// Decides about one request.
    async fn decide(&self, attributes: Attributes<'_>) -> Decision;

    /// Lists what it lets a user do in a namespace, as far as it can.
    async fn rules(&self, _user: &UserInfo, _namespace: &str) -> Rules {
        Rules::unknown()
    }
}

/// Proof that a request was authorized, and the user it was authorized for. Only [`authorize`]
/// makes one.
#[derive(Debug, Clone)]
pub struct Authorized {
    user: UserInfo,
    reason: Arc<str>,
}

impl Authorized {
    /// Who asks.
    pub fn user(&self) -> &UserInfo {
        &self.user
    }

    /// Why they may, in the authorizer's words, for audit; may be empty.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

/// Why a request is not authorized.
#[derive(Debug)]
pub enum Unauthorized {
    /// It may not.
    Forbidden {
        /// Upstream's 403.
        status: Box<Status>,
        /// Why not, in the authorizer's words, for audit; may be empty.
        reason: String,
        /// Whether somebody said no; if not, nobody said yes.
        denied: bool,
    },
    /// Nobody knows whether it may pass; what went wrong.
    Failed(String),
}

/// Asks whether a user may do what a request asks for.
///
/// # Errors
/// [`Unauthorized`].
pub async fn authorize(
    authorizer: &dyn Authorizer,
    user: UserInfo,
    info: &RequestInfo,
) -> Result<Authorized, Unauthorized> {
    let attributes = Attributes::of_request(&user, info);
    match authorizer.decide(attributes).await.outcome() {
        Ok(reason) => Ok(Authorized { user, reason }),
        Err(Denial { error: Some(error), .. }) => Err(Unauthorized::Failed(error)),
        Err(Denial { denied, reason, .. }) => {
            let status = Box::new(forbidden(attributes, &reason));
            Err(Unauthorized::Forbidden { status, reason, denied })
        }
    }
}

/// Asks `authorizer` and turns anything but `Allow`, whose reason it returns, into upstream's 403
/// (apiserver `endpoints/handlers/responsewriters/errors.go`), and a failure into a 500.
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

/// Upstream's 403 for a request that is refused with a reason, which may be empty. Names come from the
/// request, so they are quoted as Go quotes them, and `&`, `<` and `>` are escaped so that no browser
/// takes the text for markup.
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

/// Lets `system:masters` through and leaves everyone else to others. Upstream asks it before any
/// configured mode.
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

    async fn rules(&self, user: &UserInfo, _: &str) -> Rules {
        if user.in_group(GROUP_MASTERS) { Rules::everything() } else { Rules::default() }
    }
}

#[cfg(test)]
mod tests;
