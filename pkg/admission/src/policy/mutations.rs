//! Evaluates the mutations of a policy (upstream's `mutating/compilation.go`, `mutating/patch`). Performs no
//! I/O.

use api::tree::{child, children, text};
use cel::admission::{Options, Returns};
use cel::arena::Arena;
use cel::value::{Opaque, Value};
use jsontree::{Value as Json, json};
use schema::object::Object;

use super::BUDGET;
use super::json_converter::{JsonConverter, check_types};
use super::model::{Policy, Rules};
use super::policy_request::PolicyRequest;
use crate::expressions::{EvaluationError, LazyVariables, Program, stored};

pub struct Mutations {
    pub(super) mutations: Vec<Mutation>,
    /// `reinvocationPolicy: IfNeeded`.
    pub(super) reinvokes: bool,
}

pub(super) struct Mutation {
    applies: bool,
    program: Program,
}

/// Result of a mutation's expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Change {
    Patch(Json),
    /// An object to merge (apply configuration).
    Configuration(Object),
}

impl Rules for Mutations {
    fn read(spec: &Object, options: Options, variables: &cel::admission::Variables) -> Self {
        let env = stored(Options { patches: true, ..options }, variables);
        let mutation = |mutation: &Object| {
            let (member, returns, applies) = match text(mutation, "patchType") {
                "JSONPatch" => ("jsonPatch", Returns::JsonPatches, false),
                _ => ("applyConfiguration", Returns::Object, true),
            };
            let expression = text(child(mutation, member)?, "expression");
            Some(Mutation { applies, program: Program::compile(&env, expression, returns).0 })
        };
        Mutations {
            mutations: children(spec, "mutations").filter_map(mutation).collect(),
            reinvokes: text(spec, "reinvocationPolicy") == "IfNeeded",
        }
    }
}

impl Policy<Mutations> {
    /// Evaluates a mutation. If an authorization check is pending afterwards, the result is invalid.
    ///
    /// # Errors
    /// Upstream's error message.
    pub(super) fn change(&self, mutation: &Mutation, about: &PolicyRequest<'_>) -> Result<Change, String> {
        if let Some(error) = mutation.program.error() {
            return Err(error.to_owned());
        }
        let (arena, mut budget) = (Arena::new(), BUDGET);
        let inputs = LazyVariables::begin(&self.variables, &about.inputs(&arena), &arena);
        let value = mutation.program.evaluate(&inputs, &arena, &mut budget);
        let value = value.map_err(|fault| match fault {
            EvaluationError::Expression(why) | EvaluationError::Budget(why) => why,
        })?;
        if mutation.applies {
            configuration(value).map(Change::Configuration)
        } else {
            patch(value).map(Change::Patch)
        }
    }
}

fn mismatch(why: String) -> String {
    format!("type mismatch: {why}")
}

fn configuration(value: Value<'_>) -> Result<Object, String> {
    check_types(value).map_err(mismatch)?;
    match JsonConverter::new().json(value)? {
        Json::Object(object) => Ok(object),
        // The compiler rejects such expressions.
        _ => {
            Err(format!("unsupported return type from ApplyConfiguration expression: {}", value.type_name()))
        }
    }
}

fn patch(value: Value<'_>) -> Result<Json, String> {
    let Value::List(list) = value else {
        return Err(mismatch("JSONPatchType.expression should evaluate to array".to_owned()));
    };
    let mut native = JsonConverter::new();
    let mut operations = Vec::new();
    for operation in list.iter() {
        let Value::Opaque(Opaque::Object { fields, .. }) = operation else {
            let why = "JSONPatchType.expression should evaluate to array of JSONPatch";
            return Err(mismatch(why.to_owned()));
        };
        operations.push(Json::Object(patch_operation(fields, &mut native)?));
    }
    Ok(Json::Array(operations))
}

fn patch_operation(fields: &[(&str, Value<'_>)], native: &mut JsonConverter) -> Result<Object, String> {
    let mut operation = Object::new();
    // Unset fields are empty strings.
    for name in ["op", "path"] {
        operation.insert(name, json!(""));
    }
    for (name, value) in fields {
        let json = match *name {
            "value" => {
                check_types(*value).map_err(mismatch)?;
                native.json(*value).map_err(|why| {
                    format!(
                        "JSONPath valueExpression evaluated to a type that could not marshal to JSON: {why}"
                    )
                })?
            }
            _ => native.json(*value)?,
        };
        if *name != "from" || json != "" {
            operation.insert((*name).to_owned(), json);
        }
    }
    Ok(operation)
}
