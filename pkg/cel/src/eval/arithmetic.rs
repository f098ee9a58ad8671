//! Arithmetic, comparison and containment operators.

use std::cmp::Ordering;

use super::Context;
use crate::arena::{Abort, Outcome};
use crate::ext::regex::Regex;
use crate::ext::time::{MAX_SECONDS, MIN_SECONDS};
use crate::plan::Op;
use crate::value::{Concat, List, ListKind, Map, Timestamp, Trait, Value, compare, convert, is_equal};

const INT_OVERFLOW: &str = "integer overflow";
const UINT_OVERFLOW: &str = "unsigned integer overflow";
const TIMESTAMP_OVERFLOW: &str = "timestamp overflow";
const DIVISION_BY_ZERO: &str = "division by zero";
const MODULUS_BY_ZERO: &str = "modulus by zero";

fn int<'a>(value: Option<i64>) -> Value<'a> {
    value.map_or(Value::Error(INT_OVERFLOW), Value::Int)
}

fn uint<'a>(value: Option<u64>) -> Value<'a> {
    value.map_or(Value::Error(UINT_OVERFLOW), Value::Uint)
}

/// Returns a duration. cel-go reports overflowing nanoseconds as integer overflow.
fn duration<'a>(value: Option<i64>) -> Value<'a> {
    value.map_or(Value::Error(INT_OVERFLOW), Value::Duration)
}

impl<'a> Context<'a, '_> {
    pub(super) fn operator(self, op: Op, args: &[Value<'a>], regex: Option<&Regex>) -> Outcome<'a> {
        if let &[a] = args {
            return self.unary(op, a);
        }
        let &[a, b] = args else { return Ok(Value::NO_SUCH_OVERLOAD) };
        match op {
            Op::Add => self.needs(a, Trait::Adder, "_+_", || self.add(a, b)),
            Op::Subtract => self.needs(a, Trait::Subtractor, "_-_", || Ok(subtract(a, b))),
            Op::Multiply => self.needs(a, Trait::Multiplier, "_*_", || Ok(multiply(a, b))),
            Op::Divide => self.needs(a, Trait::Divider, "_/_", || Ok(divide(a, b))),
            Op::Modulo => self.needs(a, Trait::Modder, "_%_", || Ok(modulo(a, b))),
            Op::Less => self.needs(a, Trait::Comparer, "_<_", || Ok(ordered(a, b, Ordering::is_lt))),
            Op::LessEquals => self.needs(a, Trait::Comparer, "_<=_", || Ok(ordered(a, b, Ordering::is_le))),
            Op::Greater => self.needs(a, Trait::Comparer, "_>_", || Ok(ordered(a, b, Ordering::is_gt))),
            Op::GreaterEquals => {
                self.needs(a, Trait::Comparer, "_>=_", || Ok(ordered(a, b, Ordering::is_ge)))
            }
            Op::In => self.contains(a, b),
            // Matching against a constant pattern is a separate function in cel-go, with a shorter error for
            // non-strings.
            Op::Matches if regex.is_some() => self.matches(a, b, regex),
            Op::Matches => self.needs(a, Trait::Matcher, "matches", || self.matches(a, b, regex)),
            Op::SortBy => self.sort_by("@sortByAssociatedKeys", a, b),
            _ => Ok(Value::NO_SUCH_OVERLOAD),
        }
    }

    fn unary(self, op: Op, a: Value<'a>) -> Outcome<'a> {
        match op {
            Op::Not => Ok(match a {
                Value::Bool(value) => Value::Bool(!value),
                value => value.or_no_such_overload(),
            }),
            Op::Negate => self.needs(a, Trait::Negator, "-_", || Ok(negate(a))),
            Op::Size => self.needs(a, Trait::Sizer, "size", || {
                Ok(a.size().map_or(Value::NO_SUCH_OVERLOAD, |size| Value::Int(size as i64)))
            }),
            Op::Type => convert(a, "type", self.arena),
            Op::Dyn => Ok(a),
            Op::Sort => self.sort_by("sort", a, a),
            _ => Ok(Value::NO_SUCH_OVERLOAD),
        }
    }

    /// Runs an operator if the first operand's type supports it.
    fn needs(
        self,
        a: Value<'a>,
        needed: Trait,
        name: &str,
        run: impl FnOnce() -> Outcome<'a>,
    ) -> Outcome<'a> {
        if a.has(needed) {
            return run();
        }
        if a.has(Trait::Receiver) {
            return Ok(Value::NO_SUCH_OVERLOAD);
        }
        self.arena.error(format_args!("no such overload: {name}"))
    }

    fn add(self, a: Value<'a>, b: Value<'a>) -> Outcome<'a> {
        Ok(match (a, b) {
            (Value::Int(a), Value::Int(b)) => int(a.checked_add(b)),
            (Value::Uint(a), Value::Uint(b)) => uint(a.checked_add(b)),
            (Value::Double(a), Value::Double(b)) => Value::Double(a + b),
            (Value::String(a), Value::String(b)) => {
                self.work.spend((a.len() + b.len()) as u64 / 64)?;
                return self.arena.string(&[a, b].concat());
            }
            (Value::Bytes(a), Value::Bytes(b)) => return self.arena.bytes(&[a, b].concat()),
            (Value::Duration(a), Value::Duration(b)) => duration(a.checked_add(b)),
            (Value::Duration(d), Value::Timestamp(t)) | (Value::Timestamp(t), Value::Duration(d)) => {
                shift(t, d)
            }
            (Value::List(a), Value::List(b)) => return self.add_lists(a, b),
            _ => b.or_no_such_overload(),
        })
    }

    fn add_lists(self, a: List<'a>, b: List<'a>) -> Outcome<'a> {
        if let List::Growing(list) = a
            && !list.is_frozen()
        {
            for value in b.iter() {
                self.work.spend(1)?;
                if !list.push(value) {
                    return Err(Abort::CostLimit);
                }
            }
            return Ok(Value::List(a));
        }
        match a.schema() {
            None => {}
            Some(typed) if matches!(typed.schema.list, ListKind::Atomic) => {
                return self.new_list(a.iter().chain(b.iter()).map(Ok));
            }
            Some(typed) => return self.merge(a, b, typed),
        }
        if a.is_empty() {
            return Ok(Value::List(b));
        }
        if b.is_empty() {
            return Ok(Value::List(a));
        }
        let concat = Concat::new(a, b).ok_or(Abort::CostLimit)?;
        Ok(Value::List(List::Concat(self.arena.alloc(concat)?)))
    }

    fn contains(self, value: Value<'a>, container: Value<'a>) -> Outcome<'a> {
        match container {
            Value::List(list) => self.list_contains(list, value),
            Value::Map(Map::Typed(..)) if !matches!(value, Value::String(_)) => {
                Ok(value.or_no_such_overload())
            }
            Value::Map(map) => Ok(match map.find(value) {
                Some(error @ Value::Error(_)) => error,
                entry => Value::Bool(entry.is_some()),
            }),
            container => Ok(container.or_no_such_overload()),
        }
    }

    /// Evaluates `value in list`.
    pub(super) fn list_contains(self, list: List<'a>, value: Value<'a>) -> Outcome<'a> {
        let typed = matches!(list, List::Typed(_));
        let mut failed = None;
        for element in list.iter() {
            if !typed {
                if is_equal(value, element, self.work)? {
                    return Ok(Value::Bool(true));
                }
                continue;
            }
            match crate::value::equal(element, value, self.work)? {
                Value::Bool(true) => return Ok(Value::Bool(true)),
                Value::Bool(false) => {}
                error => failed = failed.or(Some(error.or_no_such_overload())),
            }
        }
        Ok(failed.unwrap_or(Value::Bool(false)))
    }
}

fn ordered<'a>(a: Value<'a>, b: Value<'a>, holds: fn(Ordering) -> bool) -> Value<'a> {
    compare(a, b).map_or_else(|error| error, |ordering| Value::Bool(holds(ordering)))
}

fn negate(a: Value<'_>) -> Value<'_> {
    match a {
        Value::Int(a) => int(a.checked_neg()),
        Value::Double(a) => Value::Double(-a),
        Value::Duration(a) => duration(a.checked_neg()),
        value => value.or_no_such_overload(),
    }
}

fn subtract<'a>(a: Value<'a>, b: Value<'a>) -> Value<'a> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => int(a.checked_sub(b)),
        (Value::Uint(a), Value::Uint(b)) => uint(a.checked_sub(b)),
        (Value::Double(a), Value::Double(b)) => Value::Double(a - b),
        (Value::Duration(a), Value::Duration(b)) => duration(a.checked_sub(b)),
        (Value::Timestamp(t), Value::Duration(d)) => match d.checked_neg() {
            Some(by) => shift(t, by),
            None => Value::Error(INT_OVERFLOW),
        },
        (Value::Timestamp(a), Value::Timestamp(b)) => {
            // The seconds alone can overflow, even if the nanoseconds would bring the result back into range.
            let seconds =
                a.seconds.checked_sub(b.seconds).and_then(|seconds| seconds.checked_mul(1_000_000_000));
            let nanos = i64::from(a.nanos) - i64::from(b.nanos);
            duration(seconds.and_then(|seconds| seconds.checked_add(nanos)))
        }
        _ => b.or_no_such_overload(),
    }
}

/// Adds nanoseconds to a point in time.
fn shift<'a>(t: Timestamp, by: i64) -> Value<'a> {
    let nanos = i128::from(t.seconds) * 1_000_000_000 + i128::from(t.nanos) + i128::from(by);
    let seconds = nanos.div_euclid(1_000_000_000) as i64;
    if !(MIN_SECONDS..=MAX_SECONDS).contains(&seconds) {
        return Value::Error(TIMESTAMP_OVERFLOW);
    }
    Value::Timestamp(Timestamp { seconds, nanos: nanos.rem_euclid(1_000_000_000) as u32, offset: t.offset })
}

fn multiply<'a>(a: Value<'a>, b: Value<'a>) -> Value<'a> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => int(a.checked_mul(b)),
        (Value::Uint(a), Value::Uint(b)) => uint(a.checked_mul(b)),
        (Value::Double(a), Value::Double(b)) => Value::Double(a * b),
        _ => b.or_no_such_overload(),
    }
}

fn divide<'a>(a: Value<'a>, b: Value<'a>) -> Value<'a> {
    match (a, b) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => Value::Error(DIVISION_BY_ZERO),
        (Value::Int(a), Value::Int(b)) => int(a.checked_div(b)),
        (Value::Uint(a), Value::Uint(b)) => uint(a.checked_div(b)),
        (Value::Double(a), Value::Double(b)) => Value::Double(a / b),
        _ => b.or_no_such_overload(),
    }
}

fn modulo<'a>(a: Value<'a>, b: Value<'a>) -> Value<'a> {
    match (a, b) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => Value::Error(MODULUS_BY_ZERO),
        (Value::Int(a), Value::Int(b)) => int(a.checked_rem(b)),
        (Value::Uint(a), Value::Uint(b)) => uint(a.checked_rem(b)),
        _ => b.or_no_such_overload(),
    }
}

/// Adds two values of one type, as `list.sum()` does.
pub(super) fn sum<'a>(a: Value<'a>, b: Value<'a>) -> Value<'a> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => int(a.checked_add(b)),
        (Value::Uint(a), Value::Uint(b)) => uint(a.checked_add(b)),
        (Value::Double(a), Value::Double(b)) => Value::Double(a + b),
        (Value::Duration(a), Value::Duration(b)) => duration(a.checked_add(b)),
        _ => b.or_no_such_overload(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamp_difference_overflows_as_integer() {
        let at = |seconds, nanos| Value::Timestamp(Timestamp { seconds, nanos, offset: 0 });
        let text = |value| crate::value::text(value);
        let overflow = text(Value::Error("integer overflow"));
        assert_eq!(text(subtract(at(0, 0), at(10_000_000_000, 0))), overflow);
        // 1 ns less than the longest duration would fit, but its seconds alone do not.
        assert_eq!(text(subtract(at(9_223_372_037, 0), at(0, 145_224_194))), overflow);
        assert_eq!(text(subtract(at(0, 0), Value::Duration(i64::MIN))), overflow);
        assert_eq!(text(negate(Value::Duration(i64::MIN))), overflow);
        assert_eq!(
            text(subtract(at(9_223_372_036, 0), at(0, 1))),
            text(Value::Duration(9_223_372_035_999_999_999))
        );
        assert_eq!(
            text(subtract(at(MIN_SECONDS, 0), Value::Duration(1))),
            text(Value::Error("timestamp overflow"))
        );
    }
}
