//! A step of a path into an object: a field, or a list element given by its keys, its value or its index.
//! Order, equality and text are those of structured-merge-diff, because all three are visible on the wire.

use std::cmp::Ordering;
use std::fmt::{self, Display, Write};

use apimachinery::go_quote::quote;
use compact_str::CompactString;
use jsontree::{Number, Object, Value};

/// A step of a path. Steps of different kinds are sorted in the order of the variants.
#[derive(Debug, Clone)]
pub enum PathElement {
    /// A field of a struct, or a key of a map.
    Field(CompactString),
    /// The element of a list of maps (`listType=map`) with these key fields, sorted by name.
    Key(Vec<(CompactString, Value)>),
    /// The element of a list of scalars (`listType=set`) with this value.
    Value(Value),
    /// The element of an atomic list at this index.
    Index(i64),
}

impl PathElement {
    /// The step into the field `name`.
    pub fn field(name: &str) -> Self {
        PathElement::Field(CompactString::new(name))
    }

    /// The step to the list element with these keys, in any order.
    pub fn key(mut fields: Vec<(CompactString, Value)>) -> Self {
        // The sort is stable, as in upstream: the first of duplicate names stays first.
        fields.sort_by(|a, b| a.0.cmp(&b.0));
        PathElement::Key(fields)
    }

    pub(crate) fn as_field(&self) -> Option<&str> {
        match self {
            PathElement::Field(name) => Some(name),
            _ => None,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            PathElement::Field(_) => 0,
            PathElement::Key(_) => 1,
            PathElement::Value(_) => 2,
            PathElement::Index(_) => 3,
        }
    }
}

impl Ord for PathElement {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        use PathElement::{Field, Index, Key, Value};
        match (self, other) {
            (Field(a), Field(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Key(a), Key(b)) => compare_keys(a, b),
            (Value(a), Value(b)) => compare_values(a, b),
            (Index(a), Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for PathElement {}

/// `.name`, `[key="x",port=80]`, `[="x"]`, `[0]`.
impl Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathElement::Field(name) => write!(f, ".{name}"),
            PathElement::Key(fields) => {
                f.write_char('[')?;
                for (index, (name, value)) in fields.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    write!(f, "{comma}{name}={}", Readable(value))?;
                }
                f.write_char(']')
            }
            PathElement::Value(value) => write!(f, "[={}]", Readable(value)),
            PathElement::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// A path as printed by upstream: `.spec.containers[name="web"].image`.
pub struct PathText<'a>(pub &'a [PathElement]);

impl Display for PathText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|element| element.fmt(f))
    }
}

/// A value as printed by upstream for people: strings quoted, lists in brackets, map members concatenated.
pub struct Readable<'a>(pub &'a Value);

impl Display for Readable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Null => f.write_str("null"),
            Value::Raw(text) => f.write_str(text),
            Value::Bool(value) => value.fmt(f),
            Value::Number(number) => match Num::of(number) {
                Num::Int(value) => value.fmt(f),
                Num::Float(value) => write_float(value, f),
            },
            Value::String(text) => f.write_str(&quote(text)),
            Value::Array(items) => {
                f.write_char('[')?;
                for (index, item) in items.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    write!(f, "{comma}{}", Readable(item))?;
                }
                f.write_char(']')
            }
            Value::Object(members) => {
                members.iter().try_for_each(|(name, value)| write!(f, "{name}={}", Readable(value)))
            }
        }
    }
}

/// Go's `%v` of a double: with an exponent of at least two digits below 10⁻⁴ and from 10⁶ on.
fn write_float(value: f64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    match exponent {
        -4..6 => write!(f, "{value}"),
        _ => write!(f, "{mantissa}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs()),
    }
}

/// A number as in Go: an `i64` if it is an integer in range, otherwise a double.
#[derive(Clone, Copy)]
enum Num {
    Int(i64),
    Float(f64),
}

impl Num {
    fn of(number: &Number) -> Self {
        match number.as_i64() {
            Some(value) => Num::Int(value),
            None => Num::Float(number.as_f64().unwrap_or(0.0)),
        }
    }

    fn float(self) -> f64 {
        match self {
            Num::Int(value) => value as f64,
            Num::Float(value) => value,
        }
    }
}

fn compare_numbers(a: &Number, b: &Number) -> Ordering {
    match (Num::of(a), Num::of(b)) {
        (Num::Int(a), Num::Int(b)) => a.cmp(&b),
        (a, b) => a.float().partial_cmp(&b.float()).unwrap_or(Ordering::Equal),
    }
}

/// The total order of values: numbers by size (an integer equals the double of the same size), then strings,
/// booleans, lists, maps, null.
pub fn compare_values(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::String(a), Value::String(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Value::Number(a), Value::Number(b)) => compare_numbers(a, b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => compare_lists(a, b),
        (Value::Object(a), Value::Object(b)) => compare_maps(a, b),
        (Value::Raw(a), Value::Raw(b)) => a.cmp(b),
        _ => value_rank(a).cmp(&value_rank(b)),
    }
}

/// True if two values are equal, including integers and doubles of the same size.
pub fn values_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| values_equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().zip(b).all(|((a_name, a), (b_name, b))| a_name == b_name && values_equal(a, b))
        }
        (Value::Number(a), Value::Number(b)) => compare_numbers(a, b).is_eq(),
        _ => a == b,
    }
}

fn value_rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
        Value::Raw(_) => 6,
    }
}

fn compare_lists(a: &[Value], b: &[Value]) -> Ordering {
    let unequal = a.iter().zip(b).map(|(a, b)| compare_values(a, b)).find(|order| order.is_ne());
    unequal.unwrap_or_else(|| a.len().cmp(&b.len()))
}

/// Compares maps member by member: by name, then by value, then by length.
fn compare_maps(a: &Object, b: &Object) -> Ordering {
    let order = |((a_name, a), (b_name, b)): ((&jsontree::Key, &Value), (&jsontree::Key, &Value))| {
        a_name.as_bytes().cmp(b_name.as_bytes()).then_with(|| compare_values(a, b))
    };
    let unequal = a.iter().zip(b).map(order).find(|order| order.is_ne());
    unequal.unwrap_or_else(|| a.len().cmp(&b.len()))
}

fn compare_keys(a: &[(CompactString, Value)], b: &[(CompactString, Value)]) -> Ordering {
    let unequal = a
        .iter()
        .zip(b)
        .map(|(a, b)| a.0.as_bytes().cmp(b.0.as_bytes()).then_with(|| compare_values(&a.1, &b.1)))
        .find(|order| order.is_ne());
    unequal.unwrap_or_else(|| a.len().cmp(&b.len()))
}
