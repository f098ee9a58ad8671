//! Types for comparing and merging: scalar, list or map, and the granularity of ownership. Derived on demand
//! from the tables of built-in types, from the schemas of custom resources ([`Schema`]), or from the values
//! of objects without a schema.
//!
//! The rules are upstream's for published OpenAPI schemas (kube-openapi's `schemaconv`): a map is merged by
//! its keys unless it is `atomic`; a list is atomic unless it is a `set` or a `map`.

use jsontree::Value;

use schema::table::{Cardinality, Field, Member, Message, Shape, Type};

mod openapi;

pub use openapi::{Schema, SchemaError};

/// A reference to a type; as cheap as a pointer.
#[derive(Debug, Clone, Copy)]
pub struct TypeRef<'s>(Repr<'s>);

#[derive(Debug, Clone, Copy)]
enum Repr<'s> {
    /// A field that the schema does not declare; no value has this type.
    Undeclared,
    /// Any value, owned as a whole.
    Untyped,
    /// Any value; maps are merged by key, everything else is owned as a whole.
    Deduced,
    Scalar(Scalar),
    /// A built-in type, and the `atomic` setting of the reference to it.
    Message(&'static Message, Option<bool>),
    /// The list or map in a built-in field.
    Container(&'static Field),
    /// A type of a custom resource.
    Custom(&'s openapi::Node),
}

/// The type of a scalar; `null` is always allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scalar {
    /// An integer or a floating-point number.
    Numeric,
    /// A string.
    String,
    /// A boolean.
    Boolean,
    /// Any of these.
    Untyped,
}

/// The form in which a type is used.
#[derive(Debug, Clone, Copy)]
pub enum Kind<'s> {
    /// A leaf.
    Scalar(Scalar),
    /// A list, atomic or with identifiable items.
    List(List<'s>),
    /// A struct, a map, or both at once.
    Map(Map<'s>),
    /// No value has this type.
    Undeclared,
}

/// The type of a list.
#[derive(Debug, Clone, Copy)]
pub struct List<'s> {
    /// The identity of the items, which determines the granularity of ownership.
    pub items: Items<'s>,
    /// The type of the items.
    pub element: TypeRef<'s>,
}

/// The identity of a list's items.
#[derive(Debug, Clone, Copy)]
pub enum Items<'s> {
    /// None: the list is owned as a whole.
    Atomic,
    /// Their scalar values.
    Set,
    /// The values of these key fields; never empty.
    Map(Keys<'s>),
}

/// Names of key fields.
#[derive(Debug, Clone, Copy)]
pub enum Keys<'s> {
    /// Of a built-in list.
    Builtin(&'static [&'static str]),
    /// Of a list of a custom resource.
    Custom(&'s [String]),
}

/// A struct or map type.
#[derive(Debug, Clone, Copy)]
pub struct Map<'s> {
    /// True if it is owned as a whole.
    pub atomic: bool,
    fields: Fields<'s>,
}

#[derive(Debug, Clone, Copy)]
enum Fields<'s> {
    /// No declared fields: all members have the same type.
    None(TypeRef<'s>),
    Builtin(&'static Message),
    Custom(&'s openapi::MapNode),
}

/// Looks up members of a map; their names must come in order.
#[derive(Debug)]
pub(super) struct Members<'s> {
    map: Map<'s>,
    /// The members after the last one found.
    rest: &'static [Member],
}

impl TypeRef<'_> {
    /// The type of objects without a schema: maps are merged by key, lists are atomic.
    pub const DEDUCED: TypeRef<'static> = TypeRef(Repr::Deduced);

    const UNTYPED: TypeRef<'static> = TypeRef(Repr::Untyped);

    pub(super) const UNDECLARED: TypeRef<'static> = TypeRef(Repr::Undeclared);

    /// The type of a message in the built-in tables.
    pub fn builtin(message: &'static Message) -> TypeRef<'static> {
        TypeRef::of_message(message, "")
    }

    /// A built-in type as referenced by a field. The field's `x-kubernetes-map-type` overrides the type's.
    fn of_message(message: &'static Message, map_type: &str) -> TypeRef<'static> {
        let atomic = match map_type {
            "" => None,
            other => Some(other == "atomic"),
        };
        TypeRef(match message.shape {
            Shape::Quantity | Shape::Time | Shape::MicroTime => Repr::Scalar(Scalar::Untyped),
            Shape::Duration => Repr::Scalar(Scalar::String),
            Shape::RawExtension => Repr::Untyped,
            // These are published without a type, so any value is allowed.
            Shape::IntOrString
            | Shape::Json
            | Shape::SchemaOrArray
            | Shape::SchemaOrBool
            | Shape::SchemaOrStringArray => Repr::Deduced,
            Shape::Struct | Shape::Wrapper | Shape::FieldsV1 | Shape::Unknown => {
                Repr::Message(message, atomic)
            }
        })
    }

    /// The type of a built-in field.
    fn of_field(field: &'static Field) -> TypeRef<'static> {
        match field.cardinality {
            Cardinality::One => TypeRef::element_of(field, field.info.map_type),
            Cardinality::List | Cardinality::Map => TypeRef(Repr::Container(field)),
        }
    }

    /// The type of one value of a built-in field.
    fn element_of(field: &'static Field, map_type: &str) -> TypeRef<'static> {
        match field.ty {
            Type::String | Type::Bytes => TypeRef(Repr::Scalar(Scalar::String)),
            Type::Bool => TypeRef(Repr::Scalar(Scalar::Boolean)),
            Type::Int32 | Type::Int64 | Type::Double => TypeRef(Repr::Scalar(Scalar::Numeric)),
            Type::Any => TypeRef::DEDUCED,
            Type::Message(message) => TypeRef::of_message(message, map_type),
        }
    }
}

impl<'s> TypeRef<'s> {
    /// The form in which to use `value`: its own if the type allows that, otherwise the map, scalar or list
    /// that the type allows, for which `value` then is invalid.
    pub fn kind(self, value: Option<&Value>) -> Kind<'s> {
        let form = match value {
            None | Some(Value::Null) => None,
            Some(Value::Array(_)) => self.list().map(Kind::List),
            Some(Value::Object(_)) => self.map().map(Kind::Map),
            Some(_) => self.scalar().map(Kind::Scalar),
        };
        form.or_else(|| self.map().map(Kind::Map))
            .or_else(|| self.scalar().map(Kind::Scalar))
            .or_else(|| self.list().map(Kind::List))
            .unwrap_or(Kind::Undeclared)
    }

    fn is_deduced(self) -> bool {
        match self.0 {
            Repr::Deduced => true,
            Repr::Custom(node) => node.scalar == Some(Scalar::Untyped),
            _ => false,
        }
    }

    /// The scalar type; `None` if the type cannot be a scalar.
    pub fn scalar(self) -> Option<Scalar> {
        match self.0 {
            Repr::Scalar(scalar) => Some(scalar),
            Repr::Untyped | Repr::Deduced => Some(Scalar::Untyped),
            Repr::Custom(node) => node.scalar,
            Repr::Undeclared | Repr::Message(..) | Repr::Container(_) => None,
        }
    }

    /// The type as a list type, if it can be a list.
    pub fn list(self) -> Option<List<'s>> {
        match self.0 {
            Repr::Untyped | Repr::Deduced => Some(List { items: Items::Atomic, element: TypeRef::UNTYPED }),
            Repr::Container(field) if field.cardinality == Cardinality::List => Some(list_of(field)),
            Repr::Message(message, _) if message.shape == Shape::Wrapper => {
                message.fields.first().map(list_of)
            }
            Repr::Custom(node) => node.list.as_deref().map(openapi::ListNode::list),
            _ => None,
        }
    }

    /// The type as a map type, if it can be a map.
    pub fn map(self) -> Option<Map<'s>> {
        let none = |element, atomic| Map { atomic, fields: Fields::None(element) };
        match self.0 {
            Repr::Untyped => Some(none(TypeRef::UNTYPED, true)),
            Repr::Deduced => Some(none(TypeRef::DEDUCED, false)),
            Repr::Container(field) if field.cardinality == Cardinality::Map => {
                Some(none(TypeRef::element_of(field, ""), field.info.map_type == "atomic"))
            }
            Repr::Message(message, _) if message.shape == Shape::Wrapper => None,
            Repr::Message(message, is_atomic) => Some(Map {
                atomic: is_atomic.unwrap_or(message.info.map_type == "atomic"),
                fields: Fields::Builtin(message),
            }),
            Repr::Custom(node) => node.map.as_deref().map(openapi::MapNode::map),
            Repr::Undeclared | Repr::Scalar(_) | Repr::Container(_) => None,
        }
    }
}

/// The list type of a field. Types older than `x-kubernetes-list-type` express it by their patch strategy.
fn list_of(field: &'static Field) -> List<'static> {
    let info = field.info;
    let merges = matches!(info.patch_strategy, "merge" | "merge,retainKeys");
    let items = match (info.list_type, info.patch_merge_key) {
        ("map", _) => Items::Map(Keys::Builtin(info.list_map_keys)),
        ("set", _) => Items::Set,
        ("", "") if merges => Items::Set,
        ("", _) if merges => Items::Map(Keys::Builtin(std::slice::from_ref(&info.patch_merge_key))),
        _ => Items::Atomic,
    };
    List { items, element: TypeRef::element_of(field, "") }
}

impl<'s> Keys<'s> {
    /// The name at an index, in the order of the schema.
    pub fn get(self, at: usize) -> Option<&'s str> {
        match self {
            Keys::Builtin(names) => names.get(at).copied(),
            Keys::Custom(names) => names.get(at).map(String::as_str),
        }
    }

    /// The names in the order of the schema.
    pub fn iter(self) -> impl Iterator<Item = &'s str> {
        (0..).map_while(move |at| self.get(at))
    }
}

impl<'s> Map<'s> {
    /// The type of a declared field; `None` for other members.
    pub fn field(&self, name: &str) -> Option<TypeRef<'s>> {
        match self.fields {
            Fields::None(_) => None,
            Fields::Builtin(message) => match message.member(name) {
                Some(field) => Some(TypeRef::of_field(field)),
                None => is_type_meta(message, name).then_some(TypeRef(Repr::Scalar(Scalar::String))),
            },
            Fields::Custom(map) => map.field(name).map(openapi::FieldNode::type_ref),
        }
    }

    /// The type of members that are not declared fields; `None` if not allowed.
    pub fn element(&self) -> Option<TypeRef<'s>> {
        match self.fields {
            Fields::None(element) => Some(element),
            Fields::Builtin(message) => (message.fields.is_empty() && !message.type_meta
                || message.shape == Shape::FieldsV1)
                .then_some(TypeRef::DEDUCED),
            Fields::Custom(map) => map.element.as_ref().map(openapi::Node::type_ref),
        }
    }

    /// The type of a member, and true if it is a declared field.
    pub fn member(&self, name: &str) -> (TypeRef<'s>, bool) {
        match self.field(name) {
            Some(field) => (field, true),
            None => (self.element().unwrap_or(TypeRef::UNDECLARED), false),
        }
    }

    /// True if no field is declared and members may have any value, so that the type contains no information.
    pub fn is_deduced(&self) -> bool {
        let declares_none = match self.fields {
            Fields::None(_) | Fields::Builtin(_) => true,
            Fields::Custom(map) => map.declares_no_fields(),
        };
        // A built-in type with declared fields has no type for other members.
        declares_none && self.element().is_some_and(TypeRef::is_deduced)
    }

    pub(crate) fn default_of(&self, name: &str) -> Option<Value> {
        match self.fields {
            Fields::None(_) => None,
            Fields::Builtin(message) => {
                let text = message.member(name)?.info.default;
                // The tables contain JSON; an empty text means no default.
                serde_json::from_str(text).ok()
            }
            Fields::Custom(map) => map.field(name)?.default.clone(),
        }
    }
}

impl<'s> Members<'s> {
    pub(super) fn of(map: &Map<'s>) -> Self {
        let rest = match map.fields {
            Fields::Builtin(message) => message.members,
            Fields::None(_) | Fields::Custom(_) => &[],
        };
        Members { map: *map, rest }
    }

    /// Like [`Map::field`]; `name` must be greater than all names before.
    #[inline]
    pub(super) fn field(&mut self, name: &str) -> Option<TypeRef<'s>> {
        // An object usually has most members of its type, so this takes few and cheap steps.
        match self.rest.iter().position(|member| member.name == name) {
            Some(at) => {
                let (_, element) = self.rest.split_at_checked(at)?;
                let (member, rest) = element.split_first()?;
                self.rest = rest;
                Some(TypeRef::of_field(member.field))
            }
            None => self.map.field(name),
        }
    }

    /// Like [`Map::member`]; `name` must be greater than all names before.
    #[inline]
    pub(super) fn member(&mut self, name: &str) -> (TypeRef<'s>, bool) {
        match self.field(name) {
            Some(field) => (field, true),
            None => (self.map.element().unwrap_or(TypeRef::UNDECLARED), false),
        }
    }
}

/// True if `name` is a member of the type's TypeMeta.
fn is_type_meta(message: &Message, name: &str) -> bool {
    message.type_meta && matches!(name, "kind" | "apiVersion")
}

#[cfg(test)]
mod tests;
