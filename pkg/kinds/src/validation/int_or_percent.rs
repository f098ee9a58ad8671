//! Pod counts or percentages (`IntOrString` in v1).

use super::value::{invalid_each, nonnegative};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::{names, strconv};
use jsontree::Value;

/// Returns such a value for an error; an absent one is 0.
pub(crate) fn bad_value(value: Option<&Value>) -> BadValue {
    match value {
        Some(Value::String(text)) => BadValue::json_text(text),
        Some(value) => BadValue::from(value),
        None => BadValue::from(0),
    }
}

/// Checks that a value is a non-negative number or a percentage.
pub(crate) fn int_or_percent(path: &Path<'_>, value: Option<&Value>, errors: &mut ErrorList) {
    match value.and_then(Value::as_str) {
        Some(text) => invalid_each(path, bad_value(value), names::is_valid_percent(text), errors),
        None => nonnegative(path, value.and_then(Value::as_i64).unwrap_or_default(), errors),
    }
}

/// Checks that a percentage is at most 100.
pub(crate) fn at_most_100_percent(path: &Path<'_>, value: Option<&Value>, errors: &mut ErrorList) {
    let percent = value.and_then(Value::as_str).and_then(percent);
    if percent.is_some_and(|percent| percent > 100) {
        errors.push(Error::invalid(path, bad_value(value), "must not be greater than 100%"));
    }
}

/// True if a value counts as zero: 0, a percentage of zero, or any other text that is not a number.
pub(crate) fn is_zero(value: Option<&Value>) -> bool {
    match value {
        Some(Value::String(text)) => {
            percent(text).unwrap_or_else(|| strconv::atoi(text).unwrap_or_default()) == 0
        }
        Some(value) => value.as_i64() == Some(0),
        None => true,
    }
}

/// Parses a percentage; a number that is too large becomes the maximum.
fn percent(text: &str) -> Option<i64> {
    let digits = text.strip_suffix('%').filter(|_| names::is_valid_percent(text).is_empty())?;
    Some(digits.parse().unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::json;

    fn check(value: Value, zero: bool, expected: &[&str]) {
        let mut errors = ErrorList::new();
        let path = Path::root("v");
        int_or_percent(&path, Some(&value), &mut errors);
        at_most_100_percent(&path, Some(&value), &mut errors);
        let texts: Vec<String> = errors.iter().map(Error::to_string).collect();
        assert_eq!(texts, expected, "{value}");
        assert_eq!(is_zero(Some(&value)), zero, "{value}");
    }

    #[test]
    fn values_are_counts_or_percentages() {
        let syntax = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or \
            '93%', regex used for validation is '[0-9]+%')";
        check(json!(0), true, &[]);
        check(json!(7), false, &[]);
        check(json!("0%"), true, &[]);
        check(json!("100%"), false, &[]);
        check(json!(-1), false, &["v: Invalid value: -1: must be greater than or equal to 0"]);
        check(json!("50"), false, &[&format!("v: Invalid value: \"50\": {syntax}")]);
        check(json!("x"), true, &[&format!("v: Invalid value: \"x\": {syntax}")]);
        check(json!("101%"), false, &["v: Invalid value: \"101%\": must not be greater than 100%"]);
        check(
            json!("99999999999999999999%"),
            false,
            &["v: Invalid value: \"99999999999999999999%\": must not be greater than 100%"],
        );
    }

    #[test]
    fn an_absent_value_is_zero() {
        assert!(is_zero(None));
        assert_eq!(bad_value(None), BadValue::from(0));
    }
}
