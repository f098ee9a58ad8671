//! One cell of a row.

use schema::json_write::{write_double, write_integer, write_string};
use std::borrow::Cow;

#[derive(Debug, Clone, PartialEq)]
pub enum Cell<'a> {
    /// Text, borrowed from the object if possible.
    Text(Cow<'a, str>),
    Int(i64),
    /// Any finite number.
    Number(f64),
    Flag(bool),
    Null,
}

impl Cell<'_> {
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Cell::Text(text) => write_string(text.as_bytes(), out),
            Cell::Int(number) => write_integer(*number, out),
            Cell::Number(number) if write_double(*number, out).is_ok() => {}
            Cell::Flag(flag) => out.extend_from_slice(if *flag { b"true" } else { b"false" }),
            Cell::Number(_) | Cell::Null => out.extend_from_slice(b"null"),
        }
    }
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Self {
        Cell::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Cell<'_> {
    fn from(text: String) -> Self {
        Cell::Text(Cow::Owned(text))
    }
}

impl<'a> From<Cow<'a, str>> for Cell<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        Cell::Text(text)
    }
}

impl From<i64> for Cell<'_> {
    fn from(number: i64) -> Self {
        Cell::Int(number)
    }
}

impl From<usize> for Cell<'_> {
    fn from(count: usize) -> Self {
        Cell::Int(i64::try_from(count).unwrap_or(i64::MAX))
    }
}

impl From<bool> for Cell<'_> {
    fn from(flag: bool) -> Self {
        Cell::Flag(flag)
    }
}
