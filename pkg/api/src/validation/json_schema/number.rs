//! Numbers and their bounds.

use crate::tree::{flag, text};
use schema::object::Object;
use serde_json::{Number, Value};

/// What is wrong with a number, or with what bounds it.
pub(super) enum Fault {
    /// A bound is of no use for the type. The whole words.
    Bound(String),
    /// The value is out of bounds. The words after its name.
    Value(String),
}

/// Whether a number has no fraction, with the precision that Go allows for.
pub(super) fn is_whole(number: &Number) -> bool {
    number.as_f64().is_some_and(|number| number.fract() == 0.0)
}

/// Whether two values are the same, whole numbers and fractions alike.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    a == b || matches!((a, b), (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64())
}

/// What is wrong with a number of a schema's `kind`. `name` is that of the value.
pub(super) fn faults(name: &str, kind: &str, schema: &Object, value: &Number) -> Vec<Fault> {
    let mut faults: Vec<Fault> = unfit("Checked", value, kind, schema, name).into_iter().collect();
    let bounds =
        [("multipleOf", "MultipleOf"), ("minimum", "Minimum boundary"), ("maximum", "Maximum boundary")];
    for (member, words) in bounds {
        let Some(bound) = schema.get(member).and_then(Value::as_number) else { continue };
        let unfit = unfit(words, bound, kind, schema, name);
        let as_given = unfit.is_some();
        faults.extend(unfit);
        let exclusive = member != "multipleOf" && flag(schema, exclusive_of(member));
        faults.extend(out_of_bounds(member, exclusive, value, bound, as_given).map(Fault::Value));
    }
    faults
}

fn exclusive_of(member: &str) -> &'static str {
    if member == "minimum" { "exclusiveMinimum" } else { "exclusiveMaximum" }
}

/// Complains about a number that does not fit into a type.
fn unfit(words: &str, number: &Number, kind: &str, schema: &Object, name: &str) -> Option<Fault> {
    let format = text(schema, "format");
    let fits = match (kind, format) {
        ("integer", "int32") => whole(number).is_some_and(|number| i32::try_from(number).is_ok()),
        ("integer", _) => whole(number).is_some(),
        ("number", "float") => number.as_f64().is_some_and(|number| number.abs() <= f64::from(f32::MAX)),
        _ => true,
    };
    let known = matches!((kind, format), ("integer", "int32" | "int64") | ("number", "float" | "double"));
    let of = if known { format!("with format {format}") } else { "(default format)".to_owned() };
    (!fits).then(|| Fault::Bound(format!("{words} value must be of type {kind} {of} in {name}")))
}

/// A number as a whole one, if it is.
fn whole(number: &Number) -> Option<i64> {
    let float = || number.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 9.2e18);
    #[allow(clippy::cast_possible_truncation)]
    number.as_i64().or_else(|| float().map(|number| number as i64))
}

/// The words for a value beyond a bound. Whole numbers are compared as such, unless the bound is no good
/// for them and counts `as_given`.
fn out_of_bounds(
    member: &str,
    exclusive: bool,
    value: &Number,
    bound: &Number,
    as_given: bool,
) -> Option<String> {
    let integers = value.as_i64().filter(|_| !as_given).zip(truncated(bound));
    let (value, limit) = (value.as_f64()?, bound.as_f64()?);
    let shown = integers.map_or_else(|| go_float(limit), |(_, limit)| limit.to_string());
    if member == "multipleOf" {
        let multiple = match integers {
            Some((value, factor)) => factor > 0 && value % factor == 0,
            None if limit < 1.0 => (1.0 / limit * value).fract() == 0.0,
            None => (value / limit).fract() == 0.0,
        };
        return (!multiple).then(|| format!("should be a multiple of {shown}"));
    }
    let order = match integers {
        Some((value, limit)) => value.cmp(&limit),
        None => value.partial_cmp(&limit)?,
    };
    let (beyond, words) = match member {
        "minimum" => (order.is_lt(), "greater than"),
        _ => (order.is_gt(), "less than"),
    };
    let or_equal = if exclusive { "" } else { " or equal to" };
    (beyond || exclusive && order.is_eq()).then(|| format!("should be {words}{or_equal} {shown}"))
}

#[allow(clippy::cast_possible_truncation)]
fn truncated(number: &Number) -> Option<i64> {
    number.as_i64().or_else(|| number.as_f64().map(|number| number as i64))
}

/// A float as Go's `%v` shows it.
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
