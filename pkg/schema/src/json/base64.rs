//! Base64 as accepted by Go's decoder: padded, line breaks anywhere, trailing bits ignored.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Converts base64 to its canonical form.
///
/// # Errors
/// The offset (including line breaks) in Go's `illegal base64 data at input byte`.
pub(crate) fn canonicalize(text: &str) -> Result<String, usize> {
    match STANDARD.decode(text) {
        // This decoder accepts only canonical text.
        Ok(_) => Ok(text.to_owned()),
        Err(_) => decode(text.as_bytes()).map(|bytes| STANDARD.encode(bytes)),
    }
}

pub(crate) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Decodes base64; errors as for [`canonicalize`].
pub(crate) fn decode(text: &[u8]) -> Result<Vec<u8>, usize> {
    let mut input = Input { text, at: 0 };
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    loop {
        let mut bits = 0;
        let mut count: u32 = 0;
        let mut padded = false;
        while count < 4 && !padded {
            input.skip_breaks();
            match input.next() {
                None if count == 0 => return Ok(out),
                None => return Err(input.at - count as usize),
                Some(b'=') => {
                    padding(&mut input, count)?;
                    padded = true;
                }
                Some(byte) => {
                    bits = bits << 6 | sextet(byte).ok_or(input.at - 1)?;
                    count += 1;
                }
            }
        }
        let bytes = (bits << (6 * (4 - count))).to_be_bytes();
        out.extend(bytes.iter().skip(1).take(count as usize - 1));
        if padded {
            return Ok(out);
        }
    }
}

/// Checks the rest of the padding after its first `=`; it must be the end.
fn padding(input: &mut Input<'_>, count: u32) -> Result<(), usize> {
    match count {
        0 | 1 => return Err(input.at - 1),
        2 => {
            input.skip_breaks();
            match input.next() {
                None => return Err(input.at),
                Some(b'=') => {}
                Some(_) => return Err(input.at - 2),
            }
        }
        _ => {}
    }
    input.skip_breaks();
    match input.next() {
        None => Ok(()),
        Some(_) => Err(input.at - 1),
    }
}

fn sextet(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

struct Input<'a> {
    text: &'a [u8],
    at: usize,
}

impl Input<'_> {
    fn next(&mut self) -> Option<u8> {
        let byte = self.text.get(self.at).copied()?;
        self.at += 1;
        Some(byte)
    }

    fn skip_breaks(&mut self) {
        while let Some(b'\n' | b'\r') = self.text.get(self.at) {
            self.at += 1;
        }
    }
}
