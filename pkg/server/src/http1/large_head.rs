//! Heads of HTTP/1.1 requests that are too large for the parser's buffer.
//!
//! The parser keeps a buffer of the size of the largest head while the connection lasts. So it gets a short head with only
//! the fields that affect the connection. [`LargeHead`] carries the target and all fields past the parser.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::as_conversions)]

use std::ops::Range;

use http::{HeaderMap, HeaderName, HeaderValue, Uri};

use super::head::{HeadRejection, split_line};

/// Maximum size of a head that reaches the parser unchanged, in bytes.
pub(crate) const PARSED_HEAD_BYTES_MAX: usize = 8 * 1024;
/// Fields that the parser evaluates.
const PARSED_FIELDS: [&str; 5] = ["connection", "content-length", "expect", "transfer-encoding", "upgrade"];

/// Target and fields of a request with a large head.
#[derive(Debug)]
pub(crate) struct LargeHead {
    /// Target. Its query is empty if `query` is set.
    pub(crate) uri: Uri,
    /// Query, if the target is too long for a `Uri`.
    pub(crate) query: Option<Vec<u8>>,
    pub(crate) headers: HeaderMap,
}

/// Large head in two parts.
pub(crate) struct SplitHead {
    pub(crate) large: LargeHead,
    /// The head for the parser, which contains another target.
    pub(crate) parsed: Vec<u8>,
}

/// Splits a valid head.
///
/// # Errors
/// The target is invalid, or the fields for the parser exceed [`PARSED_HEAD_BYTES_MAX`].
pub(crate) fn split(head: &[u8], long_query: Option<Range<usize>>) -> Result<SplitHead, HeadRejection> {
    let query = long_query.and_then(|range| head.get(range)).map(<[u8]>::to_vec);
    let (line, mut rest) = split_line(head)?;
    let mut words = line.splitn(3, |&byte| byte == b' ');
    let mut word = || words.next().ok_or(HeadRejection::Malformed);
    let method = word()?;
    let target = word()?;
    let version = word()?;
    let removed = query.as_ref().map_or(0, Vec::len);
    let target = target.get(..target.len().saturating_sub(removed)).unwrap_or_default();
    let uri = Uri::try_from(target).map_err(|_| HeadRejection::Malformed)?;
    let mut headers = HeaderMap::new();
    let mut parsed = [method, b" / ", version, b"\r\n"].concat();
    loop {
        let (line, behind) = split_line(rest)?;
        if line.is_empty() {
            break;
        }
        rest = behind;
        let (name, value) = field(line).ok_or(HeadRejection::Malformed)?;
        if PARSED_FIELDS.contains(&name.as_str()) {
            for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
                parsed.extend_from_slice(part);
            }
        }
        headers.try_append(name, value).map_err(|_| HeadRejection::TooLarge)?;
    }
    parsed.extend_from_slice(b"\r\n");
    if parsed.len() > PARSED_HEAD_BYTES_MAX {
        return Err(HeadRejection::TooLarge);
    }
    Ok(SplitHead { large: LargeHead { uri, query, headers }, parsed })
}

fn field(line: &[u8]) -> Option<(HeaderName, HeaderValue)> {
    let mut parts = line.splitn(2, |&byte| byte == b':');
    let name = HeaderName::from_bytes(parts.next()?).ok()?;
    let value = HeaderValue::from_bytes(parts.next()?.trim_ascii()).ok()?;
    Some((name, value))
}
