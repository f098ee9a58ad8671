//! Look-ups and edits of a document by JSON pointer (RFC 6901).

use std::borrow::Cow;

use apimachinery::strconv::atoi;

use super::{Branch, Children, Document, Node, TooDeep};
use crate::json::TREE_DEPTH_MAX;

/// Error of an operation, in upstream's wording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(in super::super) struct OperationError(String);

impl OperationError {
    pub(in super::super) fn new(text: impl Into<String>) -> Self {
        OperationError(text.into())
    }
}

impl From<TooDeep> for OperationError {
    fn from(error: TooDeep) -> Self {
        OperationError(error.to_string())
    }
}

/// Text of upstream's error for a value that does not exist.
pub(in super::super) const MISSING: &str = "missing value";

/// The last step of a pointer, and the object or list that it leads to. Every branch on the way has already
/// been raised for `below` more levels.
pub(in super::super) struct Place<'n, 't, 'p> {
    parent: &'n mut Branch<'t>,
    key: Cow<'p, str>,
    below: usize,
}

impl<'t> Document<'t> {
    /// Returns the place of a pointer, where at most `below` levels will be added. `None` if a step before the
    /// last does not lead to an object or a list.
    ///
    /// # Errors
    /// The document would be nested too deeply.
    pub(in super::super) fn place<'p>(
        &mut self,
        pointer: &'p str,
        below: usize,
    ) -> Result<Option<Place<'_, 't, 'p>>, TooDeep> {
        let Some((_, path)) = pointer.split_once('/') else { return Ok(None) };
        let mut height = levels(pointer).saturating_add(below);
        if height > TREE_DEPTH_MAX {
            return Err(TooDeep);
        }
        let Some(mut parent) = self.root.open() else { return Ok(None) };
        let (steps, last) = path.rsplit_once('/').map_or((None, path), |(steps, last)| (Some(steps), last));
        parent.height = parent.height.max(height);
        for step in steps.into_iter().flat_map(|steps| steps.split('/')) {
            let Some(branch) = parent.child(&unescape(step)).and_then(Node::open) else { return Ok(None) };
            parent = branch;
            height = height.saturating_sub(1);
            parent.height = parent.height.max(height);
        }
        Ok(Some(Place { parent, key: unescape(last), below }))
    }

    /// Number of levels that can be below the place of a pointer.
    pub(in super::super) fn room_below(pointer: &str) -> usize {
        TREE_DEPTH_MAX.saturating_sub(levels(pointer))
    }
}

/// Number of levels down to the object or list of a pointer's last step, both included.
fn levels(pointer: &str) -> usize {
    pointer.matches('/').count()
}

/// Decodes a step of a pointer.
pub(in super::super) fn unescape(step: &str) -> Cow<'_, str> {
    if step.contains('~') { step.replace("~1", "/").replace("~0", "~").into() } else { step.into() }
}

impl<'t> Branch<'t> {
    fn child(&mut self, key: &str) -> Option<&mut Node<'t>> {
        match &mut self.children {
            Children::Object(members) => members.get_mut(key),
            Children::List(items) => {
                let at = index(items.len(), key).ok()?;
                items.get_mut(at)
            }
        }
    }
}

impl<'n, 't, 'p> Place<'n, 't, 'p> {
    /// The last step of the pointer.
    pub(in super::super) fn key(&self) -> &str {
        &self.key
    }

    /// The value; `None` if an object does not have it.
    fn get(self) -> Result<Option<&'n mut Node<'t>>, OperationError> {
        match &mut self.parent.children {
            Children::List(items) => {
                let at = index(items.len(), &self.key)?;
                Ok(items.get_mut(at))
            }
            Children::Object(members) => Ok(members.get_mut(self.key.as_ref())),
        }
    }

    /// A copy of the value; null if an object does not have it.
    pub(in super::super) fn copy(self) -> Result<Node<'t>, OperationError> {
        Ok(self.get()?.cloned().unwrap_or(Node::Null))
    }

    /// True if the value equals `other`.
    pub(in super::super) fn same(self, other: &mut Node<'_>) -> Result<bool, OperationError> {
        let below = self.below;
        Ok(match self.get()? {
            Some(value) => value.same(other, below),
            None => other.is_null(),
        })
    }

    /// Removes the value.
    pub(in super::super) fn take(self) -> Result<Node<'t>, OperationError> {
        let key = self.key;
        match &mut self.parent.children {
            Children::List(items) => {
                let at = index(items.len(), &key)?;
                Ok(items.remove(at).unwrap_or(Node::Null))
            }
            Children::Object(members) => members.remove(key.as_ref()).ok_or_else(|| {
                OperationError::new(format!("Unable to remove nonexistent key: {key}: {MISSING}"))
            }),
        }
    }

    /// Replaces an item, or sets a member.
    pub(in super::super) fn replace(self, value: Node<'t>) -> Result<(), OperationError>
    where
        'p: 't,
    {
        self.check(&value)?;
        match &mut self.parent.children {
            Children::List(items) => {
                let at = index(items.len(), &self.key)?;
                if let Some(slot) = items.get_mut(at) {
                    *slot = value;
                }
            }
            Children::Object(members) => {
                members.insert(self.key, value);
            }
        }
        Ok(())
    }

    /// Inserts an item, or sets a member.
    pub(in super::super) fn insert(self, value: Node<'t>) -> Result<(), OperationError>
    where
        'p: 't,
    {
        self.check(&value)?;
        let key = self.key;
        match &mut self.parent.children {
            Children::List(items) if key == "-" => items.push(value),
            Children::List(items) => {
                let at = atoi(&key).map_err(|error| {
                    OperationError::new(format!("value was not a proper array index: '{key}': {error}"))
                })?;
                let at = within(items.len() + 1, at)?;
                items.insert(at, value);
            }
            Children::Object(members) => {
                members.insert(key, value);
            }
        }
        Ok(())
    }

    fn check(&self, value: &Node<'_>) -> Result<(), TooDeep> {
        if value.height() > self.below { Err(TooDeep) } else { Ok(()) }
    }
}

/// Parses the index of an existing item.
fn index(length: usize, key: &str) -> Result<usize, OperationError> {
    within(length, atoi(key).map_err(|error| OperationError::new(error.to_string()))?)
}

/// An index below `length`; a negative one counts from the end.
fn within(length: usize, index: i64) -> Result<usize, OperationError> {
    let from_start = if index < 0 { index.checked_add_unsigned(length as u64) } else { Some(index) };
    from_start.and_then(|at| usize::try_from(at).ok()).filter(|&at| at < length).ok_or_else(|| {
        OperationError::new(format!("Unable to access invalid index: {index}: invalid index referenced"))
    })
}
