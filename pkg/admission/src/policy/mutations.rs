//! Evaluates the mutations of a policy (upstream's `mutating/compilation.go`, `mutating/patch`). Performs no
//! I/O.

use api::tree::{child, children, text};
use cel::admission::{Options, Returns};
use cel::arena::Arena;
use cel::value::{Opaque, Value};
use jsontree::{Value as Json, json};
use schema::object::Object;

use super::BUDGET;
use super::json_converter::{JsonConverter, JsonError, TypeMismatch, check_types};
use super::model::{Policy, Rules};
use super::policy_request::PolicyRequest;
use crate::expressions::{CompileError, EvaluationError, LazyVariables, Program, stored};

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
    pub(super) fn change(
        &self,
        mutation: &Mutation,
        about: &PolicyRequest<'_>,
    ) -> Result<Change, MutationError> {
        if let Some(error) = mutation.program.error() {
            return Err(error.clone().into());
        }
        let arena = Arena::new();
        let mut budget = BUDGET;
        let inputs = LazyVariables::begin(&self.variables, &about.inputs(&arena), &arena);
        let value = mutation.program.evaluate(&inputs, &arena, &mut budget)?;
        if mutation.applies {
            configuration(value).map(Change::Configuration)
        } else {
            patch(value).map(Change::Patch)
        }
    }
}

/// Error of evaluating a mutation. The texts are upstream's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum MutationError {
    #[error(transparent)]
    Compile(#[from] CompileError),
    #[error(transparent)]
    Evaluation(#[from] EvaluationError),
    #[error("type mismatch: {0}")]
    TypeName(#[from] TypeMismatch),
    /// The result has another type than a patch.
    #[error("type mismatch: {0}")]
    Type(&'static str),
    /// The result has no JSON form.
    #[error(transparent)]
    Json(#[from] JsonError),
    #[error("JSONPath valueExpression evaluated to a type that could not marshal to JSON: {0}")]
    PatchValue(#[source] JsonError),
    #[error("unsupported return type from ApplyConfiguration expression: {0}")]
    NotAnObject(String),
}

fn configuration(value: Value<'_>) -> Result<Object, MutationError> {
    check_types(value)?;
    match JsonConverter::new().json(value)? {
        Json::Object(object) => Ok(object),
        // The compiler rejects such expressions.
        _ => Err(MutationError::NotAnObject(value.type_name().to_string())),
    }
}

fn patch(value: Value<'_>) -> Result<Json, MutationError> {
    let Value::List(list) = value else {
        return Err(MutationError::Type("JSONPatchType.expression should evaluate to array"));
    };
    let mut native = JsonConverter::new();
    let mut operations = Vec::new();
    for operation in list.iter() {
        let Value::Opaque(Opaque::Object { fields, .. }) = operation else {
            let message = "JSONPatchType.expression should evaluate to array of JSONPatch";
            return Err(MutationError::Type(message));
        };
        operations.push(Json::Object(patch_operation(fields, &mut native)?));
    }
    Ok(Json::Array(operations))
}

fn patch_operation(
    fields: &[(&str, Value<'_>)],
    native: &mut JsonConverter,
) -> Result<Object, MutationError> {
    let mut operation = Object::new();
    // Unset fields are empty strings.
    for name in ["op", "path"] {
        operation.insert(name, json!(""));
    }
    for (name, value) in fields {
        let json = match *name {
            "value" => {
                check_types(*value)?;
                native.json(*value).map_err(MutationError::PatchValue)?
            }
            _ => native.json(*value)?,
        };
        if *name != "from" || json != "" {
            operation.insert((*name).to_owned(), json);
        }
    }
    Ok(operation)
}
