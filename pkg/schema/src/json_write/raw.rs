//! Raw JSON values: validated, compacted and HTML-escaped in one pass, like the result of a `MarshalJSON`
//! method in Go.

use smallvec::SmallVec;

use super::string::{escape_code, plain_len};

/// Maximum nesting depth of raw JSON, as in Go.
const DEPTH_MAX: usize = 10_000;

/// Reason for invalid JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RawError {
    /// The text ends too early.
    #[error("unexpected end of JSON input")]
    UnexpectedEnd,
    /// An unexpected byte.
    #[error("invalid character {:?} at offset {at}", char::from(*.byte))]
    InvalidCharacter {
        /// The byte, which can be part of a character.
        byte: u8,
        /// Its offset in the text, in bytes.
        at: usize,
    },
    /// More than 10,000 levels.
    #[error("exceeded max depth")]
    TooDeep,
}

/// Appends the JSON value `text` without white space between tokens and with `<`, `>`, `&`, U+2028 and U+2029
/// escaped in strings.
///
/// # Errors
/// `text` is not valid JSON; `out` is then unchanged.
pub fn compact(text: &[u8], out: &mut Vec<u8>) -> Result<(), RawError> {
    let begin = out.len();
    out.reserve(text.len());
    let mut compactor = Compactor { text, at: 0, copied: 0, open: SmallVec::new(), depth: 0, out };
    let result = compactor.run();
    if result.is_err() {
        out.truncate(begin);
    }
    result
}

struct Compactor<'a, 'o> {
    text: &'a [u8],
    at: usize,
    /// Bytes before this offset have been written or dropped.
    copied: usize,
    /// One bit for each open object (1) or array (0).
    open: SmallVec<[u64; 8]>,
    depth: usize,
    out: &'o mut Vec<u8>,
}

impl Compactor<'_, '_> {
    fn run(&mut self) -> Result<(), RawError> {
        loop {
            let opened = match self.token()? {
                b'{' => self.push(true)?,
                b'[' => self.push(false)?,
                b'"' => self.string()?,
                b'-' | b'0'..=b'9' => self.number()?,
                b't' => self.literal(b"true")?,
                b'f' => self.literal(b"false")?,
                b'n' => self.literal(b"null")?,
                _ => return self.invalid(),
            };
            if opened && !self.is_empty_collection()? {
                if self.in_object() {
                    self.member_name()?;
                }
                continue;
            }
            if opened {
                self.pop();
            }
            if self.after_value()? {
                return self.end();
            }
        }
    }

    /// Closes all brackets after a value, up to the comma before the next one; true if there is none because
    /// everything is closed.
    fn after_value(&mut self) -> Result<bool, RawError> {
        while self.depth > 0 {
            let byte = self.token()?;
            if byte == b',' {
                self.at += 1;
                if self.in_object() {
                    self.member_name()?;
                }
                return Ok(false);
            }
            if byte != self.closer() {
                return self.invalid();
            }
            self.pop();
        }
        Ok(true)
    }

    /// Writes everything up to the cursor.
    fn flush(&mut self) {
        self.out.extend_from_slice(self.text.get(self.copied..self.at).unwrap_or_default());
        self.copied = self.at;
    }

    /// Drops white space; returns the next byte.
    #[inline]
    fn token(&mut self) -> Result<u8, RawError> {
        match self.text.get(self.at) {
            Some(&byte) if byte > b' ' => Ok(byte),
            _ => self.token_after_space(),
        }
    }

    fn token_after_space(&mut self) -> Result<u8, RawError> {
        self.flush();
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.text.get(self.at) {
            self.at += 1;
        }
        self.copied = self.at;
        self.text.get(self.at).copied().ok_or(RawError::UnexpectedEnd)
    }

    fn end(&mut self) -> Result<(), RawError> {
        match self.token() {
            Err(_) => {
                self.flush();
                Ok(())
            }
            Ok(_) => self.invalid(),
        }
    }

    #[cold]
    fn invalid<T>(&self) -> Result<T, RawError> {
        match self.text.get(self.at) {
            Some(&byte) => Err(RawError::InvalidCharacter { byte, at: self.at }),
            None => Err(RawError::UnexpectedEnd),
        }
    }

    /// Opens an object or an array. Always returns true.
    fn push(&mut self, object: bool) -> Result<bool, RawError> {
        if self.depth == DEPTH_MAX {
            return Err(RawError::TooDeep);
        }
        let bit = 1 << (self.depth % 64);
        if self.depth / 64 == self.open.len() {
            self.open.push(0);
        }
        if let Some(word) = self.open.get_mut(self.depth / 64) {
            *word = if object { *word | bit } else { *word & !bit };
        }
        self.depth += 1;
        self.at += 1;
        Ok(true)
    }

    fn pop(&mut self) {
        self.depth -= 1;
        self.at += 1;
    }

    fn in_object(&self) -> bool {
        let at = self.depth.wrapping_sub(1);
        self.open.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    fn closer(&self) -> u8 {
        if self.in_object() { b'}' } else { b']' }
    }

    /// True if the open object or array ends here.
    fn is_empty_collection(&mut self) -> Result<bool, RawError> {
        Ok(self.token()? == self.closer())
    }

    fn member_name(&mut self) -> Result<(), RawError> {
        if self.token()? != b'"' {
            return self.invalid();
        }
        self.string()?;
        if self.token()? != b':' {
            return self.invalid();
        }
        self.at += 1;
        Ok(())
    }

    /// Consumes a string, from its opening to its closing quote. Always returns false: nothing was opened.
    #[inline]
    fn string(&mut self) -> Result<bool, RawError> {
        self.at += 1;
        loop {
            self.at += plain_len(self.text.get(self.at..).unwrap_or_default());
            match self.text.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(false);
                }
                Some(b'\\') => self.escape()?,
                Some(&byte @ (b'<' | b'>' | b'&')) => self.replace(1, u16::from(byte)),
                Some(0xe2) => match self.text.get(self.at..self.at + 3) {
                    Some(&[_, 0x80, last @ (0xa8 | 0xa9)]) => {
                        self.replace(3, 0x2000 | u16::from(last) & 0x7f)
                    }
                    _ => self.at += 1,
                },
                Some(0x80..) => self.at += 1,
                _ => return self.invalid(),
            }
        }
    }

    fn replace(&mut self, len: usize, code: u16) {
        self.flush();
        escape_code(code, self.out);
        self.at += len;
        self.copied = self.at;
    }

    fn escape(&mut self) -> Result<(), RawError> {
        self.at += 1;
        match self.text.get(self.at) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                self.at += 1;
                for _ in 0..4 {
                    match self.text.get(self.at) {
                        Some(byte) if byte.is_ascii_hexdigit() => self.at += 1,
                        _ => return self.invalid(),
                    }
                }
            }
            _ => return self.invalid(),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<bool, RawError> {
        self.at += usize::from(self.text.get(self.at) == Some(&b'-'));
        match self.text.get(self.at) {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.text.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.text.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.text.get(self.at) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(false)
    }

    fn digits(&mut self) -> Result<(), RawError> {
        let from = self.at;
        while let Some(b'0'..=b'9') = self.text.get(self.at) {
            self.at += 1;
        }
        if self.at == from { self.invalid() } else { Ok(()) }
    }

    fn literal(&mut self, word: &[u8]) -> Result<bool, RawError> {
        for expected in word {
            if self.text.get(self.at) != Some(expected) {
                return self.invalid();
            }
            self.at += 1;
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_compacted_and_escaped() {
        let check = |text: &str, expected: &str| {
            let mut out = b"x".to_vec();
            assert_eq!(compact(text.as_bytes(), &mut out), Ok(()), "{text}");
            assert_eq!(String::from_utf8(out).unwrap(), format!("x{expected}"));
        };
        check("{}", "{}");
        check(" null ", "null");
        check("[ ]", "[]");
        check(
            r#" { "a" : [ 1 , -2.5e+3 , true , { } ] , "b" : "x y" } "#,
            r#"{"a":[1,-2.5e+3,true,{}],"b":"x y"}"#,
        );
        check(r#"{"<":"&\u003e\n\\\""}"#, r#"{"\u003c":"\u0026\u003e\n\\\""}"#);
        check("\"\u{2028}é\u{2029}\u{2027}\"", "\"\\u2028é\\u2029\u{2027}\"");
        check("[[[0]],[{\"a\":{}}]]", "[[[0]],[{\"a\":{}}]]");
    }

    #[test]
    fn invalid_json_is_rejected() {
        for text in [
            "",
            " ",
            "{",
            "[1",
            "{\"a\"}",
            "{\"a\":}",
            "{,}",
            "[1,]",
            "{\"a\":1,}",
            "01",
            "1.",
            "-",
            "1e",
            "tru",
            "\"a",
            "\"\\x\"",
            "\"\n\"",
            "1 2",
            "[1}",
            "{1:2}",
            "}",
            "nul",
            "\"\\u12g4\"",
        ] {
            let mut out = b"x".to_vec();
            assert!(compact(text.as_bytes(), &mut out).is_err(), "{text}");
            assert_eq!(out, b"x");
        }
    }

    #[test]
    fn validity_agrees_with_serde() {
        let alphabet = b"{}[]\",:01-.eE \\tn\"";
        let mut state = 1_u64;
        for _ in 0..200_000 {
            let mut text = Vec::new();
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let mut bits = state >> 8;
            for _ in 0..bits % 9 {
                bits = bits.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(11);
                text.push(alphabet[(bits % alphabet.len() as u64) as usize]);
            }
            let actual = compact(&text, &mut Vec::new()).is_ok();
            let expected = serde_json::from_slice::<serde::de::IgnoredAny>(&text).is_ok();
            assert_eq!(actual, expected, "{}", String::from_utf8_lossy(&text));
        }
    }

    #[test]
    fn nesting_is_bounded_as_in_go() {
        let nested = |n: usize| "[".repeat(n) + &"]".repeat(n);
        assert_eq!(compact(nested(10_000).as_bytes(), &mut Vec::new()), Ok(()));
        assert_eq!(compact(nested(10_001).as_bytes(), &mut Vec::new()), Err(RawError::TooDeep));
    }
}
