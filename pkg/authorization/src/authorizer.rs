//! The authorizer contract, the trivial authorizers, and the proof that a request passed.

use std::sync::Arc;

use async_trait::async_trait;

use apimachinery::go_quote::Quoted;
use apimachinery::gvk::GroupResource;
use apimachinery::status::Status;
use apimachinery::user_info::{GROUP_MASTERS, UserInfo};

use crate::{Attributes, Rules};

/// What one authorizer says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Yes, whatever others would say.
    Allow,
    /// No, whatever others would say, and why.
    Deny(String),
    /// Not my business; ask the next one. The reason ends up in the refusal.
    NoOpinion(String),
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
}

impl Authorized {
    /// Who asks.
    pub fn user(&self) -> &UserInfo {
        &self.user
    }
}

/// Asks `authorizer` and turns anything but `Allow` into upstream's 403
/// (apiserver `endpoints/handlers/responsewriters/errors.go`).
///
/// # Errors
/// The `Forbidden` Status.
pub async fn authorize(
    authorizer: &dyn Authorizer,
    attributes: Attributes<'_>,
) -> Result<Authorized, Box<Status>> {
    match authorizer.decide(attributes).await {
        Decision::Allow => Ok(Authorized { user: attributes.user.clone() }),
        Decision::Deny(reason) | Decision::NoOpinion(reason) => Err(Box::new(forbidden(attributes, &reason))),
    }
}

/// Upstream's 403 for a request that is refused with a reason, which may be empty. Names come from the
/// request, so they are quoted as Go quotes them, and `&`, `<` and `>` are escaped so that no browser
/// takes the text for markup.
pub fn forbidden(attributes: Attributes<'_>, reason: &str) -> Status {
    let (info, user) = (attributes.info, attributes.user);
    let (name, verb) = (Quoted(&user.name), &info.verb);
    if !info.is_resource {
        let cause = format!("User {name} cannot {verb} path {}", Quoted(&info.path));
        return Status::forbidden(&GroupResource::new("", ""), "", &with_reason(&cause, reason));
    }
    let resource = match info.subresource.as_str() {
        "" => info.resource.clone(),
        sub => format!("{}/{sub}", info.resource),
    };
    let scope = match info.namespace.as_str() {
        "" => "at the cluster scope".to_owned(),
        namespace => format!("in the namespace {}", Quoted(namespace)),
    };
    let cause = format!(
        "User {name} cannot {verb} resource {} in API group {} {scope}",
        Quoted(&resource),
        Quoted(&info.group)
    );
    let named = GroupResource::new(&info.group, &info.resource);
    Status::forbidden(&named, &info.name, &with_reason(&cause, reason))
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
        Decision::Allow
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
        match attributes.user.in_group(GROUP_MASTERS) {
            true => Decision::Allow,
            false => Decision::NoOpinion(String::new()),
        }
    }

    async fn rules(&self, user: &UserInfo, _: &str) -> Rules {
        if user.in_group(GROUP_MASTERS) { Rules::everything() } else { Rules::default() }
    }
}

/// Asks several authorizers in order; the first with an opinion decides. Without one, their reasons
/// are joined, one per line.
pub struct Union(Vec<Arc<dyn Authorizer>>);

impl Union {
    /// Asks `authorizers` in this order.
    pub fn new(authorizers: Vec<Arc<dyn Authorizer>>) -> Self {
        Union(authorizers)
    }
}

#[async_trait]
impl Authorizer for Union {
    async fn decide(&self, attributes: Attributes<'_>) -> Decision {
        let mut reasons: Vec<String> = Vec::new();
        for authorizer in &self.0 {
            match authorizer.decide(attributes).await {
                Decision::NoOpinion(reason) if reason.is_empty() => {}
                Decision::NoOpinion(reason) => reasons.push(reason),
                opinion => return opinion,
            }
        }
        Decision::NoOpinion(reasons.join("\n"))
    }

    async fn rules(&self, user: &UserInfo, namespace: &str) -> Rules {
        let mut all = Rules::default();
        for authorizer in &self.0 {
            all.extend(authorizer.rules(user, namespace).await);
        }
        all
    }
}

#[cfg(test)]
mod tests;
