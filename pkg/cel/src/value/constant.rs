//! Constants of a plan: literals and values computed by the planner.

use super::{List, Map, Timestamp, Value};
use crate::value::map::key_order;

/// A value computed at planning time.
#[derive(Clone, Debug)]
pub enum Constant {
    /// `null`.
    Null,
    /// A boolean.
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    Uint(u64),
    /// A double.
    Double(f64),
    /// A string.
    String(Box<str>),
    /// Bytes.
    Bytes(Box<[u8]>),
    /// A duration in nanoseconds.
    Duration(i64),
    /// A point in time.
    Timestamp(Timestamp),
    /// A type, by its name.
    Type(Box<str>),
    /// A list of constants.
    List(ConstantList),
    /// A map of constants.
    Map(Box<ConstantMap>),
    /// Error of evaluating a literal.
    Error(Box<str>),
}

/// Elements of a list.
#[derive(Clone, Debug)]
pub struct ConstantList(pub(crate) Box<[Constant]>);

/// Entries in key order, with unique keys.
#[derive(Clone, Debug, Default)]
pub struct ConstantMap(Box<[(Constant, Constant)]>);

impl ConstantMap {
    /// Creates a map; of entries with the same key the later one wins.
    pub fn new(mut entries: Vec<(Constant, Constant)>) -> Self {
        entries.reverse();
        entries.sort_by(|(a, _), (b, _)| key_order(a.value(), b.value()));
        entries.dedup_by(|(a, _), (b, _)| key_order(a.value(), b.value()).is_eq());
        Self(entries.into())
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the entry at an index.
    pub fn entry(&self, place: usize) -> Option<(Value<'_>, Value<'_>)> {
        self.0.get(place).map(|(key, value)| (key.value(), value.value()))
    }

    /// Returns true if exactly this key exists.
    pub(crate) fn has(&self, key: Value<'_>) -> bool {
        self.get(key).is_some()
    }

    /// Returns the value at exactly this key.
    pub(crate) fn get(&self, key: Value<'_>) -> Option<Value<'_>> {
        let place = self.0.binary_search_by(|(k, _)| key_order(k.value(), key)).ok()?;
        Some(self.0[place].1.value())
    }
}

impl Constant {
    /// Returns the constant as a value.
    pub fn value(&self) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Int(value) => Value::Int(*value),
            Self::Uint(value) => Value::Uint(*value),
            Self::Double(value) => Value::Double(*value),
            Self::String(text) => Value::String(text),
            Self::Bytes(bytes) => Value::Bytes(bytes),
            Self::Duration(nanos) => Value::Duration(*nanos),
            Self::Timestamp(time) => Value::Timestamp(*time),
            Self::Type(name) => Value::Type(name),
            Self::List(items) => Value::List(List::Constants(items)),
            Self::Map(map) => Value::Map(Map::Constants(map)),
            Self::Error(text) => Value::Error(text),
        }
    }

    /// Copies a value; `None` for values that no literal has.
    pub fn of(value: Value<'_>) -> Option<Self> {
        Some(match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(value),
            Value::Int(value) => Self::Int(value),
            Value::Uint(value) => Self::Uint(value),
            Value::Double(value) => Self::Double(value),
            Value::String(text) => Self::String(text.into()),
            Value::Bytes(bytes) => Self::Bytes(bytes.into()),
            Value::Duration(nanos) => Self::Duration(nanos),
            Value::Timestamp(time) => Self::Timestamp(time),
            Value::Type(name) => Self::Type(name.into()),
            Value::Error(text) => Self::Error(text.into()),
            Value::List(list) => Self::List(ConstantList(list.iter().map(Self::of).collect::<Option<_>>()?)),
            Value::Map(map) => {
                let entries = map.iter().map(|(k, v)| Some((Self::of(k)?, Self::of(v)?)));
                Self::Map(Box::new(ConstantMap::new(entries.collect::<Option<_>>()?)))
            }
            Value::Optional(_) | Value::Opaque(_) | Value::Preserved(_) => return None,
        })
    }

    /// Returns the approximate heap size in bytes.
    pub(crate) fn heap(&self) -> usize {
        match self {
            Self::String(text) | Self::Type(text) | Self::Error(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
            Self::List(list) => list.0.iter().map(|item| size_of::<Self>() + item.heap()).sum(),
            Self::Map(map) => map.0.iter().map(|(k, v)| 2 * size_of::<Self>() + k.heap() + v.heap()).sum(),
            _ => 0,
        }
    }
}
