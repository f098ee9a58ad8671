//! Types that prediction, interpretation and recovery share.

use super::automaton::Id;
use super::context::Context;
use super::grammar::Label;
use super::tree::NodeId;
use crate::lexer::Token;

/// A possible configuration of the automaton.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Config {
    pub(super) state: Id,
    /// Number of the alternative that led here, from 1.
    pub(super) alternative: u8,
    pub(super) stack: Context,
    /// True if it was reached through the end of the decision's rule.
    pub(super) outside: bool,
    /// True if it must not be dropped in favour of the first alternative at the start of a left-recursion
    /// loop.
    pub(super) precedence_filter_suppressed: bool,
}

/// Error: no alternative matches.
#[derive(Debug)]
pub(super) struct NoViableAlternative {
    pub(super) start: Token,
    pub(super) offending: Token,
}

/// A decision with the current parser state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decision<'a> {
    /// The state with the alternatives.
    pub(super) state: Id,
    /// Precedence of the current rule's call.
    pub(super) precedence: u8,
    /// The open rules, the innermost last.
    pub(super) frames: &'a [Frame],
}

/// Error that ends a rule.
#[derive(Debug)]
pub(super) enum RuleError {
    /// The next token is not one of the expected tokens.
    Mismatch,
    /// No alternative matches.
    NoViable(NoViableAlternative),
}

/// An open rule.
#[derive(Debug)]
pub(super) struct Frame {
    /// The state that called the rule.
    pub(super) caller: Id,
    /// Its role in the caller.
    pub(super) label: Label,
    pub(super) precedence: u8,
    pub(super) node: NodeId,
}

/// State of error recovery.
#[derive(Debug, Default)]
pub(super) struct Recovery {
    /// True if an error was reported since the last matched token; further errors are suppressed.
    pub(super) recovering: bool,
    /// Position of the last recovery, and the states of recoveries that ended there.
    pub(super) last: Option<(usize, Vec<Id>)>,
    pub(super) attempts: usize,
}

impl Recovery {
    /// Records a matched token.
    pub(super) fn matched(&mut self) {
        self.recovering = false;
        self.last = None;
    }

    /// Starts a recovery. Returns true if errors were already suppressed, which lasts until a token matches.
    pub(super) fn begin(&mut self) -> bool {
        std::mem::replace(&mut self.recovering, true)
    }
}

pub(super) fn unique(configs: &[Config]) -> Option<u8> {
    let first = configs.first()?.alternative;
    configs.iter().all(|config| config.alternative == first).then_some(first)
}
