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
        let Some(question) = self.results().pending.take() else { return };
        let verdict = self.run_check(&question).await;
        self.results().completed.push((question, verdict));
    }

    async fn run_check(&self, question: &AuthorizationCheck) -> AuthorizerDecision {
        let account = question.service_account.as_ref().map(|(namespace, name)| account(namespace, name));
        let selectors = Selectors {
            fields: FieldRequirements::parse(&question.field_selector),
            labels: LabelRequirements::parse(&question.label_selector),
        };
        let asked = authorization::Attributes {
            verb: &question.verb,
            resource_request: question.path.is_empty(),
            namespace: &question.namespace,
            group: &question.group,
            version: if question.path.is_empty() { "*" } else { "" },
            resource: &question.resource,
            subresource: &question.subresource,
            name: &question.name,
            path: &question.path,
            selectors: &selectors,
            ..authorization::Attributes::of_user(account.as_ref().unwrap_or(self.user))
        };
        match self.authorizer.decide(asked).await.outcome() {
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
        let own = |text: &str| text.to_owned();
        let question = AuthorizationCheck {
            service_account: check.service_account.map(|(namespace, name)| (own(namespace), own(name))),
            path: own(check.path),
            group: own(check.group),
            resource: own(check.resource),
            subresource: own(check.subresource),
            namespace: own(check.namespace),
            name: own(check.name),
            field_selector: own(check.field_selector),
            label_selector: own(check.label_selector),
            verb: own(verb),
        };
        let mut answers = self.results();
        if let Some((_, verdict)) = answers.completed.iter().find(|(known, _)| *known == question) {
            return verdict.clone();
        }
        if answers.pending.is_some() {
            return AuthorizerDecision::default();
        }
        match self.run_check(&question).now_or_never() {
            Some(verdict) => {
                answers.completed.push((question, verdict.clone()));
                verdict
            }
            None => {
                answers.pending = Some(question);
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
