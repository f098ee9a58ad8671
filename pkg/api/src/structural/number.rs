//! Numbers and their bounds.

use apimachinery::go_number;
use jsontree::{Number, Value};

use super::kind::Kind;
use super::node::{Bound, Constraints, RareConstraints};

/// Error of a number or of its bounds.
pub(super) enum NumberError {
    /// The bound does not fit the type. Contains the whole text.
    Bound(String),
    /// The value is out of bounds. Contains the text after its name.
    Value(String),
    /// The factor of `multipleOf` is not positive. Contains the factor and the whole text.
    Factor(Number, String),
}

/// True if a number has no fraction, with the tolerance of upstream (`swag.IsFloat64AJSONInteger`).
pub(super) fn is_integer(number: &Number) -> bool {
    number.as_f64().is_some_and(is_json_integer)
}

/// True for an integer within the exact range of floats, with a relative tolerance.
fn is_json_integer(number: f64) -> bool {
    const MAX: f64 = 9_007_199_254_740_991.0;
    const TOLERANCE: f64 = 1e-9;
    let rounded = number.round();
    number.abs() <= MAX && (number == rounded || (number - rounded).abs() < TOLERANCE * rounded.abs())
}

/// True if a literal of an enumeration allows the value. Upstream converts the value to the type of the literal like
/// Go: a float loses its fraction, an integer becomes a character.
pub(super) fn is_allowed(value: &Value, literal: &Value) -> bool {
    match (value, literal) {
        (Value::Number(value), Value::Number(literal)) => match to_integer(literal) {
            Some(literal) => value.as_i64().or_else(|| value.as_f64().map(to_go_int)) == Some(literal),
            None => value.as_f64() == literal.as_f64(),
        },
        (Value::Number(value), Value::String(literal)) => {
            value.as_i64().is_some_and(|code| literal.chars().eq([character(code)]))
        }
        _ => value == literal,
    }
}

/// The character with a code; the replacement character if there is none.
fn character(code: i64) -> char {
    u32::try_from(code).ok().and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    MultipleOf,
    Minimum,
    Maximum,
}

/// Validates a number. `name` is that of the value.
pub(super) fn faults(name: &str, limits: &Constraints, value: &Number) -> Vec<NumberError> {
    let mut faults: Vec<NumberError> = unfit("Checked", value, limits, name).into_iter().collect();
    let Some(RareConstraints { minimum, maximum, multiple_of, .. }) = limits.rare.as_deref() else {
        return faults;
    };
    let multiple_of = multiple_of.as_ref().map(|value| (Side::MultipleOf, "MultipleOf", value, false));
    let bound = |side, words, bound: &'_ Option<Bound>| {
        bound.as_ref().map(|bound| (side, words, bound.value.clone(), bound.exclusive))
    };
    let bounds = [
        multiple_of.map(|(side, words, value, exclusive)| (side, words, value.clone(), exclusive)),
        bound(Side::Minimum, "Minimum boundary", minimum),
        bound(Side::Maximum, "Maximum boundary", maximum),
    ];
    for (side, words, bound, exclusive) in bounds.into_iter().flatten() {
        let unfit = unfit(words, &bound, limits, name);
        let as_given = unfit.is_some();
        faults.extend(unfit);
        let limit = Limit { side, exclusive, bound: &bound, as_given };
        faults.extend(limit.error(name, value));
    }
    faults
}

/// Returns an error for a number that does not fit the type.
fn unfit(words: &str, number: &Number, limits: &Constraints, name: &str) -> Option<NumberError> {
    let format = limits.format.as_ref().map_or("", |format| &*format.name);
    let fits = match (limits.kind, format) {
        (Kind::Integer, "int32") => to_integer(number).is_some_and(|number| i32::try_from(number).is_ok()),
        (Kind::Integer, _) => to_integer(number).is_some(),
        (Kind::Number, "float") => number.as_f64().is_some_and(|number| number.abs() <= f64::from(f32::MAX)),
        _ => true,
    };
    if fits {
        return None;
    }
    let of = match format {
        "int32" | "int64" | "float" | "double" => format!("with format {format}"),
        _ => "(default format)".to_owned(),
    };
    let kind = limits.kind.as_str();
    Some(NumberError::Bound(format!("{words} value must be of type {kind} {of} in {name}")))
}

/// Converts a number to an integer if it has no fraction.
fn to_integer(number: &Number) -> Option<i64> {
    let float = || number.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 9.2e18);
    #[allow(clippy::cast_possible_truncation)]
    number.as_i64().or_else(|| float().map(|number| number as i64))
}

/// A bound, or a factor.
struct Limit<'b> {
    side: Side,
    exclusive: bool,
    bound: &'b Number,
    /// True to compare the numbers as floats, because the bound does not fit the type.
    as_given: bool,
}

impl Limit<'_> {
    /// Returns the error for a value beyond the bound. Integers are compared as such: a bound is then truncated.
    fn error(&self, name: &str, value: &Number) -> Option<NumberError> {
        let limit = self.bound.as_f64()?;
        let integers = value.as_i64().filter(|_| !self.as_given).map(|value| (value, to_go_int(limit)));
        let limit_text =
            || integers.map_or_else(|| go_number::general(limit), |(_, limit)| limit.to_string());
        let value = value.as_f64()?;
        if self.side == Side::MultipleOf {
            let is_positive = integers.map_or(limit > 0.0, |(_, factor)| factor > 0);
            if !is_positive {
                let factor = integers.map_or_else(|| self.bound.clone(), |(_, factor)| factor.into());
                let words =
                    format!("factor MultipleOf declared for {name} must be positive: {}", limit_text());
                return Some(NumberError::Factor(factor, words));
            }
            let is_multiple = match integers {
                Some((value, factor)) => value % factor == 0,
                None if limit < 1.0 => is_json_integer(1.0 / limit * value),
                None => is_json_integer(value / limit),
            };
            let words = || format!("should be a multiple of {}", limit_text());
            return (!is_multiple).then(|| NumberError::Value(words()));
        }
        let order = match integers {
            Some((value, limit)) => value.cmp(&limit),
            None => value.partial_cmp(&limit)?,
        };
        let is_minimum = self.side == Side::Minimum;
        let is_beyond = if is_minimum { order.is_lt() } else { order.is_gt() };
        let words = if is_minimum { "greater than" } else { "less than" };
        let or_equal = if self.exclusive { "" } else { " or equal to" };
        (is_beyond || self.exclusive && order.is_eq())
            .then(|| NumberError::Value(format!("should be {words}{or_equal} {}", limit_text())))
    }
}

/// Converts a float like Go on amd64: a number out of range becomes the smallest integer.
#[allow(clippy::cast_possible_truncation)]
fn to_go_int(number: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&number) { number as i64 } else { i64::MIN }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_a_tolerance() {
        let check = |number: f64, expected: bool| assert_eq!(is_json_integer(number), expected, "{number}");
        check(100.0 * 19.99, true);
        check(1_999.000_1, false);
        check(0.5e-9, false);
        check(1e16, false);
        check(f64::NAN, false);
    }
}
