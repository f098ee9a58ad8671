//! Expressions of admission policies. Each is compiled with the variables declared before it.

use super::match_condition::{Context, expression_error};
use crate::validation::expression::Releases;
use crate::validation::rules::ValidationContext;
use api::tree::{child, children, text};
use apimachinery::field::{Error, Path};
use cel::admission::{ExpressionError, Options, Returns, Variables, environment, validate_for};
use cel::checked::Checked;
use schema::object::Object;
use std::collections::HashSet;

/// Compiler of a policy's expressions.
pub(super) struct Expressions<'o> {
    releases: Releases,
    /// Spec of the replaced policy.
    old: Option<&'o Object>,
    stored: Stored<'o>,
    /// True if expressions may use `params`.
    params: bool,
    /// Variables declared so far; `None` if the policy has no use for them.
    variables: Option<Variables>,
}

/// Expressions of the replaced policy, by kind.
#[derive(Default)]
struct Stored<'o> {
    validations: HashSet<&'o str>,
    messages: HashSet<&'o str>,
    annotations: HashSet<&'o str>,
    configurations: HashSet<&'o str>,
}

impl<'o> Stored<'o> {
    fn of(spec: &'o Object) -> Self {
        let texts = |list, member| children(spec, list).map(|entry| text(entry, member)).collect();
        let applied =
            children(spec, "mutations").filter_map(|mutation| child(mutation, "applyConfiguration"));
        Stored {
            validations: texts("validations", "expression"),
            messages: texts("validations", "messageExpression"),
            annotations: texts("auditAnnotations", "valueExpression"),
            configurations: applied.map(|applied| text(applied, "expression")).collect(),
        }
    }
}

impl<'o> Expressions<'o> {
    pub(super) fn new(
        spec: &Object,
        old: Option<&'o Object>,
        composes: bool,
        context: &ValidationContext,
    ) -> Self {
        let old = old.and_then(|old| child(old, "spec"));
        Self {
            releases: Releases::of(context),
            old,
            stored: old.map(Stored::of).unwrap_or_default(),
            params: child(spec, "paramKind").is_some(),
            variables: composes.then(Variables::new),
        }
    }

    /// Returns the compilation settings of match conditions, which have no access to variables.
    pub(super) fn conditions(&self) -> Context<'o> {
        let stored = self.old.into_iter().flat_map(super::match_condition::expressions).collect();
        Context { releases: self.releases, params: self.params, stored }
    }

    /// Compiles a variable and declares it. Upstream treats it as stored if a stored validation has the same
    /// text.
    pub(super) fn declare(&mut self, path: &Path<'_>, name: &str, expression: &str) -> Option<Error> {
        let is_stored = self.stored.validations.contains(expression);
        let compiled = self.compile(expression, is_stored, self.options(), Returns::Any);
        if let Some(variables) = &mut self.variables {
            variables.declare(name, compiled.as_ref().ok());
        }
        compiled.err().map(|error| expression_error(path, expression, &error))
    }

    /// Returns the error of a validation expression.
    pub(super) fn validation(&self, path: &Path<'_>, expression: &str) -> Option<Error> {
        let is_stored = self.stored.validations.contains(expression);
        let compiled = self.compile(expression, is_stored, self.options(), Returns::Bool);
        compiled.err().map(|error| expression_error(path, expression, &error))
    }

    /// Returns the error of a message expression, which has no access to the authorizer.
    pub(super) fn message(&self, path: &Path<'_>, expression: &str) -> Option<Error> {
        let is_stored = self.stored.messages.contains(expression);
        let options = Options { authorizer: false, ..self.options() };
        let compiled = self.compile(expression, is_stored, options, Returns::String);
        compiled.err().map(|error| expression_error(path, expression, &error))
    }

    /// Returns the error of an audit annotation's value expression.
    pub(super) fn audit(&self, path: &Path<'_>, expression: &str) -> Option<Error> {
        let is_stored = self.stored.annotations.contains(expression);
        let compiled = self.compile(expression.trim(), is_stored, self.options(), Returns::StringOrNull);
        compiled.err().map(|error| expression_error(path, expression, &error))
    }

    /// Returns the error of a mutation. Upstream treats it as stored only if a stored apply configuration has
    /// the same text.
    pub(super) fn mutation(&self, path: &Path<'_>, expression: &str, returns: Returns) -> Option<Error> {
        let is_stored = self.stored.configurations.contains(expression);
        let expression = expression.trim();
        let options = Options { patches: true, ..self.options() };
        let compiled = self.compile(expression, is_stored, options, returns);
        compiled.err().map(|error| expression_error(path, expression, &error))
    }

    fn options(&self) -> Options {
        Options { params: self.params, authorizer: true, patches: false }
    }

    fn compile(
        &self,
        expression: &str,
        is_stored: bool,
        options: Options,
        returns: Returns,
    ) -> Result<Checked, ExpressionError> {
        let env = environment(self.releases.minor(is_stored), options, self.variables.as_ref());
        validate_for(&env, expression, returns)
    }
}
