//! Resolves plain scalars, and determines which strings need quotes.

use super::Error;

/// The meaning of a scalar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    /// A date or time, which is kept as text.
    Timestamp,
    Text,
}

impl Scalar {
    /// Short tag, for errors.
    pub(super) fn tag(self) -> &'static str {
        match self {
            Scalar::Null => "!!null",
            Scalar::Bool(_) => "!!bool",
            Scalar::Int(_) | Scalar::Uint(_) => "!!int",
            Scalar::Float(_) => "!!float",
            Scalar::Timestamp => "!!timestamp",
            Scalar::Text => "!!str",
        }
    }
}

/// Resolves a scalar of a document.
///
/// # Errors
/// The text does not match the tag.
pub(super) fn scalar(text: &str, is_plain: bool, tag: &str) -> Result<Scalar, Error> {
    match tag {
        "" if is_plain => Ok(plain(text)),
        "!!bool" | "!!int" | "!!float" | "!!null" | "!!timestamp" => {
            match (plain_with(text, tag == "!!timestamp"), tag) {
                (Scalar::Int(value), "!!float") => Ok(Scalar::Float(value as f64)),
                (resolved, _) if resolved.tag() == tag => Ok(resolved),
                (resolved, _) => {
                    Err(Error::Text(format!("yaml: cannot decode {} `{text}` as a {tag}", resolved.tag())))
                }
            }
        }
        _ => Ok(Scalar::Text),
    }
}

/// Resolves a plain scalar without a tag.
pub(super) fn plain(text: &str) -> Scalar {
    plain_with(text, true)
}

/// Resolves a plain scalar; times are only recognized if `times` is true (no tag other than `!!timestamp`).
fn plain_with(text: &str, times: bool) -> Scalar {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Scalar::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Scalar::Bool(false)
        }
        "" | "~" | "null" | "Null" | "NULL" => Scalar::Null,
        ".nan" | ".NaN" | ".NAN" => Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Scalar::Float(f64::NEG_INFINITY),
        _ => match text.as_bytes().first() {
            Some(b'.') => float(text).map_or(Scalar::Text, Scalar::Float),
            Some(b'0'..=b'9') if times && timestamp(text) => Scalar::Timestamp,
            Some(b'+' | b'-' | b'0'..=b'9') => number(text),
            _ => Scalar::Text,
        },
    }
}

fn number(text: &str) -> Scalar {
    let digits = text.replace('_', "");
    if let Some(integer) = int(&digits) {
        return integer;
    }
    float(&digits).map_or(Scalar::Text, Scalar::Float)
}

/// An integer in any base of Go's prefixes; a leading zero alone means octal.
fn int(text: &str) -> Option<Scalar> {
    let (negative, body) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    let (base, body) = match body.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, body.get(2..)?),
        [b'0', b'o' | b'O', ..] => (8, body.get(2..)?),
        [b'0', b'b' | b'B', ..] => (2, body.get(2..)?),
        [b'0', _, ..] => (8, body.get(1..)?),
        _ => (10, body),
    };
    if !body.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return None;
    }
    let magnitude = u64::from_str_radix(body, base).ok()?;
    let signed = i128::from(magnitude) * if negative { -1 } else { 1 };
    match i64::try_from(signed) {
        Ok(value) => Some(Scalar::Int(value)),
        Err(_) if !negative && !text.starts_with('+') => Some(Scalar::Uint(magnitude)),
        Err(_) => None,
    }
}

/// A decimal number: sign, digits with a point, exponent; within the range of a double.
fn float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let exponent_digits = exponent.map_or("0", |e| e.strip_prefix(['+', '-']).unwrap_or(e));
    let formed = digits(integer)
        && digits(fraction)
        && !(integer.is_empty() && fraction.is_empty())
        && !exponent_digits.is_empty()
        && digits(exponent_digits);
    text.parse().ok().filter(|value: &f64| formed && value.is_finite())
}

/// True for sexagesimal numbers such as `1:30`. They are plain text here but numbers for other YAML 1.1
/// readers, so they are quoted in the output.
pub(super) fn is_sexagesimal(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let mut parts = unsigned.split(':');
    let first = parts.next().unwrap_or_default();
    let first_ok = first.starts_with(|c: char| c.is_ascii_digit()) && only_digits_and(first, b'_');
    let mut rest: Vec<&str> = parts.collect();
    let Some(last) = rest.last_mut() else { return false };
    if let Some((sixtieth, fraction)) = last.split_once('.') {
        if !only_digits_and(fraction, b'_') {
            return false;
        }
        *last = sixtieth;
    }
    first_ok && rest.iter().all(|part| matches!(part.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9']))
}

fn only_digits_and(text: &str, other: u8) -> bool {
    text.bytes().all(|b| b.is_ascii_digit() || b == other)
}

/// True for a date, or a date and a time, in one of the library's formats.
fn timestamp(text: &str) -> bool {
    date(text).is_some_and(|rest| match rest.as_bytes().first() {
        None => true,
        Some(b' ') => rest.get(1..).and_then(time) == Some(""),
        Some(b'T' | b't') => rest.get(1..).and_then(time).is_some_and(zone),
        Some(_) => false,
    })
}

/// Parses `2006-1-2`; returns the rest.
fn date(text: &str) -> Option<&str> {
    let (year, rest) = text.split_at_checked(4)?;
    let year: u32 = if only_digits_and(year, b'0') { year.parse().ok()? } else { return None };
    let (month, rest) = one_or_two(rest.strip_prefix('-')?)?;
    let (day, rest) = one_or_two(rest.strip_prefix('-')?)?;
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    (1..=days).contains(&day).then_some(rest)
}

/// Parses `15:4:5.999`; returns the rest.
fn time(text: &str) -> Option<&str> {
    let (hour, rest) = one_or_two(text)?;
    let (minute, rest) = one_or_two(rest.strip_prefix(':')?)?;
    let (second, rest) = one_or_two(rest.strip_prefix(':')?)?;
    let fraction =
        rest.strip_prefix(['.', ',']).filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let rest = fraction.map_or(rest, |digits| digits.trim_start_matches(|c: char| c.is_ascii_digit()));
    (hour < 24 && minute < 60 && second < 60).then_some(rest)
}

/// True for `Z` or `+07:00`.
fn zone(text: &str) -> bool {
    match text.as_bytes() {
        [b'Z'] => true,
        [b'+' | b'-', h1, h2, b':', m1, m2] => {
            let two = |a: &u8, b: &u8| {
                (a.is_ascii_digit() && b.is_ascii_digit())
                    .then(|| u32::from(a - b'0') * 10 + u32::from(b - b'0'))
            };
            two(h1, h2).is_some_and(|hours| hours <= 24) && two(m1, m2).is_some_and(|minutes| minutes < 60)
        }
        _ => false,
    }
}

fn one_or_two(text: &str) -> Option<(u32, &str)> {
    let count = text.bytes().take(2).take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at_checked(count)?;
    Some((digits.parse().ok()?, rest))
}
