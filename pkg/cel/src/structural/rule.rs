//! Runs the rules of one node and reports failures.

use apimachinery::field::{BadValue, Error, Path};
use apimachinery::go_quote::quote;
use jsontree::Value as Json;

use super::correlation::Ratchet;
use super::findings::{Run, ValuePair};
use crate::arena::Arena;
use crate::eval::{Evaluation, EvaluationError, evaluate};
use crate::plan::Plan;
use crate::value::{Typed, TypedSchema, Value};

#[derive(Debug, Default)]
pub(super) struct NodeRules {
    /// The schema's `type`.
    pub(super) type_name: Box<str>,
    pub(super) rules: Vec<NodeRule>,
    /// True if the node has rules but no declared data.
    pub(super) undeclared: bool,
}

/// A compiled rule.
#[derive(Debug, Default)]
pub(super) struct NodeRule {
    pub(super) text: Box<str>,
    /// The fixed message, trimmed.
    pub(super) message: Box<str>,
    pub(super) reason: Box<str>,
    /// Field for errors, relative to the node.
    pub(super) field: Box<str>,
    pub(super) uses_old_self: bool,
    pub(super) optional_old_self: bool,
    /// The plan; `None` if the rule is blank.
    pub(super) plan: Option<Plan>,
    /// Compilation error of the rule.
    pub(super) error: Option<String>,
    pub(super) message_expression: Option<(Box<str>, Plan)>,
}

/// Result of a rule: continue or stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    OutOfBudget,
}

/// Maximum length of a computed message in bytes.
const MESSAGE_BYTES_MAX: usize = 5 * 1024;
const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";
const UNDECLARED: &str =
    "rule compiler initialization error: failed to convert to declType for CEL validation rules";

/// The variables `self` and `oldSelf` of a node's rules.
struct Variables<'a> {
    plain: [Option<Value<'a>>; 2],
    optional: [Option<Value<'a>>; 2],
}

impl NodeRules {
    pub(super) fn is_empty(&self) -> bool {
        self.rules.is_empty() && !self.undeclared
    }

    pub(super) fn run(
        &self,
        run: &mut Run<'_>,
        schema: &TypedSchema,
        path: &Path<'_>,
        subject: ValuePair<'_>,
        ratchet: Ratchet<'_>,
    ) -> Outcome {
        if self.undeclared {
            self.report_error(run, path, UNDECLARED.into());
        }
        if self.rules.is_empty() {
            return Outcome::Done;
        }
        if run.findings.remaining <= 0 {
            return self.out_of_budget(run, path, OUT_OF_BUDGET.into());
        }
        let arena = Arena::new();
        let typed = Typed { schema, arena: &arena };
        let this = typed.value(subject.new);
        let old = subject.old.map(|old| typed.value(old));
        let optional_old = match old {
            Some(old) => arena.optional(old).unwrap_or(Value::Optional(None)),
            None => Value::Optional(None),
        };
        let variables = Variables { plain: [Some(this), old], optional: [Some(this), Some(optional_old)] };
        for rule in &self.rules {
            if let Some(error) = &rule.error {
                self.report_error(run, path, format!("rule compile error: {error}"));
                continue;
            }
            let Some(plan) = &rule.plan else { continue };
            if rule.uses_old_self && subject.old.is_none() && !rule.optional_old_self {
                continue;
            }
            if self.run_rule(run, rule, plan, path, subject.new, ratchet, &variables, &arena)
                == Outcome::OutOfBudget
            {
                return Outcome::OutOfBudget;
            }
        }
        Outcome::Done
    }

    #[expect(clippy::too_many_arguments, reason = "a rule's whole context")]
    fn run_rule<'a>(
        &self,
        run: &mut Run<'_>,
        rule: &'a NodeRule,
        plan: &'a Plan,
        path: &Path<'_>,
        data: &Json,
        ratchet: Ratchet<'_>,
        variables: &Variables<'a>,
        arena: &'a Arena,
    ) -> Outcome {
        let slots = if rule.optional_old_self { &variables.optional } else { &variables.plain };
        let evaluation = evaluate(plan, slots, arena, run.options.call_limit, run.options.cancel);
        if !run.spend(evaluation.cost) {
            return self.out_of_budget(run, path, OUT_OF_BUDGET.into());
        }
        match evaluation.result() {
            Ok(Value::Bool(true)) => return Outcome::Done,
            Ok(_) => {}
            Err(error) => return self.failed(run, rule, path, &error),
        }
        let field = path.child(&rule.field);
        let path = if rule.field.is_empty() { path } else { &field };
        let tolerated = !rule.uses_old_self && ratchet.only_warns();
        let detail = match &rule.message_expression {
            None => Ok(None),
            Some((text, plan)) => {
                let evaluation =
                    evaluate(plan, &variables.plain, arena, run.options.call_limit, run.options.cancel);
                message(run, text, &evaluation)
            }
        };
        let detail = match detail {
            Ok(detail) => detail.unwrap_or_else(|| rule.message()),
            Err(problem) => {
                run.report(Error::invalid(path, &*self.type_name, problem.to_string()), tolerated);
                run.findings.remaining = -1;
                return Outcome::OutOfBudget;
            }
        };
        run.report(self.violation(rule, path, data, detail), tolerated);
        Outcome::Done
    }

    /// Creates the error of a rule that evaluates to false.
    fn violation(&self, rule: &NodeRule, path: &Path<'_>, data: &Json, detail: String) -> Error {
        let value = match &*self.type_name {
            "object" | "array" => BadValue::Omitted,
            _ => data.into(),
        };
        match &*rule.reason {
            "FieldValueForbidden" => Error::forbidden(path, detail),
            "FieldValueRequired" => Error::required(path, detail),
            "FieldValueDuplicate" => Error::duplicate(path, value),
            _ => Error::invalid(path, value, detail),
        }
    }

    /// Reports a rule whose evaluation failed.
    fn failed(
        &self,
        run: &mut Run<'_>,
        rule: &NodeRule,
        path: &Path<'_>,
        error: &EvaluationError,
    ) -> Outcome {
        let shown = rule.text_or_message();
        if error.is_missing_overload() {
            let words =
                "call arguments did not match a supported operator, function or macro signature for rule";
            self.report_error(run, path, format!("'{error}': {words}: {shown}"));
        } else if error.is_over_limit() {
            let words = "no further validation rules will be run due to call cost exceeds limit for rule";
            return self.out_of_budget(run, path, format!("'{error}': {words}: {shown}"));
        } else {
            self.report_error(run, path, format!("{error} evaluating rule: {shown}"));
        }
        Outcome::Done
    }

    fn report_error(&self, run: &mut Run<'_>, path: &Path<'_>, detail: String) {
        run.findings.errors.push(Error::invalid(path, &*self.type_name, detail));
    }

    fn out_of_budget(&self, run: &mut Run<'_>, path: &Path<'_>, detail: String) -> Outcome {
        self.report_error(run, path, detail);
        run.findings.remaining = -1;
        Outcome::OutOfBudget
    }
}

impl Run<'_> {
    /// Deducts a cost from the budget. Returns false if it does not suffice.
    fn spend(&mut self, cost: u64) -> bool {
        match i64::try_from(cost) {
            Ok(cost) if cost <= self.findings.remaining => {
                self.findings.remaining -= cost;
                true
            }
            _ => false,
        }
    }

    fn report(&mut self, error: Error, tolerated: bool) {
        if tolerated {
            self.findings.warnings.push(error.to_string());
        } else {
            self.findings.errors.push(error);
        }
    }
}

impl NodeRule {
    fn text_or_message(&self) -> &str {
        if self.message.is_empty() { self.text.trim() } else { &self.message }
    }

    fn message(&self) -> String {
        if self.message.is_empty() {
            format!("failed rule: {}", self.text_or_message())
        } else {
            self.message.clone().into_string()
        }
    }
}

/// Error if no budget is left for further rules, in upstream's wording.
#[derive(Debug, thiserror::Error)]
enum BudgetError {
    #[error(
        "messageExpression evaluation failed due to running out of cost budget, no further validation rules will \
         be run"
    )]
    Budget,
    /// Contains the expression.
    #[error(
        "no further validation rules will be run due to call cost exceeds limit for messageExpression: {}",
        quote(.0)
    )]
    Limit(String),
}

/// Returns the computed message; `None` if it is unusable. Fails if the budget does not suffice.
fn message(
    run: &mut Run<'_>,
    text: &str,
    evaluation: &Evaluation<'_>,
) -> Result<Option<String>, BudgetError> {
    if !run.spend(evaluation.cost) {
        return Err(BudgetError::Budget);
    }
    match evaluation.result() {
        Err(error) if error.is_over_limit() => Err(BudgetError::Limit(text.to_owned())),
        Ok(Value::String(message)) => {
            let message = message.trim();
            let usable = !message.is_empty() && message.len() <= MESSAGE_BYTES_MAX && !message.contains('\n');
            Ok(usable.then(|| message.to_owned()))
        }
        _ => Ok(None),
    }
}
