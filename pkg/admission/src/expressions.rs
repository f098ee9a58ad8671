//! CEL expressions about requests, for match conditions of webhooks and for policies (upstream's
//! `admission/plugin/cel`). Evaluation never waits; [`Authorizations`] handles the calls that must wait.

mod authorizations;
mod conditions;
mod program;
mod variables;

pub(crate) use authorizations::Authorizations;
pub(crate) use conditions::{Conditions, MatchOutcome, MatchResult};
pub(crate) use program::{CompileError, EvaluationError, Inputs, Program};
pub(crate) use variables::{LazyVariables, Variables, stored};
