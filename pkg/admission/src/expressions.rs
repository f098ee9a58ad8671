//! Expressions in CEL about requests: of conditions of webhooks and of policies (upstream's
//! `admission/plugin/cel`). What is evaluated never waits; see [`Authorizations`] for what has to.

mod authorizations;
mod conditions;
mod program;
mod variables;

pub(crate) use authorizations::Authorizations;
pub(crate) use conditions::{Conditions, MatchResult, Matched};
pub(crate) use program::{EvaluationError, Inputs, Program};
pub(crate) use variables::{LazyVariables, Variables, stored};
