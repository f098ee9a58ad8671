//! Options, state and result of one validation.

use apimachinery::field::Error;
use jsontree::Value as Json;

use crate::eval::Cancel;

/// Result of running the rules.
#[derive(Debug, Default)]
pub struct Findings {
    /// Errors of rules, with their field paths.
    pub errors: Vec<Error>,
    /// Errors that already existed in the old object; ratcheting reports them as warnings.
    pub warnings: Vec<String>,
    /// Remaining cost budget; negative if it ran out, after which no rule was run.
    pub remaining: i64,
}

/// Options for running rules.
#[derive(Clone, Copy)]
pub struct RunOptions<'r> {
    /// True if rules that fail on unchanged parts only warn. Rules that use `oldSelf` fail in any case.
    pub ratcheting: bool,
    /// Cost limit of all rules together.
    pub budget: i64,
    /// Cost limit of one rule.
    pub call_limit: u64,
    /// Cancellation signal.
    pub cancel: Option<&'r dyn Cancel>,
}

/// State of one validation.
pub(super) struct Run<'r> {
    pub(super) findings: Findings,
    pub(super) options: RunOptions<'r>,
}

/// A value and its old value.
#[derive(Clone, Copy)]
pub(super) struct ValuePair<'o> {
    pub(super) new: &'o Json,
    pub(super) old: Option<&'o Json>,
}
