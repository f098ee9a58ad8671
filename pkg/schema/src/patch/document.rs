//! A lazily parsed JSON document.
//!
//! Parts that no patch touches remain text: `1.0` stays `1.0`, and members keep their order. This is visible
//! as in upstream: error messages quote the patched document, `test` compares numbers and strings by their
//! text, and duplicate members are reported.
//!
//! No sequence of operations can parse more than [`TREE_DEPTH_MAX`] levels, so recursion over the parsed part
//! is bounded. Each branch stores its height. Only this module and its child can change branches, and they
//! check the height of everything that they add. Text counts as no level until it is parsed.

use std::sync::Arc;

use super::list::List;
use super::members::Members;
use crate::json::TREE_DEPTH_MAX;
use crate::json::scan::Scanner;
use crate::json_write::{compact, write_string};

mod place;

pub(super) use place::{MISSING, OperationError, Place, unescape};

/// The result would have more than [`TREE_DEPTH_MAX`] parsed levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the document is nested deeper than {TREE_DEPTH_MAX} levels")]
pub(super) struct TooDeep;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node<'t> {
    Null,
    /// The text of a scalar, or of an unparsed object or list.
    Text(&'t [u8]),
    /// A copy shares its branch until one of both is changed.
    Parsed(Arc<Branch<'t>>),
}

/// A parsed object or list.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Branch<'t> {
    children: Children<'t>,
    /// Upper bound of the parsed levels, including this one. Removing a child does not lower it: the exact
    /// height would need a walk over all other children.
    height: usize,
}

#[derive(Debug, Clone, PartialEq)]
enum Children<'t> {
    Object(Members<'t, Node<'t>>),
    List(List<Node<'t>>),
}

impl<'t> Node<'t> {
    /// A value by its text, which must be well-formed and without surrounding white space.
    pub(super) fn new(text: &'t [u8]) -> Self {
        if text == b"null" { Node::Null } else { Node::Text(text) }
    }

    fn is_null(&self) -> bool {
        matches!(self, Node::Null)
    }

    /// Upper bound of the parsed levels.
    pub(super) fn height(&self) -> usize {
        match self {
            Node::Null | Node::Text(_) => 0,
            Node::Parsed(branch) => branch.height,
        }
    }

    /// Number of levels that [`same`](Self::same) can parse in a value that equals this text.
    pub(super) fn nesting(&self) -> usize {
        match self {
            Node::Null => 0,
            Node::Text(text) => nesting(text),
            Node::Parsed(branch) => branch.height,
        }
    }

    /// Parses the text of an object or a list, one level deep. `None` for scalars. The caller must have
    /// checked that there may be one more level.
    fn open(&mut self) -> Option<&mut Branch<'t>> {
        let children = match self {
            Node::Text(text @ [b'{', ..]) => members(text).map(Children::Object),
            Node::Text(text @ [b'[', ..]) => items(text).map(Children::List),
            _ => None,
        };
        if let Some(children) = children {
            *self = Node::Parsed(Arc::new(Branch { children, height: 1 }));
        }
        match self {
            Node::Parsed(branch) => Some(Arc::make_mut(branch)),
            _ => None,
        }
    }

    fn is_scalar(&self) -> bool {
        !matches!(self, Node::Parsed(_) | Node::Text([b'{' | b'[', ..]))
    }

    /// True if two values are equal: scalars by their text, objects regardless of the order of members. At
    /// most `levels` are parsed; deeper parts are compared as texts.
    fn same(&mut self, other: &mut Node<'_>, levels: usize) -> bool {
        if self.is_scalar() || other.is_scalar() {
            return match (self, other) {
                (Node::Null, Node::Null) => true,
                (Node::Text(lhs), Node::Text(rhs)) => lhs == rhs,
                _ => false,
            };
        }
        let Some(below) = levels.checked_sub(1) else { return self.text() == other.text() };
        match (self.open(), other.open()) {
            (Some(branch), Some(other)) => branch.same(other, below),
            _ => false,
        }
    }

    /// Applies a merge patch to this value. The result has at most `levels`.
    fn merge(&mut self, mut patch: Node<'t>, levels: usize) -> Result<(), TooDeep> {
        if let Some(below) = levels.checked_sub(1)
            && let Some(branch @ Branch { children: Children::Object(_), .. }) = self.open()
        {
            if let Some(Branch { children: Children::Object(patch), .. }) = patch.open() {
                return branch.merge(std::mem::take(patch), below);
            }
            // A value that replaces an object is the patch unchanged.
            *self = patch;
            return Ok(());
        }
        patch.prune(levels)?;
        *self = patch;
        Ok(())
    }

    /// Drops `null` members at any depth. `null` items remain.
    pub(super) fn prune(&mut self, levels: usize) -> Result<(), TooDeep> {
        if self.is_scalar() {
            return Ok(());
        }
        let below = levels.checked_sub(1).ok_or(TooDeep)?;
        let Some(branch) = self.open() else { return Ok(()) };
        let mut height = 0;
        let mut prune = |child: &mut Node<'t>| {
            child.prune(below)?;
            height = height.max(child.height());
            Ok(())
        };
        match &mut branch.children {
            Children::Object(members) => {
                members.retain(|value| !value.is_null());
                members.iter_mut().try_for_each(|(_, value)| prune(value))?;
            }
            Children::List(items) => items.iter_mut().try_for_each(&mut prune)?,
        }
        branch.raise(height);
        Ok(())
    }

    /// Appends the value as Go marshals it: compact, HTML-escaped, parsed members in order.
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Node::Null => out.extend_from_slice(b"null"),
            Node::Text(text) => {
                if compact(text, out).is_err() {
                    out.extend_from_slice(text);
                }
            }
            Node::Parsed(branch) => branch.write(out),
        }
    }

    /// The value as Go marshals it.
    pub(super) fn text(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }
}

impl<'t> Branch<'t> {
    /// Records that a child has this height.
    fn raise(&mut self, child: usize) {
        self.height = self.height.max(child.saturating_add(1));
    }

    fn same(&mut self, other: &mut Branch<'_>, below: usize) -> bool {
        let mut height = 0;
        let mut same = |node: &mut Node<'t>, other: &mut Node<'_>| {
            let same = node.same(other, below);
            height = height.max(node.height());
            same
        };
        let same = match (&mut self.children, &mut other.children) {
            (Children::Object(lhs), Children::Object(rhs)) => {
                lhs.len() == rhs.len()
                    && lhs
                        .iter_mut()
                        .all(|(name, value)| rhs.get_mut(name).is_some_and(|rhs| same(value, rhs)))
            }
            (Children::List(lhs), Children::List(rhs)) => {
                lhs.len() == rhs.len() && lhs.iter_mut().zip(rhs.iter_mut()).all(|(lhs, rhs)| same(lhs, rhs))
            }
            _ => false,
        };
        self.raise(height);
        same
    }

    /// Applies the members of a merge patch to an object with at most `below` levels of children.
    fn merge(&mut self, patch: Members<'t, Node<'t>>, below: usize) -> Result<(), TooDeep> {
        let Children::Object(members) = &mut self.children else { return Ok(()) };
        let mut height = 0;
        for (name, mut value) in patch {
            if value.is_null() {
                members.remove(name.as_ref());
                continue;
            }
            match members.get_mut(name.as_ref()).filter(|current| !current.is_null()) {
                Some(current) => {
                    current.merge(value, below)?;
                    height = height.max(current.height());
                }
                None => {
                    value.prune(below)?;
                    height = height.max(value.height());
                    members.insert(name, value);
                }
            }
        }
        self.raise(height);
        Ok(())
    }

    fn write(&self, out: &mut Vec<u8>) {
        let comma = |index: usize, out: &mut Vec<u8>| {
            if index > 0 {
                out.push(b',');
            }
        };
        match &self.children {
            Children::Object(members) => {
                out.push(b'{');
                for (index, (name, value)) in members.iter().enumerate() {
                    comma(index, out);
                    write_string(name.as_bytes(), out);
                    out.push(b':');
                    value.write(out);
                }
                out.push(b'}');
            }
            Children::List(items) => {
                out.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    comma(index, out);
                    item.write(out);
                }
                out.push(b']');
            }
        }
    }
}

/// A document under a patch: at most [`TREE_DEPTH_MAX`] levels are parsed.
pub(super) struct Document<'t> {
    root: Node<'t>,
}

impl<'t> Document<'t> {
    pub(super) fn new(text: &'t [u8]) -> Self {
        let mut root = Node::Text(text);
        // Even without a change, the members come out in order.
        root.open();
        Document { root }
    }

    /// Replaces the document; false for a scalar, which no document can be.
    pub(super) fn replace(&mut self, text: Node<'t>) -> bool {
        let accepted = !text.is_scalar();
        if accepted {
            self.root = text;
        }
        accepted
    }

    /// True if the document equals a value.
    pub(super) fn same(&mut self, value: &mut Node<'_>) -> bool {
        self.root.same(value, TREE_DEPTH_MAX)
    }

    /// Applies a merge patch, which is an object.
    pub(super) fn merge(&mut self, patch: Node<'t>) -> Result<(), TooDeep> {
        self.root.merge(patch, TREE_DEPTH_MAX)
    }

    /// The document as Go marshals it.
    pub(super) fn text(&self) -> Vec<u8> {
        self.root.text()
    }
}

pub(super) fn members(text: &[u8]) -> Option<Members<'_, Node<'_>>> {
    let mut scan = Scanner::new(text);
    let mut members = Members::default();
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

/// The largest number of open brackets in a well-formed text.
fn nesting(text: &[u8]) -> usize {
    let mut open: usize = 0;
    let mut most = 0;
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => {
                while let Some(byte) = bytes.next().filter(|byte| **byte != b'"') {
                    if *byte == b'\\' {
                        bytes.next();
                    }
                }
            }
            b'{' | b'[' => {
                open = open.saturating_add(1);
                most = most.max(open);
            }
            b'}' | b']' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    most
}
