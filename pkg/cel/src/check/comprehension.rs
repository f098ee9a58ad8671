//! Type checking of comprehensions: types and scopes of their variables.

use super::Checker;
use super::assign::is_dyn_or_error;
use crate::syntax::{Comprehension, Expr};
use crate::types::{Shape, Type};

impl Checker<'_> {
    pub(super) fn check_comprehension(&mut self, number: u32) -> Type {
        let comprehension = *self.syntax.comprehension(number);
        let Comprehension { range, variable, second, accumulator, init, condition, step, result } =
            comprehension;
        self.check(range);
        self.check(init);
        let accumulated = self.type_of(init);
        let outer = self.scopes.len();
        self.scopes.push((accumulator, accumulated));
        self.entered = true;
        let (first, last) = self.element_types(range, second.is_some());
        let inner = self.scopes.len();
        // A name declared twice in one scope keeps its first declaration.
        if let Some(second) = second.filter(|second| *second != variable) {
            self.scopes.push((second, last));
        }
        self.scopes.push((variable, first));
        self.check(condition);
        self.expect(condition, Type::BOOL);
        self.check(step);
        self.expect(step, accumulated);
        self.scopes.truncate(inner);
        self.check(result);
        self.scopes.truncate(outer);
        let result = self.type_of(result);
        self.substitute(result)
    }

    /// Returns the variable types for a range. The second one matters only if there are two variables.
    fn element_types(&mut self, range: Expr, two: bool) -> (Type, Type) {
        let ty = self.type_of(range);
        let ty = self.substitute(ty);
        match self.types.shape(ty) {
            Shape::List(element) if two => (Type::INT, element),
            Shape::List(element) => (element, element),
            Shape::Map(key, value) => (key, value),
            shape if is_dyn_or_error(shape) && shape != Shape::Any || matches!(shape, Shape::Param(_)) => {
                self.assignable(Type::DYN, ty);
                (Type::DYN, Type::DYN)
            }
            _ => {
                let message = format!(
                    "expression of type '{}' cannot be range of a comprehension (must be list, map, or dynamic)",
                    self.types.text(ty)
                );
                self.report_at(range, message);
                (Type::ERROR, Type::ERROR)
            }
        }
    }

    fn expect(&mut self, expr: Expr, ty: Type) {
        let actual = self.type_of(expr);
        if !self.assignable(ty, actual) {
            self.mismatch(expr, ty, actual);
        }
    }
}
