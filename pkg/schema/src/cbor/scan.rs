//! Scanner of data items: heads, strings, and the end of an item. Skipping is iterative, so deep nesting does
//! not use the stack.

use std::borrow::Cow;

use super::errors::Error;
use super::head::INDEFINITE;
pub(super) use super::head::{Head, Major, float};
use super::{ARRAY_ITEMS_MAX, DEPTH_MAX, MAP_ENTRIES_MAX};

/// The content of a string.
pub(super) struct Run<'a> {
    pub(super) bytes: Cow<'a, [u8]>,
    /// True if each chunk is valid UTF-8.
    pub(super) utf8: bool,
}

/// Number of remaining items of an array or entries of a map; `None` for an indefinite length.
pub(super) struct Remaining(Option<u64>);

const BREAK: u8 = 0xff;
pub(super) const NULL: u8 = 0xf6;
pub(super) const UNDEFINED: u8 = 0xf7;
const TAG_BIGNUMS: [u64; 2] = [2, 3];
const TAG_SELF_DESCRIBED: u64 = 55_799;

/// A cursor over one data item.
#[derive(Clone, Copy)]
pub(super) struct Scanner<'a> {
    data: &'a [u8],
    at: usize,
}

/// The enclosing array or map of the next item.
struct Open {
    remaining: Option<u64>,
    map: bool,
    /// Number of items so far, for an indefinite length.
    count: u64,
    depth: usize,
}

impl<'a> Scanner<'a> {
    /// A cursor over an item that has already been checked.
    pub(super) fn trusting(data: &'a [u8]) -> Self {
        Scanner { data, at: 0 }
    }

    /// A cursor over data that contain exactly one item.
    ///
    /// # Errors
    /// The data are not well-formed, or contain an item without a JSON equivalent.
    pub(super) fn checked(data: &'a [u8]) -> Result<Self, Error> {
        if data.is_empty() {
            return Err(Error::Empty);
        }
        let mut scan = Scanner { data, at: 0 };
        scan.skip()?;
        match data.len() - scan.at {
            0 => Ok(Scanner { data, at: 0 }),
            rest => {
                Err(Error::Invalid(format!("{rest} bytes of extraneous data starting at index {}", scan.at)))
            }
        }
    }

    /// The first byte of the next item.
    pub(super) fn peek(&self) -> Result<u8, Error> {
        self.data.get(self.at).copied().ok_or(Error::UnexpectedEnd)
    }

    /// The major type of the next item.
    pub(super) fn major(&self) -> Result<Major, Error> {
        self.peek().map(Major::of)
    }

    /// True if null or undefined comes next.
    pub(super) fn at_nil(&self) -> bool {
        matches!(self.peek(), Ok(NULL | UNDEFINED))
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], Error> {
        let rest = self.data.get(self.at..).unwrap_or_default();
        let bytes = rest.get(..len).ok_or(Error::UnexpectedEnd)?;
        self.at += len;
        Ok(bytes)
    }

    pub(super) fn head(&mut self) -> Result<Head, Error> {
        let byte = self.peek()?;
        self.at += 1;
        let major = Major::of(byte);
        let info = byte & 0x1f;
        let value = match info {
            0..24 => u64::from(info),
            24..28 => {
                let bytes = self.take(1 << (info - 24))?;
                bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
            }
            _ => 0,
        };
        let head = Head { major, info, value };
        match (info, major) {
            (24, Major::Primitive) if value < 32 => {
                Err(Error::Invalid(format!("invalid simple value {value} for type primitives")))
            }
            (25..28, Major::Primitive) => float(head).map(|_| head),
            (28..31, _) | (INDEFINITE, Major::Unsigned | Major::Negative | Major::Tag) => Err(
                Error::Invalid(format!("invalid additional information {info} for type {}", major.name())),
            ),
            (INDEFINITE, Major::Primitive) => Err(unexpected_break()),
            _ => Ok(head),
        }
    }

    pub(super) fn string(&mut self) -> Result<Run<'a>, Error> {
        let head = self.head()?;
        let Some(len) = head.length() else { return self.chunks(head.major) };
        let bytes = self.take(length(head.major, len)?)?;
        Ok(Run { utf8: std::str::from_utf8(bytes).is_ok(), bytes: Cow::Borrowed(bytes) })
    }

    /// The chunks of a string of indefinite length, joined.
    fn chunks(&mut self, major: Major) -> Result<Run<'a>, Error> {
        let mut joined = Vec::new();
        let mut utf8 = true;
        loop {
            let byte = self.peek()?;
            if byte == BREAK {
                self.at += 1;
                return Ok(Run { bytes: Cow::Owned(joined), utf8 });
            }
            let chunk = Major::of(byte);
            let name = major.name();
            if chunk != major {
                let text = format!("wrong element type {} for indefinite-length {name}", chunk.name());
                return Err(Error::Invalid(text));
            }
            if byte & 0x1f == INDEFINITE {
                return Err(Error::Invalid(format!("indefinite-length {name} chunk is not definite-length")));
            }
            let len = self.head()?.value;
            let chunk = self.take(length(major, len)?)?;
            utf8 &= std::str::from_utf8(chunk).is_ok();
            joined.extend_from_slice(chunk);
        }
    }

    /// Consumes the head of an array or a map.
    pub(super) fn open(&mut self) -> Result<Remaining, Error> {
        Ok(Remaining(self.head()?.length()))
    }

    /// True if another item or entry follows; consumes the final break.
    pub(super) fn has_more(&mut self, remaining: &mut Remaining) -> Result<bool, Error> {
        match &mut remaining.0 {
            Some(0) => Ok(false),
            Some(items_left) => {
                *items_left -= 1;
                Ok(true)
            }
            None if self.peek()? == BREAK => {
                self.at += 1;
                Ok(false)
            }
            None => Ok(true),
        }
    }

    /// Consumes self-described-CBOR tags at the cursor.
    pub(super) fn skip_self_described(&mut self) -> Result<(), Error> {
        while self.major()? == Major::Tag {
            let mut ahead = *self;
            if ahead.head()?.value != TAG_SELF_DESCRIBED {
                break;
            }
            *self = ahead;
        }
        Ok(())
    }

    /// Checks that tags with a meaning enclose a permitted item.
    ///
    /// # Errors
    /// A tag encloses another item.
    pub(super) fn check_tags(mut self) -> Result<(), Error> {
        while self.major()? == Major::Tag {
            let tag = self.head()?.value;
            let content = self.major()?;
            let byte = self.peek()?;
            let expected = match tag {
                0 if content != Major::Text => "text string",
                1 if !matches!(content, Major::Unsigned | Major::Negative)
                    && !matches!(byte, 0xf9..=0xfb) =>
                {
                    "integer or floating-point number"
                }
                _ => continue,
            };
            let actual = content.name();
            return Err(Error::Invalid(format!(
                "tag number {tag} must be followed by {expected}, got {actual}"
            )));
        }
        Ok(())
    }

    /// Consumes an item and returns its bytes.
    ///
    /// # Errors
    /// The item is not well-formed; see [`checked`](Self::checked).
    pub(super) fn skip(&mut self) -> Result<&'a [u8], Error> {
        let begin = self.at;
        let mut open: Vec<Open> = Vec::new();
        loop {
            let depth = open.last().map_or(0, |open| open.depth);
            if let Some(inner) = self.step(depth)? {
                open.push(inner);
            }
            while let Some(innermost) = open.last_mut() {
                if self.has_next(innermost)? {
                    break;
                }
                open.pop();
            }
            if open.is_empty() {
                return Ok(self.data.get(begin..self.at).unwrap_or_default());
            }
        }
    }

    /// Consumes a scalar, or the head of an array or map.
    fn step(&mut self, mut depth: usize) -> Result<Option<Open>, Error> {
        if self.major()? == Major::Tag {
            depth = self.tags(depth)?;
        }
        match self.major()? {
            Major::Bytes | Major::Text => self.string().map(|_| None),
            Major::Array | Major::Map => {
                let head = self.head()?;
                deeper(&mut depth)?;
                let map = head.major == Major::Map;
                let remaining = head.length();
                if let Some(len) = remaining {
                    length(head.major, len)?;
                    check_count(map, len)?;
                }
                // An entry consists of two items.
                let remaining = remaining.map(|len| if map { len * 2 } else { len });
                Ok(Some(Open { remaining, map, count: 0, depth }))
            }
            _ => self.head().map(|_| None),
        }
    }

    /// Consumes tags; returns the depth of the enclosed item. The first of several consecutive tags does not
    /// count.
    fn tags(&mut self, mut depth: usize) -> Result<usize, Error> {
        let mut first = true;
        while self.major()? == Major::Tag {
            let tag = self.head()?.value;
            if !std::mem::take(&mut first) {
                deeper(&mut depth)?;
            }
            self.peek()?;
            if TAG_BIGNUMS.contains(&tag) {
                return Err(Error::unacceptable("tag", "bignum"));
            }
        }
        Ok(depth)
    }

    /// True if an open array or map has another item.
    fn has_next(&mut self, open: &mut Open) -> Result<bool, Error> {
        if let Some(remaining) = &mut open.remaining {
            let more = *remaining > 0;
            *remaining = remaining.saturating_sub(1);
            return Ok(more);
        }
        check_count(open.map, if open.map { open.count / 2 } else { open.count })?;
        if self.peek()? != BREAK {
            open.count += 1;
            return Ok(true);
        }
        if open.map && open.count % 2 == 1 {
            return Err(unexpected_break());
        }
        self.at += 1;
        Ok(false)
    }
}

fn deeper(depth: &mut usize) -> Result<(), Error> {
    *depth += 1;
    if *depth > DEPTH_MAX { Err(too_deep(DEPTH_MAX)) } else { Ok(()) }
}

/// The error for an item that nests too deeply.
pub(super) fn too_deep(levels_max: usize) -> Error {
    Error::Invalid(format!("exceeded max nested level {levels_max}"))
}

fn check_count(map: bool, count: u64) -> Result<(), Error> {
    let (max, label) = if map { (MAP_ENTRIES_MAX, "key-value pairs") } else { (ARRAY_ITEMS_MAX, "elements") };
    if count <= max {
        return Ok(());
    }
    let name = if map { "map" } else { "array" };
    Err(Error::Invalid(format!("exceeded max number of {label} {max} for CBOR {name}")))
}

/// A length, if it is below 2^63.
fn length(major: Major, len: u64) -> Result<usize, Error> {
    i64::try_from(len).ok().and_then(|len| usize::try_from(len).ok()).ok_or_else(|| {
        let so = match major {
            Major::Array | Major::Map => "it would cause integer overflow",
            _ => "causing integer overflow",
        };
        Error::Invalid(format!("{} length {len} is too large, {so}", major.name()))
    })
}

fn unexpected_break() -> Error {
    Error::Invalid("unexpected \"break\" code".to_owned())
}
