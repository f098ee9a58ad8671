//! Go's `time.ParseDuration`: flags and `?timeout=` are written in it, and its error texts reach
//! people.

use apimachinery::go_quote::Quoted;

/// Why a text is not a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// Not of the form.
    #[error("time: invalid duration {}", Quoted(.0))]
    Invalid(String),
    /// A number without a unit.
    #[error("time: missing unit in duration {}", Quoted(.0))]
    MissingUnit(String),
    /// A unit that does not exist.
    #[error("time: unknown unit {} in duration {}", Quoted(.0), Quoted(.1))]
    UnknownUnit(String, String),
}

/// Nanoseconds per unit.
const UNITS: [(&str, i128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Digits after the point that still count; a nanosecond is 13 digits below an hour.
const FRACTION_DIGITS_MAX: usize = 18;

/// Parses `1h30m`, `-1.5s`, `0` and so on into nanoseconds.
///
/// # Errors
/// [`DurationError`], with Go's texts.
pub fn parse_duration(text: &str) -> Result<i64, DurationError> {
    let invalid = || DurationError::Invalid(text.to_owned());
    let negative = text.starts_with('-');
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let (whole, after) = digits(rest);
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => digits(after),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        let end = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at_checked(end).unwrap_or((after, ""));
        if unit.is_empty() {
            return Err(DurationError::MissingUnit(text.to_owned()));
        }
        let &(_, nanos) = UNITS
            .iter()
            .find(|(name, _)| *name == unit)
            .ok_or_else(|| DurationError::UnknownUnit(unit.to_owned(), text.to_owned()))?;
        let part = term(whole, fraction, nanos).ok_or_else(invalid)?;
        total = total.checked_add(part).filter(|&n| n <= 1 << 63).ok_or_else(invalid)?;
        rest = after;
    }
    i64::try_from(if negative { -total } else { total }).map_err(|_| invalid())
}

fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// `whole.fraction` units of `nanos` each; `None` on overflow.
fn term(whole: &str, fraction: &str, nanos: i128) -> Option<i128> {
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let fraction = fraction.get(..FRACTION_DIGITS_MAX).unwrap_or(fraction);
    let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let part = if fraction.is_empty() { 0 } else { fraction.parse::<i128>().ok()? * nanos / scale };
    whole.checked_mul(nanos)?.checked_add(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        let check = |text: &str, expected: Result<i64, &str>| {
            assert_eq!(
                parse_duration(text).map_err(|e| e.to_string()),
                expected.map_err(str::to_owned),
                "{text}"
            );
        };
        check("0", Ok(0));
        check("-0", Ok(0));
        check("5s", Ok(5_000_000_000));
        check("1m0s", Ok(60_000_000_000));
        check("1h30m", Ok(5_400_000_000_000));
        check("-1.5s", Ok(-1_500_000_000));
        check(".5m", Ok(30_000_000_000));
        check("1.s", Ok(1_000_000_000));
        check("1us2\u{b5}s3ns", Ok(3_003));
        check("2540400h10m10.000000000s", Ok(9_145_440_610_000_000_000));
        check("0.33333333333333333333h", Ok(1_200_000_000_000 - 1));
        check("-9223372036854775808ns", Ok(i64::MIN));
        check("9223372036854775808ns", Err("time: invalid duration \"9223372036854775808ns\""));
        check("", Err("time: invalid duration \"\""));
        check("-", Err("time: invalid duration \"-\""));
        check("abc", Err("time: invalid duration \"abc\""));
        check(".s", Err("time: invalid duration \".s\""));
        check("3", Err("time: missing unit in duration \"3\""));
        check("1d", Err("time: unknown unit \"d\" in duration \"1d\""));
        check("1s x", Err("time: unknown unit \"s x\" in duration \"1s x\""));
    }
}
