//! Conversions between types: `int(x)`, `string(x)` …

use super::{Timestamp, Value};
use crate::arena::{Arena, Outcome};
use crate::ext::time::{self, MAX_SECONDS, MIN_SECONDS, TimestampError};

/// Converts a value to a type by its name, with cel-go's errors.
pub fn convert<'a>(value: Value<'a>, target: &'static str, arena: &'a Arena) -> Outcome<'a> {
    if value.is_error() || target != "type" && value.type_name() == target {
        return Ok(value);
    }
    let converted = match target {
        "type" => Some(Value::Type(value.type_name())),
        "int" => to_int(value),
        "uint" => to_uint(value),
        "double" => to_double(value),
        "bool" => to_bool(value),
        "string" => return to_string(value, arena),
        "bytes" => match value {
            Value::String(text) => Some(Value::Bytes(text.as_bytes())),
            _ => None,
        },
        "google.protobuf.Duration" => match value {
            Value::String(text) => apimachinery::time::parse_duration(text).ok().map(Value::Duration),
            _ => None,
        },
        "google.protobuf.Timestamp" => to_timestamp(value),
        _ => None,
    };
    match converted {
        Some(value) => Ok(value),
        None => mismatch(value, target, arena),
    }
}

fn mismatch<'a>(value: Value<'a>, target: &str, arena: &'a Arena) -> Outcome<'a> {
    arena.error(format_args!("type conversion error from '{}' to '{target}'", value.type_name()))
}

const INT_OVERFLOW: &str = "integer overflow";
const UINT_OVERFLOW: &str = "unsigned integer overflow";

fn to_int(value: Value<'_>) -> Option<Value<'_>> {
    Some(match value {
        Value::Uint(uint) => i64::try_from(uint).map_or(Value::Error(INT_OVERFLOW), Value::Int),
        Value::Double(double) => double_to_int(double).map_or(Value::Error(INT_OVERFLOW), Value::Int),
        Value::String(text) => Value::Int(text.parse().ok()?),
        Value::Duration(nanos) => Value::Int(nanos),
        Value::Timestamp(time) => Value::Int(time.seconds),
        _ => return None,
    })
}

fn to_uint(value: Value<'_>) -> Option<Value<'_>> {
    Some(match value {
        Value::Int(int) => u64::try_from(int).map_or(Value::Error(UINT_OVERFLOW), Value::Uint),
        Value::Double(double) => double_to_uint(double).map_or(Value::Error(UINT_OVERFLOW), Value::Uint),
        Value::String(text) if !text.starts_with('+') => Value::Uint(text.parse().ok()?),
        _ => return None,
    })
}

fn to_double(value: Value<'_>) -> Option<Value<'_>> {
    Some(match value {
        Value::Int(int) => Value::Double(int as f64),
        Value::Uint(uint) => Value::Double(uint as f64),
        Value::String(text) => Value::Double(parse_double(text)?),
        _ => return None,
    })
}

/// Go's `strconv.ParseFloat`, which rejects numbers that are too large.
fn parse_double(text: &str) -> Option<f64> {
    let value: f64 = text.parse().ok()?;
    let has_digits = text.bytes().any(|c| c.is_ascii_digit());
    (value.is_finite() || !has_digits).then_some(value)
}

fn to_bool(value: Value<'_>) -> Option<Value<'_>> {
    match value {
        Value::String("1" | "t" | "T" | "true" | "TRUE" | "True") => Some(Value::Bool(true)),
        Value::String("0" | "f" | "F" | "false" | "FALSE" | "False") => Some(Value::Bool(false)),
        _ => None,
    }
}

fn to_timestamp(value: Value<'_>) -> Option<Value<'_>> {
    const OVERFLOW: &str = "timestamp overflow";
    match value {
        Value::Int(seconds) if (MIN_SECONDS..=MAX_SECONDS).contains(&seconds) => {
            Some(Value::Timestamp(Timestamp { seconds, nanos: 0, offset: 0 }))
        }
        Value::Int(_) => Some(Value::Error(OVERFLOW)),
        Value::String(text) => match time::parse_timestamp(text) {
            Ok(at) => Some(Value::Timestamp(at.into())),
            Err(TimestampError::Range) => Some(Value::Error(OVERFLOW)),
            Err(TimestampError::Format) => None,
        },
        _ => None,
    }
}

fn to_string<'a>(value: Value<'a>, arena: &'a Arena) -> Outcome<'a> {
    match value {
        Value::Bool(value) => Ok(Value::String(if value { "true" } else { "false" })),
        Value::Int(int) => arena.string(&int.to_string()),
        Value::Uint(uint) => arena.string(&uint.to_string()),
        Value::Double(double) => arena.string(&crate::print::double(double)),
        Value::Bytes(bytes) => Ok(match std::str::from_utf8(bytes) {
            Ok(text) => Value::String(text),
            Err(_) => Value::Error("invalid UTF-8 in bytes, cannot convert to string"),
        }),
        Value::Duration(nanos) => arena.string(&time::format_duration(nanos)),
        Value::Timestamp(time) => arena.string(&time.text()),
        _ => mismatch(value, "string", arena),
    }
}

/// Truncates a double to an integer, within cel-go's bounds.
pub(crate) fn double_to_int(double: f64) -> Option<i64> {
    (double > i64::MIN as f64 && double < i64::MAX as f64).then_some(double as i64)
}

fn double_to_uint(double: f64) -> Option<u64> {
    (double >= 0.0 && double < u64::MAX as f64).then_some(double as u64)
}

/// Converts a double to an equal integer.
pub(crate) fn lossless_int(double: f64) -> Option<i64> {
    double_to_int(double).filter(|int| *int as f64 == double)
}

/// Converts a double to an equal unsigned integer.
pub(crate) fn lossless_uint(double: f64) -> Option<u64> {
    double_to_uint(double).filter(|uint| *uint as f64 == double)
}
