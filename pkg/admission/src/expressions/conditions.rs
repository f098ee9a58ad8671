//! `matchConditions` of webhooks and policies (upstream's `admission/plugin/webhook/matchconditions`).

use cel::admission::{Options, Returns, environment};
use cel::arena::Arena;
use cel::env::Environment;
use cel::value::Value;
use jsontree::Value as Json;
use schema::object::Object;

use super::{Authorizations, EvaluationError, Inputs, Program};
use crate::dynamic::{ConditionOwner, DynamicAdmissionDeps, VersionedAttributes, admission_request};

/// CEL cost limit for all conditions of a webhook or policy: a quarter of a policy's limit.
const BUDGET: u64 = 2_500_000;

/// Match conditions. A request must satisfy all of them.
#[derive(Default)]
pub(crate) struct Conditions(Vec<(Box<str>, Program)>);

/// Result of match conditions.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MatchOutcome {
    Match,
    /// The named condition is false.
    Mismatch(Box<str>),
    /// No condition is false, and some failed to evaluate.
    Error(String),
}

/// Result of an evaluation, with its error count.
pub(crate) struct MatchResult {
    pub(crate) matched: MatchOutcome,
    /// Number of failed conditions before the first false one.
    pub(crate) errors: usize,
}

impl Conditions {
    /// Reads `matchConditions` of a stored object, with the variables that `options` selects. Features of any
    /// release are allowed, because the object is already stored.
    pub(crate) fn read(object: &Object, options: Options) -> Self {
        let mut conditions = api::tree::children(object, "matchConditions").peekable();
        if conditions.peek().is_none() {
            return Conditions::default();
        }
        Conditions::compile(object, &environment(u32::MAX, options, None))
    }

    /// Reads `matchConditions` of an object, with the variables of `env`.
    pub(crate) fn compile(object: &Object, env: &Environment) -> Self {
        let compiled = api::tree::children(object, "matchConditions").map(|condition| {
            let text = api::tree::text(condition, "expression");
            (api::tree::text(condition, "name").into(), Program::compile(env, text, Returns::Bool).0)
        });
        Conditions(compiled.collect())
    }

    /// True if every request satisfies the conditions.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Evaluates the conditions for a request, without a policy's params and namespace.
    pub(crate) async fn matches(
        &self,
        versioned: &VersionedAttributes<'_>,
        owner: &ConditionOwner<'_>,
        around: &DynamicAdmissionDeps,
    ) -> MatchOutcome {
        let start = (around.now)();
        let mut request = admission_request(versioned);
        // Conditions see the resource of the original request, regardless of the converted version.
        if let Some(request_resource) = request.get("requestResource").cloned() {
            request.insert("resource", request_resource);
        }
        let request = Json::Object(request);
        let authorizations = Authorizations::new(around.authorizer.as_ref(), versioned.attributes.user);
        loop {
            let evaluated = {
                let arena = Arena::new();
                let message = versioned.endpoint.message;
                let mut inputs = Inputs {
                    object: versioned.object.as_deref().map(|object| Inputs::object(message, object, &arena)),
                    old: versioned.old.as_deref().map(|old| Inputs::object(message, old, &arena)),
                    run_blocking: Some(around.run_blocking.as_ref()),
                    ..Inputs::default()
                };
                inputs.request(&request);
                inputs.authorizer(versioned.attributes, &authorizations, &arena);
                self.evaluate(&inputs, &arena)
            };
            if !authorizations.is_pending() {
                let duration = (around.now)().saturating_duration_since(start);
                around.conditions.evaluated(owner, evaluated.errors, duration);
                return evaluated.matched;
            }
            authorizations.resolve_pending().await;
        }
    }

    /// Evaluates the conditions with the given inputs. A false condition decides, even if others failed.
    pub(crate) fn evaluate<'a>(&'a self, inputs: &Inputs<'a>, arena: &'a Arena) -> MatchResult {
        let mut budget = BUDGET;
        let mut refused = None;
        let mut errors = Vec::new();
        let mut failed = 0;
        for (name, program) in &self.0 {
            match program.evaluate(inputs, arena, &mut budget) {
                Ok(Value::Bool(false)) => refused = refused.or(Some(name)),
                Ok(_) => {}
                Err(EvaluationError::Expression(error)) => {
                    failed += usize::from(refused.is_none());
                    if !errors.contains(&error) {
                        errors.push(error);
                    }
                }
                Err(EvaluationError::Budget(error)) => {
                    return MatchResult { matched: MatchOutcome::Error(error), errors: 0 };
                }
            }
        }
        let matched = match (refused, errors.as_slice()) {
            (Some(name), _) => MatchOutcome::Mismatch(name.clone()),
            (None, []) => MatchOutcome::Match,
            (None, [one]) => MatchOutcome::Error(one.clone()),
            (None, several) => MatchOutcome::Error(format!("[{}]", several.join(", "))),
        };
        MatchResult { matched, errors: failed }
    }
}
