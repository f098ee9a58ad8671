//! Decodes bytes to text: UTF-16 if there is a byte order mark, otherwise UTF-8.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::as_conversions)]

use std::borrow::Cow;

use super::Error;

/// Decodes a text.
///
/// # Errors
/// The bytes are not valid text.
pub(super) fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, Error> {
    let (rest, unit): (_, fn([u8; 2]) -> u16) = match bytes {
        [0xff, 0xfe, rest @ ..] => (rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => (rest, u16::from_be_bytes),
        _ => {
            let text = std::str::from_utf8(bytes);
            return text.map(Cow::Borrowed).map_err(|_| error("invalid leading UTF-8 octet"));
        }
    };
    let (units, odd) = rest.as_chunks();
    let mut text = String::with_capacity(rest.len());
    let mut units = units.iter().copied().map(unit);
    while let Some(first) = units.next() {
        let second = if is_high(first) { units.next() } else { None };
        match char::decode_utf16([first].into_iter().chain(second)).next() {
            Some(Ok(char)) => text.push(char),
            _ if !is_high(first) => return Err(error("unexpected low surrogate area")),
            _ if second.is_none() => return Err(error("incomplete UTF-16 surrogate pair")),
            _ => return Err(error("expected low surrogate area")),
        }
    }
    if odd.is_empty() { Ok(Cow::Owned(text)) } else { Err(error("incomplete UTF-16 character")) }
}

fn is_high(unit: u16) -> bool {
    (0xd800..0xdc00).contains(&unit)
}

fn error(text: &str) -> Error {
    Error::Text(format!("yaml: {text}"))
}
