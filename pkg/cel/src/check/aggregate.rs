//! Type checking of list, map and message construction.

use super::Checker;
use super::assign::{is_dyn, most_general};
use crate::checked::Reference;
use crate::syntax::{Entry, Expr, Key, Kind, Name, Span};
use crate::types::{Shape, Type};

impl Checker<'_> {
    pub(super) fn check_list(&mut self, elements: Span, optional: Span) -> Type {
        let mut joined = None;
        for place in 0..elements.len() {
            let element = self.syntax.exprs(elements)[place];
            self.check(element);
            let mut ty = self.type_of(element);
            if self.syntax.optional_indices(optional).binary_search(&(place as u32)).is_ok() {
                ty = self.unwrap_entry(element, ty);
            }
            joined = Some(self.join(element, joined, ty));
        }
        let element = match joined {
            Some(ty) => ty,
            None => self.new_variable(),
        };
        self.types.list(element)
    }

    pub(super) fn check_map(&mut self, entries: Span) -> Type {
        let mut joined = None;
        for place in 0..entries.len() {
            let Entry { key: Key::Expr(key), value, optional, .. } = self.syntax.entries(entries)[place]
            else {
                continue;
            };
            self.check(key);
            let key_type = self.join(key, joined.map(|(key, _)| key), self.type_of(key));
            self.check(value);
            let mut ty = self.type_of(value);
            if optional {
                ty = self.unwrap_entry(value, ty);
            }
            let value_type = self.join(value, joined.map(|(_, value)| value), ty);
            joined = Some((key_type, value_type));
        }
        let (key, value) = match joined {
            Some(types) => types,
            None => (self.new_variable(), self.new_variable()),
        };
        self.types.map(key, value)
    }

    pub(super) fn check_struct(&mut self, expr: Expr, name: Name, fields: Span) -> Type {
        let written = self.syntax.name(name).to_owned();
        let Some((ident, resolved)) = self.find_ident(&written) else {
            return self.undeclared(expr, &written);
        };
        // Resolves like an identifier, but keeps its node kind.
        let ident = self.refer(expr, ident, resolved);
        self.syntax.replace(expr, Kind::Struct { name: resolved, fields });
        self.references[expr.index()] = Reference::Type(resolved);
        let mut object = self.syntax.name(resolved).to_owned();
        let result = match self.types.shape(ident) {
            Shape::Error => Type::ERROR,
            Shape::Type(Some(of)) if self.is_well_known(of) => {
                object = well_known_name(self.types.shape(of)).to_owned();
                of
            }
            Shape::Type(Some(of)) if matches!(self.types.shape(of), Shape::Struct(_)) => {
                object = self.types.runtime_name(of).to_owned();
                of
            }
            Shape::Type(of) => {
                let text = self.types.runtime_name(of.unwrap_or(Type::TYPE)).to_owned();
                self.report_at(expr, format!("'{text}' is not a message type"));
                Type::ERROR
            }
            shape => {
                let name = self.types.runtime_name(ident);
                let text =
                    if let Shape::Wrapper(_) = shape { format!("wrapper({name})") } else { name.to_owned() };
                self.report_at(expr, format!("'{text}' is not a type"));
                Type::ERROR
            }
        };
        for place in 0..fields.len() {
            self.check_struct_field(&object, self.syntax.entries(fields)[place]);
        }
        result
    }

    fn check_struct_field(&mut self, object: &str, entry: Entry) {
        let Key::Field(name) = entry.key else { return };
        let name = self.syntax.name(name).to_owned();
        self.check(entry.value);
        let expected = self.find_field(entry.offset, object, &name).unwrap_or(Type::ERROR);
        let mut actual = self.type_of(entry.value);
        if entry.optional {
            actual = self.unwrap_entry(entry.value, actual);
        }
        if !self.assignable(expected, actual) {
            let message = format!(
                "expected type of field '{name}' is '{}' but provided type is '{}'",
                self.types.text(expected),
                self.types.text(actual)
            );
            self.report(entry.offset, message);
        }
    }

    /// Returns the value type of an entry written with a question mark.
    fn unwrap_entry(&mut self, value: Expr, ty: Type) -> Type {
        if let Some(inner) = self.types.unwrap_optional(ty) {
            return inner;
        }
        if !is_dyn(self.types.shape(ty)) {
            let expected = self.types.optional(ty);
            self.mismatch(value, expected, ty);
        }
        ty
    }

    /// Returns the common type of a literal's elements, or `dyn` if there is none.
    fn join(&mut self, expr: Expr, before: Option<Type>, ty: Type) -> Type {
        let Some(before) = before else { return ty };
        if self.assignable(before, ty) {
            return most_general(&self.types, before, ty);
        }
        if !self.env.homogeneous {
            return Type::DYN;
        }
        self.mismatch(expr, before, ty);
        Type::ERROR
    }

    /// Returns true for a type that has both a protobuf message and native CEL values.
    fn is_well_known(&self, ty: Type) -> bool {
        match self.types.shape(ty) {
            Shape::Any
            | Shape::Timestamp
            | Shape::Duration
            | Shape::Dyn
            | Shape::Null
            | Shape::Wrapper(_) => true,
            Shape::List(of) => of == Type::DYN,
            Shape::Map(key, value) => key == Type::STRING && value == Type::DYN,
            _ => false,
        }
    }
}

fn well_known_name(shape: Shape) -> &'static str {
    match shape {
        Shape::Any => "google.protobuf.Any",
        Shape::Timestamp => "google.protobuf.Timestamp",
        Shape::Duration => "google.protobuf.Duration",
        Shape::Null => "google.protobuf.NullValue",
        Shape::List(_) => "google.protobuf.ListValue",
        Shape::Map(..) => "google.protobuf.Struct",
        Shape::Wrapper(Type::BOOL) => "google.protobuf.BoolValue",
        Shape::Wrapper(Type::BYTES) => "google.protobuf.BytesValue",
        Shape::Wrapper(Type::DOUBLE) => "google.protobuf.DoubleValue",
        Shape::Wrapper(Type::INT) => "google.protobuf.Int64Value",
        Shape::Wrapper(Type::STRING) => "google.protobuf.StringValue",
        Shape::Wrapper(Type::UINT) => "google.protobuf.UInt64Value",
        _ => "google.protobuf.Value",
    }
}
