//! `matchConditions` of webhooks and policies (upstream's `admission/plugin/webhook/matchconditions`).

use cel::admission::{Options, Returns, environment};
use cel::arena::Arena;
use cel::env::Environment;
use cel::value::Value;
use jsontree::Value as Json;
use schema::object::Object;

use super::{Authorizations, EvaluationError, Inputs, Program};
use crate::dynamic::{DynamicAdmissionDeps, Versioned, Whose, admission_request};

/// What all conditions of a webhook or policy may cost together: a quarter of what a policy may.
const BUDGET: u64 = 2_500_000;

/// Conditions, all of which a request has to meet.
#[derive(Default)]
pub(crate) struct Conditions(Vec<(Box<str>, Program)>);

/// What conditions say of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Matched {
    /// All of them hold.
    Yes,
    /// The one of this name does not hold.
    No(Box<str>),
    /// None says no, and some cannot be evaluated.
    Error(String),
}

/// What was judged, and how it went.
pub(crate) struct MatchResult {
    pub(crate) matched: Matched,
    /// How many conditions went wrong before one refused.
    pub(crate) errors: usize,
}

impl Conditions {
    /// Those that an object has under `matchConditions`, which may refer to what `options` say. They were stored, so
    /// they may use what any release has.
    pub(crate) fn read(object: &Object, options: Options) -> Self {
        let mut conditions = api::tree::children(object, "matchConditions").peekable();
        if conditions.peek().is_none() {
            return Conditions::default();
        }
        Conditions::compile(object, &environment(u32::MAX, options, None))
    }

    /// Those that an object has under `matchConditions`, which may refer to what `env` has.
    pub(crate) fn compile(object: &Object, env: &Environment) -> Self {
        let compiled = api::tree::children(object, "matchConditions").map(|condition| {
            let text = api::tree::text(condition, "expression");
            (api::tree::text(condition, "name").into(), Program::compile(env, text, Returns::Bool).0)
        });
        Conditions(compiled.collect())
    }

    /// Whether every request meets them.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Judges a request, without a policy's params and namespace.
    pub(crate) async fn matches(
        &self,
        seen: &Versioned<'_>,
        whose: &Whose<'_>,
        around: &DynamicAdmissionDeps,
    ) -> Matched {
        let began = (around.now)();
        let mut request = admission_request(seen);
        // Conditions are told the resource that the request went to, whatever version is asked for.
        if let Some(own) = request.get("requestResource").cloned() {
            request.insert("resource", own);
        }
        let request = Json::Object(request);
        let authorizations = Authorizations::new(around.authorizer.as_ref(), seen.attributes.user);
        loop {
            let judged = {
                let (arena, message) = (Arena::new(), seen.endpoint.message);
                let mut inputs = Inputs {
                    object: seen.object.as_deref().map(|object| Inputs::object(message, object, &arena)),
                    old: seen.old.as_deref().map(|old| Inputs::object(message, old, &arena)),
                    aside: Some(around.aside.as_ref()),
                    ..Inputs::default()
                };
                inputs.request(&request);
                inputs.authorizer(seen.attributes, &authorizations, &arena);
                self.judge(&inputs, &arena)
            };
            if !authorizations.is_open() {
                let took = (around.now)().saturating_duration_since(began);
                around.conditions.evaluated(whose, judged.errors, took);
                return judged.matched;
            }
            authorizations.settle().await;
        }
    }

    /// Judges what is at hand. A condition that does not hold decides, whatever is wrong with others.
    pub(crate) fn judge<'a>(&'a self, inputs: &Inputs<'a>, arena: &'a Arena) -> MatchResult {
        let mut budget = BUDGET;
        let (mut refused, mut errors, mut failed) = (None, Vec::new(), 0);
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
                    return MatchResult { matched: Matched::Error(error), errors: 0 };
                }
            }
        }
        let matched = match (refused, errors.as_slice()) {
            (Some(name), _) => Matched::No(name.clone()),
            (None, []) => Matched::Yes,
            (None, [one]) => Matched::Error(one.clone()),
            (None, several) => Matched::Error(format!("[{}]", several.join(", "))),
        };
        MatchResult { matched, errors: failed }
    }
}
