//! String functions. Positions count code points.

use super::Context;
use crate::arena::{Abort, Outcome};
use crate::ext::regex::Regex;
use crate::ext::strings;
use crate::overloads::Overload;
use crate::value::{List, Value, code_points, text as display};

impl<'a> Context<'a, '_> {
    /// Creates a string, after charging steps for it.
    fn new_text(self, bytes: usize, make: impl FnOnce() -> String) -> Outcome<'a> {
        self.work.spend(bytes as u64 / 64)?;
        self.arena.string(&make())
    }

    pub(super) fn of_one_text(self, overload: Overload, text: &'a str) -> Outcome<'a> {
        match overload {
            Overload::StringLowerAscii => self.new_text(text.len(), || text.to_ascii_lowercase()),
            Overload::StringUpperAscii => self.new_text(text.len(), || text.to_ascii_uppercase()),
            Overload::StringTrim => Ok(Value::String(text.trim())),
            Overload::StringsQuote => self.new_text(text.len(), || strings::quote(text)),
            _ => self.new_text(text.len(), || strings::escape_json_pointer(text)),
        }
    }

    /// Runs functions of a string and further arguments.
    pub(super) fn of_text(
        self,
        overload: Overload,
        text: &'a str,
        args: &[Value<'a>],
        regex: Option<&Regex>,
    ) -> Outcome<'a> {
        self.work.spend(text.len() as u64 / 64)?;
        match (overload, &args[1..]) {
            (Overload::ContainsString, [Value::String(part)]) => Ok(Value::Bool(text.contains(part))),
            (Overload::EndsWithString, [Value::String(end)]) => Ok(Value::Bool(text.ends_with(end))),
            (Overload::StartsWithString, [Value::String(start)]) => Ok(Value::Bool(text.starts_with(start))),
            (
                Overload::ContainsString | Overload::EndsWithString | Overload::StartsWithString,
                [other, ..],
            ) => Ok(other.or_no_such_overload()),
            (Overload::StringCharAtInt, [Value::Int(place)]) => self.char_at(text, *place),
            (Overload::StringSubstringInt, [Value::Int(start)]) => match position(text, *start) {
                Some(start) => Ok(Value::String(&text[start..])),
                None => self.out_of_range(*start),
            },
            (Overload::StringSubstringIntInt, [Value::Int(start), Value::Int(end)]) => {
                self.substring(text, *start, *end)
            }
            (Overload::StringIndexOfString, [Value::String(part)]) => self.find_text(text, part, 0),
            (Overload::StringIndexOfStringInt, [Value::String(part), Value::Int(from)]) => {
                self.find_text(text, part, *from)
            }
            (Overload::StringLastIndexOfString, [Value::String(part)]) => self.find_last(text, part, None),
            (Overload::StringLastIndexOfStringInt, [Value::String(part), Value::Int(from)]) => {
                self.find_last(text, part, Some(*from))
            }
            (Overload::StringSplitString, [Value::String(separator)]) => self.split(text, separator, -1),
            (Overload::StringSplitStringInt, [Value::String(separator), Value::Int(max)]) => {
                self.split(text, separator, *max)
            }
            (Overload::StringReplaceStringString, [Value::String(old), Value::String(new)]) => {
                self.replace(text, old, new, -1)
            }
            (
                Overload::StringReplaceStringStringInt,
                [Value::String(old), Value::String(new), Value::Int(max)],
            ) => self.replace(text, old, new, *max),
            (Overload::StringFormat, [Value::List(args)]) => self.format(text, *args),
            (Overload::StringFindString, [Value::String(pattern)]) => self.find(text, pattern, regex),
            (Overload::StringFindAllString, [Value::String(pattern)]) => {
                self.find_all(text, pattern, -1, regex)
            }
            (Overload::StringFindAllStringInt, [Value::String(pattern), Value::Int(max)]) => {
                self.find_all(text, pattern, *max, regex)
            }
            (_, [Value::Bool(normalize)]) => self.parse(overload, text, *normalize),
            _ => Ok(Value::NO_SUCH_OVERLOAD),
        }
    }

    fn out_of_range(self, place: i64) -> Outcome<'a> {
        self.arena.error(format_args!("index out of range: {place}"))
    }

    fn char_at(self, text: &'a str, place: i64) -> Outcome<'a> {
        let Some(start) = position(text, place) else { return self.out_of_range(place) };
        let end = start + text[start..].chars().next().map_or(0, char::len_utf8);
        Ok(Value::String(&text[start..end]))
    }

    fn substring(self, text: &'a str, start: i64, end: i64) -> Outcome<'a> {
        if start > end {
            return self.arena.error(format_args!("invalid substring range. start: {start}, end: {end}"));
        }
        let Some(from) = position(text, start) else { return self.out_of_range(start) };
        match position(text, end) {
            Some(to) => Ok(Value::String(&text[from..to])),
            None => self.out_of_range(end),
        }
    }

    fn find_text(self, text: &str, part: &str, from: i64) -> Outcome<'a> {
        if part.is_empty() {
            return Ok(Value::Int(from));
        }
        if from < 0 {
            return self.out_of_range(from);
        }
        let Some(start) = position(text, from) else { return Ok(Value::Int(-1)) };
        let offset = text[start..].find(part);
        Ok(Value::Int(offset.map_or(-1, |at| from + code_points(&text[start..start + at]) as i64)))
    }

    fn find_last(self, text: &str, part: &str, from: Option<i64>) -> Outcome<'a> {
        let len = code_points(text) as i64;
        if part.is_empty() {
            return Ok(Value::Int(from.unwrap_or(len)));
        }
        if from.is_none() && text.len() < part.len() {
            return Ok(Value::Int(-1));
        }
        let from = from.unwrap_or(len - 1);
        if from < 0 {
            return self.out_of_range(from);
        }
        if from >= len {
            return Ok(Value::Int(-1));
        }
        // A match may begin at `from`, so the searched part ends one match length later.
        let end = position(text, from.saturating_add(code_points(part) as i64)).unwrap_or(text.len());
        let offset = text[..end].rfind(part);
        Ok(Value::Int(offset.map_or(-1, |at| code_points(&text[..at]) as i64)))
    }

    fn split(self, text: &'a str, separator: &'a str, max: i64) -> Outcome<'a> {
        if max == 0 {
            return self.arena.list(&[]);
        }
        let max = usize::try_from(max).unwrap_or(usize::MAX);
        if separator.is_empty() {
            // Go splits between code points, without an empty part at the start.
            let mut rest = text;
            let mut remaining = max;
            return self.new_list(std::iter::from_fn(|| {
                let first = rest.chars().next()?;
                let end = if remaining == 1 { rest.len() } else { first.len_utf8() };
                let (part, after) = rest.split_at(end);
                (rest, remaining) = (after, remaining.saturating_sub(1));
                Some(Ok(Value::String(part)))
            }));
        }
        self.new_list(text.splitn(max, separator).map(|part| Ok(Value::String(part))))
    }

    fn replace(self, text: &'a str, old: &str, new: &str, max: i64) -> Outcome<'a> {
        let max = usize::try_from(max).unwrap_or(usize::MAX);
        let gaps = if old.is_empty() { code_points(text) as usize + 1 } else { text.matches(old).count() };
        let bytes = gaps.min(max).saturating_mul(new.len()).saturating_add(text.len());
        self.new_text(bytes, || text.replacen(old, new, max))
    }

    pub(super) fn join(self, list: List<'a>, separator: &str) -> Outcome<'a> {
        let mut joined = String::new();
        for (place, value) in list.iter().enumerate() {
            let Value::String(text) = value else {
                return self.arena.error(format_args!("join: invalid input: {}", display(value)));
            };
            let separator = if place > 0 { separator } else { "" };
            let bytes = text.len() + separator.len();
            self.work.spend(1 + bytes as u64 / 64)?;
            if joined.len() + bytes > JOINED_MAX {
                return Err(Abort::CostLimit);
            }
            joined.push_str(separator);
            joined.push_str(text);
        }
        self.arena.string(&joined)
    }
}

/// Maximum size of a joined string in bytes. The cost is computed afterwards, and larger strings exceed the
/// limit of a call.
const JOINED_MAX: usize = 32 << 20;

/// Returns the byte offset of a code point index; the end of the text is a valid index.
fn position(text: &str, place: i64) -> Option<usize> {
    let place = usize::try_from(place).ok()?;
    if text.is_ascii() {
        return (place <= text.len()).then_some(place);
    }
    let end = (code_points(text) == place as u64).then_some(text.len());
    text.char_indices().nth(place).map(|(at, _)| at).or(end)
}
