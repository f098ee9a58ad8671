//! Authorization checks of CEL expressions.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use apimachinery::selectors::{FieldRequirements, LabelRequirements, Selectors};
use apimachinery::user_info::UserInfo;
use authorization::Authorizer;
use cel::authorizer::AuthorizerDecision;
use cel::value::Check;
use futures::FutureExt;

#[derive(Debug, Clone, PartialEq, Eq)]
struct AuthorizationCheck {
    service_account: Option<(String, String)>,
    path: String,
    group: String,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
    field_selector: String,
    label_selector: String,
    verb: String,
}

#[derive(Default)]
struct CheckResults {
    completed: Vec<(AuthorizationCheck, AuthorizerDecision)>,
    /// The first check without a result.
    pending: Option<AuthorizationCheck>,
}

/// The `authorizer` variable for the expressions of one request. Evaluation cannot wait. If the authorizer
/// does not decide immediately (a webhook), the check stays pending ([`is_pending`](Self::is_pending)) and the
/// evaluation result is invalid. After [`resolve_pending`](Self::resolve_pending) has resolved the check, the caller must
/// evaluate again. The cost of checks limits an expression to a few dozen.
pub(crate) struct Authorizations<'a> {
    authorizer: &'a dyn Authorizer,
    user: &'a UserInfo,
    results: Mutex<CheckResults>,
}

impl<'a> Authorizations<'a> {
    pub(crate) fn new(authorizer: &'a dyn Authorizer, user: &'a UserInfo) -> Self {
        Authorizations { authorizer, user, results: Mutex::default() }
    }

    fn results(&self) -> std::sync::MutexGuard<'_, CheckResults> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if a check is pending.
    pub(crate) fn is_pending(&self) -> bool {
        self.results().pending.is_some()
    }

    /// Resolves the pending check.
    pub(crate) async fn resolve_pending(&self) {
        let Some(check) = self.results().pending.take() else { return };
        let verdict = self.run_check(&check).await;
        self.results().completed.push((check, verdict));
    }

    async fn run_check(&self, check: &AuthorizationCheck) -> AuthorizerDecision {
        let account = check.service_account.as_ref().map(|(namespace, name)| account(namespace, name));
        let selectors = Selectors {
            fields: FieldRequirements::parse(&check.field_selector),
            labels: LabelRequirements::parse(&check.label_selector),
        };
        let attributes = authorization::Attributes {
            verb: &check.verb,
            resource_request: check.path.is_empty(),
            namespace: &check.namespace,
            group: &check.group,
            version: if check.path.is_empty() { "*" } else { "" },
            resource: &check.resource,
            subresource: &check.subresource,
            name: &check.name,
            path: &check.path,
            selectors: &selectors,
            ..authorization::Attributes::of_user(account.as_ref().unwrap_or(self.user))
        };
        match self.authorizer.decide(attributes).await.outcome() {
            Ok(reason) => AuthorizerDecision { allowed: true, reason: reason.to_string(), error: None },
            Err(refused) => {
                AuthorizerDecision { allowed: false, reason: refused.reason, error: refused.error }
            }
        }
    }
}

/// Builds the user of a service account, with the groups of all service accounts.
fn account(namespace: &str, name: &str) -> UserInfo {
    let groups = ["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")];
    UserInfo {
        name: format!("system:serviceaccount:{namespace}:{name}"),
        groups: groups.into(),
        ..UserInfo::default()
    }
}

impl cel::authorizer::Authorizer for Authorizations<'_> {
    fn authorize(&self, check: &Check<'_>, verb: &str) -> AuthorizerDecision {
        let owned = |text: &str| text.to_owned();
        let owned_check = AuthorizationCheck {
            service_account: check.service_account.map(|(namespace, name)| (owned(namespace), owned(name))),
            path: owned(check.path),
            group: owned(check.group),
            resource: owned(check.resource),
            subresource: owned(check.subresource),
            namespace: owned(check.namespace),
            name: owned(check.name),
            field_selector: owned(check.field_selector),
            label_selector: owned(check.label_selector),
            verb: owned(verb),
        };
        let mut results = self.results();
        if let Some((_, verdict)) =
            results.completed.iter().find(|(completed_check, _)| *completed_check == owned_check)
        {
            return verdict.clone();
        }
        if results.pending.is_some() {
            return AuthorizerDecision::default();
        }
        match self.run_check(&owned_check).now_or_never() {
            Some(verdict) => {
                results.completed.push((owned_check, verdict.clone()));
                verdict
            }
            None => {
                results.pending = Some(owned_check);
                AuthorizerDecision::default()
            }
        }
    }
}

impl fmt::Debug for Authorizations<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorizations").field("user", &self.user.name).finish_non_exhaustive()
    }
}
