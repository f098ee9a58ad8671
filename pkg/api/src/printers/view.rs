//! Reading JSON where anything may be missing: an absent member reads as the
//! zero value of its type, as it does in a Go struct.

use serde_json::{Map, Value};
use std::borrow::Cow;

/// A place in an object, which may be empty.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a>(Node<'a>);

#[derive(Clone, Copy, Debug)]
enum Node<'a> {
    Absent,
    Object(&'a Map<String, Value>),
    Value(&'a Value),
}

impl<'a> View<'a> {
    pub(super) fn of(object: &'a Map<String, Value>) -> Self {
        View(Node::Object(object))
    }

    fn of_value(value: Option<&'a Value>) -> Self {
        match value {
            None | Some(Value::Null) => View(Node::Absent),
            Some(Value::Object(object)) => View(Node::Object(object)),
            Some(value) => View(Node::Value(value)),
        }
    }

    /// The member `name`, which may contain dots.
    pub(super) fn get(self, name: &str) -> Self {
        Self::of_value(self.object().and_then(|object| object.get(name)))
    }

    /// The member at a path of names separated by dots.
    pub(super) fn at(self, path: &str) -> Self {
        path.split('.').fold(self, View::get)
    }

    /// False for an absent member and for null: a nil pointer in Go.
    pub(super) fn exists(self) -> bool {
        !matches!(self.0, Node::Absent)
    }

    pub(super) fn object(self) -> Option<&'a Map<String, Value>> {
        match self.0 {
            Node::Object(object) => Some(object),
            _ => None,
        }
    }

    /// A text or a number as text.
    pub(super) fn scalar(self) -> Option<Cow<'a, str>> {
        match self.0 {
            Node::Value(Value::String(text)) => Some(Cow::Borrowed(text)),
            Node::Value(value) => Some(Cow::Owned(value.to_string())),
            Node::Absent | Node::Object(_) => None,
        }
    }

    /// The text, empty if there is none.
    pub(super) fn text(self) -> &'a str {
        match self.0 {
            Node::Value(Value::String(text)) => text,
            _ => "",
        }
    }

    /// The text, or another one if it is absent; an empty text is kept.
    pub(super) fn text_or(self, default: &'a str) -> &'a str {
        if self.exists() { self.text() } else { default }
    }

    /// The text, or another one if it is absent or empty.
    pub(super) fn filled_or(self, default: &'a str) -> &'a str {
        match self.text() {
            "" => default,
            text => text,
        }
    }

    pub(super) fn int(self) -> i64 {
        match self.0 {
            Node::Value(value) => value.as_i64().unwrap_or_default(),
            _ => 0,
        }
    }

    pub(super) fn flag(self) -> bool {
        matches!(self.0, Node::Value(Value::Bool(true)))
    }

    pub(super) fn flag_or(self, default: bool) -> bool {
        if self.exists() { self.flag() } else { default }
    }

    /// The items of a list.
    pub(super) fn items(self) -> impl DoubleEndedIterator<Item = View<'a>> + ExactSizeIterator {
        let items = match self.0 {
            Node::Value(Value::Array(items)) => items.as_slice(),
            _ => &[],
        };
        items.iter().map(|item| View::of_value(Some(item)))
    }

    /// The entries of a map, by key.
    pub(super) fn entries(self) -> impl Iterator<Item = (&'a str, View<'a>)> {
        let entries = self.object().into_iter().flatten();
        entries.map(|(key, value)| (key.as_str(), View::of_value(Some(value))))
    }

    /// The number of items or entries.
    pub(super) fn len(self) -> usize {
        match self.0 {
            Node::Object(object) => object.len(),
            Node::Value(Value::Array(items)) => items.len(),
            _ => 0,
        }
    }

    /// The cell with the number of items or entries.
    pub(super) fn count(self) -> Value {
        self.len().into()
    }

    /// The texts in a list.
    pub(super) fn texts(self) -> Vec<&'a str> {
        self.items().map(View::text).collect()
    }

    /// The condition of a type in a list of conditions.
    pub(super) fn condition(self, condition_type: &str) -> Option<View<'a>> {
        self.items().find(|condition| condition.get("type").text() == condition_type)
    }

    /// The cell with the name of the object.
    pub(super) fn name(self) -> Value {
        self.at("metadata.name").text().into()
    }
}

impl From<View<'_>> for Value {
    /// The cell with a text.
    fn from(view: View<'_>) -> Value {
        view.text().into()
    }
}
