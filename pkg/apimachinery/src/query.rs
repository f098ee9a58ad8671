//! Query of a request, decoded like Go's `net/url`, with typed access to its parameters like upstream's
//! `ParameterCodec`.
//!
//! The server parses a query once into this type, so that authorization and handlers cannot interpret it
//! differently.

#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::as_conversions)]

use std::borrow::Cow;

use thiserror::Error;

use crate::go_quote::quote;
use crate::strconv::{NumError, parse_int};

/// Parameters of a query, in order. Like in Go, pairs with `;` or invalid escapes are skipped.
///
/// Queries are short, so each lookup is a scan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// All names and values, decoded and concatenated.
    text: String,
    /// End offsets of the names and values in `text`.
    ends: Vec<(usize, usize)>,
    /// Error of the first skipped pair.
    error: Option<QueryError>,
}

/// Error in a pair of a query, in the wording of Go's `net/url`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum QueryError {
    /// A `%` without two hexadecimal digits after it; contains the invalid text.
    #[error("invalid URL escape {}", quote(.0))]
    Escape(String),
    /// A `;`, which some parsers treat as a separator.
    #[error("invalid semicolon separator in query")]
    Semicolon,
}

impl Query {
    /// Decodes the part of a URL after `?`.
    pub fn parse(raw: &str) -> Self {
        let mut query = Query::default();
        for pair in raw.split('&').filter(|pair| !pair.is_empty()) {
            if pair.contains(';') {
                query.error.get_or_insert(QueryError::Semicolon);
                continue;
            }
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = match (decode(name, true), decode(value, true)) {
                (Some(name), Some(value)) => (name, value),
                (decoded, _) => {
                    let broken = if decoded.is_none() { name } else { value };
                    query.error.get_or_insert_with(|| QueryError::Escape(broken_escape(broken)));
                    continue;
                }
            };
            query.text.push_str(&name);
            let name_end = query.text.len();
            query.text.push_str(&value);
            query.ends.push((name_end, query.text.len()));
        }
        query
    }

    /// Error of a skipped pair, if any. Using only the other parameters changes the meaning of the request.
    pub fn error(&self) -> Option<&QueryError> {
        self.error.as_ref()
    }

    /// The parameters, in order.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut start = 0;
        self.ends.iter().filter_map(move |&(name_end, end)| {
            let pair = (self.text.get(start..name_end)?, self.text.get(name_end..end)?);
            start = end;
            Some(pair)
        })
    }

    /// The first value of a parameter; `None` when absent.
    pub fn first(&self, name: &str) -> Option<&str> {
        self.pairs().find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// Every value of a parameter.
    pub fn all<'q>(&'q self, name: &'q str) -> impl Iterator<Item = &'q str> {
        self.pairs().filter(move |(key, _)| *key == name).map(|(_, value)| value)
    }

    /// The first value of a parameter; empty when absent.
    pub fn text(&self, name: &str) -> String {
        self.first(name).unwrap_or_default().to_owned()
    }

    /// Every value of a parameter.
    pub fn texts(&self, name: &str) -> Vec<String> {
        self.all(name).map(str::to_owned).collect()
    }

    /// A boolean parameter: only `0` and `false` in any case are false.
    pub fn flag(&self, name: &str) -> Option<bool> {
        self.first(name).map(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    /// An integer parameter.
    ///
    /// # Errors
    /// A value that is no 64-bit decimal integer.
    pub fn integer(&self, name: &str) -> Result<Option<i64>, NumError> {
        self.first(name).map(parse_int).transpose()
    }
}

/// Decodes a path. Returns `None` for an invalid escape, for which Go's server responds with 400.
pub fn decode_path(raw: &str) -> Option<Cow<'_, str>> {
    decode(raw, false)
}

/// Decodes `%XX`, and `+` if it means a space. Invalid UTF-8 becomes U+FFFD.
fn decode(raw: &str, plus_is_space: bool) -> Option<Cow<'_, str>> {
    if !raw.contains(['%', '+']) {
        return Some(Cow::Borrowed(raw));
    }
    let mut bytes = raw.bytes();
    let mut out = Vec::with_capacity(raw.len());
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'%' => hex(bytes.next()?)? << 4 | hex(bytes.next()?)?,
            b'+' if plus_is_space => b' ',
            other => other,
        });
    }
    Some(Cow::Owned(match String::from_utf8(out) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }))
}

/// Returns the first `%` without a valid escape, with up to two bytes after it.
fn broken_escape(text: &str) -> String {
    let escapes = text.bytes().enumerate().filter(|&(_, byte)| byte == b'%');
    let rests = escapes.filter_map(|(at, _)| text.as_bytes().get(at..));
    let is_escape = |rest: &[u8]| matches!(rest, [_, a, b, ..] if hex(*a).is_some() && hex(*b).is_some());
    let broken = rests.map(|rest| rest.get(..3).unwrap_or(rest)).find(|rest| !is_escape(rest));
    String::from_utf8_lossy(broken.unwrap_or_default()).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_decode_like_go() {
        let check = |raw: &str, expected: &[(&str, &str)]| {
            assert_eq!(Query::parse(raw).pairs().collect::<Vec<_>>(), expected, "{raw}");
        };
        check("", &[]);
        check("a=1&b&a=2", &[("a", "1"), ("b", ""), ("a", "2")]);
        check("a=x+y%20z%3D", &[("a", "x y z=")]);
        check("a=%zz&b=%4&c=%&d=1;e=2&%zz=1&f=3", &[("f", "3")]);
        check("a=b=c&=x&&", &[("a", "b=c"), ("", "x")]);
        check("a=%ff&b=\u{e9}", &[("a", "\u{fffd}"), ("b", "\u{e9}")]);
    }

    #[test]
    fn skipped_pair_is_reported() {
        let check = |raw: &str, expected: Option<&str>| {
            let flaw = Query::parse(raw).error().map(ToString::to_string);
            assert_eq!(flaw.as_deref(), expected, "{raw}");
        };
        check("a=%41&b=+&&=", None);
        check("a=%41%zz9&b=%", Some(r#"invalid URL escape "%zz""#));
        check("%4=x", Some(r#"invalid URL escape "%4""#));
        check("a=%", Some(r#"invalid URL escape "%""#));
        check("a=1;b=%zz&c=%", Some("invalid semicolon separator in query"));
    }

    #[test]
    fn first_value_wins_but_all_are_available() {
        let query = Query::parse("exclude=etcd&exclude=ping&verbose");
        assert_eq!(
            (query.first("exclude"), query.first("verbose"), query.first("x")),
            (Some("etcd"), Some(""), None)
        );
        assert_eq!(query.all("exclude").collect::<Vec<_>>(), ["etcd", "ping"]);
    }

    #[test]
    fn a_plus_in_a_path_is_a_plus() {
        assert_eq!(decode_path("/a+b%2Fc").as_deref(), Some("/a+b/c"));
        assert_eq!(decode_path("/a%2"), None);
    }
}
