//! Flag value types: parsing, and upstream's error texts.

use std::net::IpAddr;

use apimachinery::go_quote::Quoted;
use apimachinery::strconv::{NumError, Problem, atoi};

/// Error of a flag's value, in upstream's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct ValueError(String);

/// Type of a flag value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Int,
    Uint,
    Float,
    Text,
    /// Comma-separated; repeatable.
    List,
    /// One text per occurrence.
    Array,
    /// One `key=value` per occurrence.
    Pair,
    /// `key=value`, comma-separated.
    Pairs,
    /// `key=value` or `key`, comma-separated.
    Map,
    /// `gate=bool`, comma-separated, each with an optional `component:` prefix. The valid gates depend on
    /// other flags, so a single value is not validated.
    Gates,
    Duration,
    Ip,
    CertKey,
    Ports,
    Quantity,
    Ints,
    Level,
    Version,
    Pattern,
}

impl Kind {
    /// Returns the value of a flag that is given without one.
    pub(crate) fn no_opt_default(self) -> Option<&'static str> {
        matches!(self, Kind::Bool | Kind::Version).then_some("true")
    }

    /// Validates `value`.
    ///
    /// # Errors
    /// The reason, in upstream's words.
    pub(crate) fn check(self, value: &str) -> Result<(), ValueError> {
        match self {
            Kind::Text | Kind::Array | Kind::Map | Kind::Gates => Ok(()),
            Kind::Pair => {
                if value.is_empty() || value.contains('=') {
                    Ok(())
                } else {
                    Err(ValueError("malformed pair, expect string=string".to_owned()))
                }
            }
            Kind::Bool => bool(value).map(drop),
            Kind::Int => int(value, 64).map(drop),
            Kind::Level => int(value, 32).map(drop),
            Kind::Uint => uint(value),
            Kind::Float => float(value).map(drop),
            Kind::List => list(value).map(drop),
            Kind::Ints => value.split(',').try_for_each(|item| int(item, 32).map(drop)),
            Kind::Pairs => list(value)?.iter().try_for_each(|pair| {
                if pair.contains('=') {
                    Ok(())
                } else {
                    Err(ValueError(format!("{pair} must be formatted as key=value")))
                }
            }),
            Kind::Duration => apimachinery::time::parse_duration(value)
                .map(drop)
                .map_err(|error| ValueError(error.to_string())),
            Kind::Ip => ip(value).map(drop),
            Kind::CertKey => CertKey::parse(value).map(drop),
            Kind::Ports => ports(value).map(drop),
            Kind::Quantity => apimachinery::quantity::canonicalize(value)
                .map(drop)
                .map_err(|error| ValueError(error.to_string())),
            Kind::Version => match value {
                "raw" => Ok(()),
                value if value.starts_with('v') => Ok(()),
                value => bool(value).map(drop),
            },
            Kind::Pattern => {
                if value.split(',').filter(|part| !part.is_empty()).all(|part| part.contains('=')) {
                    Ok(())
                } else {
                    Err(ValueError("syntax error: expect comma-separated list of filename=N".to_owned()))
                }
            }
        }
    }
}

/// A certificate, its key, and their server names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CertKey {
    pub(crate) certificate: String,
    pub(crate) key: String,
    pub(crate) names: Vec<String>,
}

impl CertKey {
    /// Parses `CERT,KEY[:NAME,…]`.
    ///
    /// # Errors
    /// Upstream's text.
    pub(crate) fn parse(text: &str) -> Result<Self, ValueError> {
        let (files, names) = match text.split_once(':') {
            Some((_, names)) if names.trim().is_empty() => {
                return Err(ValueError("empty names list is not allowed".to_owned()));
            }
            Some((files, names)) => {
                (files, names.trim().split(',').map(|name| name.trim().to_owned()).collect())
            }
            None => (text, Vec::new()),
        };
        match files.trim().split(',').collect::<Vec<_>>().as_slice() {
            [certificate, key] => {
                Ok(CertKey { certificate: certificate.trim().to_owned(), key: key.trim().to_owned(), names })
            }
            _ => Err(ValueError("expected comma separated certificate and key file paths".to_owned())),
        }
    }
}

fn syntax(function: &'static str, input: &str) -> ValueError {
    ValueError(NumError { function, input: input.to_owned(), problem: Problem::Syntax }.to_string())
}

fn range(function: &'static str, input: &str) -> ValueError {
    ValueError(NumError { function, input: input.to_owned(), problem: Problem::Range }.to_string())
}

/// Go's `strconv.ParseBool`.
pub(super) fn bool(text: &str) -> Result<bool, ValueError> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(syntax("ParseBool", text)),
    }
}

/// Go's `strconv.ParseInt` with base 0: decimal, `0x`, `0o`, `0b`, or octal after a leading `0`.
pub(super) fn int(text: &str, bits: u32) -> Result<i64, ValueError> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let magnitude = magnitude(digits).ok_or_else(|| syntax("ParseInt", text))?;
    let value = magnitude.map(|m| if negative { -m } else { m });
    let bound = 1_i128 << (bits - 1);
    value
        .filter(|value| (-bound..bound).contains(value))
        .and_then(|value| i64::try_from(value).ok())
        .ok_or_else(|| range("ParseInt", text))
}

fn uint(text: &str) -> Result<(), ValueError> {
    match magnitude(text) {
        None => Err(syntax("ParseUint", text)),
        Some(value) if value.is_some_and(|value| u64::try_from(value).is_ok()) => Ok(()),
        Some(_) => Err(range("ParseUint", text)),
    }
}

/// Returns `None` for a non-number, and `Some(None)` for a number that is far too large.
fn magnitude(digits: &str) -> Option<Option<i128>> {
    let lower = digits.to_ascii_lowercase();
    let (base, digits) = match lower.as_bytes() {
        [b'0', b'x', ..] => (16, lower.get(2..)?),
        [b'0', b'o', ..] => (8, lower.get(2..)?),
        [b'0', b'b', ..] => (2, lower.get(2..)?),
        [b'0', _, ..] => (8, lower.get(1..)?),
        _ => (10, lower.as_str()),
    };
    let valid = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(base));
    valid.then(|| i128::from_str_radix(digits, base).ok())
}

/// Go's `strconv.ParseFloat`, for the numbers in flags.
pub(super) fn float(text: &str) -> Result<f64, ValueError> {
    match text.parse() {
        Ok(value) => Ok(value),
        Err(_) => Err(syntax("ParseFloat", text)),
    }
}

/// Parses comma-separated items. Double quotes protect a comma.
pub(super) fn list(text: &str) -> Result<Vec<String>, ValueError> {
    let mut items = Vec::new();
    let mut rest = text;
    while !text.is_empty() {
        let (item, after) = match rest.strip_prefix('"') {
            None => rest
                .split_once(',')
                .map_or((rest.to_owned(), None), |(item, after)| (item.to_owned(), Some(after))),
            Some(quoted) => {
                let (item, after) = quoted.split_once('"').ok_or_else(|| {
                    ValueError(format!(
                        "parse error on line 1, column {}: extraneous or missing \" in quoted-field",
                        text.len() + 1
                    ))
                })?;
                (item.to_owned(), after.strip_prefix(','))
            }
        };
        items.push(item);
        match after {
            Some(after) => rest = after,
            None => break,
        }
    }
    Ok(items)
}

/// Parses an address; `None` for the empty text.
pub(super) fn ip(text: &str) -> Result<Option<IpAddr>, ValueError> {
    match text.trim() {
        "" => Ok(None),
        trimmed => {
            trimmed.parse().map(Some).map_err(|_| ValueError(format!("failed to parse IP: {}", Quoted(text))))
        }
    }
}

/// Parses `low-high`, `low+size` or one port into an inclusive range.
pub(crate) fn ports(text: &str) -> Result<(i64, i64), ValueError> {
    let number = |text: &str| atoi(text).map_err(|error| ValueError(error.to_string()));
    let trimmed = text.trim();
    let (low, high) = match (trimmed.split_once('-'), trimmed.split_once('+')) {
        (Some(_), Some(_)) => return Err(ValueError(format!("unable to parse port range: {trimmed}"))),
        (Some((low, high)), None) => (number(low)?, number(high)?),
        (None, Some((low, more))) => (number(low)?, number(low)?.saturating_add(number(more)?)),
        (None, None) if trimmed.is_empty() => (0, 0),
        (None, None) => (number(trimmed)?, number(trimmed)?),
    };
    if low > 65_535 || high > 65_535 {
        return Err(ValueError(format!("the port range cannot be greater than 65535: {trimmed}")));
    }
    if high < low {
        return Err(ValueError(format!("end port cannot be less than start port: {trimmed}")));
    }
    Ok((low, high))
}
