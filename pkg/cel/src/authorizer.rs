//! Host interface for the `authorizer` variable.

use std::fmt;

use crate::value::Check;

/// Decision of the host's authorizer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuthorizerDecision {
    /// True if allowed; "no opinion" counts as false.
    pub allowed: bool,
    /// Reason of the decision.
    pub reason: String,
    /// Error of the authorizer, if any.
    pub error: Option<String>,
}

/// Authorizer behind `authorizer` in expressions. It holds the user of the request. A check that names a
/// service account uses that account and its implicit groups.
pub trait Authorizer: fmt::Debug {
    /// Authorizes the verb on the target of the check: a path if it has one, otherwise a resource of any
    /// version. Selectors that do not parse count as absent.
    fn authorize(&self, check: &Check<'_>, verb: &str) -> AuthorizerDecision;
}
