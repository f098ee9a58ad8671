//! `matchConditions`: CEL expressions that select the requests for a webhook (upstream's apiserver
//! `authorization/cel`).

use std::fmt;
use std::sync::Arc;

use apimachinery::field::{Error, Path};
use cel::admission::{Returns, compile_for};
use cel::arena::Arena;
use cel::env::{Environment, Provider};
use cel::eval::{PER_CALL_LIMIT, evaluate};
use cel::overloads::Libraries;
use cel::plan::Plan;
use cel::types::{Type, Types};
use cel::value::Value;
use jsontree::Value as Json;

/// Maximum number of conditions of a webhook.
const CONDITIONS_MAX: usize = 64;
/// The variable name of the request.
const REQUEST: &str = "request";

/// Match conditions. A request must satisfy all of them. Cheap to clone; equal if their texts are equal.
#[derive(Clone, Default)]
pub struct Conditions(Arc<[Condition]>);

struct Condition {
    text: String,
    plan: Plan,
}

/// Result of an evaluation.
pub(super) struct MatchResult {
    /// True if all conditions hold; an error if that is undecided.
    pub(super) outcome: Result<bool, crate::Error>,
    /// Number of conditions that failed to evaluate.
    pub(super) errors: usize,
}

/// Type provider without any dynamic types.
struct NoTypes;

impl Provider for NoTypes {
    fn find_type(&self, _: &mut Types, _: &str) -> Option<Type> {
        None
    }

    fn find_field(&self, _: &mut Types, _: &str, _: &str) -> Option<Type> {
        None
    }
}

/// Returns the environment of conditions. Functions of the newest release are allowed, because conditions are
/// not stored in the cluster.
fn environment() -> Environment {
    let mut types = Types::new();
    let request = types.object("kubernetes.SubjectAccessReviewSpec");
    Environment::of_release(u32::MAX)
        .with(Libraries::AUTHORIZATION)
        .declare(Arc::new(types), Arc::new(NoTypes))
        .variable(REQUEST, request)
}

impl Conditions {
    /// Compiles conditions, which are at `path`. Errors are added to `errors`, and invalid conditions are
    /// dropped.
    pub fn compile(texts: &[String], path: &Path<'_>, errors: &mut Vec<Error>) -> Self {
        if texts.len() > CONDITIONS_MAX {
            errors.push(Error::too_many(path, Some(texts.len()), Some(CONDITIONS_MAX)));
            return Conditions::default();
        }
        let env = environment();
        let mut conditions = Vec::new();
        for (index, text) in texts.iter().enumerate() {
            let item = path.index(index);
            let at = item.child("expression");
            if text.trim().is_empty() {
                errors.push(Error::required(&at, ""));
            } else if texts.iter().take(index).any(|other| other == text) {
                errors.push(Error::duplicate(&at, text));
            } else {
                match compiled(&env, text, &at) {
                    Ok(plan) => conditions.push(Condition { text: text.clone(), plan }),
                    Err(error) => errors.push(error),
                }
            }
        }
        Conditions(conditions.into())
    }

    /// True if every request satisfies the conditions.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Evaluates the conditions. A false condition takes precedence over errors of earlier ones.
    pub(super) fn evaluate(&self, request: &Json) -> MatchResult {
        let mut errors = Vec::new();
        for Condition { text, plan } in &*self.0 {
            let arena = Arena::new();
            let evaluation = evaluate(plan, &[Some(Value::tree(request))], &arena, PER_CALL_LIMIT, None);
            match evaluation.result() {
                Ok(Value::Bool(true)) => {}
                Ok(Value::Bool(false)) => return MatchResult { outcome: Ok(false), errors: errors.len() },
                Ok(other) => errors.push(format!(
                    "cel evaluation error: expression '{text}' eval result type should be bool but got {}",
                    other.type_name()
                )),
                Err(error) => errors
                    .push(format!("cel evaluation error: expression '{text}' resulted in error: {error}")),
            }
        }
        let outcome = match errors.as_slice() {
            [] => Ok(true),
            [one] => Err(crate::Error::Evaluation(one.clone())),
            many => Err(crate::Error::Evaluation(format!("[{}]", many.join(", ")))),
        };
        MatchResult { outcome, errors: errors.len() }
    }
}

fn compiled(env: &Environment, text: &str, at: &Path<'_>) -> Result<Plan, Error> {
    let checked =
        compile_for(env, text, Returns::Bool).map_err(|error| Error::invalid(at, text, error.to_string()))?;
    Plan::new(&checked, &[REQUEST])
        .map_err(|error| Error::internal(at, format!("program instantiation failed: {error}")))
}

impl PartialEq for Conditions {
    fn eq(&self, other: &Self) -> bool {
        self.0.iter().map(|condition| &condition.text).eq(other.0.iter().map(|condition| &condition.text))
    }
}

impl Eq for Conditions {}

impl fmt::Debug for Conditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|condition| &condition.text)).finish()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use jsontree::json;

    fn conditions(texts: &[&str]) -> (Conditions, Vec<String>) {
        let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
        let mut errors = Vec::new();
        let conditions = Conditions::compile(&texts, &Path::root("matchConditions"), &mut errors);
        (conditions, errors.iter().map(Error::to_string).collect())
    }

    #[test]
    fn conditions_return_boolean_about_request() {
        let check = |texts: &[&str], expected: &[&str]| assert_eq!(conditions(texts).1, expected);
        check(&["request.user == 'a'", "has(request.resourceAttributes)"], &[]);
        check(
            &["request.?resourceAttributes.labelSelector.requirements.orValue([]).exists(r, r.key=='k')"],
            &[],
        );
        check(
            &["request.user"],
            &[
                "matchConditions[0].expression: Invalid value: \"request.user\": must evaluate to bool but got string",
            ],
        );
        check(&["  "], &["matchConditions[0].expression: Required value"]);
        check(&["true", "true"], &["matchConditions[1].expression: Duplicate value: \"true\""]);
        let many = vec!["true"; 65];
        check(&many, &["matchConditions: Too many: 65: must have at most 64 items"]);
        assert!(conditions(&["object.a"]).1[0].contains("compilation failed: ERROR"));
        assert!(conditions(&["request.nope == ''"]).1[0].contains("undefined field 'nope'"));
    }

    #[test]
    fn false_condition_outweighs_errors() {
        let request = json!({"user": "ann", "nonResourceAttributes": {"path": "/", "verb": "get"}});
        let check = |texts: &[&str], expected: Result<bool, &str>, errors: usize| {
            let result = conditions(texts).0.evaluate(&request);
            assert_eq!(
                result.outcome.as_ref().map_err(|error| error.to_string()),
                expected.as_ref().map_err(|text| (*text).to_owned()),
                "{texts:?}"
            );
            assert_eq!(result.errors, errors, "{texts:?}");
        };
        let wrong = "request.resourceAttributes.name == 'x'";
        let text = "cel evaluation error: expression 'request.resourceAttributes.name == 'x'' resulted in error: no such key: resourceAttributes";
        check(&["request.user == 'ann'", "true"], Ok(true), 0);
        check(&["request.user == 'bob'"], Ok(false), 0);
        check(&[wrong, "false"], Ok(false), 1);
        check(&[wrong, "true"], Err(text), 1);
    }

    #[test]
    fn condition_cost_is_limited() {
        let numbers = format!("[{}]", vec!["1"; 200].join(","));
        let text = format!("{numbers}.all(a, {numbers}.all(b, {numbers}.all(c, a + b + c > 0)))");
        let result = conditions(&[&text]).0.evaluate(&json!({}));
        assert!(
            result
                .outcome
                .unwrap_err()
                .to_string()
                .ends_with("operation cancelled: actual cost limit exceeded")
        );
    }
}
