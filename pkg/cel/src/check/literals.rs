//! Literal validators that run after type checking: homogeneous lists, and format strings that match their
//! arguments.

use super::assign::is_same_type;
use super::{Checker, format};
use crate::env::Validators;
use crate::ext::regex::Regex;
use crate::ext::time::{MAX_SECONDS, MIN_SECONDS, parse_timestamp};
use crate::overloads::Overload;
use crate::syntax::{Entry, Expr, Key, Kind, Literal, Name, Span};
use crate::types::Type;
use apimachinery::time::parse_duration;

impl Checker<'_> {
    /// Validates every reachable node. Types are final at this point.
    pub(super) fn validate_literals(&mut self) {
        let validators = self.env.validators;
        let Some(root) = self.syntax.root() else { return };
        // The flag marks nodes inside a call that allows mixed types.
        let mut open = vec![(root, false)];
        while let Some((expr, exempt)) = open.pop() {
            self.validate(expr, exempt, validators);
            let formats = matches!(self.syntax.kind(expr), Kind::Call { function, .. }
                if validators.format && self.syntax.name(function) == "format");
            let first = open.len();
            self.syntax.for_each_child(expr, |child| open.push((child, exempt || formats)));
            open[first..].reverse();
        }
    }

    fn validate(&mut self, expr: Expr, exempt: bool, validators: Validators) {
        match self.syntax.kind(expr) {
            Kind::List { elements, optional } if validators.homogeneous && !exempt => {
                let mut first = None;
                for place in 0..elements.len() {
                    let element = self.syntax.exprs(elements)[place];
                    let is_optional =
                        self.syntax.optional_indices(optional).binary_search(&(place as u32)).is_ok();
                    let ty = self.final_type(element, is_optional);
                    if self.differs(&mut first, element, ty) {
                        break;
                    }
                }
            }
            Kind::Map(entries) if validators.homogeneous && !exempt => {
                let mut keys = None;
                let mut values = None;
                for place in 0..entries.len() {
                    let Entry { key: Key::Expr(key), value, optional, .. } =
                        self.syntax.entries(entries)[place]
                    else {
                        continue;
                    };
                    let key_type = self.final_type(key, false);
                    let value_type = self.final_type(value, optional);
                    self.differs(&mut keys, key, key_type);
                    self.differs(&mut values, value, value_type);
                }
            }
            Kind::Call { function, target, args } => {
                if validators.literals {
                    self.validate_argument(function, args);
                }
                let Some(target) = target.filter(|_| validators.format) else { return };
                let is_format = self.overloads_of(expr).contains(&Overload::StringFormat);
                let &[list] = self.syntax.exprs(args) else { return };
                if let (true, Kind::Literal(Literal::String(text)), Kind::List { elements, .. }) =
                    (is_format, self.syntax.kind(target), self.syntax.kind(list))
                {
                    let result = format::check(&self.syntax, &self.types, &self.type_of, text, elements);
                    if let Err((place, message)) = result {
                        self.report_at(place.unwrap_or(expr), message);
                    }
                }
            }
            _ => {}
        }
    }

    /// Checks literal durations, timestamps and patterns.
    fn validate_argument(&mut self, function: Name, args: Span) {
        let Some(arg) = self.syntax.exprs(args).first().copied() else { return };
        let Kind::Literal(literal) = self.syntax.kind(arg) else { return };
        let function = self.syntax.name(function);
        let valid = match (function, literal) {
            ("duration", Literal::String(text)) => parse_duration(self.syntax.name(text)).is_ok(),
            // The overload for integers exists, but no integer converts.
            ("duration", Literal::Int(_)) => false,
            ("timestamp", Literal::String(text)) => parse_timestamp(self.syntax.name(text)).is_ok(),
            ("timestamp", Literal::Int(seconds)) => (MIN_SECONDS..=MAX_SECONDS).contains(&seconds),
            ("matches", Literal::String(text)) => Regex::check(self.syntax.name(text)).is_ok(),
            _ => true,
        };
        if !valid {
            let message = format!("invalid {function} argument");
            self.report_at(arg, message);
        }
    }

    fn final_type(&self, expr: Expr, optional: bool) -> Type {
        let ty = self.type_of(expr);
        if optional { self.types.unwrap_optional(ty).unwrap_or(ty) } else { ty }
    }

    /// Reports an element whose type differs from the first one's.
    fn differs(&mut self, first: &mut Option<Type>, expr: Expr, ty: Type) -> bool {
        let expected = *first.get_or_insert(ty);
        let differs = !is_same_type(&self.types, expected, ty);
        if differs {
            self.mismatch(expr, expected, ty);
        }
        differs
    }
}
