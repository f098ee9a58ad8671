//! Parses a text into an amount: a scanner, a fast path for values that fit an `i64`, and a slow path with
//! big decimals.
#![allow(clippy::arithmetic_side_effects)]

use super::amount::Amount;
use super::big::BigUint;
use super::decimal::Decimal;
use super::suffix::interpret;
use super::{Error, Format};

/// Maximum number of decimal digits that always fit an `i64`.
const INT64_DIGITS: usize = 18;
/// Finest scale: quantities are rounded up to nanos.
const NANO: i32 = -9;

pub(super) struct Parsed {
    pub(super) amount: Amount,
    pub(super) format: Format,
    /// True if upstream prints the parsed text unchanged. It may not be canonical (`+1`, `01` and `1.500` are
    /// kept).
    pub(super) keep_text: bool,
}

/// Parts of a text. `whole` has no leading zeros, but is not empty.
struct Scanned<'a> {
    negative: bool,
    integer: &'a str,
    fraction: &'a str,
    suffix: &'a str,
    digits: bool,
}

pub(super) fn parse(text: &str) -> Result<Parsed, Error> {
    if text == "0" {
        let amount = Amount::Int { value: 0, scale: 0 };
        return Ok(Parsed { amount, format: Format::DecimalSi, keep_text: true });
    }
    let scanned = scan(text)?;
    let (exponent, format) = interpret(scanned.suffix).ok_or(Error::Suffix)?;
    match fast(&scanned, exponent, format) {
        Some(parsed) => Ok(parsed),
        None => slow(&scanned, exponent, format),
    }
}

fn scan(text: &str) -> Result<Scanned<'_>, Error> {
    if text.is_empty() {
        return Err(Error::Format);
    }
    let negative = text.starts_with('-');
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (integer, rest) = split_digits(unsigned);
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(after) => split_digits(after),
        None => ("", rest),
    };
    check_suffix(suffix)?;
    let significant = integer.trim_start_matches('0');
    // Upstream's scanner stops after a sign or only zeros and counts a zero.
    let digits = !integer.is_empty() || !fraction.is_empty() || unsigned.is_empty();
    let whole = if significant.is_empty() { "0" } else { significant };
    Ok(Scanned { negative, integer: whole, fraction, suffix, digits })
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

/// Checks a suffix: letters, then a signed number; both are optional.
fn check_suffix(suffix: &str) -> Result<(), Error> {
    let rest = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
    let rest = rest.strip_prefix(['-', '+']).unwrap_or(rest);
    if rest.bytes().all(|byte| byte.is_ascii_digit()) { Ok(()) } else { Err(Error::Format) }
}

/// Parses the integer form, if the number is short enough.
fn fast(scanned: &Scanned<'_>, exponent: i32, format: Format) -> Option<Parsed> {
    let digits = scanned.integer.len() + scanned.fraction.len();
    let (scale, multiplier) = match format {
        Format::BinarySi => {
            // 2^exponent has about exponent·3/10 decimal digits.
            let factor_digits = usize::try_from(exponent * 3 / 10).ok()?;
            if !scanned.fraction.is_empty() || scanned.integer.len() + factor_digits > 14 {
                return None;
            }
            (0, 1_i64 << exponent)
        }
        Format::DecimalSi | Format::DecimalExponent => {
            if digits > INT64_DIGITS {
                return None;
            }
            (exponent.wrapping_sub(i32::try_from(scanned.fraction.len()).ok()?), 1)
        }
    };
    if scale < NANO {
        return None;
    }
    let all_digits = || scanned.integer.bytes().chain(scanned.fraction.bytes());
    let unsigned = all_digits().fold(0_i64, |n, digit| n * 10 + i64::from(digit - b'0'));
    let magnitude = unsigned.checked_mul(multiplier)?;
    let keep_text = match format {
        Format::BinarySi => unsigned % 8 != 0,
        Format::DecimalSi | Format::DecimalExponent => {
            let thousands = digits >= 3 && unsigned % 1000 == 0;
            scale % 3 == 0 && !thousands && !scanned.integer.starts_with('0')
        }
    };
    let value = if scanned.negative { -magnitude } else { magnitude };
    Some(Parsed { amount: Amount::Int { value, scale }, format, keep_text })
}

/// Parses the big form: rounded up to nanos, limited if binary.
fn slow(scanned: &Scanned<'_>, exponent: i32, format: Format) -> Result<Parsed, Error> {
    if !scanned.digits {
        return Err(Error::Numeric);
    }
    let mut magnitude = BigUint::from_digits(scanned.integer, scanned.fraction);
    let places = i32::try_from(scanned.fraction.len()).map_err(|_| Error::Numeric)?;
    let mut scale = places.wrapping_neg();
    if format == Format::BinarySi {
        for _ in 0..exponent / 10 {
            magnitude.mul_small(1024);
        }
    } else {
        scale = exponent.wrapping_sub(places);
    }
    let mut decimal = Decimal::new(false, magnitude, scale);
    if !decimal.is_zero() {
        // Upstream uses nanos from here on, which affects the overflow of values.
        decimal = decimal.rounded_up(NANO).0.written_at(NANO);
    }
    let mut format = format;
    if format == Format::BinarySi {
        let max = Decimal::from_int(i64::MAX, 0);
        if decimal > max {
            decimal = max;
        }
        if !decimal.is_zero() && decimal < Decimal::from_int(1, 0) {
            format = Format::DecimalSi;
        }
    }
    if scanned.negative {
        decimal.negate();
    }
    Ok(Parsed { amount: Amount::Big(decimal), format, keep_text: false })
}
