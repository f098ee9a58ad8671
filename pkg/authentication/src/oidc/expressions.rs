//! CEL expressions over the claims of a token and over users.

use crate::Error;
use std::collections::HashMap;
use std::sync::Arc;

use cel::arena::Arena;
use cel::checked::Checked;
use cel::compile::compile;
use cel::env::{Environment, Provider};
use cel::escaping::unescape;
use cel::eval::{PER_CALL_LIMIT, evaluate};
use cel::plan::Plan;
use cel::syntax::{Expr, Kind, Literal};
use cel::types::{Type, Types};
use cel::value::{Map, Value};
use jsontree::Object as JsonMap;

/// The CEL type of `user`.
const USER: &str = "kubernetes.UserInfo";
/// The minor version that selects the function library. Configuration files may use all functions of this
/// release.
const MINOR: u32 = 36;

/// The input of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExpressionInput {
    /// The claims of a token, as `claims`.
    Claims,
    /// The user, as `user`.
    User,
}

impl ExpressionInput {
    fn variable(self) -> &'static str {
        match self {
            ExpressionInput::Claims => "claims",
            ExpressionInput::User => "user",
        }
    }
}

pub(super) struct Compiler {
    claims: Environment,
    user: Environment,
}

/// A compiled expression.
#[derive(Debug)]
pub(super) struct Expression {
    text: String,
    plan: Plan,
}

/// A compiled expression, with the email claims that it reads.
#[derive(Debug)]
pub(super) struct CompiledExpression {
    pub(super) expression: Expression,
    pub(super) uses_email: bool,
    pub(super) uses_email_verified: bool,
}

/// Reason why an expression is unusable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ExpressionError {
    Invalid(String),
    /// It is valid, but cannot be planned.
    Internal(String),
}

/// Type provider for the fields of `user`.
struct UserType(HashMap<&'static str, Type>);

impl Provider for UserType {
    fn find_type(&self, types: &mut Types, name: &str) -> Option<Type> {
        (name == USER).then(|| types.object(name))
    }

    fn find_field(&self, _: &mut Types, object: &str, field: &str) -> Option<Type> {
        self.0.get(field).copied().filter(|_| object == USER)
    }
}

impl Compiler {
    pub(super) fn new() -> Self {
        let mut types = Types::new();
        let claims = types.map(Type::STRING, Type::ANY);
        let user = types.object(USER);
        let texts = types.list(Type::STRING);
        let extra = types.map(Type::STRING, texts);
        let fields = [("username", Type::STRING), ("uid", Type::STRING), ("groups", texts), ("extra", extra)];
        let environment = || Environment::of_release(MINOR);
        let types = Arc::new(types);
        let nobody = Arc::new(UserType(HashMap::new()));
        let user_type = Arc::new(UserType(fields.into_iter().collect()));
        Compiler {
            claims: environment().declare(Arc::clone(&types), nobody).variable("claims", claims),
            user: environment().declare(types, user_type).variable("user", user),
        }
    }

    /// Compiles an expression; `condition` requires a boolean result.
    ///
    /// # Errors
    /// Upstream's message.
    pub(super) fn compile(
        &self,
        about: ExpressionInput,
        text: &str,
        condition: bool,
    ) -> Result<CompiledExpression, ExpressionError> {
        let env = match about {
            ExpressionInput::Claims => &self.claims,
            ExpressionInput::User => &self.user,
        };
        let issues = |issues| ExpressionError::Invalid(format!("compilation failed: {issues}"));
        let mut checked = compile(env, text).map_err(issues)?;
        if condition && checked.result() != Type::BOOL {
            return Err(ExpressionError::Invalid("must evaluate to bool".to_owned()));
        }
        let uses_email = selects(&checked, "claims", "email");
        let uses_email_verified = selects(&checked, "claims", "email_verified");
        unescape_names(&mut checked);
        let plan = Plan::new(&checked, &[about.variable()])
            .map_err(|error| ExpressionError::Internal(format!("program instantiation failed: {error}")))?;
        let expression = Expression { text: text.to_owned(), plan };
        Ok(CompiledExpression { expression, uses_email, uses_email_verified })
    }
}

fn nodes(checked: &Checked) -> Vec<Expr> {
    let mut nodes: Vec<Expr> = checked.syntax.root().into_iter().collect();
    let mut next = 0;
    while let Some(expr) = nodes.get(next).copied() {
        checked.syntax.for_each_child(expr, |child| nodes.push(child));
        next += 1;
    }
    nodes
}

/// True if an expression selects this field of this variable.
fn selects(checked: &Checked, variable: &str, field: &str) -> bool {
    let syntax = &checked.syntax;
    let is_variable =
        |expr: Expr| matches!(syntax.kind(expr), Kind::Ident(name) if syntax.name(name) == variable);
    let is_field = |expr: Expr| matches!(syntax.kind(expr), Kind::Literal(Literal::String(text)) if syntax.name(text) == field);
    nodes(checked).into_iter().any(|expr| match syntax.kind(expr) {
        Kind::Select { operand, field: name, .. } => is_variable(operand) && syntax.name(name) == field,
        Kind::Call { function, target: None, args } if syntax.name(function) == "_?._" => {
            matches!(syntax.exprs(args), [of, name] if is_variable(*of) && is_field(*name))
        }
        _ => false,
    })
}

/// Replaces `a__dot__b` in an expression with the field name `a.b`.
fn unescape_names(checked: &mut Checked) {
    for expr in nodes(checked) {
        match checked.syntax.kind(expr) {
            Kind::Select { operand, field, test } => {
                if let Some(name) = escaped_field_name(checked.syntax.name(field)) {
                    let field = checked.syntax.intern(&name);
                    checked.syntax.replace(expr, Kind::Select { operand, field, test });
                }
            }
            Kind::Call { function, target: None, args }
                if matches!(checked.syntax.name(function), "_[_]" | "_[?_]" | "_?._") =>
            {
                let Some(index) = checked.syntax.exprs(args).get(1).copied() else { continue };
                if let Kind::Literal(Literal::String(text)) = checked.syntax.kind(index)
                    && let Some(name) = escaped_field_name(checked.syntax.name(text))
                {
                    let name = checked.syntax.intern(&name);
                    checked.syntax.replace(index, Kind::Literal(Literal::String(name)));
                }
            }
            _ => {}
        }
    }
}

/// Returns the field name of an identifier with escapes.
fn escaped_field_name(identifier: &str) -> Option<String> {
    unescape(identifier).map(|name| name.into_owned()).filter(|name| name != identifier)
}

impl Expression {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Evaluates the expression.
    ///
    /// # Errors
    /// The evaluation error.
    pub(super) fn run<'a>(&'a self, data: &'a JsonMap, arena: &'a Arena) -> Result<Value<'a>, Error> {
        let variable = Some(Value::Map(Map::Tree(data)));
        evaluate(&self.plan, &[variable], arena, PER_CALL_LIMIT, None).result().map_err(|error| {
            Error::credential(format!("expression '{}' resulted in error: {error}", self.text))
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn expression_sees_only_its_variable() {
        let compiler = Compiler::new();
        let check = |about: ExpressionInput, text: &str, condition: bool, expected: &str| {
            let got = compiler.compile(about, text, condition).err();
            let got = got.map_or(String::new(), |flaw| match flaw {
                ExpressionError::Invalid(text) | ExpressionError::Internal(text) => text,
            });
            assert!(got.starts_with(expected) && got.is_empty() == expected.is_empty(), "{text}: {got}");
        };
        check(ExpressionInput::Claims, "claims.sub", false, "");
        check(ExpressionInput::Claims, "claims.sub == 'a'", true, "");
        check(ExpressionInput::Claims, "claims.sub", true, "must evaluate to bool");
        check(
            ExpressionInput::Claims,
            "user.username",
            false,
            "compilation failed: ERROR: <input>:1:1: undeclared reference",
        );
        check(ExpressionInput::User, "user.username.startsWith('a') && user.extra['k'].size() > 0", true, "");
        check(
            ExpressionInput::User,
            "user.name == 'a'",
            true,
            "compilation failed: ERROR: <input>:1:5: undefined field 'name'",
        );
        check(ExpressionInput::User, "user.groups", true, "must evaluate to bool");
    }

    #[test]
    fn uses_of_email_claims_are_found() {
        let compiler = Compiler::new();
        let check = |text: &str, expected: (bool, bool)| {
            let compiled = compiler.compile(ExpressionInput::Claims, text, false).unwrap();
            assert_eq!((compiled.uses_email, compiled.uses_email_verified), expected, "{text}");
        };
        check("claims.sub", (false, false));
        check("claims.email", (true, false));
        check("claims.?email.orValue('')", (true, false));
        check("[1].all(x, claims.email_verified == true && x > 0) ? claims.email : ''", (true, true));
        check("has(claims.email_verified)", (false, true));
        check("claims.a.email", (false, false));
        check("claims['email']", (false, false));
    }
}
