//! JSON patch (RFC 6902), with the peculiarities of upstream's implementation: a missing member is a null, so
//! it can be replaced and copied; negative indices count from the end.

use std::borrow::Cow;

use apimachinery::strconv::atoi;

use super::document::{Node, items, members};
use super::{Error, mismatch};
use crate::json::scan::Scanner;
use crate::json::unquote::RawString;
use crate::json::{self, TREE_DEPTH_MAX};

/// Maximum number of operations in a patch. Longer patches are rejected (413).
pub const OPERATIONS_MAX: usize = 10_000;

/// Maximum total size of the copy operations of a patch, in bytes of JSON.
pub const COPIED_LENGTH_MAX: usize = 3 << 20;

/// A parsed patch.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonPatch<'t>(Vec<Operation<'t>>);

/// An operation. Missing members and wrong types are reported only when they are needed.
#[derive(Debug, Clone, PartialEq, Default)]
struct Operation<'t> {
    op: Option<Cow<'t, str>>,
    path: Option<Cow<'t, str>>,
    from: Option<Cow<'t, str>>,
    value: Option<Node<'t>>,
}

impl<'t> JsonPatch<'t> {
    /// Parses a patch and returns its strict validation errors. Types are checked only if fields are
    /// validated.
    ///
    /// # Errors
    /// The text is not a list of operations (400), or the list is too long (413).
    pub fn parse(text: &'t [u8], validate_fields: bool) -> Result<(Self, Vec<String>), Error> {
        let mut strict = Vec::new();
        if validate_fields {
            let decoding = |error| Error::BadRequest(format!("error decoding patch: {error}"));
            let strict_errors = json::check_operations(text).map_err(decoding)?;
            strict.extend(strict_errors.iter().map(|error| format!("json patch {error}")));
        }
        let operations = operations(text).map_err(|error| Error::BadRequest(error.to_string()))?;
        if operations.len() > OPERATIONS_MAX {
            let count = operations.len();
            let text =
                format!("The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, got {count}");
            return Err(Error::TooLarge(text));
        }
        Ok((JsonPatch(operations), strict))
    }

    /// True if the patch has no operations.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Applies the operations in order; returns the text of the patched document.
    ///
    /// # Errors
    /// [`Error::DoesNotApply`] for the first operation that fails.
    pub fn apply(&self, document: &[u8]) -> Result<Vec<u8>, Error> {
        let mut document = Node::Text(document);
        document.open();
        let mut copied = 0;
        self.0
            .iter()
            .try_for_each(|operation| operation.apply(&mut document, &mut copied))
            .map_err(|error| Error::DoesNotApply(error.0))?;
        Ok(document.text())
    }
}

fn operations(text: &[u8]) -> Result<Vec<Operation<'_>>, json::Error> {
    let mut scan = Scanner::new(text);
    let list = scan.skip()?;
    scan.end()?;
    match list.first() {
        Some(b'[') => items(list).unwrap_or_default().iter().map(operation).collect(),
        Some(b'n') => Ok(Vec::new()),
        Some(&other) => Err(mismatch(other, "jsonpatch.Patch")),
        None => Ok(Vec::new()),
    }
}

fn operation<'t>(item: &Node<'t>) -> Result<Operation<'t>, json::Error> {
    let text = match *item {
        Node::Text(text @ [b'{', ..]) => text,
        Node::Text([other, ..]) => return Err(mismatch(*other, "jsonpatch.Operation")),
        _ => return Ok(Operation::default()),
    };
    let mut members = members(text).unwrap_or_default();
    let mut string = |name: &str| match members.remove(name) {
        Some(Node::Text(text)) => unquoted(text),
        _ => None,
    };
    let op = string("op");
    let path = string("path");
    let from = string("from");
    Ok(Operation { op, path, from, value: members.remove("value") })
}

/// Unquotes a string literal; `None` for other values.
fn unquoted(text: &[u8]) -> Option<Cow<'_, str>> {
    let mut scan = Scanner::new(text);
    match scan.value_start() {
        Ok(b'"') => scan.string().ok().as_ref().map(RawString::text),
        _ => None,
    }
}

/// Error of an operation, in upstream's wording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
struct OperationError(String);

impl OperationError {
    fn new(text: impl Into<String>) -> Self {
        OperationError(text.into())
    }
}

const MISSING: &str = "missing value";

impl Operation<'_> {
    fn apply<'d>(&'d self, document: &mut Node<'d>, copied: &mut usize) -> Result<(), OperationError> {
        match self.op.as_deref() {
            Some("add") => self.add(document),
            Some("remove") => self.remove(document),
            Some("replace") => self.replace(document),
            Some("move") => self.r#move(document),
            Some("test") => self.test(document),
            Some("copy") => self.copy(document, copied),
            other => Err(OperationError::new(format!("Unexpected kind: {}", other.unwrap_or("unknown")))),
        }
    }

    /// The value to add or compare; a missing one is null.
    fn value<'d>(&'d self) -> Node<'d> {
        self.value.clone().unwrap_or(Node::Null)
    }

    fn path(&self, what: &str) -> Result<&str, OperationError> {
        let why = match what {
            "add" | "remove" | "copy" => "",
            _ => "operation missing path field: ",
        };
        self.path.as_deref().ok_or_else(|| {
            OperationError::new(format!("{what} operation failed to decode path: {why}{MISSING}"))
        })
    }

    fn from(&self, what: &str) -> Result<&str, OperationError> {
        self.from.as_deref().ok_or_else(|| {
            let text =
                format!("{what} operation failed to decode from: operation, missing from field: {MISSING}");
            OperationError::new(text)
        })
    }

    fn add<'d>(&'d self, document: &mut Node<'d>) -> Result<(), OperationError> {
        let path = self.path("add")?;
        let (parent, key) = find(document, path).ok_or_else(|| {
            OperationError::new(format!(
                "add operation does not apply: doc is missing path: \"{path}\": {MISSING}"
            ))
        })?;
        insert(parent, key, self.value())
            .map_err(|error| OperationError::new(format!("error in add for path: '{path}': {error}")))
    }

    fn remove<'d>(&'d self, document: &mut Node<'d>) -> Result<(), OperationError> {
        let path = self.path("remove")?;
        let (parent, key) = find(document, path).ok_or_else(|| {
            OperationError::new(format!(
                "remove operation does not apply: doc is missing path: \"{path}\": {MISSING}"
            ))
        })?;
        remove_child(parent, &key)
            .map(drop)
            .map_err(|error| OperationError::new(format!("error in remove for path: '{path}': {error}")))
    }

    fn replace<'d>(&'d self, document: &mut Node<'d>) -> Result<(), OperationError> {
        let path = self.path("replace")?;
        if path.is_empty() {
            let mut value = self.value();
            if !matches!(value.open(), Node::Object(_) | Node::List(_)) {
                return Err(OperationError::new(
                    "replace operation value must be object or array: %!w(<nil>)",
                ));
            }
            *document = value;
            return Ok(());
        }
        let (parent, key) = find(document, path).ok_or_else(|| {
            OperationError::new(format!(
                "replace operation does not apply: doc is missing path: {path}: {MISSING}"
            ))
        })?;
        let missing = |_| {
            let text = format!("replace operation does not apply: doc is missing key: {path}: {MISSING}");
            OperationError::new(text)
        };
        match parent {
            Node::List(items) => {
                let at = index(items.len(), &key).map_err(missing)?;
                if let Some(slot) = items.get_mut(at) {
                    *slot = self.value();
                }
            }
            Node::Object(members) => {
                members.insert(key, self.value());
            }
            _ => {}
        }
        Ok(())
    }

    fn r#move<'d>(&'d self, document: &mut Node<'d>) -> Result<(), OperationError> {
        let from = self.from("move")?;
        let (parent, key) = find(document, from).ok_or_else(|| {
            OperationError::new(format!(
                "move operation does not apply: doc is missing from path: {from}: {MISSING}"
            ))
        })?;
        let value = remove_child(parent, &key)
            .map_err(|error| OperationError::new(format!("error in move for path: '{key}': {error}")))?;
        let path = self.path("move")?;
        let (parent, key) = find(document, path).ok_or_else(|| {
            OperationError::new(format!(
                "move operation does not apply: doc is missing destination path: {path}: {MISSING}"
            ))
        })?;
        insert(parent, key, value)
            .map_err(|error| OperationError::new(format!("error in move for path: '{path}': {error}")))
    }

    fn copy<'d>(&'d self, document: &mut Node<'d>, copied: &mut usize) -> Result<(), OperationError> {
        let from = self.from("copy")?;
        let (parent, key) = find(document, from).ok_or_else(|| {
            OperationError::new(format!(
                "copy operation does not apply: doc is missing from path: {from}: {MISSING}"
            ))
        })?;
        let value = get_mut(parent, &key)
            .map_err(|error| OperationError::new(format!("error in copy for from: '{from}': {error}")))?;
        let value = value.cloned().unwrap_or(Node::Null);
        let path = self.path("copy")?;
        let (parent, key) = find(document, path).ok_or_else(|| {
            OperationError::new(format!(
                "copy operation does not apply: doc is missing destination path: {path}: {MISSING}"
            ))
        })?;
        *copied += value.text().len();
        if *copied > COPIED_LENGTH_MAX {
            return Err(OperationError::new(format!(
                "Unable to complete the copy, the accumulated size increase of copy is {copied}, exceeding the limit {COPIED_LENGTH_MAX}"
            )));
        }
        insert(parent, key, value)
            .map_err(|error| OperationError::new(format!("error while adding value during copy: {error}")))
    }

    fn test<'d>(&'d self, document: &mut Node<'d>) -> Result<(), OperationError> {
        let path = self.path("test")?;
        let failed = || Err(OperationError::new(format!("testing value {path} failed: test failed")));
        if path.is_empty() {
            return if document.is_equal(&mut self.value()) { Ok(()) } else { failed() };
        }
        let (parent, key) = find(document, path).ok_or_else(|| {
            OperationError::new(format!("test operation does not apply: is missing path: {path}: {MISSING}"))
        })?;
        let value = get_mut(parent, &key)
            .map_err(|error| OperationError::new(format!("error in test for path: '{path}': {error}")))?;
        let same = match value {
            Some(value) => value.is_equal(&mut self.value()),
            None => self.value() == Node::Null,
        };
        if same { Ok(()) } else { failed() }
    }
}

/// The collection that contains the last step of a path, and that step. The preceding steps must lead through
/// objects and lists; their number is limited by the maximum depth of a tree.
fn find<'n, 'd, 'p>(document: &'n mut Node<'d>, path: &'p str) -> Option<(&'n mut Node<'d>, Cow<'p, str>)> {
    let (_, path) = path.split_once('/')?;
    let (steps, last) = path.rsplit_once('/').map_or((None, path), |(steps, last)| (Some(steps), last));
    let mut at = document;
    for (depth, step) in steps.into_iter().flat_map(|steps| steps.split('/')).enumerate() {
        if depth >= TREE_DEPTH_MAX {
            return None;
        }
        let step = unescape(step);
        at = match at {
            Node::Object(members) => members.get_mut(step.as_ref())?,
            Node::List(items) => {
                let index = index(items.len(), &step).ok()?;
                items.get_mut(index)?
            }
            _ => return None,
        };
        if !matches!(at.open(), Node::Object(_) | Node::List(_)) {
            return None;
        }
    }
    Some((at, unescape(last)))
}

fn unescape(step: &str) -> Cow<'_, str> {
    if step.contains('~') { step.replace("~1", "/").replace("~0", "~").into() } else { step.into() }
}

/// The value at a key; `None` if an object does not have it.
fn get_mut<'n, 'd>(parent: &'n mut Node<'d>, key: &str) -> Result<Option<&'n mut Node<'d>>, OperationError> {
    match parent {
        Node::List(items) => {
            let at = index(items.len(), key)?;
            Ok(items.get_mut(at))
        }
        Node::Object(members) => Ok(members.get_mut(key)),
        _ => Ok(None),
    }
}

fn remove_child<'d>(parent: &mut Node<'d>, key: &str) -> Result<Node<'d>, OperationError> {
    match parent {
        Node::List(items) => {
            let at = index(items.len(), key)?;
            Ok(items.remove(at).unwrap_or(Node::Null))
        }
        Node::Object(members) => members.remove(key).ok_or_else(|| {
            OperationError::new(format!("Unable to remove nonexistent key: {key}: {MISSING}"))
        }),
        _ => Ok(Node::Null),
    }
}

fn insert<'d>(parent: &mut Node<'d>, key: Cow<'d, str>, value: Node<'d>) -> Result<(), OperationError> {
    match parent {
        Node::List(items) if key == "-" => items.push(value),
        Node::List(items) => {
            let at = atoi(&key).map_err(|error| {
                OperationError::new(format!("value was not a proper array index: '{key}': {error}"))
            })?;
            let at = resolve_index(items.len() + 1, at)?;
            items.insert(at, value);
        }
        Node::Object(members) => {
            members.insert(key, value);
        }
        _ => {}
    }
    Ok(())
}

/// Parses the index of an existing item.
fn index(length: usize, key: &str) -> Result<usize, OperationError> {
    resolve_index(length, atoi(key).map_err(|error| OperationError::new(error.to_string()))?)
}

/// An index below `length`; a negative one counts from the end.
fn resolve_index(length: usize, index: i64) -> Result<usize, OperationError> {
    let from_start = if index < 0 { index.checked_add_unsigned(length as u64) } else { Some(index) };
    from_start.and_then(|at| usize::try_from(at).ok()).filter(|&at| at < length).ok_or_else(|| {
        OperationError::new(format!("Unable to access invalid index: {index}: invalid index referenced"))
    })
}
