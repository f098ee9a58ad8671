//! State of the validation of one object.

use apimachinery::field::Error;

use super::errors::Findings;
use super::rules::{Condition, Level, Rule};

/// The validated operation (upstream's `operation.Operation`), and the errors found so far.
pub(super) struct Operation<'o> {
    /// True for an update, even of a struct that the old object does not have.
    pub(super) update: bool,
    /// Returns the state of a validation option.
    pub(super) option: &'o dyn Fn(&str) -> bool,
    pub(super) findings: Findings,
}

impl Operation<'_> {
    /// Adds an error if its level is reported.
    pub(super) fn push(&mut self, level: Level, error: impl FnOnce() -> Error) {
        self.findings.push(level, error);
    }

    /// True if a rule has an effect: its condition holds, and it is reported or ends the validation of its field.
    pub(super) fn applies(&self, rule: &Rule) -> bool {
        let relevant = rule.check.short_circuits() || self.findings.reports(rule.level);
        relevant
            && match rule.condition {
                Condition::Always => true,
                Condition::Enabled(option) => (self.option)(option),
                Condition::Disabled(option) => !(self.option)(option),
            }
    }
}
