//! A compiled CEL expression and its inputs.

use std::cell::Cell;

use cel::admission::{ExpressionError, Returns, compile_for};
use cel::arena::Arena;
use cel::checked::Checked;
use cel::env::Environment;
use cel::eval::{Evaluation, PER_CALL_LIMIT, evaluate};
use cel::plan::{Plan, PlanError};
use cel::value::{Check, Opaque, Value, message_value};
use jsontree::Value as Json;
use schema::object::Object;
use schema::table::Message;

use super::Authorizations;
use crate::Attributes;
use crate::dynamic::RunBlocking;

/// Variable names, in the order of [`Inputs::values`].
const NAMES: [&str; 8] = [
    "object",
    "oldObject",
    "request",
    "namespaceObject",
    "params",
    "variables",
    "authorizer",
    "authorizer.requestResource",
];

/// Cost limit for evaluation on the current thread. A cost unit takes less than 100 ns, so this is a few
/// milliseconds.
const INLINE_COST_MAX: u64 = 50_000;

const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// A compiled expression. A compile error is returned at every evaluation, because a newer release may have
/// stored the expression.
pub(crate) struct Program {
    text: Box<str>,
    plan: Result<Plan, CompileError>,
}

/// Error of the compiler. The texts are upstream's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CompileError {
    #[error(transparent)]
    Expression(#[from] ExpressionError),
    #[error("program instantiation failed: {0}")]
    Program(#[from] PlanError),
}

/// Failed evaluation. The texts are upstream's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EvaluationError {
    /// The expression is invalid or failed for this request. Evaluation of others continues.
    #[error("{0}")]
    Expression(String),
    /// The cost budget is exhausted. Evaluation of all expressions ends.
    #[error("{0}")]
    Budget(String),
}

/// Inputs of an expression for one request. Missing values are null.
#[derive(Default, Clone, Copy)]
pub(crate) struct Inputs<'a> {
    /// The object to be written.
    pub(crate) object: Option<Value<'a>>,
    /// The stored object.
    pub(crate) old: Option<Value<'a>>,
    pub(crate) request: Option<Value<'a>>,
    pub(crate) namespace: Option<Value<'a>>,
    /// The param of a policy binding.
    pub(crate) params: Option<Value<'a>>,
    /// The variables of a policy.
    pub(crate) variables: Option<Value<'a>>,
    /// The `authorizer` and `authorizer.requestResource` variables; both or neither.
    pub(crate) authorizer: Option<(Value<'a>, Value<'a>)>,
    /// Cost of computed variables, if there are any. The evaluator subtracts it from its budget.
    pub(crate) variable_cost: Option<&'a Cell<u64>>,
    /// Runs expensive expressions off the async worker; `None` evaluates in place.
    pub(crate) run_blocking: Option<&'a RunBlocking<'a>>,
}

impl<'a> Inputs<'a> {
    /// Wraps an object of a type as a CEL value of its JSON.
    pub(crate) fn object(message: &'static Message, object: &'a Object, arena: &'a Arena) -> Value<'a> {
        message_value(message, object, arena)
    }

    /// Runs a plan that [`Program`] compiled. If it turns out to be expensive, stops it and restarts it with
    /// `aside`, so that it does not delay other requests. Detection costs at most one and a half times
    /// [`INLINE_COST_MAX`].
    pub(crate) fn run(&self, plan: &'a Plan, arena: &'a Arena) -> Evaluation<'a> {
        let values = self.values();
        let Some(aside) = self.run_blocking else {
            return evaluate(plan, &values, arena, PER_CALL_LIMIT, None);
        };
        let mut evaluation = evaluate(plan, &values, arena, INLINE_COST_MAX, None);
        if evaluation.cost > INLINE_COST_MAX {
            aside(&mut || evaluation = evaluate(plan, &values, arena, PER_CALL_LIMIT, None));
        }
        evaluation
    }

    /// Sets the request, in the form of [`admission_request`](crate::dynamic::admission_request).
    pub(crate) fn request(&mut self, request: &'a Json) {
        self.request = Some(Value::tree(request));
    }

    pub(crate) fn authorizer(
        &mut self,
        a: &'a Attributes<'_>,
        authorizations: &'a Authorizations<'_>,
        arena: &'a Arena,
    ) {
        let all = Check::of(authorizations);
        let resource_check = Check {
            group: a.resource.group,
            resource: a.resource.plural,
            subresource: a.endpoint.subresource,
            namespace: a.namespace,
            name: a.name,
            ..all
        };
        let values =
            (arena.opaque(Opaque::Authorizer(all)), arena.opaque(Opaque::ResourceCheck(resource_check)));
        if let (Ok(all), Ok(resource_check)) = values {
            self.authorizer = Some((all, resource_check));
        }
    }

    fn values(&self) -> [Option<Value<'a>>; NAMES.len()] {
        let or_null = |value: Option<Value<'a>>| Some(value.unwrap_or(Value::Null));
        [
            or_null(self.object),
            or_null(self.old),
            or_null(self.request),
            or_null(self.namespace),
            or_null(self.params),
            self.variables,
            self.authorizer.map(|(all, _)| all),
            self.authorizer.map(|(_, resource_check)| resource_check),
        ]
    }
}

impl Program {
    /// Compiles an expression. If it is valid, also returns its checked form.
    pub(crate) fn compile(env: &Environment, text: &str, returns: Returns) -> (Self, Option<Checked>) {
        let checked = compile_for(env, text, returns);
        let plan = match &checked {
            Ok(checked) => Plan::new(checked, &NAMES).map_err(CompileError::Program),
            Err(error) => Err(CompileError::Expression(error.clone())),
        };
        (Program { text: text.into(), plan }, checked.ok())
    }

    /// Returns the compiled plan, or the compile error.
    pub(crate) fn plan(&self) -> Result<&Plan, &CompileError> {
        self.plan.as_ref()
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the compile error, if any.
    pub(crate) fn error(&self) -> Option<&CompileError> {
        self.plan.as_ref().err()
    }

    /// Evaluates the expression and subtracts the cost from `budget`.
    ///
    /// # Errors
    /// [`EvaluationError`].
    pub(crate) fn evaluate<'a>(
        &'a self,
        inputs: &Inputs<'a>,
        arena: &'a Arena,
        budget: &mut u64,
    ) -> Result<Value<'a>, EvaluationError> {
        let plan = match &self.plan {
            Ok(plan) => plan,
            Err(error) => return Err(EvaluationError::Expression(format!("compilation error: {error}"))),
        };
        let evaluation = inputs.run(plan, arena);
        let of_variables = inputs.variable_cost.map_or(0, Cell::take);
        let remaining =
            budget.checked_sub(of_variables).and_then(|remaining| remaining.checked_sub(evaluation.cost));
        *budget = remaining.ok_or_else(|| EvaluationError::Budget(OUT_OF_BUDGET.to_owned()))?;
        let failed = |error| {
            EvaluationError::Expression(format!("expression '{}' resulted in error: {error}", self.text))
        };
        evaluation.result().map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use cel::admission::{Options, environment};
    use jsontree::json;

    use super::*;

    #[test]
    fn expensive_expressions_run_aside_with_same_result() {
        let env = environment(u32::MAX, Options::default(), None);
        let object = json!({"list": (0..200).collect::<Vec<u32>>()});
        let check = |expression: &str, times: usize| {
            let (program, _) = Program::compile(&env, expression, Returns::Bool);
            let calls = AtomicUsize::new(0);
            let run_blocking = |work: &mut dyn FnMut()| {
                calls.fetch_add(1, Relaxed);
                work();
            };
            let evaluated = |run_blocking: Option<&RunBlocking<'_>>| {
                let arena = Arena::new();
                let mut budget = 10_000_000;
                let inputs = Inputs { object: Some(Value::tree(&object)), run_blocking, ..Inputs::default() };
                let value = program.evaluate(&inputs, &arena, &mut budget);
                (value.map(|value| matches!(value, Value::Bool(true))), budget)
            };
            let inline = evaluated(None);
            assert_eq!(evaluated(Some(&run_blocking)), inline, "{expression}");
            assert_eq!((inline.0.is_ok(), calls.load(Relaxed)), (true, times), "{expression}");
        };
        check("object.list.all(x, x >= 0)", 0);
        check("object.list.all(x, object.list.all(y, x + y >= 0))", 1);
    }
}
