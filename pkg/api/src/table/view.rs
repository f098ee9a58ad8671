//! Reading an object where anything may be missing: an absent member reads as the
//! zero value of its type, as it does in a Go struct. The object is a tree, or the
//! bytes of a message, in which only what is asked for is read.

use super::cell::Cell;
use apimachinery::time::{UnixTime, parse_time};
use jsontree::{Object, Value};
use schema::proto::inplace::{MemberRef, MessageRef, NotInPlace};
use smallvec::SmallVec;
use std::borrow::Cow;

/// A place in an object, which may be empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct View<'a>(Node<'a>);

#[derive(Clone, Copy, Debug, Default)]
enum Node<'a> {
    #[default]
    Absent,
    Object(&'a Object),
    Value(&'a Value),
    Wire(MemberRef<'a>, &'a Doubt),
}

/// Whether a reader met something irregular and read it as absent.
#[derive(Debug, Default)]
pub struct Doubt(std::cell::Cell<bool>);

impl Doubt {
    pub fn exists(&self) -> bool {
        self.0.get()
    }
}

impl<'a> View<'a> {
    pub fn of(object: &'a Object) -> Self {
        View(Node::Object(object))
    }

    pub fn of_message(message: MessageRef<'a>, doubt: &'a Doubt) -> Self {
        View(Node::Wire(MemberRef::Message(message), doubt))
    }

    fn of_value(value: Option<&'a Value>) -> Self {
        match value {
            None | Some(Value::Null) => View(Node::Absent),
            Some(Value::Object(object)) => View(Node::Object(object)),
            Some(value) => View(Node::Value(value)),
        }
    }

    fn of_member(member: MemberRef<'a>, doubt: &'a Doubt) -> Self {
        match member {
            MemberRef::Absent => View(Node::Absent),
            member => View(Node::Wire(member, doubt)),
        }
    }

    /// The member `name`, which may contain dots.
    pub fn get(self, name: &str) -> Self {
        match self.0 {
            Node::Object(object) => Self::of_value(object.get(name)),
            Node::Wire(MemberRef::Message(message), doubt) => {
                Self::of_member(certain(message.get(name), doubt).unwrap_or(MemberRef::Absent), doubt)
            }
            Node::Wire(MemberRef::Map(map), doubt) => {
                Self::of_member(certain(map.get(name), doubt).unwrap_or(MemberRef::Absent), doubt)
            }
            _ => View(Node::Absent),
        }
    }

    /// The member at a path of names separated by dots.
    pub fn at(self, path: &str) -> Self {
        // Paths are short: looking at each byte is faster than what looks for bytes in long texts.
        match path.bytes().position(|byte| byte == b'.').and_then(|at| path.split_at_checked(at)) {
            Some((name, rest)) => self.get(name).at(rest.get(1..).unwrap_or_default()),
            None => self.get(path),
        }
    }

    /// False for an absent member and for null: a nil pointer in Go.
    pub fn exists(self) -> bool {
        match self.0 {
            Node::Absent => false,
            Node::Wire(MemberRef::Message(message), doubt) => {
                certain(message.is_set(), doubt).unwrap_or(false)
            }
            _ => true,
        }
    }

    /// The members as a tree.
    pub fn object(self) -> Option<Cow<'a, Object>> {
        match self.0 {
            Node::Object(object) => Some(Cow::Borrowed(object)),
            Node::Wire(MemberRef::Message(message), doubt) if self.exists() => {
                certain(message.tree().map_err(NotInPlace::from), doubt).map(Cow::Owned)
            }
            Node::Wire(MemberRef::Map(_), doubt) => certain(Err(NotInPlace), doubt),
            _ => None,
        }
    }

    /// A text or a number as text.
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
            ) => certain(Err(NotInPlace), doubt),
            Node::Wire(..) | Node::Absent | Node::Object(_) => None,
        }
    }

    /// The text, empty if there is none.
    pub fn text(self) -> &'a str {
        match self.0 {
            Node::Value(Value::String(text)) => text,
            Node::Wire(MemberRef::Text(text), _) => text,
            // In a tree these are texts that have to be made.
            Node::Wire(
                MemberRef::Bytes(_) | MemberRef::Quantity(_) | MemberRef::Time(_) | MemberRef::MicroTime(_),
                doubt,
            ) => certain(Err(NotInPlace), doubt).unwrap_or_default(),
            _ => "",
        }
    }

    /// Whether there are any bytes (in a tree, base64).
    pub fn has_bytes(self) -> bool {
        match self.0 {
            Node::Wire(MemberRef::Bytes(bytes), _) => !bytes.is_empty(),
            _ => !self.text().is_empty(),
        }
    }

    /// The time, also that of year 1.
    pub fn time(self) -> Option<UnixTime> {
        match self.0 {
            Node::Wire(MemberRef::Time(time) | MemberRef::MicroTime(time), _) => Some(time),
            Node::Absent => None,
            _ => parse_time(self.text()).ok(),
        }
    }

    /// The text, or another one if it is absent; an empty text is kept.
    pub fn text_or(self, default: &'a str) -> &'a str {
        if self.exists() { self.text() } else { default }
    }

    /// The text, or another one if it is absent or empty.
    pub fn filled_or(self, default: &'a str) -> &'a str {
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

    /// The items of a list.
    pub fn items(self) -> impl Iterator<Item = View<'a>> {
        let (tree, wire) = match self.0 {
            Node::Value(Value::Array(items)) => (items.as_slice(), None),
            Node::Wire(MemberRef::List(list), doubt) => (&[][..], Some((list.iter(), doubt))),
            _ => (&[][..], None),
        };
        let wire = wire.into_iter().flat_map(|(list, doubt)| {
            list.map(move |item| View::of_member(certain(item, doubt).unwrap_or(MemberRef::Absent), doubt))
        });
        tree.iter().map(|item| View::of_value(Some(item))).chain(wire)
    }

    /// The items of a list, the last one first.
    pub fn items_backwards(self) -> impl Iterator<Item = View<'a>> {
        self.items().collect::<SmallVec<[View<'a>; 4]>>().into_iter().rev()
    }

    /// The entries of a map, by key.
    pub fn entries(self) -> impl Iterator<Item = (&'a str, View<'a>)> {
        let (tree, wire) = match self.0 {
            Node::Object(object) => (Some(object), None),
            Node::Wire(MemberRef::Map(map), doubt) => (None, Some((map.iter(), doubt))),
            Node::Wire(MemberRef::Message(_), doubt) => (certain(Err(NotInPlace), doubt), None),
            _ => (None, None),
        };
        let wire = wire.into_iter().flat_map(|(map, doubt)| {
            map.filter_map(move |entry| certain(entry, doubt))
                .map(move |(k, v)| (k, View::of_member(v, doubt)))
        });
        let tree = tree.into_iter().flatten();
        tree.map(|(key, value)| (key.as_str(), View::of_value(Some(value)))).chain(wire)
    }

    /// The number of items or entries.
    pub fn len(self) -> usize {
        match self.0 {
            Node::Object(object) => object.len(),
            Node::Value(Value::Array(items)) => items.len(),
            Node::Wire(MemberRef::List(list), _) => list.len(),
            Node::Wire(MemberRef::Map(map), _) => map.len(),
            Node::Wire(MemberRef::Message(_), doubt) => certain(Err(NotInPlace), doubt).unwrap_or_default(),
            _ => 0,
        }
    }

    /// The cell with the number of items or entries.
    pub fn count(self) -> Cell<'static> {
        self.len().into()
    }

    /// The texts in a list.
    pub fn texts(self) -> Vec<&'a str> {
        self.items().map(View::text).collect()
    }

    /// The condition of a type in a list of conditions.
    pub fn condition(self, condition_type: &str) -> Option<View<'a>> {
        self.items().find(|condition| condition.get("type").text() == condition_type)
    }

    /// The cell with the name of the object.
    pub fn name(self) -> Cell<'a> {
        self.at("metadata.name").text().into()
    }
}

impl<'a> From<View<'a>> for Cell<'a> {
    /// The cell with a text.
    fn from(view: View<'a>) -> Cell<'a> {
        view.text().into()
    }
}

/// What was read, or a doubt.
fn certain<T>(result: Result<T, NotInPlace>, doubt: &Doubt) -> Option<T> {
    if result.is_err() {
        doubt.0.set(true);
    }
    result.ok()
}
