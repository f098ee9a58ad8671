//! Strict parser for the head of an HTTP/1.1 request, which also finds the length of the body.
//!
//! If two parsers can disagree about the end of a request, an attacker can hide a request from one of them
//! (request smuggling). So there is exactly one interpretation here: lines end with CR LF, nothing is
//! repaired, and duplicate framing information is rejected.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::as_conversions)]

use std::ops::Range;

use memchr::memchr;

/// Maximum number of header fields. A higher limit would make the parser slower for small requests.
pub(crate) const FIELDS_MAX: usize = 1024;
/// Maximum length of a request target in bytes that `http::Uri` can hold. The query of a longer one is passed on
/// separately.
const TARGET_BYTES_MAX: usize = 65_534;

/// A request's head.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) framing: Framing,
    /// Position of the query, without its question mark, if the target is too long for `http::Uri`.
    pub(crate) long_query: Option<Range<usize>>,
}

/// Body of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Body of this length in bytes.
    Sized(u64),
    Chunked,
}

/// Reason to reject a head. The texts are those of Go's server, if it rejects the head too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeadRejection {
    Malformed,
    /// Malformed; contains the faulty part.
    Invalid(&'static str),
    TransferEncoding,
    Expectation,
    TargetTooLong,
    TooLarge,
    Version,
}

impl HeadRejection {
    /// Returns the response. The connection ends with it.
    pub(crate) fn response(self) -> String {
        let (status, body) = match self {
            HeadRejection::Malformed => ("400 Bad Request".to_owned(), None),
            HeadRejection::Invalid(text) => (format!("400 Bad Request: {text}"), None),
            HeadRejection::TransferEncoding => {
                ("501 Not Implemented".to_owned(), Some("Unsupported transfer encoding"))
            }
            HeadRejection::Expectation => ("417 Expectation Failed".to_owned(), Some("")),
            HeadRejection::TargetTooLong => ("414 Request URI Too Long".to_owned(), None),
            HeadRejection::TooLarge => ("431 Request Header Fields Too Large".to_owned(), None),
            HeadRejection::Version => {
                ("505 HTTP Version Not Supported: unsupported protocol version".to_owned(), None)
            }
        };
        let body = body.unwrap_or(&status);
        let length = body.len();
        let content_type = if body.is_empty() { "" } else { "Content-Type: text/plain; charset=utf-8\r\n" };
        format!(
            "HTTP/1.1 {status}\r\n{content_type}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        )
    }
}

/// Finds the end of the head at the start of `bytes`. The first `searched` bytes were searched before.
///
/// # Errors
/// A line that does not end with CR LF, or an empty line in place of a request.
pub(crate) fn end(bytes: &[u8], searched: usize) -> Result<Option<usize>, HeadRejection> {
    if matches!(bytes.first(), Some(b'\r' | b'\n')) {
        return Err(HeadRejection::Malformed);
    }
    let mut line_start = searched;
    while let Some(line_length) = bytes.get(line_start..).and_then(|rest| memchr(b'\n', rest)) {
        let line_end = line_start.saturating_add(line_length);
        let head = bytes.get(..line_end).unwrap_or_default();
        if !head.ends_with(b"\r") {
            return Err(HeadRejection::Malformed);
        }
        line_start = line_end.saturating_add(1);
        if head.ends_with(b"\r\n\r") {
            return Ok(Some(line_start));
        }
    }
    Ok(None)
}

/// Parses a whole head, including its empty line.
///
/// # Errors
/// The head is not a request of HTTP/1.0 or 1.1 with exactly one interpretation.
pub(crate) fn read(head: &[u8]) -> Result<Head, HeadRejection> {
    let (line, mut rest) = split_line(head)?;
    let RequestLine { http11, long_query } = request_line(line)?;
    let mut fields = Fields::default();
    for _ in 0..=FIELDS_MAX {
        let (line, behind) = split_line(rest)?;
        if line.is_empty() {
            return Ok(Head { framing: fields.framing(http11)?, long_query });
        }
        fields.record_field(line)?;
        rest = behind;
    }
    Err(HeadRejection::TooLarge)
}

pub(super) fn split_line(bytes: &[u8]) -> Result<(&[u8], &[u8]), HeadRejection> {
    let end =
        memchr(b'\n', bytes).and_then(|end| bytes.split_at_checked(end)).ok_or(HeadRejection::Malformed)?;
    let line = end.0.strip_suffix(b"\r").ok_or(HeadRejection::Malformed)?;
    Ok((line, end.1.get(1..).unwrap_or_default()))
}

struct RequestLine {
    /// True for HTTP/1.1.
    http11: bool,
    long_query: Option<Range<usize>>,
}

/// Parses the request line.
fn request_line(line: &[u8]) -> Result<RequestLine, HeadRejection> {
    let mut words = line.split(|&byte| byte == b' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(HeadRejection::Malformed);
    };
    let http11 = match version {
        b"HTTP/1.1" => true,
        b"HTTP/1.0" => false,
        [b'H', b'T', b'T', b'P', b'/', major, b'.', minor]
            if major.is_ascii_digit() && minor.is_ascii_digit() =>
        {
            return Err(HeadRejection::Version);
        }
        _ => return Err(HeadRejection::Malformed),
    };
    // The server does not support CONNECT, whose targets have a different syntax.
    if !is_token(method) || method == b"CONNECT" || !is_target(target) {
        return Err(HeadRejection::Malformed);
    }
    let long_query = if target.len() > TARGET_BYTES_MAX {
        let query = memchr(b'?', target).filter(|query| *query < TARGET_BYTES_MAX);
        let query = query.ok_or(HeadRejection::TargetTooLong)?;
        let target_start = method.len().saturating_add(1);
        let start = target_start.saturating_add(query).saturating_add(1);
        Some(start..target_start.saturating_add(target.len()))
    } else {
        None
    };
    Ok(RequestLine { http11, long_query })
}

/// True for a path, `*`, or an absolute URL without user and fragment.
fn is_target(target: &[u8]) -> bool {
    let shown = target.iter().all(|&byte| byte > b' ' && byte != 0x7f && byte != b'#');
    let absolute = || {
        let url = target.strip_prefix(b"http://").or_else(|| target.strip_prefix(b"https://"));
        let host = url.and_then(|url| url.split(|byte| matches!(byte, b'/' | b'?')).next());
        host.is_some_and(|host| !host.is_empty() && is_host(host))
    };
    shown && (target.starts_with(b"/") || target == b"*" || absolute())
}

/// Header fields that affect the parsing.
#[derive(Default)]
struct Fields<'h> {
    host: Option<&'h [u8]>,
    content_length: Option<u64>,
    transfer_encoding: bool,
}

impl<'h> Fields<'h> {
    fn record_field(&mut self, line: &'h [u8]) -> Result<(), HeadRejection> {
        let colon = memchr(b':', line).and_then(|colon| line.split_at_checked(colon));
        let Some((name, [b':', value @ ..])) = colon else { return Err(HeadRejection::Malformed) };
        if !is_token(name) {
            let spaced = name.trim_ascii_end();
            let spaced = spaced.len() < name.len() && is_token(spaced);
            return Err(if spaced {
                HeadRejection::Invalid("invalid header name")
            } else {
                HeadRejection::Malformed
            });
        }
        if !value.iter().all(|&byte| is_value_byte(byte)) {
            return Err(HeadRejection::Malformed);
        }
        let value = value.trim_ascii();
        // The length of a name is enough to skip most fields.
        match name.len() {
            4 if name.eq_ignore_ascii_case(b"host") => self.host(value),
            6 if name.eq_ignore_ascii_case(b"expect") => expect(value),
            14 if name.eq_ignore_ascii_case(b"content-length") => self.content_length(value),
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => self.transfer_encoding(value),
            _ => Ok(()),
        }
    }

    fn host(&mut self, value: &'h [u8]) -> Result<(), HeadRejection> {
        match self.host.replace(value) {
            Some(_) => Err(HeadRejection::Malformed),
            None if is_host(value) => Ok(()),
            None => Err(HeadRejection::Invalid("malformed Host header")),
        }
    }

    fn content_length(&mut self, value: &[u8]) -> Result<(), HeadRejection> {
        match self.content_length.replace(decimal(value).ok_or(HeadRejection::Malformed)?) {
            Some(_) => Err(HeadRejection::Malformed),
            None => Ok(()),
        }
    }

    fn transfer_encoding(&mut self, value: &[u8]) -> Result<(), HeadRejection> {
        let twice = std::mem::replace(&mut self.transfer_encoding, true);
        if !twice && value.eq_ignore_ascii_case(b"chunked") {
            Ok(())
        } else {
            Err(HeadRejection::TransferEncoding)
        }
    }

    fn framing(self, http11: bool) -> Result<Framing, HeadRejection> {
        if http11 && self.host.is_none() {
            return Err(HeadRejection::Invalid("missing required Host header"));
        }
        match (self.transfer_encoding, self.content_length) {
            (false, length) => Ok(Framing::Sized(length.unwrap_or(0))),
            (true, None) if http11 => Ok(Framing::Chunked),
            (true, _) => Err(HeadRejection::Malformed),
        }
    }
}

fn expect(value: &[u8]) -> Result<(), HeadRejection> {
    if value.is_empty() || value.eq_ignore_ascii_case(b"100-continue") {
        Ok(())
    } else {
        Err(HeadRejection::Expectation)
    }
}

/// Parses a length of 63 bits that contains only digits.
fn decimal(text: &[u8]) -> Option<u64> {
    if !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number: u64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    (number <= i64::MAX.unsigned_abs()).then_some(number)
}

/// True for a `token` of RFC 9110.
pub(super) fn is_token(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|&byte| is_token_byte(byte))
}

pub(super) fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// True for bytes that are allowed in a field value.
pub(super) fn is_value_byte(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

/// True if the host has only valid characters. Same rule as Go's server, which accepts an empty host.
fn is_host(host: &[u8]) -> bool {
    host.iter().all(|byte| byte.is_ascii_alphanumeric() || b"!$%&'()*+,-.:;=[]_~".contains(byte))
}
