//! JSON tokenizer with Go's syntax errors.

use std::ops::{Range, RangeInclusive};

use super::braces::end_of_object;
use super::errors::{Error, syntax_error};
use super::stops::Stops;
use super::unquote::RawString;
use super::{DEPTH_MAX, TREE_DEPTH_MAX};
use crate::table::Word;

/// A cursor over JSON text, for decoders with their own target types. After an error its position is
/// meaningless.
pub struct Scanner<'a> {
    text: &'a [u8],
    /// The same text, if all of it is valid UTF-8: then strings need no separate check.
    utf8: Option<&'a str>,
    at: usize,
    depth: usize,
    stops: Stops,
}

impl<'a> Scanner<'a> {
    /// A cursor at the start of `text`, of which all is going to be decoded.
    pub fn new(text: &'a [u8]) -> Self {
        Scanner {
            text,
            utf8: simdutf8::basic::from_utf8(text).ok(),
            at: 0,
            depth: 0,
            stops: Stops::default(),
        }
    }

    /// A cursor at the start of a text that becomes part of a tree, inside `levels` objects and lists.
    pub(super) fn inside(text: &'a [u8], levels: usize) -> Self {
        Scanner { depth: levels, ..Scanner::new(text) }
    }

    /// A cursor for skipping most of a text: strings are checked one by one.
    pub(crate) fn for_skipping(text: &'a [u8]) -> Self {
        Scanner { text, utf8: None, at: 0, depth: 0, stops: Stops::default() }
    }

    /// The whole text.
    pub(super) fn text(&self) -> &'a [u8] {
        self.text
    }

    /// The first byte of the next value, which is not consumed.
    ///
    /// # Errors
    /// No value starts here.
    #[inline(always)]
    pub fn value_start(&mut self) -> Result<u8, Error> {
        match self.next_token()? {
            c @ (b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => Ok(c),
            c => Err(syntax_error(c, "looking for beginning of value")),
        }
    }

    /// Consumes the bracket at the cursor, for a value that becomes part of the tree.
    ///
    /// # Errors
    /// More than [`TREE_DEPTH_MAX`] brackets are open.
    #[inline]
    pub fn open(&mut self) -> Result<(), Error> {
        self.open_within(TREE_DEPTH_MAX)
    }

    /// Moves to the next member of the open object, consumes its name and colon and returns the name; `None`
    /// at the object's end.
    ///
    /// # Errors
    /// Neither a member nor the end follows.
    #[inline(always)]
    pub fn next_member(&mut self, first: bool) -> Result<Option<RawString<'a>>, Error> {
        if !self.next_name(first)? {
            return Ok(None);
        }
        let name = self.string()?;
        self.colon()?;
        Ok(Some(name))
    }

    /// Moves to the name of the next member of the open object; false at the object's end.
    #[inline(always)]
    pub(crate) fn next_name(&mut self, first: bool) -> Result<bool, Error> {
        let mut c = self.next_token()?;
        if c == b'}' {
            self.close();
            return Ok(false);
        }
        if !first {
            if c != b',' {
                return Err(syntax_error(c, "after object key:value pair"));
            }
            self.at += 1;
            c = self.next_token()?;
        }
        match c {
            b'"' => Ok(true),
            c => Err(syntax_error(c, "looking for beginning of object key string")),
        }
    }

    /// Consumes the colon after the name of a member.
    #[inline(always)]
    pub(crate) fn colon(&mut self) -> Result<(), Error> {
        match self.next_token()? {
            b':' => {
                self.at += 1;
                Ok(())
            }
            c => Err(syntax_error(c, "after object key")),
        }
    }

    /// Moves to the next item of the open array; false at the array's end.
    ///
    /// # Errors
    /// Neither a comma nor the end follows.
    #[inline]
    pub fn next_item(&mut self, first: bool) -> Result<bool, Error> {
        match self.next_token()? {
            b']' => {
                self.close();
                Ok(false)
            }
            _ if first => Ok(true),
            b',' => {
                self.at += 1;
                Ok(true)
            }
            c => Err(syntax_error(c, "after array element")),
        }
    }

    /// Consumes the string at the cursor.
    ///
    /// # Errors
    /// The string does not end, or has an invalid escape or a control character.
    #[inline(always)]
    pub fn string(&mut self) -> Result<RawString<'a>, Error> {
        match self.plain_string() {
            Some(text) => Ok(RawString::Plain(text)),
            None => self.coded_string(),
        }
    }

    /// Consumes the string at the cursor if it has no escapes, as nearly all. The result is in two registers;
    /// that of [`Scanner::string`] is in memory.
    #[inline(always)]
    pub(crate) fn plain_string(&mut self) -> Option<&'a str> {
        let start = self.at + 1;
        let end = self.stops.next(self.text, start);
        if self.text.get(end) != Some(&b'"') {
            return None;
        }
        let text = match self.utf8 {
            Some(text) => text.get(start..end)?,
            None => self.checked(start, end)?,
        };
        self.at = end + 1;
        Some(text)
    }

    /// Consumes the name at the cursor if it has no escapes, and returns it with its hash. It may be invalid
    /// UTF-8.
    #[inline(always)]
    pub(super) fn plain_name(&mut self) -> Option<(&'a [u8], Word)> {
        let start = self.at + 1;
        let end = self.stops.next(self.text, start);
        if self.text.get(end) != Some(&b'"') {
            return None;
        }
        self.at = end + 1;
        Some((self.text.get(start..end)?, Word::within(self.text, start..end)))
    }

    #[cold]
    fn checked(&self, start: usize, end: usize) -> Option<&'a str> {
        std::str::from_utf8(self.text.get(start..end)?).ok()
    }

    /// Consumes the string at the cursor, with or without escapes.
    #[cold]
    fn coded_string(&mut self) -> Result<RawString<'a>, Error> {
        let start = self.at + 1;
        self.at = start;
        loop {
            self.at = self.stops.next(self.text, self.at);
            match self.text.get(self.at).copied() {
                Some(b'"') => {
                    let end = self.at;
                    self.at += 1;
                    return Ok(RawString::Coded(self.text.get(start..end).unwrap_or_default()));
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.escape()?;
                }
                Some(c) => return Err(syntax_error(c, "in string literal")),
                None => return Err(Error::UnexpectedEnd),
            }
        }
    }

    /// Consumes the number at the cursor if it is an integer in the range with up to 18 digits, as nearly all
    /// are.
    #[inline]
    pub(super) fn short_integer(&mut self, range: &RangeInclusive<i64>) -> Option<i64> {
        let mut digits = self.text.get(self.at..)?;
        let is_negative = digits.first() == Some(&b'-');
        digits = digits.get(usize::from(is_negative)..)?;
        let mut number = 0;
        let mut count = 0;
        let next = loop {
            let byte = *digits.get(count)?;
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break byte;
            }
            if count == 18 {
                return None;
            }
            number = number * 10 + i64::from(digit);
            count += 1;
        };
        let number = if is_negative { -number } else { number };
        let is_plain = count > 0 && (count == 1 || digits.first() != Some(&b'0'));
        let is_integer = is_plain && !matches!(next, b'.' | b'e' | b'E');
        if !is_integer || !range.contains(&number) {
            return None;
        }
        self.at += count + usize::from(is_negative);
        Some(number)
    }

    /// Consumes the number at the cursor and returns its text.
    ///
    /// # Errors
    /// The text is not a JSON number.
    pub fn number(&mut self) -> Result<&'a str, Error> {
        let start = self.at;
        if self.peek() == b'-' {
            self.at += 1;
        }
        match self.peek() {
            b'0' => self.at += 1,
            b'1'..=b'9' => self.digits(),
            c => return Err(syntax_error(c, "in numeric literal")),
        }
        if self.peek() == b'.' {
            self.at += 1;
            self.some_digits("after decimal point in numeric literal")?;
        }
        if matches!(self.peek(), b'e' | b'E') {
            self.at += 1;
            if matches!(self.peek(), b'+' | b'-') {
                self.at += 1;
            }
            self.some_digits("in exponent of numeric literal")?;
        }
        let number = self.text.get(start..self.at).unwrap_or_default();
        Ok(std::str::from_utf8(number).unwrap_or_default())
    }

    /// Consumes `true`, `false` or `null`.
    ///
    /// # Errors
    /// Another word is at the cursor.
    pub fn word(&mut self) -> Result<(), Error> {
        let word = match self.peek() {
            b't' => "true",
            b'f' => "false",
            _ => "null",
        };
        self.at += 1;
        for expected in word.bytes().skip(1) {
            let c = self.peek();
            if c != expected {
                return Err(syntax_error(
                    c,
                    &format!("in literal {word} (expecting '{}')", char::from(expected)),
                ));
            }
            self.at += 1;
        }
        Ok(())
    }

    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// The text from a position to the cursor.
    pub(super) fn since(&self, start: usize) -> &'a [u8] {
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// Consumes the object at the cursor, which must be valid JSON, and returns its range.
    pub(crate) fn object(&mut self) -> Result<Range<usize>, Error> {
        let start = self.at;
        self.at = end_of_object(self.text, start).ok_or(Error::UnexpectedEnd)?;
        Ok(start..self.at)
    }

    /// Checks that only white space is left.
    ///
    /// # Errors
    /// Any other byte is left.
    pub fn end(&mut self) -> Result<(), Error> {
        match self.next_token() {
            Ok(c) => Err(syntax_error(c, "after top-level value")),
            Err(_) => Ok(()),
        }
    }

    #[inline(always)]
    pub(super) fn pass_string(&mut self) -> Result<(), Error> {
        let end = self.stops.next(self.text, self.at + 1);
        if self.utf8.is_some() && self.text.get(end) == Some(&b'"') {
            self.at = end + 1;
            return Ok(());
        }
        self.string().map(drop)
    }

    /// Consumes the colon and a member's value if that is `{}` without white space.
    #[inline(always)]
    pub(super) fn pass_empty_value(&mut self) -> bool {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let is_empty = rest.first_chunk() == Some(b":{}") && self.depth < DEPTH_MAX;
        self.at += if is_empty { 3 } else { 0 };
        is_empty
    }

    /// Number of open brackets.
    #[inline(always)]
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Consumes the bracket at the cursor, up to a nesting limit.
    #[inline]
    pub(super) fn open_within(&mut self, limit: usize) -> Result<(), Error> {
        if self.depth >= limit {
            return Err(syntax_error(self.peek(), "exceeded max depth"));
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    #[inline]
    fn close(&mut self) {
        self.depth -= 1;
        self.at += 1;
    }

    /// The next byte that is not white space; it is not consumed.
    #[inline(always)]
    pub(super) fn next_token(&mut self) -> Result<u8, Error> {
        while let Some(&c) = self.text.get(self.at) {
            if !matches!(c, b' ' | b'\t' | b'\r' | b'\n') {
                return Ok(c);
            }
            self.at += 1;
        }
        Err(Error::UnexpectedEnd)
    }

    /// The byte at the cursor, within a literal. Go appends a space to its input and reports it for truncated
    /// literals.
    #[inline]
    fn peek(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(b' ')
    }

    fn digits(&mut self) {
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
    }

    fn some_digits(&mut self, context: &str) -> Result<(), Error> {
        if !self.peek().is_ascii_digit() {
            return Err(syntax_error(self.peek(), context));
        }
        self.digits();
        Ok(())
    }

    fn escape(&mut self) -> Result<(), Error> {
        let c = self.peek();
        match c {
            b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => self.at += 1,
            b'u' => {
                self.at += 1;
                for _ in 0..4 {
                    if !self.peek().is_ascii_hexdigit() {
                        return Err(syntax_error(self.peek(), "in \\u hexadecimal character escape"));
                    }
                    self.at += 1;
                }
            }
            c => return Err(syntax_error(c, "in string escape code")),
        }
        Ok(())
    }
}
