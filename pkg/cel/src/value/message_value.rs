//! Trees of built-in types, read in place. A tree omits Go's zero values, but an expression sees the members
//! of the object's JSON, which contains some of them ([`schema::json_write`] is authoritative).

use apimachinery::quantity::canonicalize;
use jsontree::{Object, Value as Json};
use schema::json_write::{is_nil, left_out};
use schema::table::{Cardinality, Field, Message, Shape, Type};

use super::map::key_order;
use super::{List, Map, Value};
use crate::arena::{Abort, Arena};

/// A struct or a map inside a tree.
#[derive(Clone, Copy, Debug)]
pub struct MessageMap<'a> {
    arena: &'a Arena,
    members: Members<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Members<'a> {
    /// `None`: an object with only zero members.
    Struct(&'static Message, Option<&'a Object>),
    Entries(&'static Field, &'a Object),
}

/// A list inside a tree.
#[derive(Clone, Copy, Debug)]
pub struct MessageList<'a> {
    arena: &'a Arena,
    field: &'static Field,
    items: &'a [Json],
}

/// Returns an object of a built-in type as a value. Strings that exist only in its JSON are allocated in the
/// arena.
pub fn message_value<'a>(message: &'static Message, object: &'a Object, arena: &'a Arena) -> Value<'a> {
    Reader { arena }.map(Members::Struct(message, Some(object)))
}

#[derive(Clone, Copy)]
struct Reader<'a> {
    arena: &'a Arena,
}

impl<'a> Reader<'a> {
    const OUT_OF_MEMORY: Value<'a> = Value::Error("operation cancelled: actual cost limit exceeded");
    const IRREGULAR: Value<'a> = Value::Error("the object does not have the shape of its type");

    fn map(self, members: Members<'a>) -> Value<'a> {
        let map = self.arena.alloc(MessageMap { arena: self.arena, members });
        map.map_or(Self::OUT_OF_MEMORY, |map| Value::Map(Map::Message(map)))
    }

    /// Returns the value of a field that is not omitted.
    fn field(self, field: &'static Field, value: Option<&'a Json>) -> Value<'a> {
        match (field.cardinality, value) {
            (Cardinality::One, value) if field.pointer && is_nil(field, value) => Value::Null,
            (Cardinality::One, value) => self.element(field, value.unwrap_or(&Json::Null)),
            (_, None | Some(Json::Null)) => Value::Null,
            (Cardinality::List, Some(Json::Array(items))) => {
                let list = self.arena.alloc(MessageList { arena: self.arena, field, items });
                list.map_or(Self::OUT_OF_MEMORY, |list| Value::List(List::Message(list)))
            }
            (Cardinality::Map, Some(Json::Object(entries))) => self.map(Members::Entries(field, entries)),
            _ => Self::IRREGULAR,
        }
    }

    /// Returns a value of a field's element type; `null` is its zero value.
    fn element(self, field: &'static Field, value: &'a Json) -> Value<'a> {
        match (field.ty, value) {
            (Type::Message(inner), value) => self.message(field, inner, value),
            (Type::String, Json::Null) => Value::String(""),
            (Type::Bool, Json::Null) => Value::Bool(false),
            (Type::Int32 | Type::Int64, Json::Null) => Value::Int(0),
            (Type::Double, Json::Null) => Value::Double(0.0),
            (Type::Double, Json::Number(number)) => Value::Double(number.as_f64().unwrap_or(f64::NAN)),
            (_, value) => Value::tree(value),
        }
    }

    fn message(self, field: &'static Field, inner: &'static Message, value: &'a Json) -> Value<'a> {
        match (inner.shape, value) {
            (Shape::Struct, Json::Object(members)) => self.map(Members::Struct(inner, Some(members))),
            (Shape::Struct, Json::Null) => self.map(Members::Struct(inner, None)),
            (Shape::Wrapper, value) => match inner.fields.first() {
                Some(items) => self.field(items, Some(value)),
                None => Value::Null,
            },
            (Shape::FieldsV1 | Shape::RawExtension | Shape::Json | Shape::Unknown, Json::String(text)) => {
                self.raw(text)
            }
            (Shape::Quantity, Json::Null) => Value::String("0"),
            (Shape::IntOrString, Json::Null) => Value::Int(0),
            (Shape::Duration, Json::Null) => Value::String("0s"),
            (Shape::SchemaOrBool, Json::Null) => Value::Bool(false),
            (Shape::Quantity, Json::String(text)) => match canonicalize(text) {
                Ok(canonical) if *canonical == **text => Value::String(text),
                Ok(canonical) => self.arena.string(&canonical).unwrap_or(Self::OUT_OF_MEMORY),
                Err(_) => Self::IRREGULAR,
            },
            (Shape::SchemaOrBool | Shape::SchemaOrArray | Shape::SchemaOrStringArray, value) => {
                self.schema_or(inner, value)
            }
            (Shape::IntOrString | Shape::Duration | Shape::Time | Shape::MicroTime, value) => {
                Value::tree(value)
            }
            _ if field.pointer => Value::Null,
            _ => Self::IRREGULAR,
        }
    }

    /// Returns a schema or its alternative.
    fn schema_or(self, inner: &'static Message, value: &'a Json) -> Value<'a> {
        let or_bool = inner.shape == Shape::SchemaOrBool;
        match (value, inner.fields.get(usize::from(or_bool)), inner.fields.get(usize::from(!or_bool))) {
            (Json::Array(items), ..) if items.is_empty() => Value::Null,
            (Json::Object(_), Some(schema), _) => self.element(schema, value),
            (Json::Array(_), _, Some(items)) if !or_bool => self.field(items, Some(value)),
            (value, ..) => Value::tree(value),
        }
    }

    /// Parses verbatim JSON, which the tree stores as text.
    fn raw(self, text: &str) -> Value<'a> {
        if text.is_empty() {
            return Value::Null;
        }
        match serde_json::from_str::<Json>(text) {
            Ok(json) => self.copied(&json).unwrap_or(Self::OUT_OF_MEMORY),
            Err(_) => Self::IRREGULAR,
        }
    }

    /// The JSON parser bounds the recursion.
    fn copied(self, json: &Json) -> Result<Value<'a>, Abort> {
        match json {
            Json::String(text) => self.arena.string(text),
            Json::Array(items) => {
                let mut values = self.arena.values(items.len())?;
                for item in items {
                    values.push(self.copied(item)?);
                }
                self.arena.filled(values.into_bump_slice())
            }
            Json::Object(members) => {
                let mut entries = Vec::with_capacity(members.len());
                for (name, value) in members {
                    entries.push((self.arena.string(name)?, self.copied(value)?));
                }
                self.arena.map(entries)
            }
            Json::Raw(_) => Ok(Value::TOO_DEEP),
            Json::Null => Ok(Value::Null),
            Json::Bool(value) => Ok(Value::Bool(*value)),
            Json::Number(number) => Ok(match number.as_i64() {
                Some(value) => Value::Int(value),
                None => Value::Double(number.as_f64().unwrap_or(f64::NAN)),
            }),
        }
    }
}

/// Returns `kind` or `apiVersion` as Go writes it.
fn head<'a>(message: &Message, object: Option<&'a Object>, name: &str) -> Option<Value<'a>> {
    let text = object?.get(name)?.as_str()?;
    (message.type_meta && !text.is_empty()).then_some(Value::String(text))
}

impl<'a> MessageMap<'a> {
    fn reader(&self) -> Reader<'a> {
        Reader { arena: self.arena }
    }

    /// Returns the value at a key.
    pub fn get(&self, name: &str) -> Option<Value<'a>> {
        match self.members {
            Members::Entries(field, entries) => {
                entries.get(name).map(|value| self.reader().element(field, value))
            }
            Members::Struct(message, object) => {
                let value = object.and_then(|object| object.get(name));
                match message.member(name) {
                    Some(field) if left_out(field, value) => None,
                    Some(field) => Some(self.reader().field(field, value)),
                    None if message.type_meta && matches!(name, "kind" | "apiVersion") => {
                        head(message, object, name)
                    }
                    None => value.filter(|_| message.open).map(Value::tree),
                }
            }
        }
    }

    /// Returns the number of members in the object's JSON; linear time for a struct.
    pub fn len(&self) -> usize {
        match self.members {
            Members::Entries(_, entries) => entries.len(),
            Members::Struct(..) => self.iter().count(),
        }
    }

    /// Returns true if the object's JSON has no members.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The members with their names, in order.
    pub fn iter(&self) -> Box<dyn Iterator<Item = (Value<'a>, Value<'a>)> + 'a> {
        let reader = self.reader();
        let (message, object) = match self.members {
            Members::Struct(message, object) => (message, object),
            Members::Entries(field, entries) => {
                let entry = move |(name, value): (&'a jsontree::Key, &'a Json)| {
                    (Value::String(name), reader.element(field, value))
                };
                return Box::new(entries.iter().map(entry));
            }
        };
        let written = message.members.iter().filter_map(move |member| {
            let value = object.and_then(|object| object.get(member.name));
            let written = !left_out(member.field, value);
            written.then(|| (Value::String(member.name), reader.field(member.field, value)))
        });
        if !message.type_meta && !message.open {
            return Box::new(written);
        }
        let heads = ["kind", "apiVersion"]
            .into_iter()
            .filter_map(|name| head(message, object, name).map(|value| (Value::String(name), value)));
        let others = object.into_iter().flatten().filter(|(name, _)| message.open && !message.names(name));
        let others = others.map(|(name, value)| (Value::String(name), Value::tree(value)));
        let mut all: Vec<_> = written.chain(heads).chain(others).collect();
        all.sort_by(|(a, _), (b, _)| key_order(*a, *b));
        Box::new(all.into_iter())
    }
}

impl<'a> MessageList<'a> {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns true if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns the element at an index.
    pub fn get(&self, place: usize) -> Option<Value<'a>> {
        let item = self.items.get(place)?;
        Some(Reader { arena: self.arena }.element(self.field, item))
    }
}
