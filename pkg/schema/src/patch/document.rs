//! A lazily parsed JSON document.
//!
//! Parts that no patch touches remain text: `1.0` stays `1.0`, and members keep their order. This is visible
//! as in upstream: error messages quote the patched document, `test` compares numbers and strings by their
//! text, and duplicate members are reported.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::list::List;
use crate::json::TREE_DEPTH_MAX;
use crate::json::scan::Scanner;
use crate::json_write::{compact, write_string};

/// The members of a parsed object.
pub(super) type Members<'t> = BTreeMap<Cow<'t, str>, Node<'t>>;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node<'t> {
    Null,
    /// The text of a scalar, or of an unparsed object or list.
    Text(&'t [u8]),
    /// An object; the last duplicate of a member wins.
    Object(Members<'t>),
    List(List<Node<'t>>),
}

impl<'t> Node<'t> {
    /// A value by its text, which must be well-formed and without surrounding white space.
    pub(super) fn new(text: &'t [u8]) -> Self {
        if text == b"null" { Node::Null } else { Node::Text(text) }
    }

    /// Parses the text of an object or a list, one level deep.
    pub(super) fn open(&mut self) -> &mut Self {
        let opened = match self {
            Node::Text(text @ [b'{', ..]) => members(text).map(Node::Object),
            Node::Text(text @ [b'[', ..]) => items(text).map(Node::List),
            _ => None,
        };
        if let Some(opened) = opened {
            *self = opened;
        }
        self
    }

    /// True if two values are equal: scalars by their text, objects regardless of the order of members.
    pub(super) fn is_equal(&mut self, other: &mut Node<'_>) -> bool {
        self.is_equal_within(other, TREE_DEPTH_MAX)
    }

    fn is_equal_within(&mut self, other: &mut Node<'_>, depth: usize) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return self.text() == other.text() };
        match (self.open(), other.open()) {
            (Node::Null, Node::Null) => true,
            (Node::Text(one), Node::Text(other)) => one == other,
            (Node::Object(one), Node::Object(other)) => {
                one.len() == other.len()
                    && one.iter_mut().all(|(name, value)| {
                        other.get_mut(name.as_ref()).is_some_and(|other| value.is_equal_within(other, depth))
                    })
            }
            (Node::List(one), Node::List(other)) => {
                one.len() == other.len()
                    && one
                        .iter_mut()
                        .zip(other.iter_mut())
                        .all(|(one, other)| one.is_equal_within(other, depth))
            }
            _ => false,
        }
    }

    /// Appends the value as Go marshals it: compact, HTML-escaped, parsed members in order.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Node::Null => out.extend_from_slice(b"null"),
            Node::Text(text) => {
                if compact(text, out).is_err() {
                    out.extend_from_slice(text);
                }
            }
            Node::Object(members) => {
                out.push(b'{');
                for (index, (name, value)) in members.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    write_string(name.as_bytes(), out);
                    out.push(b':');
                    value.write(out);
                }
                out.push(b'}');
            }
            Node::List(items) => {
                out.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    item.write(out);
                }
                out.push(b']');
            }
        }
    }

    /// The value as appended by [`write`](Self::write).
    pub(super) fn text(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }
}

pub(super) fn members(text: &[u8]) -> Option<Members<'_>> {
    let mut scan = Scanner::new(text);
    let mut members = Members::new();
    scan.value_start().ok()?;
    scan.open().ok()?;
    while let Some(name) = scan.next_member(members.is_empty()).ok()? {
        members.insert(name.text(), Node::new(scan.skip().ok()?));
    }
    Some(members)
}

pub(super) fn items(text: &[u8]) -> Option<List<Node<'_>>> {
    let mut scan = Scanner::new(text);
    let mut items = List::default();
    scan.value_start().ok()?;
    scan.open().ok()?;
    while scan.next_item(items.is_empty()).ok()? {
        items.push(Node::new(scan.skip().ok()?));
    }
    Some(items)
}
