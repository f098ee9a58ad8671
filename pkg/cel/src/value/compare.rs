//! Equality and order.

use std::cmp::Ordering;
use std::collections::HashSet;

use jsontree::Value as Json;

use super::{List, ListKind, Map, Opaque, TypedMap, TypedSchema, Value};
use crate::arena::Abort;
use crate::step_budget::StepBudget;

/// Computes `a == b` like cel-go: a boolean, or the error of a comparison under a schema. Values of different
/// types differ, numbers compare numerically, `NaN` equals nothing.
#[inline]
pub fn equal<'a>(a: Value<'a>, b: Value<'a>, work: &StepBudget) -> Result<Value<'a>, Abort> {
    if let (Value::String(a), Value::String(b)) = (a, b) {
        work.spend(1 + a.len().min(b.len()) as u64 / 64)?;
        return Ok(Value::Bool(a == b));
    }
    equal_by_type(a, b, work)
}

#[inline(never)]
fn equal_by_type<'a>(a: Value<'a>, b: Value<'a>, work: &StepBudget) -> Result<Value<'a>, Abort> {
    work.spend(1)?;
    Ok(match (a, b) {
        (Value::Error(_), _) => a,
        (Value::Null, Value::Null) => Value::Bool(true),
        (Value::Null, _) | (_, Value::Null) => Value::Bool(false),
        (Value::Bool(a), Value::Bool(b)) => Value::Bool(a == b),
        (Value::Bytes(a), Value::Bytes(b)) => {
            work.spend(a.len().min(b.len()) as u64 / 64)?;
            Value::Bool(a == b)
        }
        (Value::Duration(a), Value::Duration(b)) => Value::Bool(a == b),
        (Value::Timestamp(a), Value::Timestamp(b)) => {
            Value::Bool((a.seconds, a.nanos) == (b.seconds, b.nanos))
        }
        (Value::Type(a), Value::Type(b)) => Value::Bool(a == b),
        (Value::List(a), Value::List(b)) => work.run_nested(|| lists(a, b, work))?,
        (Value::Map(a), Value::Map(b)) => work.run_nested(|| maps(a, b, work))?,
        (Value::Optional(a), Value::Optional(b)) => match (a, b) {
            (Some(a), Some(b)) => work.run_nested(|| equal(*a, *b, work))?,
            (a, b) => Value::Bool(a.is_none() && b.is_none()),
        },
        (Value::Opaque(Opaque::Object { type_name, fields }), b) => match b {
            Value::Opaque(Opaque::Object { type_name: other, fields: others }) if type_name == other => {
                work.run_nested(|| objects(fields, others, work))?
            }
            _ => Value::Bool(false),
        },
        (Value::Opaque(a), Value::Opaque(b)) => a.equal(b),
        (Value::Opaque(_), _) => b.or_no_such_overload(),
        (Value::Preserved(a), b) => Value::Bool(same_data(a, b, work)?),
        // Lists and objects under a schema reject other types.
        (Value::List(List::Typed(..) | List::Merged(_)), _) | (Value::Map(Map::Typed(..)), _) => {
            b.or_no_such_overload()
        }
        (a, b) => Value::Bool(numbers(a, b).is_some_and(Ordering::is_eq)),
    })
}

/// Returns true if `equal` returns true.
pub(crate) fn is_equal<'a>(a: Value<'a>, b: Value<'a>, work: &StepBudget) -> Result<bool, Abort> {
    Ok(matches!(equal(a, b, work)?, Value::Bool(true)))
}

fn lists<'a>(a: List<'a>, b: List<'a>, work: &StepBudget) -> Result<Value<'a>, Abort> {
    if a.len() != b.len() {
        return Ok(Value::Bool(false));
    }
    let Some(schema) = a.schema() else {
        for (a, b) in a.iter().zip(b.iter()) {
            if matches!(equal(a, b, work)?, Value::Bool(false)) {
                return Ok(Value::Bool(false));
            }
        }
        return Ok(Value::Bool(true));
    };
    let schema = schema.schema;
    match &schema.list {
        ListKind::Atomic => {
            for (a, b) in a.iter().zip(b.iter()) {
                let result = equal(a, b, work)?;
                if !matches!(result, Value::Bool(true)) {
                    return Ok(result);
                }
            }
            Ok(Value::Bool(true))
        }
        ListKind::Set | ListKind::Map(_) => keyed_lists(schema, a, b, work),
    }
}

fn objects<'a>(
    a: &[(&'a str, Value<'a>)],
    b: &[(&'a str, Value<'a>)],
    work: &StepBudget,
) -> Result<Value<'a>, Abort> {
    if a.len() != b.len() {
        return Ok(Value::Bool(false));
    }
    for ((a_name, a), (b_name, b)) in a.iter().zip(b) {
        if a_name != b_name || !is_equal(*a, *b, work)? {
            return Ok(Value::Bool(false));
        }
    }
    Ok(Value::Bool(true))
}

/// Compares two sets or map lists of the same length in any order. Duplicates must not hide a missing element.
fn keyed_lists<'a>(
    schema: &'a TypedSchema,
    a: List<'a>,
    b: List<'a>,
    work: &StepBudget,
) -> Result<Value<'a>, Abort> {
    let index = schema.index(a, work)?;
    if let Some(error) = index.error {
        return Ok(error.into());
    }
    let is_merged = matches!(a, List::Merged(_));
    let mut seen = HashSet::new();
    for b in b.iter() {
        work.spend(1)?;
        let key = match schema.key(b, is_merged) {
            Ok(key) => key,
            Err(error) => return Ok(error.into()),
        };
        work.spend_key(key.as_deref())?;
        let Some(place) = key.and_then(|key| index.places.get(&key)) else {
            return Ok(Value::Bool(false));
        };
        if let (ListKind::Map(_), Some(a)) = (&schema.list, a.get(*place)) {
            let result = equal(a, b, work)?;
            if !matches!(result, Value::Bool(true)) {
                return Ok(result);
            }
        }
        seen.insert(*place);
    }
    Ok(Value::Bool(seen.len() == index.len()))
}

fn maps<'a>(a: Map<'a>, b: Map<'a>, work: &StepBudget) -> Result<Value<'a>, Abort> {
    if a.len() != b.len() {
        return Ok(Value::Bool(false));
    }
    if let Map::Typed(map) = a {
        return typed_objects(map, b, work);
    }
    for (key, value) in a.iter() {
        let Some(other) = b.find(key) else { return Ok(Value::Bool(false)) };
        if matches!(equal(value, other, work)?, Value::Bool(false)) {
            return Ok(Value::Bool(false));
        }
    }
    Ok(Value::Bool(true))
}

fn typed_objects<'a>(map: &TypedMap<'a>, other: Map<'a>, work: &StepBudget) -> Result<Value<'a>, Abort> {
    let TypedMap { fields, typed } = *map;
    for (key, data) in fields {
        if !typed.schema.has_member(key) {
            // For data without a schema only common members are compared.
            let Map::Typed(others) = other else { return Ok(Value::NO_SUCH_OVERLOAD) };
            work.spend(1)?;
            if others.fields.get(key).is_some_and(|other| data != other) {
                return Ok(Value::Bool(false));
            }
            continue;
        }
        match (typed.field(fields, key), other.field(key)) {
            (None, None) => {}
            (Some(value), Some(other)) => {
                let result = equal(value, other, work)?;
                if !matches!(result, Value::Bool(true)) {
                    return Ok(result);
                }
            }
            _ => return Ok(Value::Bool(false)),
        }
    }
    Ok(Value::Bool(true))
}

fn same_data<'a>(a: &'a Json, b: Value<'a>, work: &StepBudget) -> Result<bool, Abort> {
    match b {
        Value::Preserved(b) => Ok(a == b),
        b => is_equal(Value::tree(a), b, work),
    }
}

fn of_double(a: f64, b: f64) -> Option<Ordering> {
    a.partial_cmp(&b)
}

/// Compares two numbers; `None` if one is not a number or `NaN`.
fn numbers(a: Value<'_>, b: Value<'_>) -> Option<Ordering> {
    Some(match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(&b),
        (Value::Uint(a), Value::Uint(b)) => a.cmp(&b),
        (Value::Double(a), Value::Double(b)) => return of_double(a, b),
        (Value::Int(a), Value::Uint(b)) => i128::from(a).cmp(&i128::from(b)),
        (Value::Uint(a), Value::Int(b)) => i128::from(a).cmp(&i128::from(b)),
        (Value::Double(a), Value::Int(b)) => return double_int(a, b),
        (Value::Int(a), Value::Double(b)) => return double_int(b, a).map(Ordering::reverse),
        (Value::Double(a), Value::Uint(b)) => return double_uint(a, b),
        (Value::Uint(a), Value::Double(b)) => return double_uint(b, a).map(Ordering::reverse),
        _ => return None,
    })
}

fn double_int(a: f64, b: i64) -> Option<Ordering> {
    if a < i64::MIN as f64 {
        Some(Ordering::Less)
    } else if a > i64::MAX as f64 {
        Some(Ordering::Greater)
    } else {
        of_double(a, b as f64)
    }
}

fn double_uint(a: f64, b: u64) -> Option<Ordering> {
    if a < 0.0 {
        Some(Ordering::Less)
    } else if a > u64::MAX as f64 {
        Some(Ordering::Greater)
    } else {
        of_double(a, b as f64)
    }
}

/// Compares two values, or returns the error if they are not comparable.
pub fn compare<'a>(a: Value<'a>, b: Value<'a>) -> Result<Ordering, Value<'a>> {
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => Ok(a.cmp(&b)),
        (Value::String(a), Value::String(b)) => Ok(a.cmp(b)),
        (Value::Bytes(a), Value::Bytes(b)) => Ok(a.cmp(b)),
        (Value::Duration(a), Value::Duration(b)) => Ok(a.cmp(&b)),
        (Value::Timestamp(a), Value::Timestamp(b)) => Ok((a.seconds, a.nanos).cmp(&(b.seconds, b.nanos))),
        _ if is_number(a) && is_number(b) => {
            numbers(a, b).ok_or(Value::Error("NaN values cannot be ordered"))
        }
        _ => Err(b.or_no_such_overload()),
    }
}

fn is_number(value: Value<'_>) -> bool {
    matches!(value, Value::Int(_) | Value::Uint(_) | Value::Double(_))
}
