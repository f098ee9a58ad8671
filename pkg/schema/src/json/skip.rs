//! Skips values without recursion, so that 10,000 nested brackets do not use the stack.

use super::DEPTH_MAX;
use super::errors::{Error, syntax_error};
use super::scan::Scanner;

/// A stack of open brackets, as bits.
struct Open {
    /// The innermost brackets, below a leading one: set for objects.
    inner: u64,
    /// The outer brackets, in full words.
    outer: Vec<u64>,
}

/// A word without open brackets.
const NONE: u64 = 1;

impl Open {
    fn new() -> Self {
        Open { inner: NONE, outer: Vec::new() }
    }

    #[inline(always)]
    fn push(&mut self, is_object: bool) {
        if self.inner.leading_zeros() == 0 {
            self.outer.push(self.inner);
            self.inner = NONE;
        }
        self.inner = self.inner << 1 | u64::from(is_object);
    }

    /// True if the innermost bracket is an object; `None` if none is open.
    #[inline(always)]
    fn last(&mut self) -> Option<bool> {
        if self.inner == NONE {
            self.inner = self.outer.pop()?;
        }
        Some(self.inner & 1 == 1)
    }

    /// Closes the innermost bracket after [`Open::last`].
    #[inline(always)]
    fn pop(&mut self) {
        self.inner >>= 1;
    }
}

impl<'a> Scanner<'a> {
    /// Consumes any value and returns its text.
    pub fn skip(&mut self) -> Result<&'a [u8], Error> {
        self.value_start()?;
        let start = self.position();
        self.pass()?;
        Ok(self.since(start))
    }

    fn pass(&mut self) -> Result<(), Error> {
        let mut open = Open::new();
        loop {
            match self.next_token()? {
                b'"' => self.pass_string()?,
                b'{' => {
                    self.open_within(DEPTH_MAX)?;
                    if self.pass_name(true)? {
                        open.push(true);
                        continue;
                    }
                }
                b'[' => {
                    self.open_within(DEPTH_MAX)?;
                    if self.next_item(true)? {
                        open.push(false);
                        continue;
                    }
                }
                b't' | b'f' | b'n' => self.word()?,
                b'-' | b'0'..=b'9' => drop(self.number()?),
                c => return Err(syntax_error(c, "looking for beginning of value")),
            }
            // Closes all brackets that end here.
            loop {
                let more = match open.last() {
                    Some(true) => self.pass_name(false)?,
                    Some(false) => self.next_item(false)?,
                    None => return Ok(()),
                };
                if more {
                    break;
                }
                open.pop();
            }
        }
    }

    /// Moves to the value of the next member of the open object; false at the object's end.
    #[inline(always)]
    fn pass_name(&mut self, mut first: bool) -> Result<bool, Error> {
        while self.next_name(first)? {
            self.pass_string()?;
            // Most members of managed fields are empty objects.
            if !self.pass_empty_value() {
                self.colon()?;
                return Ok(true);
            }
            first = false;
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_are_matched_at_every_depth() {
        for depth in [1, 2, 62, 63, 64, 65, 127, 200, 1000] {
            // The pattern of objects does not align with powers of two.
            let is_object = |level: usize| level.is_multiple_of(3) || level % 7 == 1;
            let begin = |level| if is_object(level) { r#"{"a":{},"b":"# } else { "[{}," };
            let end = |level| if is_object(level) { ",\"c\":1}" } else { ",1]" };
            let mut text: String = (0..depth).map(begin).collect();
            text.push_str("null");
            text.extend((0..depth).rev().map(end));
            let skip = |text: &str| Scanner::new(text.as_bytes()).skip().map(<[u8]>::len);
            assert_eq!(skip(&text), Ok(text.len()), "{depth}");
            for (right, wrong) in [("]", "}"), ("}", "]")] {
                if let Some(at) = text.rfind(right) {
                    let mut text = text.clone();
                    text.replace_range(at..=at, wrong);
                    assert!(skip(&text).is_err(), "{text}");
                }
            }
        }
    }
}
