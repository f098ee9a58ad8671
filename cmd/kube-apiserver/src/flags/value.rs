//! Flag value types: parsing, and upstream's error texts.

use std::net::IpAddr;

use apimachinery::go_quote::Quoted;
use apimachinery::quantity;
use apimachinery::strconv::{NumError, Problem, atoi};
use apimachinery::time::{DurationError, parse_duration};

/// Error of a flag's value, in upstream's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ValueError {
    #[error(transparent)]
    Number(#[from] NumError),
    #[error(transparent)]
    Duration(#[from] DurationError),
    #[error(transparent)]
    Quantity(#[from] quantity::Error),
    #[error("failed to parse IP: {}", Quoted(.0))]
    Ip(String),
    #[error("malformed pair, expect string=string")]
    Pair,
    /// An item of a list that is no pair.
    #[error("{0} must be formatted as key=value")]
    Item(String),
    #[error("syntax error: expect comma-separated list of filename=N")]
    Pattern,
    #[error("parse error on line 1, column {column}: extraneous or missing \" in quoted-field")]
    OpenQuote { column: usize },
    #[error("expected comma separated certificate and key file paths")]
    CertKey,
    #[error("empty names list is not allowed")]
    NoNames,
    #[error("unable to parse port range: {0}")]
    PortRange(String),
    #[error("the port range cannot be greater than 65535: {0}")]
    PortTooLarge(String),
    #[error("end port cannot be less than start port: {0}")]
    PortOrder(String),
}

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
                    Err(ValueError::Pair)
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
                if pair.contains('=') { Ok(()) } else { Err(ValueError::Item(pair.clone())) }
            }),
            Kind::Duration => Ok(parse_duration(value).map(drop)?),
            Kind::Ip => ip(value).map(drop),
            Kind::CertKey => CertKey::parse(value).map(drop),
            Kind::Ports => ports(value).map(drop),
            Kind::Quantity => Ok(quantity::canonicalize(value).map(drop)?),
            Kind::Version => match value {
                "raw" => Ok(()),
                value if value.starts_with('v') => Ok(()),
                value => bool(value).map(drop),
            },
            Kind::Pattern => {
                if value.split(',').filter(|part| !part.is_empty()).all(|part| part.contains('=')) {
                    Ok(())
                } else {
                    Err(ValueError::Pattern)
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
                return Err(ValueError::NoNames);
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
            _ => Err(ValueError::CertKey),
        }
    }
}

fn syntax(function: &'static str, input: &str) -> ValueError {
    NumError { function, input: input.to_owned(), problem: Problem::Syntax }.into()
}

fn range(function: &'static str, input: &str) -> ValueError {
    NumError { function, input: input.to_owned(), problem: Problem::Range }.into()
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
                let open = ValueError::OpenQuote { column: text.len() + 1 };
                let (item, after) = quoted.split_once('"').ok_or(open)?;
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
        trimmed => trimmed.parse().map(Some).map_err(|_| ValueError::Ip(text.to_owned())),
    }
}

/// Parses `low-high`, `low+size` or one port into an inclusive range.
pub(crate) fn ports(text: &str) -> Result<(i64, i64), ValueError> {
    let trimmed = text.trim();
    let (low, high) = match (trimmed.split_once('-'), trimmed.split_once('+')) {
        (Some(_), Some(_)) => return Err(ValueError::PortRange(trimmed.to_owned())),
        (Some((low, high)), None) => (atoi(low)?, atoi(high)?),
        (None, Some((low, more))) => (atoi(low)?, atoi(low)?.saturating_add(atoi(more)?)),
        (None, None) if trimmed.is_empty() => (0, 0),
        (None, None) => (atoi(trimmed)?, atoi(trimmed)?),
    };
    if low > 65_535 || high > 65_535 {
        return Err(ValueError::PortTooLarge(trimmed.to_owned()));
    }
    if high < low {
        return Err(ValueError::PortOrder(trimmed.to_owned()));
    }
    Ok((low, high))
}
