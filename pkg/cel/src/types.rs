//! Types of the checker. They are interned: a [`Type`] is a number, and equal numbers are equal types.
//!
//! Tables are layered. The types of all signatures are static. An environment adds its declared types.
//! Checking an expression adds further types, which are dropped with the expression.

pub(crate) mod shape;

use std::collections::HashMap;
use std::sync::Arc;

use crate::overloads::{TYPE_NAMES, TYPES};
pub use shape::{Info, Shape, Type, TypeName};

/// Maximum type size, as the number of names in its text; real expressions stay far below.
const SIZE_MAX: u32 = 2048;

/// A table of types.
#[derive(Clone, Debug, Default)]
pub struct Types {
    base: Option<Arc<Types>>,
    first: u32,
    first_name: u32,
    infos: Vec<Info>,
    index: HashMap<Shape, Type>,
    names: Vec<Box<str>>,
    name_index: HashMap<Box<str>, TypeName>,
    overflowed: bool,
}

impl Types {
    /// Creates a table on top of the static one.
    pub fn new() -> Self {
        Self { first: TYPES.len() as u32, first_name: TYPE_NAMES.len() as u32, ..Self::default() }
    }

    /// Creates a table on top of another.
    pub fn on(base: &Arc<Types>) -> Self {
        Self {
            first: base.first + base.infos.len() as u32,
            first_name: base.first_name + base.names.len() as u32,
            base: Some(base.clone()),
            ..Self::default()
        }
    }

    /// Returns the structure of a type.
    pub fn shape(&self, ty: Type) -> Shape {
        self.info(ty).shape
    }

    pub(crate) fn info(&self, ty: Type) -> Info {
        if let Some(info) = TYPES.get(ty.0 as usize) {
            return *info;
        }
        match &self.base {
            Some(base) if ty.0 < self.first => base.info(ty),
            _ => self.infos[(ty.0 - self.first) as usize],
        }
    }

    /// Returns the text of a name.
    pub fn name(&self, name: TypeName) -> &str {
        if let Some(text) = TYPE_NAMES.get(name.0 as usize) {
            return text;
        }
        match &self.base {
            Some(base) if name.0 < self.first_name => base.name(name),
            _ => &self.names[(name.0 - self.first_name) as usize],
        }
    }

    pub(crate) fn find_name(&self, text: &str) -> Option<TypeName> {
        if let Some(place) = TYPE_NAMES.iter().position(|name| *name == text) {
            return Some(TypeName(place as u32));
        }
        self.base
            .as_ref()
            .and_then(|base| base.find_name(text))
            .or_else(|| self.name_index.get(text).copied())
    }

    /// Returns the name with this text, and stores new texts in the top layer.
    pub fn intern_name(&mut self, text: &str) -> TypeName {
        if let Some(name) = self.find_name(text) {
            return name;
        }
        let name = TypeName(self.first_name + self.names.len() as u32);
        self.names.push(text.into());
        self.name_index.insert(text.into(), name);
        name
    }

    /// Interns a type. A type above the size limit becomes [`Type::ERROR`].
    pub fn intern(&mut self, shape: Shape) -> Type {
        if let Some(ty) = self.find(shape) {
            return ty;
        }
        let (open, size) = match shape {
            Shape::Param(_) => (true, 1),
            Shape::Type(Some(a)) | Shape::Wrapper(a) | Shape::List(a) | Shape::Opaque(_, Some(a)) => {
                (self.info(a).open, 1 + self.info(a).size)
            }
            Shape::Map(a, b) => {
                let a = self.info(a);
                let b = self.info(b);
                (a.open || b.open, 1 + a.size + b.size)
            }
            _ => (false, 1),
        };
        if size > SIZE_MAX {
            self.overflowed = true;
            return Type::ERROR;
        }
        let ty = Type(self.first + self.infos.len() as u32);
        self.infos.push(Info { shape, open, size });
        self.index.insert(shape, ty);
        ty
    }

    fn find(&self, shape: Shape) -> Option<Type> {
        if let Some(place) = TYPES.iter().position(|info| info.shape == shape) {
            return Some(Type(place as u32));
        }
        let mut table = Some(self);
        while let Some(layer) = table {
            if let Some(ty) = layer.index.get(&shape) {
                return Some(*ty);
            }
            table = layer.base.as_deref();
        }
        None
    }

    /// Returns true if a type was rejected for its size.
    pub fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// `type(of)`: the type of a type as a value.
    pub fn of_type(&mut self, of: Type) -> Type {
        self.intern(Shape::Type(Some(of)))
    }

    /// `list(element)`.
    pub fn list(&mut self, element: Type) -> Type {
        self.intern(Shape::List(element))
    }

    /// `map(key, value)`.
    pub fn map(&mut self, key: Type, value: Type) -> Type {
        self.intern(Shape::Map(key, value))
    }

    /// `optional_type(value)`.
    pub fn optional(&mut self, value: Type) -> Type {
        let name = self.intern_name("optional_type");
        self.intern(Shape::Opaque(name, Some(value)))
    }

    /// Returns the object type of this name.
    pub fn object(&mut self, name: &str) -> Type {
        let name = self.intern_name(name);
        self.intern(Shape::Struct(name))
    }

    /// Returns the value type of an optional type; `None` for other types.
    pub fn unwrap_optional(&self, ty: Type) -> Option<Type> {
        match self.shape(ty) {
            Shape::Opaque(name, Some(value)) if self.name(name) == "optional_type" => Some(value),
            _ => None,
        }
    }

    /// Formats a type as in cel-go's messages and printed trees.
    pub fn text(&self, ty: Type) -> String {
        let mut out = String::new();
        self.write(&mut out, ty);
        out
    }

    fn write(&self, out: &mut String, ty: Type) {
        let (head, params) = match self.shape(ty) {
            Shape::Dyn => ("dyn", [None, None]),
            Shape::Any => ("any", [None, None]),
            Shape::Bool => ("bool", [None, None]),
            Shape::Bytes => ("bytes", [None, None]),
            Shape::Double => ("double", [None, None]),
            Shape::Duration => ("duration", [None, None]),
            Shape::Error => ("!error!", [None, None]),
            Shape::Int => ("int", [None, None]),
            Shape::Null => ("null", [None, None]),
            Shape::String => ("string", [None, None]),
            Shape::Timestamp => ("timestamp", [None, None]),
            Shape::Type(of) => ("type", [of, None]),
            Shape::Uint => ("uint", [None, None]),
            Shape::Unspecified => ("", [None, None]),
            Shape::Wrapper(of) => ("wrapper", [Some(of), None]),
            Shape::List(of) => ("list", [Some(of), None]),
            Shape::Map(key, value) => ("map", [Some(key), Some(value)]),
            Shape::Struct(name) => (self.name(name), [None, None]),
            Shape::Opaque(name, param) => (self.name(name), [param, None]),
            Shape::Param(number) => return write_param(out, number),
        };
        out.push_str(head);
        let mut params = params.into_iter().flatten();
        let Some(first) = params.next() else { return };
        out.push('(');
        self.write(out, first);
        for param in params {
            out.push_str(", ");
            self.write(out, param);
        }
        out.push(')');
    }

    /// Formats a type as in upstream's messages about result types, with run-time type names.
    pub fn declared_text(&self, ty: Type) -> String {
        let name = self.runtime_name(ty);
        match self.shape(ty) {
            Shape::List(of) | Shape::Opaque(_, Some(of)) | Shape::Type(Some(of)) => {
                format!("{name}({})", self.declared_text(of))
            }
            Shape::Map(key, value) => {
                format!("{name}({}, {})", self.declared_text(key), self.declared_text(value))
            }
            Shape::Wrapper(_) => format!("wrapper({name})"),
            Shape::Param(number) => {
                let mut text = "<".to_owned();
                write_param(&mut text, number);
                text + ">"
            }
            _ => name.to_owned(),
        }
    }

    /// Returns the run-time name of a type, without parameters.
    pub fn runtime_name(&self, ty: Type) -> &str {
        match self.shape(ty) {
            Shape::Dyn => "dyn",
            Shape::Any => "google.protobuf.Any",
            Shape::Bool => "bool",
            Shape::Bytes => "bytes",
            Shape::Double => "double",
            Shape::Duration => "google.protobuf.Duration",
            Shape::Error => "error",
            Shape::Int => "int",
            Shape::Null => "null_type",
            Shape::String => "string",
            Shape::Timestamp => "google.protobuf.Timestamp",
            Shape::Type(_) => "type",
            Shape::Uint => "uint",
            Shape::Wrapper(of) => self.runtime_name(of),
            Shape::List(_) => "list",
            Shape::Map(_, _) => "map",
            Shape::Struct(name) | Shape::Opaque(name, _) => self.name(name),
            Shape::Unspecified | Shape::Param(_) => "",
        }
    }
}

/// Number of the first type variable that the checker creates.
pub(crate) const FIRST_VARIABLE: u32 = 26;

fn write_param(out: &mut String, number: u32) {
    if number < FIRST_VARIABLE {
        out.push((b'A' + number as u8) as char);
    } else {
        out.push_str("_var");
        out.push_str(&(number - FIRST_VARIABLE).to_string());
    }
}
