//! Numbers and their bounds.

use jsontree::{Number, Value};

use super::kind::Kind;
use super::node::{Bound, Constraints, RareConstraints};

/// Error of a number or of its bounds.
pub(super) enum NumberError {
    /// The bound does not fit the type. Contains the whole text.
    Bound(String),
    /// The value is out of bounds. Contains the text after its name.
    Value(String),
}

/// True if a number has no fraction, with Go's precision.
pub(super) fn is_integer(number: &Number) -> bool {
    const MAX: f64 = 9_007_199_254_740_991.0;
    number.as_f64().is_some_and(|number| number.fract() == 0.0 && number.abs() <= MAX)
}

/// Compares two values; an integer equals a float with the same value.
pub(super) fn is_equal(a: &Value, b: &Value) -> bool {
    a == b || matches!((a, b), (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64())
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
        faults.extend(out_of_bounds(side, exclusive, value, &bound, as_given).map(NumberError::Value));
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

/// Returns the error for a value beyond a bound. Integers are compared as such, unless `as_given` requests
/// the original numbers because the bound does not fit integers.
fn out_of_bounds(
    side: Side,
    exclusive: bool,
    value: &Number,
    bound: &Number,
    as_given: bool,
) -> Option<String> {
    let integers = value.as_i64().filter(|_| !as_given).zip(truncated(bound));
    let value = value.as_f64()?;
    let limit = bound.as_f64()?;
    let limit_text = || integers.map_or_else(|| go_float(limit), |(_, limit)| limit.to_string());
    if side == Side::MultipleOf {
        let multiple = match integers {
            Some((value, factor)) => factor > 0 && value % factor == 0,
            None if limit < 1.0 => (1.0 / limit * value).fract() == 0.0,
            None => (value / limit).fract() == 0.0,
        };
        return (!multiple).then(|| format!("should be a multiple of {}", limit_text()));
    }
    let order = match integers {
        Some((value, limit)) => value.cmp(&limit),
        None => value.partial_cmp(&limit)?,
    };
    let (beyond, words) = match side {
        Side::Minimum => (order.is_lt(), "greater than"),
        _ => (order.is_gt(), "less than"),
    };
    let or_equal = if exclusive { "" } else { " or equal to" };
    (beyond || exclusive && order.is_eq()).then(|| format!("should be {words}{or_equal} {}", limit_text()))
}

#[allow(clippy::cast_possible_truncation)]
fn truncated(number: &Number) -> Option<i64> {
    number.as_i64().or_else(|| number.as_f64().map(|number| number as i64))
}

/// Formats a float like Go's `%v`.
fn go_float(number: f64) -> String {
    let exponent = number.abs().log10().floor();
    if number != 0.0 && !(-4.0..21.0).contains(&exponent) {
        let text = format!("{number:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
        return format!("{digits}e{sign}{exponent:0>2}");
    }
    number.to_string()
}
