//! Data under a structural schema: values of members and elements, and list comparison and merging.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jsontree::{Object as JsonMap, Value as Json};

use super::{List, Map, TypedList, TypedMap, Value, display, go_type, times};
use crate::arena::{Abort, Arena};
use crate::escaping::{escape, unescape};
use crate::step_budget::StepBudget;

/// The parts of a structural schema that matter for expressions.
#[derive(Clone, Debug, Default)]
pub struct TypedSchema {
    shape: Shape,
    nullable: bool,
    /// Comparison and merging of a list.
    pub list: ListKind,
}

/// A schema in an evaluation, with the arena for values that need memory (decoded bytes, error texts).
#[derive(Clone, Copy, Debug)]
pub struct Typed<'a> {
    pub(crate) schema: &'a TypedSchema,
    pub(crate) arena: &'a Arena,
}

#[derive(Clone, Debug, Default)]
enum Shape {
    /// No type.
    #[default]
    None,
    /// An unknown type, by name.
    Other(Box<str>),
    IntOrString,
    Preserved,
    Object(BTreeMap<Box<str>, Arc<TypedSchema>>),
    Map(Arc<TypedSchema>),
    Opaque,
    List(Option<Arc<TypedSchema>>),
    String,
    Formatted(Format),
    Number,
    Integer,
    Boolean,
}

#[derive(Clone, Copy, Debug)]
enum Format {
    Duration,
    Date,
    DateTime,
    Byte,
}

/// Comparison and merging of a list.
#[derive(Clone, Debug, Default)]
pub enum ListKind {
    /// As a whole, element by element.
    #[default]
    Atomic,
    /// As a set of scalars.
    Set,
    /// By the values of these members of its elements.
    Map(Box<[Box<str>]>),
}

impl TypedSchema {
    /// Converts a JSON schema. `root` adds the common object members: kind, version, name.
    pub fn new(schema: &Json, root: bool) -> Self {
        let embedded = is_true(schema, "x-kubernetes-embedded-resource");
        Self {
            shape: Shape::new(schema, root || embedded),
            nullable: is_true(schema, "nullable"),
            list: list_kind(schema),
        }
    }

    /// Returns the schema of a list's elements.
    pub(crate) fn items(&self) -> Option<&Arc<Self>> {
        match &self.shape {
            Shape::List(items) => items.as_ref(),
            _ => None,
        }
    }

    /// Returns the schema of a member of an object or a map.
    pub(crate) fn member(&self, name: &str) -> Option<&Arc<Self>> {
        match &self.shape {
            Shape::Object(properties) => properties.get(name),
            Shape::Map(values) => Some(values),
            _ => None,
        }
    }

    /// Returns true if members of this name have a schema.
    pub(crate) fn has_member(&self, name: &str) -> bool {
        self.member(name).is_some()
    }

    /// Returns the indices of a list's elements by key, the last one of equal keys.
    pub(crate) fn index(&self, list: List<'_>, work: &StepBudget) -> Result<Index, Abort> {
        let mut index = Index::default();
        let merged = matches!(list, List::Merged(_));
        for (place, item) in list.iter().enumerate() {
            work.spend(1)?;
            match self.key(item, merged) {
                Ok(Some(key)) => {
                    work.spend_key(Some(&key))?;
                    index.places.insert(key, place);
                }
                Ok(None) => index.unequal += 1,
                Err(error) => index.error = index.error.or(Some(error)),
            }
        }
        Ok(index)
    }

    /// Returns the key of an element in a set or map list; `None` if it equals nothing, not even itself. `merged` is
    /// true if the list is a result of `+`.
    ///
    /// # Errors
    /// The element cannot be in a set.
    pub(crate) fn key(&self, value: Value<'_>, merged: bool) -> Result<Option<String>, NotScalarError> {
        let ListKind::Map(keys) = &self.list else { return set_key(value) };
        if merged {
            return Ok(keys.iter().map(|key| member_key(value, key)).collect());
        }
        Ok(match value {
            Value::Map(Map::Typed(map)) => Some(members(keys, map.fields)),
            Value::Map(Map::Tree(fields)) => Some(members(keys, fields)),
            _ => None,
        })
    }
}

/// Elements of a set or map list by key.
#[derive(Default)]
pub(crate) struct Index {
    pub(crate) places: HashMap<String, usize>,
    /// Number of elements that equal nothing.
    unequal: usize,
    /// Error of an element that cannot be in a set.
    pub(crate) error: Option<NotScalarError>,
}

/// A list or a map that cannot be in a set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NotScalarError;

impl<'a> From<NotScalarError> for Value<'a> {
    fn from(_: NotScalarError) -> Self {
        Value::Error("listSet operations are only supported on lists of scalar values")
    }
}

impl Index {
    /// Returns the number of different elements.
    pub(crate) fn len(&self) -> usize {
        self.places.len().saturating_add(self.unequal)
    }
}

/// Returns the key of a set's element: Go's value and its type.
fn set_key(value: Value<'_>) -> Result<Option<String>, NotScalarError> {
    match value {
        Value::List(_) | Value::Map(_) => Err(NotScalarError),
        value => Ok(scalar_key(value)),
    }
}

/// Returns the key of a scalar; `None` for a value that equals nothing. Values of different types differ.
fn scalar_key(value: Value<'_>) -> Option<String> {
    Some(match value {
        Value::Error(_) => return None,
        Value::Double(double) if double.is_nan() => return None,
        // Both zeros are equal.
        Value::Double(double) => format!("double {:?}", double + 0.0),
        // Go compares the pointers of time zones with an offset, and each value has its own.
        Value::Timestamp(time) if time.offset != 0 => return None,
        Value::Timestamp(time) => format!("time {}.{}", time.seconds, time.nanos),
        Value::String(text) => ["string ", text].concat(),
        Value::Bytes(bytes) => format!("bytes {bytes:?}"),
        value => format!("{} {}", go_type(value), display::text(value)),
    })
}

/// Returns the key of a key member in an element of a merged list. An absent member has a key of its own.
fn member_key(element: Value<'_>, name: &str) -> Option<String> {
    let escaped = escape(name);
    let name = escaped.as_deref().unwrap_or(name);
    let found = match element {
        Value::Map(map) => map.field(name),
        _ => None,
    };
    match found {
        None | Some(Value::Error(_)) => Some("absent;".to_owned()),
        Some(Value::List(_) | Value::Map(_)) => {
            Some(format!("{};", found.map(display::text).unwrap_or_default()))
        }
        Some(value) => scalar_key(value).map(|key| format!("{key:?};")),
    }
}

impl<'a> Typed<'a> {
    /// Returns data under this schema as a value.
    pub fn value(self, data: &'a Json) -> Value<'a> {
        let schema = self.schema;
        match (&schema.shape, data) {
            (_, Json::Null) if schema.nullable => Value::Null,
            (_, Json::Null) => Value::Error("invalid data, got null for schema with nullable=false"),
            (Shape::IntOrString, Json::String(text)) => Value::String(text),
            (Shape::IntOrString, Json::Number(number)) if number.is_i64() => Value::tree(data),
            (Shape::IntOrString, _) => {
                Value::Error("invalid data, expected XIntOrString value to be either a string or integer")
            }
            (Shape::Object(_) | Shape::Map(_) | Shape::Opaque, _) => self.object(data),
            (Shape::List(_), _) => self.list(data),
            (Shape::String, Json::String(text)) => Value::String(text),
            (Shape::Formatted(format), Json::String(text)) => self.formatted(*format, text),
            (Shape::String | Shape::Formatted(_), _) => self.expected("string", data),
            (Shape::Number, Json::Number(number)) => Value::Double(number.as_f64().unwrap_or(f64::NAN)),
            (Shape::Number, _) => self.expected("float", data),
            (Shape::Integer, Json::Number(number)) if number.is_i64() => Value::tree(data),
            (Shape::Integer, _) => self.expected("int", data),
            (Shape::Boolean, Json::Bool(value)) => Value::Bool(*value),
            (Shape::Boolean, _) => self.expected("bool", data),
            (Shape::Preserved, _) => Value::Preserved(data),
            (Shape::None, _) => self.error(format_args!("{NO_TYPE}")),
            (Shape::Other(name), _) => self.error(format_args!("{NO_TYPE}{name}")),
        }
    }

    fn object(self, data: &'a Json) -> Value<'a> {
        let Json::Object(fields) = data else {
            return Value::Error("invalid data, expected a map for the provided schema with type=object");
        };
        let map = self.arena.alloc(TypedMap { fields, typed: self });
        map.map_or(Value::Error(OUT_OF_MEMORY), |map| Value::Map(Map::Typed(map)))
    }

    fn list(self, data: &'a Json) -> Value<'a> {
        let Json::Array(items) = data else {
            return Value::Error("invalid data, expected an array for the provided schema with type=array");
        };
        if self.schema.items().is_none() {
            return Value::Error(NO_ITEMS);
        }
        let list = self.arena.alloc(TypedList { items, typed: self });
        list.map_or(Value::Error(OUT_OF_MEMORY), |list| Value::List(List::Typed(list)))
    }

    fn formatted(self, format: Format, text: &'a str) -> Value<'a> {
        let invalid =
            |noun: &str, problem: &dyn Display| self.error(format_args!("Invalid {noun} {text}: {problem}"));
        match format {
            Format::Duration => match times::duration(text) {
                Ok(nanos) => Value::Duration(nanos),
                Err(problem) => invalid("duration", &problem),
            },
            Format::Date => match times::date(text) {
                Ok(at) => Value::Timestamp(at),
                Err(problem) => invalid("date formatted string", &problem),
            },
            Format::DateTime => match times::date_time(text) {
                Ok(at) => Value::Timestamp(at),
                Err(problem) => invalid("date-time formatted string", &problem),
            },
            Format::Byte => match STANDARD.decode(text) {
                Ok(bytes) => self.arena.bytes(&bytes).unwrap_or(Value::Error(OUT_OF_MEMORY)),
                Err(_) => invalid("byte formatted string", &"illegal base64 data"),
            },
        }
    }

    fn error(self, text: std::fmt::Arguments<'_>) -> Value<'a> {
        self.arena.error(text).unwrap_or(Value::Error(OUT_OF_MEMORY))
    }

    /// Returns the error for data of another type than the schema's.
    fn expected(self, expected: &str, data: &Json) -> Value<'a> {
        let got = match data {
            Json::Null => "<nil>",
            Json::Bool(_) => "bool",
            Json::Number(number) if number.is_i64() => "int64",
            Json::Number(_) => "float64",
            Json::String(_) => "string",
            Json::Array(_) => "[]interface {}",
            Json::Object(_) | Json::Raw(_) => "map[string]interface {}",
        };
        self.error(format_args!("invalid data, expected {expected}, got {got}"))
    }

    fn with_schema(self, schema: &'a TypedSchema) -> Self {
        Self { schema, ..self }
    }

    /// Returns an element of the list as a value.
    pub(crate) fn item(self, data: &'a Json) -> Value<'a> {
        match &self.schema.shape {
            Shape::List(Some(items)) => self.with_schema(items).value(data),
            _ => Value::Error(NO_ITEMS),
        }
    }

    /// Returns a member by its name in expressions.
    pub(crate) fn field(self, fields: &'a JsonMap, name: &str) -> Option<Value<'a>> {
        if !matches!(self.schema.shape, Shape::Object(_)) {
            return Some(self.with_schema(self.schema.member(name)?).value(fields.get(name)?));
        }
        let name = unescape(name)?;
        // A null member counts as absent, nullable or not.
        let data = fields.get(&*name).filter(|data| !data.is_null())?;
        Some(self.with_schema(self.schema.member(&name)?).value(data))
    }

    /// The members that the schema declares, by their names in expressions.
    pub(crate) fn entries(self, fields: &'a JsonMap) -> impl Iterator<Item = (Value<'a>, Value<'a>)> {
        let object = matches!(self.schema.shape, Shape::Object(_));
        fields.iter().filter_map(move |(name, data)| {
            let member = self.schema.member(name)?;
            let key = match escape(name).filter(|_| object) {
                Some(escaped) => self.arena.string(&escaped).ok()?,
                None => Value::String(name),
            };
            Some((key, self.with_schema(member).value(data)))
        })
    }
}

const OUT_OF_MEMORY: &str = "operation cancelled: actual cost limit exceeded";

/// Returns the key of an element: the values of its key members. Upstream looks them up by escaped name, so a
/// key member whose name needs escaping counts as absent.
fn members(keys: &[Box<str>], fields: &JsonMap) -> String {
    let value = |key: &str| {
        let name = escape(key);
        fields.get(name.as_deref().unwrap_or(key)).cloned().unwrap_or(Json::Null)
    };
    Json::from_iter(keys.iter().map(|key| value(key))).to_string()
}

const NO_ITEMS: &str = "invalid array type, expected Items with a non-empty Schema";
const NO_TYPE: &str = "invalid type, expected object, array, number, integer, boolean or string, or no type with \
                       x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got ";

fn is_true(schema: &Json, name: &str) -> bool {
    schema.get(name) == Some(&Json::Bool(true))
}

fn list_kind(schema: &Json) -> ListKind {
    match schema.get("x-kubernetes-list-type").and_then(Json::as_str) {
        Some("set") => ListKind::Set,
        Some("map") => {
            let keys = schema.get("x-kubernetes-list-map-keys").and_then(Json::as_array);
            ListKind::Map(keys.into_iter().flatten().filter_map(Json::as_str).map(Into::into).collect())
        }
        _ => ListKind::Atomic,
    }
}

impl Shape {
    fn new(schema: &Json, resource: bool) -> Self {
        if is_true(schema, "x-kubernetes-int-or-string") {
            return Self::IntOrString;
        }
        let text = |name| schema.get(name).and_then(Json::as_str);
        match text("type") {
            Some("object") => Self::object(schema, resource),
            Some("array") => {
                Self::List(schema.get("items").map(|items| Arc::new(TypedSchema::new(items, false))))
            }
            Some("string") => match text("format") {
                Some("duration") => Self::Formatted(Format::Duration),
                Some("date") => Self::Formatted(Format::Date),
                Some("date-time") => Self::Formatted(Format::DateTime),
                Some("byte") => Self::Formatted(Format::Byte),
                _ => Self::String,
            },
            Some("number") => Self::Number,
            Some("integer") => Self::Integer,
            Some("boolean") => Self::Boolean,
            _ if is_true(schema, "x-kubernetes-preserve-unknown-fields") => Self::Preserved,
            Some(other) => Self::Other(other.into()),
            None => Self::None,
        }
    }

    fn object(schema: &Json, resource: bool) -> Self {
        let declared = schema.get("properties").and_then(Json::as_object);
        if declared.is_none() && !resource {
            return match schema.get("additionalProperties") {
                Some(values @ Json::Object(_)) => Self::Map(Arc::new(TypedSchema::new(values, false))),
                _ => Self::Opaque,
            };
        }
        let mut properties: BTreeMap<Box<str>, Arc<TypedSchema>> = declared
            .into_iter()
            .flatten()
            .map(|(name, property)| (name.as_str().into(), Arc::new(TypedSchema::new(property, false))))
            .collect();
        if resource && !has_type_meta(declared) {
            let string = || Arc::new(TypedSchema { shape: Shape::String, ..TypedSchema::default() });
            let meta = ["name", "generateName"].map(|name| (name.into(), string()));
            let meta = TypedSchema { shape: Shape::Object(meta.into()), ..TypedSchema::default() };
            properties.insert("kind".into(), string());
            properties.insert("apiVersion".into(), string());
            properties.insert("metadata".into(), Arc::new(meta));
        }
        Self::Object(properties)
    }
}

/// Returns true if a schema declares the common object members itself.
fn has_type_meta(properties: Option<&JsonMap>) -> bool {
    let Some(properties) = properties else { return false };
    let is = |properties: &JsonMap, name: &str, ty: &str| {
        properties.get(name).and_then(|property| property.get("type")).and_then(Json::as_str) == Some(ty)
    };
    let meta = properties.get("metadata").and_then(|meta| meta.get("properties")).and_then(Json::as_object);
    is(properties, "kind", "string")
        && is(properties, "apiVersion", "string")
        && is(properties, "metadata", "object")
        && meta.is_some_and(|meta| is(meta, "name", "string") && is(meta, "generateName", "string"))
}
