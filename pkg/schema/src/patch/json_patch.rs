//! JSON patch (RFC 6902), with the peculiarities of upstream's implementation: a missing member is a null, so
//! it can be replaced and copied; negative indices count from the end.

use std::borrow::Cow;

use super::document::{Document, MISSING, Node, OperationError, Place, items, members};
use super::{Error, mismatch};
use crate::json;
use crate::json::scan::Scanner;
use crate::json::unquote::RawString;

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

    /// The pointers of all operations, used or not.
    pub(super) fn pointers(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|operation| [&operation.path, &operation.from]).filter_map(Option::as_deref)
    }

    /// Applies the operations in order; returns the text of the patched document.
    ///
    /// # Errors
    /// [`Error::DoesNotApply`] for the first operation that fails.
    pub fn apply(&self, document: &[u8]) -> Result<Vec<u8>, Error> {
        let mut document = Document::new(document);
        let mut copied = 0;
        self.0
            .iter()
            .try_for_each(|operation| operation.apply(&mut document, &mut copied))
            .map_err(|error| Error::DoesNotApply(error.to_string()))?;
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

impl Operation<'_> {
    fn apply<'d>(&'d self, document: &mut Document<'d>, copied: &mut usize) -> Result<(), OperationError> {
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

    fn path(&self, operation: &str) -> Result<&str, OperationError> {
        let why = match operation {
            "add" | "remove" | "copy" => "",
            _ => "operation missing path field: ",
        };
        self.path.as_deref().ok_or_else(|| {
            OperationError::new(format!("{operation} operation failed to decode path: {why}{MISSING}"))
        })
    }

    fn from(&self, operation: &str) -> Result<&str, OperationError> {
        self.from.as_deref().ok_or_else(|| {
            let text = format!(
                "{operation} operation failed to decode from: operation, missing from field: {MISSING}"
            );
            OperationError::new(text)
        })
    }

    fn add<'d>(&'d self, document: &mut Document<'d>) -> Result<(), OperationError> {
        let path = self.path("add")?;
        let value = self.value();
        find(document, path, value.height(), || {
            format!("add operation does not apply: doc is missing path: \"{path}\"")
        })?
        .insert(value)
        .map_err(|error| OperationError::new(format!("error in add for path: '{path}': {error}")))
    }

    fn remove(&self, document: &mut Document<'_>) -> Result<(), OperationError> {
        let path = self.path("remove")?;
        find(document, path, 0, || {
            format!("remove operation does not apply: doc is missing path: \"{path}\"")
        })?
        .take()
        .map(drop)
        .map_err(|error| OperationError::new(format!("error in remove for path: '{path}': {error}")))
    }

    fn replace<'d>(&'d self, document: &mut Document<'d>) -> Result<(), OperationError> {
        let path = self.path("replace")?;
        let value = self.value();
        if path.is_empty() {
            let replaced = document.replace(value);
            let why = "replace operation value must be object or array: %!w(<nil>)";
            return if replaced { Ok(()) } else { Err(OperationError::new(why)) };
        }
        find(document, path, value.height(), || {
            format!("replace operation does not apply: doc is missing path: {path}")
        })?
        .replace(value)
        .map_err(|_| {
            let text = format!("replace operation does not apply: doc is missing key: {path}: {MISSING}");
            OperationError::new(text)
        })
    }

    fn r#move<'d>(&'d self, document: &mut Document<'d>) -> Result<(), OperationError> {
        let from = self.from("move")?;
        let source = find(document, from, 0, || {
            format!("move operation does not apply: doc is missing from path: {from}")
        })?;
        let key = source.key().to_owned();
        let value = source
            .take()
            .map_err(|error| OperationError::new(format!("error in move for path: '{key}': {error}")))?;
        let path = self.path("move")?;
        find(document, path, value.height(), || {
            format!("move operation does not apply: doc is missing destination path: {path}")
        })?
        .insert(value)
        .map_err(|error| OperationError::new(format!("error in move for path: '{path}': {error}")))
    }

    fn copy<'d>(&'d self, document: &mut Document<'d>, copied: &mut usize) -> Result<(), OperationError> {
        let from = self.from("copy")?;
        let source = find(document, from, 0, || {
            format!("copy operation does not apply: doc is missing from path: {from}")
        })?;
        let value = source
            .copy()
            .map_err(|error| OperationError::new(format!("error in copy for from: '{from}': {error}")))?;
        let path = self.path("copy")?;
        let target = find(document, path, value.height(), || {
            format!("copy operation does not apply: doc is missing destination path: {path}")
        })?;
        *copied += value.text().len();
        if *copied > COPIED_LENGTH_MAX {
            return Err(OperationError::new(format!(
                "Unable to complete the copy, the accumulated size increase of copy is {copied}, exceeding the limit {COPIED_LENGTH_MAX}"
            )));
        }
        target
            .insert(value)
            .map_err(|error| OperationError::new(format!("error while adding value during copy: {error}")))
    }

    fn test(&self, document: &mut Document<'_>) -> Result<(), OperationError> {
        let path = self.path("test")?;
        let mut value = self.value();
        let is_equal = if path.is_empty() {
            document.same(&mut value)
        } else {
            // The comparison parses as many levels of the document as the value has.
            let below = value.nesting().min(Document::room_below(path));
            find(document, path, below, || format!("test operation does not apply: is missing path: {path}"))?
                .same(&mut value)
                .map_err(|error| OperationError::new(format!("error in test for path: '{path}': {error}")))?
        };
        if is_equal {
            Ok(())
        } else {
            Err(OperationError::new(format!("testing value {path} failed: test failed")))
        }
    }
}

/// Finds the place of a path for a value of this height. `missing` is upstream's text if there is none.
fn find<'n, 'd, 'p>(
    document: &'n mut Document<'d>,
    path: &'p str,
    height: usize,
    missing: impl FnOnce() -> String,
) -> Result<Place<'n, 'd, 'p>, OperationError> {
    let place = document.place(path, height)?;
    place.ok_or_else(|| OperationError::new(format!("{}: {MISSING}", missing())))
}
