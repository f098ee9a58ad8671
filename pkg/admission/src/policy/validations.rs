//! Evaluates the validations of a policy (upstream's `validating/validator.go`). Performs no I/O.

use std::time::Duration;

use api::tree::{children, maybe_text, text};
use cel::admission::{Options, Returns};
use cel::arena::Arena;
use cel::value::Value;
use schema::object::Object;

use super::BUDGET;
use super::model::{Policy, Rules};
use super::policy_request::PolicyRequest;
use crate::Now;
use crate::expressions::{EvaluationError, Inputs, LazyVariables, Program, stored};

/// Maximum size in bytes of a message from an expression.
const MESSAGE_BYTES_MAX: usize = 5 * 1024;
/// Number of messages and variables that cannot exhaust a budget together. Each may use a tenth of it.
const CHEAP_MAX: usize = 8;

pub struct Validations {
    validations: Vec<Validation>,
    annotations: Vec<Annotation>,
    has_message_expressions: bool,
}

struct Validation {
    program: Program,
    message: Box<str>,
    message_expression: Option<Program>,
    reason: Option<Box<str>>,
}

struct Annotation {
    key: Box<str>,
    program: Program,
}

impl Rules for Validations {
    fn read(spec: &Object, options: Options, variables: &cel::admission::Variables) -> Self {
        let env = stored(options, variables);
        let with_expression = |validation: &Object| !text(validation, "messageExpression").is_empty();
        let has_message_expressions = children(spec, "validations").any(with_expression);
        let for_messages =
            has_message_expressions.then(|| stored(Options { authorizer: false, ..options }, variables));
        let validation = |validation: &Object| Validation {
            program: Program::compile(&env, text(validation, "expression"), Returns::Bool).0,
            message: text(validation, "message").trim().into(),
            message_expression: for_messages
                .as_ref()
                .filter(|_| with_expression(validation))
                .map(|env| Program::compile(env, text(validation, "messageExpression"), Returns::String).0),
            reason: maybe_text(validation, "reason").map(Box::from),
        };
        let annotation = |annotation: &Object| Annotation {
            key: text(annotation, "key").into(),
            program: Program::compile(&env, text(annotation, "valueExpression"), Returns::StringOrNull).0,
        };
        Validations {
            validations: children(spec, "validations").map(validation).collect(),
            annotations: children(spec, "auditAnnotations").map(annotation).collect(),
            has_message_expressions,
        }
    }
}

/// Result of a failed validation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decision {
    /// Position among the validations.
    pub(super) index: usize,
    /// True if the request is rejected; false if the failure is only counted.
    pub(super) denies: bool,
    pub(super) message: String,
    /// Reason of the Status; empty for the default.
    pub(super) reason: Box<str>,
    pub(super) duration: Duration,
}

/// An audit annotation, or the error that prevented it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AnnotationResult {
    pub(super) key: Box<str>,
    pub(super) value: Result<String, EvaluationError>,
    pub(super) took: Duration,
}

/// Result of a policy for a request. Empty if all validations passed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ValidationResult {
    pub(super) decisions: Vec<Decision>,
    pub(super) annotations: Vec<AnnotationResult>,
}

impl Policy<Validations> {
    /// Evaluates the policy. If an authorization check is pending afterwards, the result is invalid.
    pub(super) fn evaluate(&self, about: &PolicyRequest<'_>) -> ValidationResult {
        match about.matches_conditions(self) {
            Ok(true) => {}
            Ok(false) => return ValidationResult::default(),
            Err(error) => return self.failed(&error),
        }
        let arena = Arena::new();
        let inputs = about.inputs(&arena);
        let now = about.deps.now.as_ref();
        let result = self.validated(&inputs, &arena, now).and_then(|decisions| {
            let annotations = self.evaluate_annotations(&inputs, &arena, now)?;
            Ok(ValidationResult { decisions, annotations })
        });
        result.unwrap_or_else(|error| self.failed(&error))
    }

    /// Builds the result if the evaluation failed as a whole.
    fn failed(&self, error: &EvaluationError) -> ValidationResult {
        let decision = self.failure(0, error.to_string(), Duration::ZERO);
        ValidationResult { decisions: vec![decision], annotations: Vec::new() }
    }

    fn failure(&self, index: usize, message: String, duration: Duration) -> Decision {
        Decision { index, denies: !self.ignores_failures, message, reason: Box::default(), duration }
    }

    /// Returns the failed validations.
    ///
    /// # Errors
    /// The budget is exhausted.
    fn validated<'a>(
        &'a self,
        inputs: &Inputs<'a>,
        arena: &'a Arena,
        now: &Now,
    ) -> Result<Vec<Decision>, EvaluationError> {
        let inputs = LazyVariables::begin(&self.variables, inputs, arena);
        let mut budget = BUDGET;
        let mut outcomes: Vec<Outcome> = Vec::with_capacity(self.rules.validations.len());
        for validation in &self.rules.validations {
            let start = now();
            let result = match validation.program.evaluate(&inputs, arena, &mut budget) {
                Ok(value) => Ok(matches!(value, Value::Bool(true))),
                Err(error @ EvaluationError::Expression(_)) => Err(error),
                Err(error @ EvaluationError::Budget(_)) => return Err(error),
            };
            outcomes.push(Outcome { result, took: now().saturating_duration_since(start) });
        }
        Ok(self.build_decisions(outcomes, &inputs, arena, budget))
    }

    fn build_decisions<'a>(
        &'a self,
        outcomes: Vec<Outcome>,
        inputs: &Inputs<'a>,
        arena: &'a Arena,
        budget: u64,
    ) -> Vec<Decision> {
        let passes = outcomes.iter().all(|outcome| outcome.result == Ok(true));
        let few = self.rules.validations.len() + self.variables.len() <= CHEAP_MAX;
        let has_messages = self.rules.has_message_expressions && !(passes && few);
        let messages = if has_messages { self.messages(inputs, arena, budget) } else { Ok(Vec::new()) };
        let mut decisions = Vec::new();
        for (index, (outcome, validation)) in outcomes.into_iter().zip(&self.rules.validations).enumerate() {
            let duration = outcome.took;
            let decision = match (outcome.result, &messages) {
                (Err(error), _) => self.failure(index, error.to_string(), duration),
                (_, Err(failed_message)) => {
                    self.failure(index, format!("failed messageExpression: {failed_message}"), duration)
                }
                (Ok(true), _) => continue,
                (Ok(false), Ok(messages)) => {
                    let message = messages.get(index).and_then(Option::as_deref);
                    let message = validation.message(message.unwrap_or_default());
                    let reason = validation.reason.clone().unwrap_or_else(|| "Invalid".into());
                    Decision { index, denies: true, message, reason, duration }
                }
            };
            decisions.push(decision);
        }
        decisions
    }

    /// Evaluates message expressions, by validation.
    ///
    /// # Errors
    /// The budget is exhausted.
    fn messages<'a>(
        &'a self,
        inputs: &Inputs<'a>,
        arena: &'a Arena,
        mut budget: u64,
    ) -> Result<Vec<Option<String>>, EvaluationError> {
        let inputs = Inputs { authorizer: None, ..*inputs };
        let inputs = LazyVariables::begin(&self.variables, &inputs, arena);
        let mut messages = Vec::with_capacity(self.rules.validations.len());
        for validation in &self.rules.validations {
            let Some(program) = &validation.message_expression else {
                messages.push(None);
                continue;
            };
            messages.push(match program.evaluate(&inputs, arena, &mut budget) {
                Ok(Value::String(message)) => valid_message(message),
                Ok(_) | Err(EvaluationError::Expression(_)) => None,
                Err(error @ EvaluationError::Budget(_)) => return Err(error),
            });
        }
        Ok(messages)
    }

    /// Evaluates audit annotations. Returns failed ones too.
    ///
    /// # Errors
    /// The budget is exhausted.
    fn evaluate_annotations<'a>(
        &'a self,
        inputs: &Inputs<'a>,
        arena: &'a Arena,
        now: &Now,
    ) -> Result<Vec<AnnotationResult>, EvaluationError> {
        if self.rules.annotations.is_empty() {
            return Ok(Vec::new());
        }
        let inputs = Inputs { authorizer: None, ..*inputs };
        let inputs = LazyVariables::begin(&self.variables, &inputs, arena);
        let mut budget = BUDGET;
        let mut annotated = Vec::new();
        for Annotation { key, program } in &self.rules.annotations {
            let start = now();
            let value = match program.evaluate(&inputs, arena, &mut budget) {
                Ok(Value::String(value)) if !value.trim().is_empty() => Ok(value.trim().to_owned()),
                Ok(_) => continue,
                Err(EvaluationError::Expression(_)) if self.ignores_failures => continue,
                Err(error @ EvaluationError::Expression(_)) => Err(error),
                Err(error @ EvaluationError::Budget(_)) => return Err(error),
            };
            annotated.push(AnnotationResult {
                key: key.clone(),
                value,
                took: now().saturating_duration_since(start),
            });
        }
        Ok(annotated)
    }
}

/// Result of one expression.
struct Outcome {
    /// The boolean result, or the evaluation error.
    result: Result<bool, EvaluationError>,
    took: Duration,
}

impl Validation {
    /// Returns the rejection message. `made` is the result of the message expression, or empty.
    fn message(&self, computed: &str) -> String {
        match (computed, &*self.message) {
            ("", "") => format!("failed expression: {}", self.program.text().trim()),
            ("", message) | (message, _) => message.to_owned(),
        }
    }
}

/// Returns the message of an expression, if it is valid.
fn valid_message(message: &str) -> Option<String> {
    let message = message.trim();
    let fits = !message.is_empty() && message.len() <= MESSAGE_BYTES_MAX && !message.contains('\n');
    fits.then(|| message.to_owned())
}
