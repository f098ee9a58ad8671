//! Go's quoted strings.

/// Decodes the text between two quotes. Returns `None` for an escape that Go does not support.
pub(super) fn unquote(text: &str, quote: char) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((plain, escape)) = rest.split_once('\\') {
        rest = escaped(escape, quote, &mut out, plain)?;
    }
    plain(rest, quote, &mut out)?;
    // `\xff` is not necessarily valid UTF-8.
    Some(String::from_utf8_lossy(&out).into_owned())
}

/// Appends text without a backslash.
fn plain(text: &str, quote: char, out: &mut Vec<u8>) -> Option<()> {
    out.extend_from_slice(text.as_bytes());
    (!text.contains(quote)).then_some(())
}

/// Appends the text before a backslash and the decoded escape. Returns the remaining text.
fn escaped<'t>(escape: &'t str, quote: char, out: &mut Vec<u8>, before: &str) -> Option<&'t str> {
    plain(before, quote, out)?;
    let mut chars = escape.chars();
    let kind = chars.next()?;
    let rest = chars.as_str();
    let byte = match kind {
        'a' => 0x07,
        'b' => 0x08,
        'f' => 0x0c,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 0x0b,
        '\\' => b'\\',
        '\'' | '"' if kind == quote => u8::try_from(kind).ok()?,
        '0'..='7' => {
            let (digits, rest) = escape.split_at_checked(3)?;
            out.push(u8::try_from(number(digits, 8)?).ok()?);
            return Some(rest);
        }
        'x' | 'u' | 'U' => return coded(kind, rest, out),
        _ => return None,
    };
    out.push(byte);
    Some(rest)
}

/// Decodes `\xHH`, `\uHHHH` and `\UHHHHHHHH`, after the letter.
fn coded<'t>(kind: char, text: &'t str, out: &mut Vec<u8>) -> Option<&'t str> {
    let len = match kind {
        'x' => 2,
        'u' => 4,
        _ => 8,
    };
    let (digits, rest) = text.split_at_checked(len)?;
    let code = number(digits, 16)?;
    match kind {
        'x' => out.push(u8::try_from(code).ok()?),
        _ => out.extend_from_slice(char::from_u32(code)?.encode_utf8(&mut [0; 4]).as_bytes()),
    }
    Some(rest)
}

fn number(digits: &str, radix: u32) -> Option<u32> {
    let all = digits.chars().all(|c| c.is_digit(radix));
    all.then(|| u32::from_str_radix(digits, radix).ok()).flatten()
}
