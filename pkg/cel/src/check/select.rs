//! Type checking of selections: `a.b`, `a.?b`, `has(a.b)`.

use super::Checker;
use super::assign::is_dyn_or_error;
use crate::checked::Reference;
use crate::overloads::Overload;
use crate::syntax::{Expr, Kind, Literal, Name, Span};
use crate::types::{Shape, Type};

impl Checker<'_> {
    pub(super) fn check_select(&mut self, expr: Expr, operand: Expr, field: Name, test: bool) -> Type {
        if let Some(name) = self.qualified_name(expr) {
            let candidate = self.find_ident(&name);
            self.qualified = name;
            if let Some((ident, name)) = candidate {
                return self.refer(expr, ident, name);
            }
        }
        let field = self.syntax.name(field).to_owned();
        let result = self.check_field(expr, operand, &field, false);
        if test { Type::BOOL } else { self.substitute(result) }
    }

    pub(super) fn check_optional_select(&mut self, expr: Expr, target: Option<Expr>, args: Span) -> Type {
        let args = self.syntax.exprs(args);
        let (&[operand, field], None) = (args, target) else {
            let how = if target.is_some() { " member call with" } else { "" };
            let message = format!(
                "unsupported optional field selection: incorrect signature.{how} argument count: {}",
                args.len()
            );
            self.report_at(expr, message);
            return Type::ERROR;
        };
        let Kind::Literal(Literal::String(name)) = self.syntax.kind(field) else {
            self.report_at(field, "unsupported optional field selection: not a string".to_owned());
            return Type::ERROR;
        };
        let name = self.syntax.name(name).to_owned();
        let result = self.check_field(expr, operand, &name, true);
        let start = self.overloads.len() as u32;
        self.overloads.push(Overload::SelectOptionalField);
        self.references[expr.index()] = Reference::Overloads { start, len: 1 };
        self.substitute(result)
    }

    /// Returns the type of a field of an operand, which may be optional.
    fn check_field(&mut self, expr: Expr, operand: Expr, field: &str, optional: bool) -> Type {
        self.check(operand);
        let operand = self.type_of(operand);
        let operand = self.substitute(operand);
        let inner = self.types.unwrap_optional(operand);
        let target = inner.unwrap_or(operand);
        let result = match self.types.shape(target) {
            Shape::Map(_, value) => value,
            Shape::Struct(name) => {
                let object = self.types.name(name).to_owned();
                let offset = self.syntax.node(expr).offset;
                self.find_field(offset, &object, field).unwrap_or(Type::ERROR)
            }
            Shape::Param(_) => {
                self.assignable(Type::DYN, target);
                Type::DYN
            }
            shape => {
                if !is_dyn_or_error(shape) {
                    let message =
                        format!("type '{}' does not support field selection", self.types.text(target));
                    self.report_at(expr, message);
                }
                Type::DYN
            }
        };
        if inner.is_some() || optional { self.types.optional(result) } else { result }
    }

    /// Returns the type of an object's field, or reports an unknown field.
    pub(super) fn find_field(&mut self, offset: u32, object: &str, field: &str) -> Option<Type> {
        let env = self.env;
        if let Some(ty) = env.find_field(&mut self.types, object, field) {
            return Some(ty);
        }
        let message = if env.find_object(&mut self.types, object).is_some() {
            format!("undefined field '{field}'")
        } else {
            format!("unexpected failed resolution of '{object}'")
        };
        self.report(offset, message);
        None
    }

    /// Returns `a.b.c` as one name if the node consists of identifiers and dots only. The string is the
    /// buffer [`Checker::qualified`], which the caller puts back.
    pub(super) fn qualified_name(&mut self, expr: Expr) -> Option<String> {
        let mut name = std::mem::take(&mut self.qualified);
        name.clear();
        let named = self.write_qualified(&mut name, expr);
        if named {
            return Some(name);
        }
        self.qualified = name;
        None
    }

    fn write_qualified(&self, out: &mut String, expr: Expr) -> bool {
        match self.syntax.kind(expr) {
            Kind::Ident(name) => {
                out.push_str(self.syntax.name(name));
                true
            }
            Kind::Select { operand, field, test: false } => {
                let named = self.write_qualified(out, operand);
                out.push('.');
                out.push_str(self.syntax.name(field));
                named
            }
            _ => false,
        }
    }
}
