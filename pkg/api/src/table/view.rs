//! Read access to an object in which any field may be absent: an absent field has the zero value of its type,
//! as in a Go struct. The object is a tree, or the bytes of a message, of which only the needed fields are
//! read.

use super::cell::Cell;
use apimachinery::time::{UnixTime, parse_time};
use jsontree::{Object, Value};
use schema::proto::inplace::{MemberRef, MessageRef, NotInPlace};
use smallvec::SmallVec;
use std::borrow::Cow;

/// Place in an object; may be empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct View<'a>(Node<'a>);

#[derive(Clone, Copy, Debug, Default)]
enum Node<'a> {
    #[default]
    Absent,
    Object(&'a Object),
    Value(&'a Value),
    Wire(MemberRef<'a>, &'a ReadStatus),
}

/// Set when a reader found an irregular value and treated it as absent.
#[derive(Debug, Default)]
pub struct ReadStatus(std::cell::Cell<bool>);

impl ReadStatus {
    pub fn is_irregular(&self) -> bool {
        self.0.get()
    }
}

impl<'a> View<'a> {
    pub fn of(object: &'a Object) -> Self {
        View(Node::Object(object))
    }

    pub fn of_message(message: MessageRef<'a>, read_status: &'a ReadStatus) -> Self {
        View(Node::Wire(MemberRef::Message(message), read_status))
    }

    fn of_value(value: Option<&'a Value>) -> Self {
        match value {
            None | Some(Value::Null) => View(Node::Absent),
            Some(Value::Object(object)) => View(Node::Object(object)),
            Some(value) => View(Node::Value(value)),
        }
    }

    fn of_member(member: MemberRef<'a>, read_status: &'a ReadStatus) -> Self {
        match member {
            MemberRef::Absent => View(Node::Absent),
            member => View(Node::Wire(member, read_status)),
        }
    }

    /// Returns the member `name`, which may contain dots.
    pub fn get(self, name: &str) -> Self {
        match self.0 {
            Node::Object(object) => Self::of_value(object.get(name)),
            Node::Wire(MemberRef::Message(message), doubt) => {
                Self::of_member(value_or_mark(message.get(name), doubt).unwrap_or(MemberRef::Absent), doubt)
            }
            Node::Wire(MemberRef::Map(map), doubt) => {
                Self::of_member(value_or_mark(map.get(name), doubt).unwrap_or(MemberRef::Absent), doubt)
            }
            _ => View(Node::Absent),
        }
    }

    /// Returns the member at a dot-separated path.
    pub fn get_path(self, path: &str) -> Self {
        // Paths are short, so checking each byte is faster than a search for long texts.
        match path.bytes().position(|byte| byte == b'.').and_then(|at| path.split_at_checked(at)) {
            Some((name, rest)) => self.get(name).get_path(rest.get(1..).unwrap_or_default()),
            None => self.get(path),
        }
    }

    /// False for an absent member and for null, a nil pointer in Go.
    pub fn exists(self) -> bool {
        match self.0 {
            Node::Absent => false,
            Node::Wire(MemberRef::Message(message), doubt) => {
                value_or_mark(message.is_set(), doubt).unwrap_or(false)
            }
            _ => true,
        }
    }

    pub fn object(self) -> Option<Cow<'a, Object>> {
        match self.0 {
            Node::Object(object) => Some(Cow::Borrowed(object)),
            Node::Wire(MemberRef::Message(message), doubt) if self.exists() => {
                value_or_mark(message.tree().map_err(NotInPlace::from), doubt).map(Cow::Owned)
            }
            Node::Wire(MemberRef::Map(_), doubt) => value_or_mark(Err(NotInPlace), doubt),
            _ => None,
        }
    }

    /// Returns a text or a number as text.
    pub fn scalar(self) -> Option<Cow<'a, str>> {
        match self.0 {
            Node::Value(Value::String(text)) => Some(Cow::Borrowed(text)),
            Node::Value(value) => Some(Cow::Owned(value.to_string())),
            Node::Wire(MemberRef::Text(text) | MemberRef::Quantity(text), _) => Some(Cow::Borrowed(text)),
            Node::Wire(MemberRef::Int(number), _) => Some(Cow::Owned(number.to_string())),
            Node::Wire(MemberRef::Bool(flag), _) => Some(Cow::Owned(flag.to_string())),
            Node::Wire(
                MemberRef::Bytes(_) | MemberRef::Time(_) | MemberRef::MicroTime(_) | MemberRef::List(_),
                doubt,
            ) => value_or_mark(Err(NotInPlace), doubt),
            Node::Wire(..) | Node::Absent | Node::Object(_) => None,
        }
    }

    /// Returns the text; empty if absent.
    pub fn text(self) -> &'a str {
        match self.0 {
            Node::Value(Value::String(text)) => text,
            Node::Wire(MemberRef::Text(text), _) => text,
            // In a tree these values are texts, which would have to be allocated here.
            Node::Wire(
                MemberRef::Bytes(_) | MemberRef::Quantity(_) | MemberRef::Time(_) | MemberRef::MicroTime(_),
                doubt,
            ) => value_or_mark(Err(NotInPlace), doubt).unwrap_or_default(),
            _ => "",
        }
    }

    /// True if there are any bytes (in a tree, base64).
    pub fn has_bytes(self) -> bool {
        match self.0 {
            Node::Wire(MemberRef::Bytes(bytes), _) => !bytes.is_empty(),
            _ => !self.text().is_empty(),
        }
    }

    /// Returns the time, including that of year 1 (Go's zero time).
    pub fn time(self) -> Option<UnixTime> {
        match self.0 {
            Node::Wire(MemberRef::Time(time) | MemberRef::MicroTime(time), _) => Some(time),
            Node::Absent => None,
            _ => parse_time(self.text()).ok(),
        }
    }

    /// Returns the text, or `default` if absent; an empty text is kept.
    pub fn text_or(self, default: &'a str) -> &'a str {
        if self.exists() { self.text() } else { default }
    }

    /// Returns the text, or `default` if absent or empty.
    pub fn non_empty_or(self, default: &'a str) -> &'a str {
        match self.text() {
            "" => default,
            text => text,
        }
    }

    pub fn int(self) -> i64 {
        match self.0 {
            Node::Value(value) => value.as_i64().unwrap_or_default(),
            Node::Wire(MemberRef::Int(number), _) => number,
            _ => 0,
        }
    }

    pub fn flag(self) -> bool {
        matches!(self.0, Node::Value(Value::Bool(true)) | Node::Wire(MemberRef::Bool(true), _))
    }

    pub fn flag_or(self, default: bool) -> bool {
        if self.exists() { self.flag() } else { default }
    }

    pub fn items(self) -> impl Iterator<Item = View<'a>> {
        let (tree, wire) = match self.0 {
            Node::Value(Value::Array(items)) => (items.as_slice(), None),
            Node::Wire(MemberRef::List(list), doubt) => (&[][..], Some((list.iter(), doubt))),
            _ => (&[][..], None),
        };
        let wire = wire.into_iter().flat_map(|(list, doubt)| {
            list.map(move |item| {
                View::of_member(value_or_mark(item, doubt).unwrap_or(MemberRef::Absent), doubt)
            })
        });
        tree.iter().map(|item| View::of_value(Some(item))).chain(wire)
    }

    /// Iterates over the items of a list in reverse.
    pub fn items_backwards(self) -> impl Iterator<Item = View<'a>> {
        self.items().collect::<SmallVec<[View<'a>; 4]>>().into_iter().rev()
    }

    pub fn entries(self) -> impl Iterator<Item = (&'a str, View<'a>)> {
        let (tree, wire) = match self.0 {
            Node::Object(object) => (Some(object), None),
            Node::Wire(MemberRef::Map(map), doubt) => (None, Some((map.iter(), doubt))),
            Node::Wire(MemberRef::Message(_), doubt) => (value_or_mark(Err(NotInPlace), doubt), None),
            _ => (None, None),
        };
        let wire = wire.into_iter().flat_map(|(map, doubt)| {
            map.filter_map(move |entry| value_or_mark(entry, doubt))
                .map(move |(k, v)| (k, View::of_member(v, doubt)))
        });
        let tree = tree.into_iter().flatten();
        tree.map(|(key, value)| (key.as_str(), View::of_value(Some(value)))).chain(wire)
    }

    pub fn len(self) -> usize {
        match self.0 {
            Node::Object(object) => object.len(),
            Node::Value(Value::Array(items)) => items.len(),
            Node::Wire(MemberRef::List(list), _) => list.len(),
            Node::Wire(MemberRef::Map(map), _) => map.len(),
            Node::Wire(MemberRef::Message(_), doubt) => {
                value_or_mark(Err(NotInPlace), doubt).unwrap_or_default()
            }
            _ => 0,
        }
    }

    /// True if there are no elements.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns a cell with the number of items or entries.
    pub fn count(self) -> Cell<'static> {
        self.len().into()
    }

    pub fn texts(self) -> Vec<&'a str> {
        self.items().map(View::text).collect()
    }

    /// Returns the first condition of a type in a list of conditions.
    pub fn condition(self, condition_type: &str) -> Option<View<'a>> {
        self.items().find(|condition| condition.get("type").text() == condition_type)
    }

    pub fn name(self) -> Cell<'a> {
        self.get_path("metadata.name").text().into()
    }
}

impl<'a> From<View<'a>> for Cell<'a> {
    fn from(view: View<'a>) -> Cell<'a> {
        view.text().into()
    }
}

/// Returns the value, or marks the read as irregular.
fn value_or_mark<T>(result: Result<T, NotInPlace>, read_status: &ReadStatus) -> Option<T> {
    if result.is_err() {
        read_status.0.set(true);
    }
    result.ok()
}
