//! Rules of structural schemas (`x-kubernetes-validations`): compiled against the schema's declarations, with
//! their maximum cost.

mod build;
mod correlation;
pub mod field_path;
mod findings;
mod json;
mod rule;
mod run;

pub use findings::{Findings, RunOptions};
pub use json::JsonSchema;
pub use run::Validator;

use std::sync::Arc;

use crate::checked::{Checked, Reference};
use crate::compile::{CompileError, compile};
use crate::declared::{Declared, DeclaredSizes, REQUEST_BYTES_MAX};
use crate::env::Environment;
use crate::estimate::{DataPosition, estimate};
use crate::plan::{Plan, PlanError};
use crate::types::{Type, Types};

/// Variable for the value under validation.
pub const SELF: &str = "self";
/// Variable for the previous value.
pub const OLD_SELF: &str = "oldSelf";

/// A rule as written in a schema.
#[derive(Clone, Copy, Debug)]
pub struct Rule<'a> {
    /// The boolean expression.
    pub rule: &'a str,
    /// The expression that computes the message; empty if there is none.
    pub message_expression: &'a str,
    /// True if `oldSelf` is optional, so that the rule applies to creation too.
    pub optional_old_self: bool,
    /// True if the stored object has the same rule. Then it may use features that are enabled for stored
    /// expressions only.
    pub rule_is_stored: bool,
    /// The same for the message expression.
    pub message_is_stored: bool,
}

/// Result of compiling a rule.
#[derive(Clone, Debug, Default)]
pub struct CompiledRule {
    /// The compiled rule; `None` if it is blank or invalid.
    pub rule: Option<Checked>,
    /// Compilation error of the rule.
    pub error: Option<String>,
    /// True if the rule uses `oldSelf`.
    pub uses_old_self: bool,
    /// Maximum cost of one evaluation of the rule.
    pub max_cost: u64,
    /// Maximum number of evaluations per object.
    pub max_cardinality: u64,
    /// The compiled message expression; `None` if it is absent or invalid.
    pub message: Option<Checked>,
    /// Compilation error of the message expression.
    pub message_error: Option<String>,
    /// Maximum cost of the message expression.
    pub message_max_cost: u64,
}

/// Environments for the rules of one declaration.
pub struct RuleEnvironments {
    declared: Arc<Declared>,
    position: DataPosition,
    new: OldSelfEnvironments,
    stored: OldSelfEnvironments,
}

/// Environments with a plain and with an optional `oldSelf`.
struct OldSelfEnvironments {
    plain: Environment,
    optional: Environment,
}

impl RuleEnvironments {
    /// Extends the environments for new and for stored expressions with `self` and `oldSelf` of a
    /// declaration.
    pub fn new(
        new: &Environment,
        stored: &Environment,
        declared: &Arc<Declared>,
        position: DataPosition,
    ) -> Self {
        let ty = declared.type_of(position);
        let mut types = Types::on(declared.types());
        let old = types.optional(ty);
        let types = Arc::new(types);
        let pair = |base: &Environment| {
            let env = base.clone().declare(types.clone(), declared.clone()).variable(SELF, ty);
            OldSelfEnvironments {
                plain: env.clone().variable(OLD_SELF, ty),
                optional: env.variable(OLD_SELF, old),
            }
        };
        Self { declared: declared.clone(), position, new: pair(new), stored: pair(stored) }
    }

    /// Compiles a rule and its message expression.
    pub fn compile(&self, rule: &Rule<'_>) -> CompiledRule {
        let mut compiled = CompiledRule::default();
        if rule.rule.trim().is_empty() {
            return compiled;
        }
        match self.compile_one(rule, rule.rule, rule.rule_is_stored, Type::BOOL) {
            Ok((checked, cost)) => {
                compiled.uses_old_self = uses(&checked, OLD_SELF);
                compiled.max_cost = cost;
                compiled.max_cardinality = max_cardinality(self.declared.min_serialized(self.position));
                compiled.rule = Some(checked);
            }
            Err(error) => {
                compiled.error = Some(match error {
                    RuleError::Type { .. } => format!("cel expression {error}"),
                    RuleError::Compile(_) => error.to_string(),
                    RuleError::Program(_) => format!("program {error}"),
                });
                return compiled;
            }
        }
        if rule.message_expression.is_empty() {
            return compiled;
        }
        match self.compile_one(rule, rule.message_expression, rule.message_is_stored, Type::STRING) {
            Ok((checked, cost)) => {
                compiled.message_max_cost = cost;
                compiled.message = Some(checked);
            }
            Err(error) => compiled.message_error = Some(format!("messageExpression {error}")),
        }
        compiled
    }

    fn compile_one(
        &self,
        rule: &Rule<'_>,
        text: &str,
        is_stored: bool,
        result: Type,
    ) -> Result<(Checked, u64), RuleError> {
        let pair = if is_stored { &self.stored } else { &self.new };
        let env = if rule.optional_old_self { &pair.optional } else { &pair.plain };
        let checked = compile(env, text)?;
        if checked.result() != result {
            return Err(RuleError::Type { expected: checked.types.text(result) });
        }
        Plan::validate(&checked)?;
        let mut sizes = DeclaredSizes { declared: &self.declared, root: self.position, variable: None };
        let cost = estimate(&checked, &mut sizes).max;
        Ok((checked, cost))
    }
}

/// Compile error of a rule or a message. The text is the end of upstream's message.
#[derive(Debug, thiserror::Error)]
enum RuleError {
    #[error("compilation failed: {0}")]
    Compile(#[from] CompileError),
    #[error("must evaluate to a {expected}")]
    Type { expected: String },
    #[error("instantiation failed: {0}")]
    Program(#[from] PlanError),
}

/// Returns the number of values of this minimum JSON size that fit into a request, separated by commas.
pub fn max_cardinality(min_serialized: u64) -> u64 {
    REQUEST_BYTES_MAX / (min_serialized + 1)
}

/// Returns true if an expression uses a variable.
fn uses(checked: &Checked, variable: &str) -> bool {
    let refers = |reference: &Reference| matches!(reference, Reference::Variable(name) if checked.syntax.name(*name) == variable);
    checked.references.iter().any(refers)
}
