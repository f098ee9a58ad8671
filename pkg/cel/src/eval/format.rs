//! The `format` function.

use super::Context;
use crate::arena::{Abort, Outcome};
use crate::ext::format::{self, Arguments, Clause, Error};
use crate::value::{List, Map, Value, convert};

/// Maximum nesting of formatted lists and maps; deeper values could overflow the stack.
const DEPTH_MAX: u32 = 100;

/// Arguments of a call. Formatting fails with a message or aborts the evaluation.
struct Args<'a, 'w> {
    context: Context<'a, 'w>,
    values: List<'a>,
}

enum FormatError {
    Text(String),
    Abort(Abort),
}

impl From<Abort> for FormatError {
    fn from(abort: Abort) -> Self {
        Self::Abort(abort)
    }
}

impl From<String> for FormatError {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl<'a> Context<'a, '_> {
    pub(super) fn format(self, text: &str, values: List<'a>) -> Outcome<'a> {
        match format::format(text, &mut Args { context: self, values }, true) {
            Ok(text) => self.arena.string(&text),
            Err(Error::Text(problem)) => self.arena.error(problem),
            Err(Error::Argument(FormatError::Text(problem))) => {
                self.arena.error(format_args!("{}{problem}", Error::<()>::PREFIX))
            }
            Err(Error::Argument(FormatError::Abort(abort))) => Err(abort),
        }
    }
}

impl Arguments for Args<'_, '_> {
    type Error = FormatError;

    fn len(&self) -> usize {
        self.values.len()
    }

    fn request(&mut self, _: usize) {}

    fn write(&mut self, index: usize, clause: Clause) -> Result<String, FormatError> {
        let value = self.values.get(index).unwrap_or(Value::Null);
        let refused = || Err(FormatError::Text(format::mismatch(clause, value.type_name())));
        Ok(match (clause, value) {
            (Clause::String, value) => return self.text(value, 0),
            (Clause::Decimal, Value::Int(int)) => int.to_string(),
            (Clause::Decimal, Value::Uint(uint)) => uint.to_string(),
            (Clause::Fixed(precision), value) => match double(value) {
                Some(double) => format::fixed(double, precision),
                None => return refused(),
            },
            (Clause::Scientific(precision), value) => match double(value) {
                Some(double) => format::scientific(double, precision),
                None => return refused(),
            },
            (Clause::Binary, Value::Bool(value)) => u8::from(value).to_string(),
            (Clause::Hex { upper }, Value::String(text)) => self.hex(text.as_bytes(), upper)?,
            (Clause::Hex { upper }, Value::Bytes(bytes)) => self.hex(bytes, upper)?,
            (Clause::Binary | Clause::Hex { .. } | Clause::Octal, Value::Int(int)) => {
                format::integer(int.into(), clause)
            }
            (Clause::Binary | Clause::Hex { .. } | Clause::Octal, Value::Uint(uint)) => {
                format::integer(uint.into(), clause)
            }
            _ => return refused(),
        })
    }
}

/// Converts the argument of a clause for doubles; the strings for infinities and NaN are accepted too.
fn double(value: Value<'_>) -> Option<f64> {
    match value {
        Value::Double(double) => Some(double),
        Value::String("NaN") => Some(f64::NAN),
        Value::String("Infinity") => Some(f64::INFINITY),
        Value::String("-Infinity") => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

impl<'a> Args<'a, '_> {
    fn hex(&self, bytes: &[u8], upper: bool) -> Result<String, FormatError> {
        self.context.work.spend(bytes.len() as u64 / 16)?;
        Ok(format::hex(bytes, upper))
    }

    /// Formats an argument of `%s`.
    fn text(&self, value: Value<'a>, depth: u32) -> Result<String, FormatError> {
        self.context.work.spend(16)?;
        match value {
            Value::Null => Ok("null".into()),
            Value::List(list) => self.list(list, depth),
            Value::Map(map) => self.map(map, depth),
            Value::Type(name) => Ok(name.into()),
            Value::String(text) => {
                self.context.work.spend(text.len() as u64 / 64)?;
                Ok(text.into())
            }
            Value::Opaque(_) | Value::Optional(_) | Value::Preserved(_) | Value::Error(_) => {
                Err(format::mismatch(Clause::String, value.type_name()).into())
            }
            value => match convert(value, "string", self.context.arena)? {
                Value::String(text) => Ok(text.into()),
                other => {
                    Err(format!("could not convert argument \"{}\" to string", crate::value::text(other))
                        .into())
                }
            },
        }
    }

    /// Formats a value within a list or a map, in literal notation.
    fn inner(&self, value: Value<'a>, depth: u32) -> Result<String, FormatError> {
        if depth > DEPTH_MAX {
            return Err(Abort::CostLimit.into());
        }
        let quote = apimachinery::go_quote::quote;
        Ok(match value {
            Value::String(text) => quote(text),
            Value::Bytes(_) => format!("b{}", quote(&self.text(value, depth)?)),
            Value::Timestamp(_) => format!("timestamp({})", quote(&self.text(value, depth)?)),
            Value::Duration(_) => format!("duration({})", quote(&self.text(value, depth)?)),
            Value::Double(double) if double.is_finite() => format::in_aggregate(double),
            Value::Double(double) => quote(&format::in_aggregate(double)),
            Value::Opaque(_) | Value::Optional(_) | Value::Preserved(_) | Value::Error(_) => {
                return Err(format!("no formatting function for {}", value.type_name()).into());
            }
            value => self.text(value, depth)?,
        })
    }

    fn list(&self, list: List<'a>, depth: u32) -> Result<String, FormatError> {
        let mut out = String::from("[");
        for (place, value) in list.iter().enumerate() {
            if place > 0 {
                out.push_str(", ");
            }
            out.push_str(&self.inner(value, depth + 1)?);
        }
        out.push(']');
        Ok(out)
    }

    fn map(&self, map: Map<'a>, depth: u32) -> Result<String, FormatError> {
        let mut entries = Vec::new();
        for (key, value) in map.iter() {
            if !matches!(key, Value::String(_) | Value::Bool(_) | Value::Int(_) | Value::Uint(_)) {
                return Err(format!("no formatting function for map key of type {}", key.type_name()).into());
            }
            entries.push((self.inner(key, depth + 1)?, self.inner(value, depth + 1)?));
        }
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        let entries: Vec<_> = entries.into_iter().map(|(key, value)| format!("{key}:{value}")).collect();
        Ok(format!("{{{}}}", entries.join(", ")))
    }
}
