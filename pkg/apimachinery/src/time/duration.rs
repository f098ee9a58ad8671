//! Go durations such as `1h2m3.5s`, as a number of nanoseconds.
#![allow(clippy::arithmetic_side_effects, clippy::as_conversions)]

use super::time_quote;
use thiserror::Error;

/// Syntax error in a duration, in Go's wording.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DurationError {
    /// Not a sequence of numbers with units, or too long for an `i64`.
    #[error("time: invalid duration {}", time_quote(.0))]
    Invalid(String),
    /// A number without a unit. Contains the whole text.
    #[error("time: missing unit in duration {}", time_quote(.0))]
    MissingUnit(String),
    /// A unit that Go does not support.
    #[error("time: unknown unit {} in duration {}", time_quote(.unit), time_quote(.text))]
    UnknownUnit {
        /// The unknown unit.
        unit: String,
        /// The whole text.
        text: String,
    },
}

/// 2⁶³: maximum magnitude of a negative duration.
const MAGNITUDE_MAX: u64 = 1 << 63;

/// Parses a duration into nanoseconds.
///
/// # Errors
/// See [`DurationError`].
pub fn parse_duration(text: &str) -> Result<i64, DurationError> {
    let invalid = || DurationError::Invalid(text.to_owned());
    let negative = text.starts_with('-');
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total = 0_u64;
    while !rest.is_empty() {
        let (nanos, remaining) = term(text, rest)?;
        total = total.checked_add(nanos).filter(|t| *t <= MAGNITUDE_MAX).ok_or_else(invalid)?;
        rest = remaining;
    }
    if negative {
        Ok(total.wrapping_neg().cast_signed())
    } else {
        i64::try_from(total).map_err(|_| invalid())
    }
}

/// Parses one number with its unit. Returns nanoseconds and the rest of the text.
fn term<'a>(text: &str, rest: &'a str) -> Result<(u64, &'a str), DurationError> {
    let invalid = || DurationError::Invalid(text.to_owned());
    let (integer, rest) = split_digits(rest);
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(after) => split_digits(after),
        None => ("", rest),
    };
    if integer.is_empty() && fraction.is_empty() {
        return Err(invalid());
    }
    let integer = leading_int(integer).ok_or_else(invalid)?;
    let end = rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len());
    let (unit, rest) = rest.split_at(end);
    if unit.is_empty() {
        return Err(DurationError::MissingUnit(text.to_owned()));
    }
    let unit = unit_nanos(unit)
        .ok_or_else(|| DurationError::UnknownUnit { unit: unit.to_owned(), text: text.to_owned() })?;
    let nanos = integer.checked_mul(unit).filter(|n| *n <= MAGNITUDE_MAX).ok_or_else(invalid)?;
    let nanos = nanos + fraction_nanos(fraction, unit);
    if nanos > MAGNITUDE_MAX { Err(invalid()) } else { Ok((nanos, rest)) }
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

fn leading_int(digits: &str) -> Option<u64> {
    let value =
        digits.bytes().try_fold(0_u64, |n, digit| n.checked_mul(10)?.checked_add(u64::from(digit - b'0')))?;
    (value <= MAGNITUDE_MAX).then_some(value)
}

/// Converts a fraction of a unit. Digits beyond 63 bits are ignored. As in Go, the product is a truncated
/// floating-point number.
fn fraction_nanos(digits: &str, unit: u64) -> u64 {
    let mut value = 0_u64;
    let mut scale = 1.0_f64;
    for digit in digits.bytes() {
        if value > (MAGNITUDE_MAX - 1) / 10 {
            break;
        }
        let next = value * 10 + u64::from(digit - b'0');
        if next > MAGNITUDE_MAX {
            break;
        }
        value = next;
        scale *= 10.0;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "at most one hour of nanoseconds, not negative"
    )]
    let nanos = (value as f64 * (unit as f64 / scale)) as u64;
    nanos
}

fn unit_nanos(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

/// Formats nanoseconds like Go: `1h0m0.5s`, `1.5ms`, `0s`.
pub fn format_duration(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let nanos = nanos.unsigned_abs();
    match nanos {
        0 => "0s".to_owned(),
        1..1_000 => format!("{sign}{nanos}ns"),
        1_000..1_000_000 => format!("{sign}{}\u{b5}s", with_fraction(nanos, 1_000)),
        1_000_000..1_000_000_000 => format!("{sign}{}ms", with_fraction(nanos, 1_000_000)),
        _ => {
            let hours = nanos / 3_600_000_000_000;
            let minutes = nanos / 60_000_000_000 % 60;
            let seconds = with_fraction(nanos % 60_000_000_000, 1_000_000_000);
            match (hours, minutes) {
                (0, 0) => format!("{sign}{seconds}s"),
                (0, _) => format!("{sign}{minutes}m{seconds}s"),
                _ => format!("{sign}{hours}h{minutes}m{seconds}s"),
            }
        }
    }
}

/// `value / unit` as a decimal without trailing zeros.
fn with_fraction(value: u64, unit: u64) -> String {
    let integer = value / unit;
    let fraction = value % unit;
    if fraction == 0 {
        return integer.to_string();
    }
    let width = unit.ilog10() as usize;
    let digits = format!("{fraction:0width$}");
    format!("{integer}.{}", digits.trim_end_matches('0'))
}
