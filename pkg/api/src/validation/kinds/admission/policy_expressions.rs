//! Expressions of admission policies: each is compiled with the variables that are declared before it.

use super::super::Given;
use super::match_condition::Context;
use crate::tree::{child, children, text};
use crate::validation::expression::Releases;
use apimachinery::field::{Error, Path};
use cel::admission::{Options, Returns, Variables, compile_for, environment};
use cel::checked::Checked;
use schema::object::Object;

/// What a policy's expressions are compiled with.
pub(super) struct Expressions<'o> {
    releases: Releases,
    /// The spec of the policy that is replaced.
    old: Option<&'o Object>,
    /// Whether expressions may speak of `params`.
    params: bool,
    /// The variables that are declared so far; none if the policy has no use for them.
    variables: Option<Variables>,
}

impl<'o> Expressions<'o> {
    pub(super) fn new(spec: &Object, old: Option<&'o Object>, composes: bool, given: &Given) -> Self {
        Self {
            releases: Releases::of(given),
            old: old.and_then(|old| child(old, "spec")),
            params: child(spec, "paramKind").is_some(),
            variables: composes.then(Variables::new),
        }
    }

    /// What conditions are compiled with, which see no variables.
    pub(super) fn conditions(&self) -> Context<'o> {
        let stored = self.old.into_iter().flat_map(super::match_condition::expressions).collect();
        Context { releases: self.releases, params: self.params, stored }
    }

    /// Compiles a variable and declares it. Upstream takes it for a stored one if a stored validation has the same
    /// text.
    pub(super) fn declare(&mut self, path: &Path<'_>, name: &str, expression: &str) -> Option<Error> {
        let is_stored = self.is_stored("validations", "expression", expression);
        let compiled = self.compile(expression, is_stored, self.options(), Returns::Anything);
        if let Some(variables) = &mut self.variables {
            variables.declare(name, compiled.as_ref().ok());
        }
        compiled.err().map(|detail| Error::invalid(path, expression, detail))
    }

    /// What is wrong with a validation.
    pub(super) fn validation(&self, path: &Path<'_>, expression: &str) -> Option<Error> {
        let is_stored = self.is_stored("validations", "expression", expression);
        let compiled = self.compile(expression, is_stored, self.options(), Returns::Bool);
        compiled.err().map(|detail| Error::invalid(path, expression, detail))
    }

    /// What is wrong with the expression of a message, which does not see the authorizer.
    pub(super) fn message(&self, path: &Path<'_>, expression: &str) -> Option<Error> {
        let is_stored = self.is_stored("validations", "messageExpression", expression);
        let options = Options { authorizer: false, ..self.options() };
        let compiled = self.compile(expression, is_stored, options, Returns::String);
        compiled.err().map(|detail| Error::invalid(path, expression, detail))
    }

    /// What is wrong with the value of an audit annotation.
    pub(super) fn audit(&self, path: &Path<'_>, expression: &str) -> Option<Error> {
        let is_stored = self.is_stored("auditAnnotations", "valueExpression", expression);
        let compiled = self.compile(expression.trim(), is_stored, self.options(), Returns::StringOrNull);
        compiled.err().map(|detail| Error::invalid(path, expression, detail))
    }

    /// What is wrong with a mutation. Upstream takes it for a stored one only if a stored configuration to apply
    /// has the same text.
    pub(super) fn mutation(&self, path: &Path<'_>, expression: &str, returns: Returns) -> Option<Error> {
        let stored = self.old.into_iter().flat_map(|old| children(old, "mutations"));
        let mut applied = stored.filter_map(|mutation| child(mutation, "applyConfiguration"));
        let is_stored = applied.any(|applied| text(applied, "expression") == expression);
        let expression = expression.trim();
        let options = Options { patches: true, ..self.options() };
        let compiled = self.compile(expression, is_stored, options, returns);
        compiled.err().map(|detail| Error::invalid(path, expression, detail))
    }

    fn options(&self) -> Options {
        Options { params: self.params, authorizer: true, patches: false }
    }

    fn is_stored(&self, list: &str, member: &str, expression: &str) -> bool {
        let mut stored = self.old.into_iter().flat_map(|old| children(old, list));
        stored.any(|entry| text(entry, member) == expression)
    }

    fn compile(
        &self,
        expression: &str,
        is_stored: bool,
        options: Options,
        returns: Returns,
    ) -> Result<Checked, String> {
        let env = environment(self.releases.minor(is_stored), options, self.variables.as_ref());
        compile_for(&env, expression, returns)
    }
}
