//! Environment and result types for expressions of webhooks and admission policies.

use std::collections::HashMap;
use std::sync::Arc;

use crate::checked::Checked;
use crate::compile::{CompileError, compile};
use crate::env::{Environment, Provider};
use crate::overloads::Libraries;
use crate::plan::{Plan, PlanError};
use crate::types::{Shape, Type, Types};

/// Type name of `variables`.
const VARIABLES: &str = "kubernetes.variables";

/// Required result type of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returns {
    /// Any type, for variables.
    Any,
    /// A boolean, for match conditions and validations.
    Bool,
    /// A string, for messages.
    String,
    /// A string or null, for audit annotations.
    StringOrNull,
    /// A list of `JSONPatch`.
    JsonPatches,
    /// An `Object`, as apply configuration.
    Object,
}

/// Optional variables, besides `object`, `oldObject`, `request` and `namespaceObject`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// `params`.
    pub params: bool,
    /// `authorizer`.
    pub authorizer: bool,
    /// `Object` and `JSONPatch`, for mutations.
    pub patches: bool,
}

/// The variables of a policy declared so far, with their types.
#[derive(Clone, Debug)]
pub struct Variables {
    types: Types,
    /// Shared with environments: a policy can have a hundred thousand variables, each with its own
    /// environment.
    fields: Arc<HashMap<Box<str>, Type>>,
}

impl Variables {
    /// Creates an empty set of variables.
    pub fn new() -> Self {
        Self { types: Types::new(), fields: Arc::default() }
    }

    /// Declares a variable with the type of its expression, or as `dyn` if the expression does not compile.
    pub fn declare(&mut self, name: &str, checked: Option<&Checked>) {
        let ty = checked.map_or(Type::DYN, |checked| self.import(&checked.types, checked.result()));
        Arc::make_mut(&mut self.fields).insert(name.into(), ty);
    }

    /// Returns the type of a variable: scalars and lists and maps of scalars keep their type, everything else
    /// is `dyn`.
    fn import(&mut self, types: &Types, ty: Type) -> Type {
        match types.shape(ty) {
            Shape::List(element) => {
                let element = self.import(types, element);
                self.types.list(element)
            }
            Shape::Map(key, value) => {
                let key = self.import(types, key);
                let value = self.import(types, value);
                self.types.map(key, value)
            }
            Shape::Any
            | Shape::Bool
            | Shape::Bytes
            | Shape::Double
            | Shape::Duration
            | Shape::Int
            | Shape::Null
            | Shape::String
            | Shape::Timestamp
            | Shape::Uint => ty,
            _ => Type::DYN,
        }
    }
}

impl Default for Variables {
    fn default() -> Self {
        Self::new()
    }
}

/// Type provider of policies: variables, and the objects that mutations construct.
struct PolicyTypes {
    variables: Arc<HashMap<Box<str>, Type>>,
    has_variables: bool,
    patches: bool,
}

impl Provider for PolicyTypes {
    fn find_type(&self, types: &mut Types, name: &str) -> Option<Type> {
        let is_object_type = (self.has_variables && name == VARIABLES) || (self.patches && is_object(name));
        is_object_type.then(|| types.object(name))
    }

    fn find_field(&self, _: &mut Types, object: &str, field: &str) -> Option<Type> {
        if object == VARIABLES {
            return self.variables.get(field).copied();
        }
        (self.patches && is_object(object)).then_some(Type::DYN)
    }
}

/// Returns true for the type name of an object under construction, which accepts any field.
fn is_object(name: &str) -> bool {
    name == "Object" || name.starts_with("Object.")
}

/// Returns the environment of an expression in release 1.`minor`.
pub fn environment(minor: u32, options: Options, variables: Option<&Variables>) -> Environment {
    let mut libraries = Libraries::ADMISSION;
    if options.patches {
        libraries = libraries.with(Libraries::PATCHES).with(Libraries::JSON_PATCH);
    }
    let mut types = variables.map_or_else(Types::new, |variables| variables.types.clone());
    let mut declared = vec![("object", Type::DYN), ("oldObject", Type::DYN)];
    declared.push(("namespaceObject", types.object("kubernetes.Namespace")));
    declared.push(("request", types.object("kubernetes.AdmissionRequest")));
    if options.params {
        declared.push(("params", Type::DYN));
    }
    if options.authorizer {
        declared.push(("authorizer", types.object("kubernetes.authorization.Authorizer")));
        let check = types.object("kubernetes.authorization.ResourceCheck");
        declared.push(("authorizer.requestResource", check));
    }
    if variables.is_some() {
        declared.push(("variables", types.object(VARIABLES)));
    }
    let provider = PolicyTypes {
        variables: variables.map(|variables| Arc::clone(&variables.fields)).unwrap_or_default(),
        has_variables: variables.is_some(),
        patches: options.patches,
    };
    let env = Environment::of_release(minor).with(libraries).declare(Arc::new(types), Arc::new(provider));
    declared.into_iter().fold(env, |env, (name, ty)| env.variable(name, ty))
}

/// An expression that cannot be used, in upstream's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    /// The expression is invalid.
    #[error("compilation failed: {0}")]
    Compile(#[from] CompileError),
    /// The result has another type.
    #[error("must evaluate to {wanted} but got {found}")]
    Type {
        /// The type, or the types, that the place of the expression allows.
        wanted: String,
        /// The type of the result.
        found: String,
    },
    /// No program can be made of the expression, for example because a constant pattern is invalid.
    #[error("program instantiation failed: {0}")]
    Program(#[from] PlanError),
}

/// Compiles an expression and checks that a program can be made of it, as the API server does before it
/// stores the expression.
///
/// # Errors
///
/// [`ExpressionError`].
pub fn validate_for(env: &Environment, text: &str, returns: Returns) -> Result<Checked, ExpressionError> {
    let checked = compile_for(env, text, returns)?;
    Plan::validate(&checked)?;
    Ok(checked)
}

/// Compiles an expression.
///
/// # Errors
///
/// [`ExpressionError`], except `Program`.
pub fn compile_for(env: &Environment, text: &str, returns: Returns) -> Result<Checked, ExpressionError> {
    let checked = compile(env, text)?;
    let result_type = checked.types.declared_text(checked.result());
    let allowed: &[&str] = match returns {
        Returns::Any => return Ok(checked),
        Returns::Bool => &["bool"],
        Returns::String => &["string"],
        Returns::StringOrNull => &["string", "null_type"],
        Returns::JsonPatches => &["list(JSONPatch)"],
        Returns::Object => &["Object"],
    };
    if allowed.contains(&&*result_type) {
        return Ok(checked);
    }
    let allowed = match allowed {
        [one] => (*one).to_owned(),
        several => format!("one of [{}]", several.join(" ")),
    };
    Err(ExpressionError::Type { wanted: allowed, found: result_type.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detail(options: Options, variables: Option<&Variables>, text: &str, returns: Returns) -> String {
        compile_for(&environment(35, options, variables), text, returns)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    }

    #[test]
    fn expressions_see_only_offered_variables() {
        let all = Options { params: true, authorizer: true, patches: true };
        let none = Options::default();
        let undeclared = |name: &str, text: &str| {
            let at = text.find(name).unwrap_or(0);
            format!(
                "compilation failed: ERROR: <input>:1:{}: undeclared reference to '{name}' (in container '')\n \
                 | {text}\n | {}^",
                at + 1,
                ".".repeat(at)
            )
        };
        for text in ["params.a == 1", "authorizer.requestResource.check('get').allowed()"] {
            assert_eq!(detail(all, None, text, Returns::Bool), "", "{text}");
        }
        assert_eq!(detail(none, None, "params == 1", Returns::Bool), undeclared("params", "params == 1"));
        assert_eq!(detail(all, None, "Object{spec: Object.spec{replicas: 1}}", Returns::Object), "");
        assert_eq!(detail(all, None, "[JSONPatch{op: 'test', path: '/a'}]", Returns::JsonPatches), "");
        assert_eq!(detail(none, None, "request.userInfo.username", Returns::String), "");
    }

    #[test]
    fn result_types_are_checked() {
        let none = Options::default();
        let is = |text: &str, returns: Returns, expected: &str| {
            assert_eq!(detail(none, None, text, returns), expected)
        };
        is("1", Returns::Bool, "must evaluate to bool but got int");
        is("object.a", Returns::Bool, "must evaluate to bool but got dyn");
        is("null", Returns::StringOrNull, "");
        let patch = "[JSONPatch{nope: 'x'}]";
        let message = detail(Options { patches: true, ..none }, None, patch, Returns::JsonPatches);
        assert!(
            message.contains("expected type of field 'nope' is '' but provided type is 'string'"),
            "{message}"
        );
        is(
            "duration('1s')",
            Returns::StringOrNull,
            "must evaluate to one of [string null_type] but got google.protobuf.Duration",
        );
    }

    #[test]
    fn expressions_without_program_are_rejected() {
        let check = |text: &str, expected: &str| {
            let result = validate_for(&environment(37, Options::default(), None), text, Returns::Any);
            let message = result.err().map(|error| error.to_string()).unwrap_or_default();
            assert_eq!(message.strip_prefix("program instantiation failed: ").unwrap_or(&message), expected);
        };
        check("true || int('x') == 1", "type conversion error from 'string' to 'int'");
        check("object.a ? 1u : uint(-1)", "unsigned integer overflow");
        check("'a'.find('(') == ''", "error parsing regexp: missing closing ): `(`");
        check("[1].exists(i, object.a.findAll('[') == [])", "error parsing regexp: missing closing ]: `[`");
        check("object.a.matches(object.b) || int(object.c) == 1", "");
    }

    #[test]
    fn variables_have_the_types_of_their_expressions() {
        let mut variables = Variables::new();
        let env = environment(35, Options::default(), None);
        variables.declare("list", compile_for(&env, "[1]", Returns::Any).ok().as_ref());
        variables.declare("wrong", None);
        let of = |text: &str| detail(Options::default(), Some(&variables), text, Returns::Bool);
        assert_eq!(of("variables.list[0] == 1 && variables.wrong"), "");
        assert_eq!(of("variables.list"), "must evaluate to bool but got list(int)");
        assert!(of("variables.other").contains("undefined field 'other'"));
    }
}
