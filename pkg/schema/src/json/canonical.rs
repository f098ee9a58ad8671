//! Checks if JSON text is canonical (equal to this encoder's output) in a single scan without a tree, like
//! [`proto::is_canonical`](crate::proto::is_canonical) for protobuf.
//!
//! True means that decoding and encoding would not change the text. False is possible for some canonical
//! texts, because rare forms are not checked: nulls other than those of lists, maps and times, named slices,
//! and values of any type.

use std::ops::Range;
use std::rc::Rc;

use jsontree::Value;
use memchr::memchr3;

use super::stops::Stops;
use super::{ValuePosition, decode_leaf};
use crate::json_write::compact;
use crate::json_write::left_out;
use crate::json_write::string::{escape_code, plain_len};
use crate::json_write::typed::element;
use crate::object::Object;
use crate::table::{Cardinality, Field, Message, Shape, Type};

/// Maximum nesting depth of structs, lists and maps for this check. Deeper text is reported as not canonical.
const DEPTH_MAX: usize = 100;

/// True if `text` equals the [`encode`](crate::json_write::encode)d result of [`decode`](super::decode): only
/// members of the type, in its order; all members that are always encoded and none that are omitted; no white
/// space; strings and numbers as written by Go. Linear in the length of the text.
pub fn is_canonical(message: &'static Message, text: &[u8]) -> bool {
    let unescaped = text.is_ascii() && memchr3(b'<', b'>', b'&', text).is_none();
    let mut checker = Checker { text, at: 0, stops: Stops::default(), unescaped, plans: Vec::new() };
    checker.structure(message, 1) && checker.at == text.len()
}

/// A cursor over the text. After a negative result its position is meaningless.
struct Checker<'a> {
    text: &'a [u8],
    at: usize,
    stops: Stops,
    /// True if only the bytes at [stops](Stops) can need escapes.
    unescaped: bool,
    /// Plans of the types seen so far.
    plans: Vec<(&'static Message, Rc<Plan>)>,
}

/// The possible members of a struct, in order. All vectors have the same indices.
#[derive(Default)]
struct Plan {
    /// The first bytes of the keys. Few keys of a type share them.
    heads: Vec<Head>,
    fields: Vec<&'static Field>,
    /// Number of preceding members that are always encoded; the last element is the total.
    always_encoded: Vec<usize>,
}

/// The shortest key is a name of one letter, its quotes and the colon.
type Head = [u8; 4];

impl<'a> Checker<'a> {
    fn peek(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or_default()
    }

    /// Consumes `expected` and returns true if the text continues with it.
    #[inline]
    fn consume(&mut self, expected: &[u8]) -> bool {
        let goes_on = self.text.get(self.at..).is_some_and(|rest| rest.starts_with(expected));
        self.at += if goes_on { expected.len() } else { 0 };
        goes_on
    }

    /// Consumes the key, including its colon, and returns true if the next member has it.
    #[inline]
    fn consume_member(&mut self, key: &str, first: bool) -> bool {
        let comma = usize::from(!first);
        let rest = self.text.get(self.at + comma..).unwrap_or_default();
        let goes_on = rest.starts_with(key.as_bytes()) && (first || self.peek() == b',');
        self.at += if goes_on { comma + key.len() } else { 0 };
        goes_on
    }

    fn structure(&mut self, message: &'static Message, depth: usize) -> bool {
        if message.open || depth > DEPTH_MAX || !self.consume(b"{") {
            return false;
        }
        let mut first = true;
        if message.type_meta {
            for key in ["\"kind\":", "\"apiVersion\":"] {
                if self.consume_member(key, first) {
                    first = false;
                    if self.string().is_none_or(<[u8]>::is_empty) {
                        return false;
                    }
                }
            }
        }
        self.members(message, first, depth) && self.consume(b"}")
    }

    fn members(&mut self, message: &'static Message, mut first: bool, depth: usize) -> bool {
        let plan = self.plan(message);
        let mut expected = 0;
        while self.peek() != b'}' {
            let Some(index) = self.next_member(&plan, expected, first) else { return false };
            let Some(field) = plan.fields.get(index) else { return false };
            if plan.has_always(expected..index) || !self.value(field, depth) {
                return false;
            }
            (first, expected) = (false, index + 1);
        }
        !plan.has_always(expected..plan.fields.len())
    }

    /// The index of the next member if it is `expected` or a later one. Consumes its key.
    #[inline]
    fn next_member(&mut self, plan: &Plan, expected: usize, first: bool) -> Option<usize> {
        let head: &Head = self.text.get(self.at + usize::from(!first)..)?.first_chunk()?;
        let mut at = expected;
        loop {
            at += plan.heads.get(at..)?.iter().position(|known| known == head)?;
            if self.consume_member(plan.fields.get(at)?.key, first) {
                return Some(at);
            }
            at += 1;
        }
    }

    fn plan(&mut self, message: &'static Message) -> Rc<Plan> {
        if let Some((_, plan)) = self.plans.iter().find(|(known, _)| std::ptr::eq(*known, message)) {
            return Rc::clone(plan);
        }
        let plan = Rc::new(Plan::of(message));
        self.plans.push((message, Rc::clone(&plan)));
        plan
    }

    /// Checks a member's value, which must not be an omitted one.
    fn value(&mut self, field: &'static Field, depth: usize) -> bool {
        if self.peek() == b'n' {
            let of_time = matches!(field.ty, Type::Message(inner) if inner.shape == Shape::Time);
            let is_null = field.cardinality != Cardinality::One || of_time && !field.pointer;
            return is_null && !left_out(field, None) && self.consume(b"null");
        }
        match field.cardinality {
            Cardinality::One => self.element(field, depth, true),
            Cardinality::List => self.list(field, depth),
            Cardinality::Map => self.map(field, depth),
        }
    }

    fn list(&mut self, field: &'static Field, depth: usize) -> bool {
        if depth > DEPTH_MAX || !self.consume(b"[") {
            return false;
        }
        if self.consume(b"]") {
            return !left_out(field, Some(&Value::Array(Vec::new())));
        }
        loop {
            if !self.element(field, depth + 1, false) {
                return false;
            }
            if !self.consume(b",") {
                return self.consume(b"]");
            }
        }
    }

    fn map(&mut self, field: &'static Field, depth: usize) -> bool {
        if depth > DEPTH_MAX || !self.consume(b"{") {
            return false;
        }
        if self.consume(b"}") {
            return !left_out(field, Some(&Value::Object(Object::new())));
        }
        let mut previous: Option<&[u8]> = None;
        loop {
            // Names with escapes are sorted by their unescaped form.
            let Some(name) = self.string().filter(|name| !name.contains(&b'\\')) else { return false };
            let ascends = previous.replace(name).is_none_or(|previous| previous < name);
            if !ascends || !self.consume(b":") || !self.element(field, depth + 1, false) {
                return false;
            }
            if !self.consume(b",") {
                return self.consume(b"}");
            }
        }
    }

    /// Checks a value of a field's element type. The value of a `member` must not be an omitted one.
    fn element(&mut self, field: &'static Field, depth: usize, member: bool) -> bool {
        let is_kept = |value: Value| !member || !left_out(field, Some(&value));
        match (field.ty, self.peek()) {
            (Type::String, b'"') => {
                self.string().is_some_and(|text| !text.is_empty() || is_kept(Value::from("")))
            }
            (Type::Bool, b't') => self.consume(b"true"),
            (Type::Bool, b'f') => self.consume(b"false") && is_kept(Value::Bool(false)),
            (Type::Message(inner), start) => self.message(field, inner, start, depth, member),
            (Type::Int32 | Type::Int64 | Type::Double | Type::Bytes, _) => self.leaf(field, member),
            _ => false,
        }
    }

    fn message(
        &mut self,
        field: &'static Field,
        inner: &'static Message,
        start: u8,
        depth: usize,
        member: bool,
    ) -> bool {
        match (inner.shape, start) {
            (Shape::Struct, _) => self.structure(inner, depth + 1),
            (Shape::FieldsV1 | Shape::Json, _) => self.verbatim(),
            (Shape::SchemaOrBool, b't') => self.consume(b"true"),
            (Shape::SchemaOrBool, b'f') => {
                self.consume(b"false") && !(member && left_out(field, Some(&Value::Bool(false))))
            }
            (Shape::SchemaOrBool | Shape::SchemaOrArray | Shape::SchemaOrStringArray, b'{') => {
                let schema = inner.fields.iter().find_map(super::leaf::schema_of);
                schema.is_some_and(|schema| self.structure(schema, depth + 1))
            }
            (Shape::Quantity | Shape::IntOrString | Shape::Time | Shape::MicroTime | Shape::Duration, _) => {
                self.leaf(field, member)
            }
            _ => false,
        }
    }

    /// Consumes a string in Go's encoding and returns the text between its quotes.
    fn string(&mut self) -> Option<&'a [u8]> {
        if !self.consume(b"\"") {
            return None;
        }
        let start = self.at;
        loop {
            let stop = self.stops.next(self.text, self.at);
            let plain = self.text.get(self.at..stop)?;
            if !self.unescaped && plain_len(plain) < plain.len() && !is_plain(plain) {
                return None;
            }
            self.at = stop;
            match self.peek() {
                b'"' => {
                    self.at += 1;
                    return self.text.get(start..stop);
                }
                b'\\' => self.at += escape_len(self.text.get(stop..)?)?,
                _ => return None,
            }
        }
    }

    /// Checks a scalar with several possible texts by decoding and encoding it.
    fn leaf(&mut self, field: &'static Field, member: bool) -> bool {
        let Some(text) = self.scalar() else { return false };
        if matches!(field.ty, Type::Int32 | Type::Int64 | Type::Double) && is_short_number(text) {
            return text != b"0" || !member || !left_out(field, Some(&Value::from(0)));
        }
        let Ok(Some(value)) = decode_leaf(field, ValuePosition::Field, text) else { return false };
        let mut canonical = Vec::with_capacity(text.len());
        (!member || !left_out(field, Some(&value)))
            && element(field, &value, &mut canonical, 1).is_ok()
            && canonical == text
    }

    /// Consumes a value that is stored as its text.
    fn verbatim(&mut self) -> bool {
        let start = self.at;
        let mut depth = 0_usize;
        loop {
            match self.peek() {
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth > 0 => depth -= 1,
                b',' | b':' if depth > 0 => {}
                _ if self.scalar().is_none() => return false,
                _ if depth > 0 => continue,
                _ => break,
            }
            self.at += 1;
            if depth == 0 {
                break;
            }
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        let mut canonical = Vec::with_capacity(text.len());
        let is_text = text != b"null" && std::str::from_utf8(text).is_ok();
        is_text && compact(text, &mut canonical).is_ok() && canonical == text
    }

    /// Consumes any string, number or literal; `None` if the next token is another one.
    fn scalar(&mut self) -> Option<&'a [u8]> {
        let start = self.at;
        if self.peek() == b'"' {
            self.at += 1;
            loop {
                self.at = self.stops.next(self.text, self.at);
                match self.peek() {
                    b'"' => break self.at += 1,
                    b'\\' => self.at += 2,
                    _ => return None,
                }
            }
        } else {
            let rest = self.text.get(start..).unwrap_or_default();
            let ends = |byte: &u8| !matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'+' | b'-' | b'.' | b'E');
            self.at += rest.iter().position(ends).unwrap_or(rest.len());
        }
        self.text.get(start..self.at).filter(|text| !text.is_empty())
    }
}

impl Plan {
    fn of(message: &'static Message) -> Self {
        let mut plan = Plan { always_encoded: vec![0], ..Plan::default() };
        plan.add(message);
        plan
    }

    fn add(&mut self, message: &'static Message) {
        for field in message.fields {
            match field.ty {
                Type::Message(inner) if field.inlined() => self.add(inner),
                _ => {
                    self.heads.push(field.key.as_bytes().first_chunk().copied().unwrap_or_default());
                    self.fields.push(field);
                    let before = self.always_encoded.last().copied().unwrap_or_default();
                    self.always_encoded.push(before + usize::from(!left_out(field, None)));
                }
            }
        }
    }

    /// True if one of these members is always encoded.
    #[inline]
    fn has_always(&self, members: Range<usize>) -> bool {
        self.always_encoded.get(members.start) != self.always_encoded.get(members.end)
    }
}

/// True if a number consists of a few digits only, which are canonical.
fn is_short_number(text: &[u8]) -> bool {
    text.len() <= 9 && text.iter().all(u8::is_ascii_digit) && (text.first() != Some(&b'0') || text.len() == 1)
}

/// True if a text without quotes, backslashes and control characters is valid UTF-8 and needs no escape.
fn is_plain(text: &[u8]) -> bool {
    let separator = |bytes: &[u8]| matches!(bytes, [0xe2, 0x80, 0xa8 | 0xa9]);
    std::str::from_utf8(text).is_ok()
        && !text.iter().any(|byte| matches!(byte, b'<' | b'>' | b'&'))
        && !text.windows(3).any(separator)
}

/// Length of the escape at the start of the text, if it is Go's escape of its character.
fn escape_len(text: &[u8]) -> Option<usize> {
    match text.get(1)? {
        b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't' => Some(2),
        b'u' => {
            let digits = std::str::from_utf8(text.get(2..6)?).ok()?;
            let code = u16::from_str_radix(digits, 16).ok()?;
            let mut canonical = Vec::with_capacity(6);
            escape_code(code, &mut canonical);
            let is_escaped = match code {
                0x08 | 0x0c | 0x0a | 0x0d | 0x09 => false,
                0..0x20 | 0x3c | 0x3e | 0x26 | 0x2028 | 0x2029 => true,
                _ => false,
            };
            (is_escaped && text.starts_with(&canonical)).then_some(6)
        }
        _ => None,
    }
}
