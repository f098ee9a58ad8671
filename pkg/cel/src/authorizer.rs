//! The authorizer that expressions may ask, as the host provides it.

use std::fmt;

use crate::value::Check;

/// What the host's authorizer said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuthorizerDecision {
    /// Whether it is allowed; "no opinion" is no.
    pub allowed: bool,
    /// Why.
    pub reason: String,
    /// What went wrong, if anything did.
    pub error: Option<String>,
}

/// Answers for `authorizer` in expressions. It knows the request's user itself; a check that names a service
/// account is about that account, with the groups that accounts have.
pub trait Authorizer: fmt::Debug {
    /// Whether the verb is allowed on what the check describes: a path if it has one, otherwise a resource of
    /// any version. Selectors that do not parse count as absent.
    fn authorize(&self, check: &Check<'_>, verb: &str) -> AuthorizerDecision;
}
