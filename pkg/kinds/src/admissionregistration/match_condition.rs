//! CEL match conditions of webhooks and policies.

use crate::validation::expression::Releases;
use crate::validation::value::qualified_name;
use api::tree::{children, list, text};
use apimachinery::field::{Error, ErrorList, Path};
use cel::admission::{ExpressionError, Options, Returns, environment, validate_for};
use schema::object::Object;
use std::collections::BTreeSet;

const CONDITIONS_MAX: usize = 64;

/// Compilation settings of match conditions.
pub(super) struct Context<'o> {
    pub(super) releases: Releases,
    /// True if conditions may use `params`.
    pub(super) params: bool,
    /// Expressions that are already stored.
    pub(super) stored: BTreeSet<&'o str>,
}

/// Returns the error of an expression. It is internal if the expression is valid but no program can be made.
pub(super) fn expression_error(path: &Path<'_>, expression: &str, error: &ExpressionError) -> Error {
    match error {
        ExpressionError::Program(_) => Error::internal(path, error.to_string()),
        ExpressionError::Compile(_) | ExpressionError::Type { .. } => {
            Error::invalid(path, expression, error.to_string())
        }
    }
}

/// Iterates over the match condition expressions of an owner.
pub(super) fn expressions(owner: &Object) -> impl Iterator<Item = &str> {
    children(owner, "matchConditions").map(|condition| text(condition, "expression"))
}

/// Validates the match conditions of a webhook or a policy. `path` is that of the list.
pub(super) fn match_conditions(
    path: &Path<'_>,
    owner: &Object,
    context: &Context<'_>,
    errors: &mut ErrorList,
) {
    let count = list(owner, "matchConditions").len();
    if count > CONDITIONS_MAX {
        errors.push(Error::too_many(path, Some(count), Some(CONDITIONS_MAX)));
    }
    let mut names = BTreeSet::new();
    for (index, condition) in children(owner, "matchConditions").enumerate() {
        let path = path.index(index);
        let name = text(condition, "name");
        let expression_path = path.child("expression");
        let expression = text(condition, "expression").trim();
        if expression.is_empty() {
            errors.push(Error::required(&expression_path, ""));
        } else {
            let minor = context.releases.minor(context.stored.contains(expression));
            let options = Options { params: context.params, authorizer: true, patches: false };
            let compiled = validate_for(&environment(minor, options, None), expression, Returns::Bool);
            errors.extend(compiled.err().map(|error| expression_error(&expression_path, expression, &error)));
        }
        let name_path = path.child("name");
        match name {
            "" => errors.push(Error::required(&name_path, "")),
            name => {
                qualified_name(&name_path, name, errors);
                if !names.insert(name) {
                    errors.push(Error::duplicate(&name_path, name));
                }
            }
        }
    }
}
