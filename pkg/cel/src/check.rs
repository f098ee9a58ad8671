//! Type checker: resolves names, and assigns a type to every node and overloads to every call.
//!
//! The algorithm is cel-go's, including the numbering of type variables, because error texts show both. Type
//! variables are bound by unification ([`assign`]); a step budget bounds the work.

mod aggregate;
mod assign;
mod call;
mod comprehension;
mod format;
mod literals;
mod select;

use crate::checked::{Checked, Reference};
use crate::env::Environment;
use crate::overloads::Overload;
use crate::source::{Errors, Source};
use crate::syntax::{Expr, Kind, Literal, Name, Syntax};
use crate::types::{FIRST_VARIABLE, Shape, Type, Types};
use assign::Bindings;

/// Maximum unification steps per expression. Real expressions need a few thousand.
const STEPS_MAX: u32 = 4_000_000;

/// Type-checks an expression.
///
/// # Errors
///
/// All errors, in cel-go's order.
pub fn check(env: &Environment, syntax: Syntax, source: &Source<'_>) -> Result<Checked, Errors> {
    let mut checker = Checker::new(env, syntax, source);
    if let Some(root) = checker.syntax.root() {
        checker.check(root);
    }
    if checker.bindings.steps == 0 || checker.types.overflowed() {
        let start = checker.syntax.root().map_or(0, |root| checker.syntax.node(root).offset);
        checker.report(start, "expression is too complex to be type-checked".to_owned());
    }
    checker.finish()
}

struct Checker<'a> {
    env: &'a Environment,
    source: &'a Source<'a>,
    syntax: Syntax,
    types: Types,
    bindings: Bindings,
    errors: Errors,
    type_of: Vec<Type>,
    references: Vec<Reference>,
    overloads: Vec<Overload>,
    /// Variables of the enclosing comprehensions, innermost last.
    scopes: Vec<(Name, Type)>,
    /// Number of the next type variable.
    next_variable: u32,
    /// True once a comprehension has been entered. From then on cel-go ignores that comparisons across number
    /// types are disabled.
    entered: bool,
    /// Reusable buffer for qualified names.
    qualified: String,
}

/// Resolved meaning of a name.
#[derive(Clone, Copy)]
enum Ident {
    Variable(Type),
    Type(Type),
    Constant,
}

impl<'a> Checker<'a> {
    fn new(env: &'a Environment, syntax: Syntax, source: &'a Source<'a>) -> Self {
        Self {
            type_of: vec![Type::ERROR; syntax.len()],
            references: vec![Reference::None; syntax.len()],
            env,
            source,
            syntax,
            types: Types::on(env.types()),
            bindings: Bindings::new(STEPS_MAX),
            errors: Errors::default(),
            overloads: Vec::new(),
            scopes: Vec::new(),
            next_variable: FIRST_VARIABLE,
            entered: false,
            qualified: String::new(),
        }
    }

    /// Replaces type variables with their bindings, and unbound ones with `dyn`.
    fn finish(mut self) -> Result<Checked, Errors> {
        if !self.errors.is_empty() {
            return Err(self.errors);
        }
        for ty in &mut self.type_of {
            *ty = self.bindings.substitute(&mut self.types, *ty, true);
        }
        self.validate_literals();
        if !self.errors.is_empty() {
            return Err(self.errors);
        }
        Ok(Checked {
            syntax: self.syntax,
            types: self.types,
            type_of: self.type_of,
            references: self.references,
            overloads: self.overloads,
        })
    }

    fn check(&mut self, expr: Expr) {
        if self.bindings.steps == 0 {
            return;
        }
        let ty = match self.syntax.kind(expr) {
            Kind::Literal(literal) => literal_type(literal),
            Kind::Ident(name) => self.check_ident(expr, name),
            Kind::Select { operand, field, test } => self.check_select(expr, operand, field, test),
            Kind::Call { function, target, args } => self.check_call(expr, function, target, args),
            Kind::List { elements, optional } => self.check_list(elements, optional),
            Kind::Map(entries) => self.check_map(entries),
            Kind::Struct { name, fields } => self.check_struct(expr, name, fields),
            Kind::Comprehension(number) => self.check_comprehension(number),
        };
        self.type_of[expr.index()] = ty;
    }

    fn type_of(&self, expr: Expr) -> Type {
        self.type_of[expr.index()]
    }

    fn overloads_of(&self, expr: Expr) -> &[Overload] {
        self.references[expr.index()].overloads(&self.overloads)
    }

    fn check_ident(&mut self, expr: Expr, name: Name) -> Type {
        let text = self.syntax.name(name).to_owned();
        match self.find_ident(&text) {
            Some((ident, resolved)) => self.refer(expr, ident, resolved),
            None => self.undeclared(expr, &text),
        }
    }

    /// Replaces a node with the identifier that it resolves to.
    fn refer(&mut self, expr: Expr, ident: Ident, name: Name) -> Type {
        self.syntax.replace(expr, Kind::Ident(name));
        let (reference, ty) = match ident {
            Ident::Variable(ty) => (Reference::Variable(name), ty),
            Ident::Type(ty) => (Reference::Type(name), ty),
            Ident::Constant => (Reference::Constant(name), Type::INT),
        };
        self.references[expr.index()] = reference;
        ty
    }

    /// Resolves a name, from the container outwards unless it starts with a dot.
    fn find_ident(&mut self, name: &str) -> Option<(Ident, Name)> {
        if let Some(absolute) = name.strip_prefix('.') {
            return self.find_candidate(absolute);
        }
        let mut container = &*self.env.container;
        while !container.is_empty() {
            let candidate = format!("{container}.{name}");
            if let Some(ident) = self.find_candidate(&candidate) {
                return Some(ident);
            }
            container = container.rfind('.').map_or("", |dot| &container[..dot]);
        }
        self.find_candidate(name)
    }

    fn find_candidate(&mut self, name: &str) -> Option<(Ident, Name)> {
        if let Some(interned) = self.syntax.find_name(name) {
            let local = self.scopes.iter().rev().find(|(local, _)| *local == interned);
            if let Some((_, ty)) = local {
                return Some((Ident::Variable(*ty), interned));
            }
        }
        let env = self.env;
        let ident = if let Some(ty) = env.find_variable(name) {
            Ident::Variable(ty)
        } else if let Some(ty) = env.find_type(&mut self.types, name) {
            Ident::Type(ty)
        } else {
            env.find_constant(name)?;
            Ident::Constant
        };
        Some((ident, self.syntax.intern(name)))
    }

    fn new_variable(&mut self) -> Type {
        self.next_variable += 1;
        self.types.intern(Shape::Param(self.next_variable - 1))
    }

    fn assignable(&mut self, from: Type, to: Type) -> bool {
        self.bindings.assignable(&self.types, from, to)
    }

    fn substitute(&mut self, ty: Type) -> Type {
        self.bindings.substitute(&mut self.types, ty, false)
    }

    fn undeclared(&mut self, expr: Expr, name: &str) -> Type {
        let message = format!("undeclared reference to '{name}' (in container '{}')", self.env.container);
        self.report_at(expr, message);
        Type::ERROR
    }

    fn mismatch(&mut self, expr: Expr, expected: Type, actual: Type) {
        let message =
            format!("expected type '{}' but found '{}'", self.types.text(expected), self.types.text(actual));
        self.report_at(expr, message);
    }

    fn report_at(&mut self, expr: Expr, message: String) {
        self.report(self.syntax.node(expr).offset, message);
    }

    fn report(&mut self, offset: u32, message: String) {
        let location = self.source.location(i32::try_from(offset).unwrap_or(i32::MAX));
        self.errors.report(location, message);
    }
}

fn literal_type(literal: Literal) -> Type {
    match literal {
        Literal::Null => Type::NULL,
        Literal::Bool(_) => Type::BOOL,
        Literal::Int(_) => Type::INT,
        Literal::Uint(_) => Type::UINT,
        Literal::Double(_) => Type::DOUBLE,
        Literal::String(_) => Type::STRING,
        Literal::Bytes(_) => Type::BYTES,
    }
}
