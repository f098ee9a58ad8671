//! Planning of calls.

use super::builder::{Builder, PlanError};
use super::{Call, Charge, Function, NodeId, Op, Step};
use crate::ext::regex::Regex;
use crate::overloads::Overload;
use crate::syntax::{Expr, Name};
use crate::value::{Constant, ConstantList};

/// Operators and functions with the same implementation for all overloads.
const OPERATORS: [(&str, Op); 21] = [
    ("!_", Op::Not),
    ("-_", Op::Negate),
    ("@in", Op::In),
    ("@not_strictly_false", Op::NotStrictlyFalse),
    ("@sortByAssociatedKeys", Op::SortBy),
    ("_%_", Op::Modulo),
    ("_*_", Op::Multiply),
    ("_+_", Op::Add),
    ("_-_", Op::Subtract),
    ("_/_", Op::Divide),
    ("_<=_", Op::LessEquals),
    ("_<_", Op::Less),
    ("_>=_", Op::GreaterEquals),
    ("_>_", Op::Greater),
    ("__not_strictly_false__", Op::NotStrictlyFalse),
    ("_in_", Op::In),
    ("dyn", Op::Dyn),
    ("matches", Op::Matches),
    ("size", Op::Size),
    ("sort", Op::Sort),
    ("type", Op::Type),
];

/// Functions that are computed at planning time for a constant argument.
const CONVERSIONS: [&str; 10] =
    ["bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"];

/// Returns true for overloads that cel-go binds to variadic functions, which stop at the first error.
fn takes_any_number(overload: Overload, args: usize) -> bool {
    use Overload::*;
    args > 2 || matches!(overload, StringFormat)
}

impl Builder<'_> {
    pub(super) fn call(&mut self, expr: Expr, function: Name, args: &[NodeId]) -> Result<NodeId, PlanError> {
        let id = self.id(expr);
        let checked = self.checked;
        let name = checked.syntax.name(function);
        let overload = match checked.overloads(expr) {
            &[overload] => Some(overload),
            _ => None,
        };
        match (name, args) {
            ("_&&_", _) => {
                let terms = self.span(args);
                Ok(self.add(id, Step::And(terms)))
            }
            ("_||_", _) => {
                let terms = self.span(args);
                Ok(self.add(id, Step::Or(terms)))
            }
            ("_==_", [_, _]) => {
                let sides = self.span(args);
                Ok(self.add(id, Step::Equal(sides)))
            }
            ("_!=_", [_, _]) => {
                let sides = self.span(args);
                Ok(self.add(id, Step::NotEqual(sides)))
            }
            ("_?_:_", _) => self.choice(id, args),
            ("_[_]", _) => self.index(id, args, false),
            ("_[?_]" | "_?._", _) => self.index(id, args, true),
            ("or", &[a, b]) => Ok(self.add(id, Step::OptionalOr(a, b))),
            ("orValue", &[a, b]) => Ok(self.add(id, Step::OptionalOrValue(a, b))),
            _ => self.function(id, name, overload, args),
        }
    }

    fn function(
        &mut self,
        id: u32,
        name: &str,
        overload: Option<Overload>,
        args: &[NodeId],
    ) -> Result<NodeId, PlanError> {
        if let Some(node) = self.membership(id, overload, args) {
            return Ok(node);
        }
        let op = operation(name, overload)?;
        if let ([arg], true) = (args, CONVERSIONS.contains(&name))
            && let Some(constant) = self.constant_of(*arg)
        {
            let converted = super::fold::conversion(op, constant)?;
            if let Some(constant) = converted {
                return Ok(self.add_constant(id, constant));
            }
        }
        let regex = self.pattern(name, args)?;
        let stops_at_error = match op {
            _ if regex.is_some() => true,
            Op::Overload(_, overload) => takes_any_number(overload, args.len()),
            Op::Dispatch(_) => true,
            _ => false,
        };
        let charge = Charge::of(name, overload);
        let args = self.span(args);
        self.plan.calls.push(Call { op, args, charge, stops_at_error, regex });
        let call = self.plan.calls.len() as u32 - 1;
        Ok(self.add(id, Step::Call(call)))
    }

    /// Plans `x in [constants]` as a set lookup, which has no cost of its own.
    fn membership(&mut self, id: u32, overload: Option<Overload>, args: &[NodeId]) -> Option<NodeId> {
        let (Some(Overload::InList), &[value, list]) = (overload, args) else { return None };
        let Some(Constant::List(ConstantList(items))) = self.constant_of(list) else { return None };
        if items.is_empty() {
            return Some(self.add_constant(id, Constant::Bool(false)));
        }
        let set = super::fold::set(items)?;
        self.plan.sets.push(set);
        let set = self.plan.sets.len() as u32 - 1;
        Some(self.add(id, Step::Member { value, set }))
    }

    /// Compiles the pattern of a regular expression function if it is constant.
    fn pattern(&self, name: &str, args: &[NodeId]) -> Result<Option<Box<Regex>>, PlanError> {
        if !matches!(name, "matches" | "find" | "findAll") {
            return Ok(None);
        }
        let Some(Constant::String(pattern)) = args.get(1).and_then(|arg| self.constant_of(*arg)) else {
            return Ok(None);
        };
        Ok(Some(Box::new(Regex::compile(pattern)?)))
    }
}

fn operation(name: &str, overload: Option<Overload>) -> Result<Op, PlanError> {
    if let Some((_, op)) = OPERATORS.iter().find(|(operator, _)| *operator == name) {
        return Ok(*op);
    }
    let function = Function::find(name).ok_or_else(|| PlanError::Overload(format!("{name}(...)")))?;
    // A function with one overload needs no dispatch.
    let overload = overload.or(match function.signatures {
        [only] => Some(only.overload),
        _ => None,
    });
    Ok(overload.map_or(Op::Dispatch(function), |overload| Op::Overload(function, overload)))
}
