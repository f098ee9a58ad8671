//! Header values as text.
//!
//! A value may contain any bytes except control characters. Invalid UTF-8 is replaced with U+FFFD, which no
//! header gives a meaning. So an unreadable token is a wrong token and not an anonymous request, and an
//! unreadable media type is not the default one.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::as_conversions)]

use std::borrow::Cow;

use apimachinery::foreign_text::ForeignText;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, HeaderName, HeaderValue};

/// Returns the first value of a header.
pub fn text(headers: &HeaderMap, name: HeaderName) -> Option<Cow<'_, str>> {
    headers.get(name).map(of)
}

/// Returns the first value of a header; empty when there is none.
pub fn text_or_empty(headers: &HeaderMap, name: HeaderName) -> Cow<'_, str> {
    text(headers, name).unwrap_or_default()
}

/// Returns all values of a header.
pub fn texts(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = Cow<'_, str>> {
    headers.get_all(name).into_iter().map(of)
}

/// Returns the number of bytes of all names and values.
pub fn total_bytes(headers: &HeaderMap) -> u64 {
    let lengths = headers.iter().map(|(name, value)| name.as_str().len().saturating_add(value.len()));
    u64::try_from(lengths.fold(0, usize::saturating_add)).unwrap_or(u64::MAX)
}

fn of(value: &HeaderValue) -> Cow<'_, str> {
    String::from_utf8_lossy(value.as_bytes())
}

/// Error of `Content-Length` fields without one meaning.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContentLengthError {
    /// A value is not a decimal number of 64 bits.
    #[error("bad Content-Length {}", .0.quoted())]
    Invalid(ForeignText),
    /// Two fields differ.
    #[error("http: message cannot contain multiple Content-Length headers; got {} and {}", .0.quoted(), .1.quoted())]
    Conflict(ForeignText, ForeignText),
}

/// Returns the length that the `Content-Length` fields announce; `None` without one. Equal fields count once, as in
/// Go's `net/http`.
///
/// # Errors
/// The fields differ, or one is not a number. Two readers could disagree about the end of such a message.
pub fn content_length(headers: &HeaderMap) -> Result<Option<u64>, ContentLengthError> {
    let mut values = headers.get_all(CONTENT_LENGTH).iter().map(|value| value.as_bytes().trim_ascii());
    let Some(first) = values.next() else { return Ok(None) };
    if let Some(conflicting) = values.find(|conflicting| *conflicting != first) {
        return Err(ContentLengthError::Conflict(
            ForeignText::from_bytes(first),
            ForeignText::from_bytes(conflicting),
        ));
    }
    let digits =
        std::str::from_utf8(first).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let length = digits.and_then(|digits| digits.parse().ok());
    length.map(Some).ok_or_else(|| ContentLengthError::Invalid(ForeignText::from_bytes(first)))
}

/// Returns the media type of a `Content-Type` in lower case; `None` for every error of Go's
/// `mime.ParseMediaType`, even in unused parameters.
pub(crate) fn media_type(header: &str) -> Option<String> {
    let (media_type, mut rest) = match header.find(';') {
        Some(at) => header.split_at_checked(at)?,
        None => (header, ""),
    };
    let mut names: Vec<String> = Vec::new();
    loop {
        rest = rest.trim_start();
        // A trailing semicolon is accepted.
        if matches!(rest.trim_end(), "" | ";") {
            return Some(media_type.trim().to_ascii_lowercase());
        }
        let (name, behind) = token(rest.strip_prefix(';')?.trim_start())?;
        let name = name.to_ascii_lowercase();
        if names.contains(&name) {
            return None;
        }
        names.push(name);
        rest = value(behind.trim_start().strip_prefix('=')?.trim_start())?;
    }
}

/// Splits a token off the front.
fn token(text: &str) -> Option<(&str, &str)> {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    let end = text.find(|c| !is_token(c)).unwrap_or(text.len());
    text.split_at_checked(end).filter(|(token, _)| !token.is_empty())
}

/// Skips a token or a quoted string and returns the rest.
fn value(text: &str) -> Option<&str> {
    let Some(quoted) = text.strip_prefix('"') else { return token(text).map(|(_, rest)| rest) };
    let mut chars = quoted.chars();
    loop {
        match chars.next()? {
            '"' => return Some(chars.as_str()),
            '\\' => drop(chars.next()),
            _ => {}
        }
    }
}

/// Adds a value before those that the headers already have.
pub fn prepend(headers: &mut HeaderMap, name: &HeaderName, value: HeaderValue) {
    let present: Vec<HeaderValue> = headers.get_all(name).iter().cloned().collect();
    headers.insert(name, value);
    for value in present {
        headers.append(name, value);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn invalid_utf8_value_is_present() {
        let mut headers = HeaderMap::new();
        headers.append("x", HeaderValue::from_bytes(b"Bearer \xff").unwrap());
        headers.append("x", HeaderValue::from_bytes("\u{e9}".as_bytes()).unwrap());
        let name = HeaderName::from_static("x");
        assert_eq!(text(&headers, name.clone()).as_deref(), Some("Bearer \u{fffd}"));
        assert_eq!(texts(&headers, name).collect::<Vec<_>>(), ["Bearer \u{fffd}", "\u{e9}"]);
        assert_eq!(text_or_empty(&headers, HeaderName::from_static("y")), "");
    }

    #[test]
    fn content_length_has_one_value() {
        let check = |values: &[&str], expected: Option<Option<u64>>| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(CONTENT_LENGTH, HeaderValue::from_str(value).unwrap());
            }
            assert_eq!(content_length(&headers).ok(), expected, "{values:?}");
        };
        check(&[], Some(None));
        check(&["5"], Some(Some(5)));
        check(&["5", " 5", "5"], Some(Some(5)));
        for bad in
            [&["5", "6"][..], &["5", "05"], &["5, 5"], &["+5"], &["-1"], &[""], &["18446744073709551616"]]
        {
            check(bad, None);
        }
    }

    #[test]
    fn content_type_parses_like_go() {
        let check = |header: &str, expected: Option<&str>| {
            assert_eq!(media_type(header).as_deref(), expected, "{header:?}");
        };
        const JSON: Option<&str> = Some("application/json");
        check(" Application/JSON ", JSON);
        for good in [";", " ; charset=utf-8", ";a=b;c=d;", "; a = \"x;\\\" y\" ", ";a=\"\"", ";  ", ";a=b ; "]
        {
            check(&format!("application/json{good}"), JSON);
        }
        for bad in [";;;=", ";;", ";=", ";a", ";a=", ";a=b c", ";a=b;A=c", ";a=\"b", ";\u{fffd}=b", ";a b=c"]
        {
            check(&format!("application/json{bad}"), None);
        }
    }
}
