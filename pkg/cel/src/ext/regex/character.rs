//! Escapes of single characters.

/// Go's error code and the offending part of the pattern.
pub(super) type RegexError<'a> = (&'static str, &'a str);

/// Parses an escape of a single character.
pub(super) fn character(text: &str) -> Result<(char, &str), RegexError<'_>> {
    let mut chars = text.chars();
    chars.next();
    let Some(kind) = chars.next() else { return Err(("trailing backslash at end of expression", "")) };
    let rest = chars.as_str();
    let c = match kind {
        'a' => '\x07',
        'f' => '\x0c',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\x0b',
        '0'..='7' => return octal(text),
        'x' => return hexadecimal(text),
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => c,
        _ => return Err((ESCAPE, &text[..text.len() - rest.len()])),
    };
    Ok((c, rest))
}

const ESCAPE: &str = "invalid escape sequence";

/// Parses up to three octal digits. A single digit other than 0 would be a backreference.
fn octal(text: &str) -> Result<(char, &str), RegexError<'_>> {
    let digits = text[1..].bytes().take(3).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
    if digits == 1 && !text.starts_with("\\0") {
        return Err((ESCAPE, &text[..2]));
    }
    let value = u32::from_str_radix(&text[1..1 + digits], 8).ok().and_then(char::from_u32);
    Ok((value.unwrap_or_default(), &text[1 + digits..]))
}

/// Parses two hexadecimal digits, or any number of them in braces.
fn hexadecimal(text: &str) -> Result<(char, &str), RegexError<'_>> {
    let digits = &text[2..];
    let Some(braced) = digits.strip_prefix('{') else {
        let read = 2 + digits.chars().take(2).map(char::len_utf8).sum::<usize>();
        let two = digits.get(..2).filter(|two| two.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let value = two.and_then(|two| u32::from_str_radix(two, 16).ok()).and_then(char::from_u32);
        return value.map(|c| (c, &text[read..])).ok_or((ESCAPE, &text[..read]));
    };
    let mut value = 0;
    for (at, c) in braced.char_indices() {
        let rest = &braced[at + c.len_utf8()..];
        let digit =
            c.to_digit(16).map(|digit| value * 16 + digit).filter(|value| *value <= u32::from(char::MAX));
        match digit {
            Some(next) => value = next,
            // Go accepts surrogates, which no text contains.
            None if c == '}' && at > 0 => {
                return Ok((char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER), rest));
            }
            None => return Err((ESCAPE, &text[..text.len() - rest.len()])),
        }
    }
    Err((ESCAPE, text))
}
