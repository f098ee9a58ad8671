//! JSON merge patch (RFC 7386), with the peculiarities of upstream's implementation.

use super::document::{Members, Node, items, members};
use super::list::List;
use super::{Error, object_patch};
use crate::json::scan::Scanner;
use crate::json::{self, StrictError, TREE_DEPTH_MAX};

/// A parsed patch.
#[derive(Debug, Clone, PartialEq)]
pub struct MergePatch<'t>(Content<'t>);

#[derive(Debug, Clone, PartialEq)]
enum Content<'t> {
    Object(Members<'t>),
    /// Replaces the whole document; only accepted if fields are not validated.
    List(List<Node<'t>>),
}

impl<'t> MergePatch<'t> {
    /// Parses a merge patch and returns its strict validation errors. If fields are not validated, upstream
    /// reports fewer syntax details, and accepts a list.
    ///
    /// # Errors
    /// The text is not a JSON object: 400.
    pub fn parse(text: &'t [u8], validate_fields: bool) -> Result<(Self, Vec<StrictError>), Error> {
        let invalid = || Error::BadRequest("Invalid JSON Patch".to_owned());
        let mut strict = Vec::new();
        if validate_fields {
            let decoding = |error| match error {
                json::Error::BudgetExceeded(error) => Error::TooLarge(error.to_string()),
                error => Error::BadRequest(format!("error decoding patch: {error}")),
            };
            strict = object_patch(text).map_err(decoding)?.1;
        }
        let mut scan = Scanner::new(text);
        let value = scan.skip().and_then(|value| scan.end().map(|()| value)).map_err(|_| invalid())?;
        let content = match value.first() {
            Some(b'{') => members(value).map(Content::Object),
            Some(b'[') => items(value).map(Content::List),
            _ => None,
        };
        Ok((MergePatch(content.ok_or_else(invalid)?), strict))
    }

    /// Returns the text of the patched document: members replace members, `null` removes them.
    pub fn apply(&self, document: &[u8]) -> Vec<u8> {
        match self.0.clone() {
            Content::List(mut items) => {
                items.iter_mut().for_each(|item| prune(item, TREE_DEPTH_MAX));
                Node::List(items).text()
            }
            Content::Object(patch) => {
                let mut node = Node::Text(document);
                if let Node::Object(members) = node.open() {
                    merge_members(members, patch, TREE_DEPTH_MAX);
                }
                node.text()
            }
        }
    }
}

fn merge_members<'t>(members: &mut Members<'t>, patch: Members<'t>, depth: usize) {
    for (name, mut value) in patch {
        match members.get_mut(name.as_ref()) {
            _ if value == Node::Null => {
                members.remove(name.as_ref());
            }
            Some(current) if *current != Node::Null => merge(current, value, depth),
            _ => {
                prune(&mut value, depth);
                members.insert(name, value);
            }
        }
    }
}

fn merge<'t>(current: &mut Node<'t>, mut patch: Node<'t>, depth: usize) {
    let Some(depth) = depth.checked_sub(1) else {
        *current = patch;
        return;
    };
    let Node::Object(members) = current.open() else {
        prune(&mut patch, depth);
        *current = patch;
        return;
    };
    patch.open();
    match patch {
        Node::Object(patch) => merge_members(members, patch, depth),
        // A value that replaces an object is the patch unchanged.
        patch => *current = patch,
    }
}

/// Drops `null` members at any parsed depth. `null` items remain.
fn prune(node: &mut Node<'_>, depth: usize) {
    let Some(depth) = depth.checked_sub(1) else { return };
    match node.open() {
        Node::Object(members) => {
            members.retain(|_, value| *value != Node::Null);
            members.values_mut().for_each(|value| prune(value, depth));
        }
        Node::List(items) => items.iter_mut().for_each(|item| prune(item, depth)),
        _ => {}
    }
}
