//! JSON patch (RFC 6902), with the nuances of upstream's implementation: a missing member is a null,
//! so it can be replaced and copied; negative indices count from the end.

use apimachinery::strconv::atoi;
use serde_json::Value;

use super::{Error, mismatch};
use crate::json;
use crate::json_write;

/// How many operations a patch may have.
pub const OPERATIONS_MAX: usize = 10_000;

/// How many bytes of JSON the copy operations of one patch may add up to.
pub const COPIED_LENGTH_MAX: usize = 3 << 20;

/// A patch, ready to be applied.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonPatch(Vec<Operation>);

/// One operation. Members that are missing or of the wrong type count only once they are needed.
#[derive(Debug, Clone, PartialEq)]
struct Operation {
    op: Option<String>,
    path: Option<String>,
    from: Option<String>,
    value: Value,
}

impl JsonPatch {
    /// Reads a patch, and what strict validation has to say about it. Types are checked only when
    /// fields are validated.
    ///
    /// # Errors
    /// The text is no list of operations (400), or a list of too many (413).
    pub fn parse(text: &[u8], validate_fields: bool) -> Result<(JsonPatch, Vec<String>), Error> {
        let bad = |error: json::Error| {
            let prefix = if validate_fields { "error decoding patch: " } else { "" };
            Error::BadRequest(format!("{prefix}{error}"))
        };
        let untyped = json::decode_untyped(text).map_err(bad)?;
        let items = match untyped.value {
            Value::Array(items) => items,
            Value::Null => Vec::new(),
            other if validate_fields => return Err(bad(mismatch(&other, "", "[]handlers.jsonPatchOp"))),
            other => return Err(bad(mismatch(&other, "", "jsonpatch.Patch"))),
        };
        let mut strict: Vec<String> =
            untyped.strict.iter().map(|error| format!("json patch {error}")).collect();
        if validate_fields {
            validate(&items, &mut strict).map_err(bad)?;
        }
        let operations = items.into_iter().map(operation).collect::<Result<Vec<_>, _>>().map_err(bad)?;
        if operations.len() > OPERATIONS_MAX {
            let count = operations.len();
            let text =
                format!("The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, got {count}");
            return Err(Error::TooLarge(text));
        }
        Ok((JsonPatch(operations), strict))
    }

    /// Applies the operations one after the other. On error the document is half patched.
    ///
    /// # Errors
    /// [`Error::DoesNotApply`] for the first operation that fails.
    pub fn apply(&self, document: &mut Value) -> Result<(), Error> {
        let mut copied = 0;
        self.0
            .iter()
            .try_for_each(|operation| operation.apply(document, &mut copied))
            .map_err(Error::DoesNotApply)
    }
}

/// Checks the types of members, and reports the ones that no operation has.
fn validate(items: &[Value], strict: &mut Vec<String>) -> Result<(), json::Error> {
    for (index, item) in items.iter().enumerate() {
        let members = match item {
            Value::Object(members) => members,
            Value::Null => continue,
            other => return Err(mismatch(other, "", "handlers.jsonPatchOp")),
        };
        for (name, value) in members {
            let field = match name.as_str() {
                "op" => "jsonPatchOp.op",
                "path" => "jsonPatchOp.path",
                "from" => "jsonPatchOp.from",
                "value" => continue,
                _ => {
                    let path = format!("[{index}].{name}");
                    let error = json::StrictError { kind: json::StrictKind::UnknownField, path };
                    strict.push(format!("json patch {error}"));
                    continue;
                }
            };
            if !value.is_string() && !value.is_null() {
                return Err(mismatch(value, field, "string"));
            }
        }
    }
    Ok(())
}

fn operation(item: Value) -> Result<Operation, json::Error> {
    let mut members = match item {
        Value::Object(members) => members,
        Value::Null => serde_json::Map::new(),
        other => return Err(mismatch(&other, "", "jsonpatch.Operation")),
    };
    let mut text = |name: &str| match members.remove(name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    let (op, path, from) = (text("op"), text("path"), text("from"));
    Ok(Operation { op, path, from, value: members.remove("value").unwrap_or(Value::Null) })
}

const MISSING: &str = "missing value";

impl Operation {
    fn apply(&self, document: &mut Value, copied: &mut usize) -> Result<(), String> {
        match self.op.as_deref() {
            Some("add") => self.add(document),
            Some("remove") => self.remove(document),
            Some("replace") => self.replace(document),
            Some("move") => self.r#move(document),
            Some("test") => self.test(document),
            Some("copy") => self.copy(document, copied),
            other => Err(format!("Unexpected kind: {}", other.unwrap_or("unknown"))),
        }
    }

    fn path(&self, what: &str) -> Result<&str, String> {
        let why = match what {
            "add" | "remove" | "copy" => "",
            _ => "operation missing path field: ",
        };
        self.path.as_deref().ok_or_else(|| format!("{what} operation failed to decode path: {why}{MISSING}"))
    }

    fn from(&self, what: &str) -> Result<&str, String> {
        let missing =
            || format!("{what} operation failed to decode from: operation, missing from field: {MISSING}");
        self.from.as_deref().ok_or_else(missing)
    }

    fn add(&self, document: &mut Value) -> Result<(), String> {
        let path = self.path("add")?;
        let (parent, key) = find(document, path).ok_or_else(|| {
            format!("add operation does not apply: doc is missing path: \"{path}\": {MISSING}")
        })?;
        insert(parent, key, self.value.clone())
            .map_err(|error| format!("error in add for path: '{path}': {error}"))
    }

    fn remove(&self, document: &mut Value) -> Result<(), String> {
        let path = self.path("remove")?;
        let (parent, key) = find(document, path).ok_or_else(|| {
            format!("remove operation does not apply: doc is missing path: \"{path}\": {MISSING}")
        })?;
        take(parent, &key).map(drop).map_err(|error| format!("error in remove for path: '{path}': {error}"))
    }

    fn replace(&self, document: &mut Value) -> Result<(), String> {
        let path = self.path("replace")?;
        if path.is_empty() {
            if !self.value.is_object() && !self.value.is_array() {
                return Err("replace operation value must be object or array: %!w(<nil>)".to_owned());
            }
            *document = self.value.clone();
            return Ok(());
        }
        let (parent, key) = find(document, path).ok_or_else(|| {
            format!("replace operation does not apply: doc is missing path: {path}: {MISSING}")
        })?;
        let missing = |_| format!("replace operation does not apply: doc is missing key: {path}: {MISSING}");
        match parent {
            Value::Array(items) => {
                let at = index(items.len(), &key).map_err(missing)?;
                if let Some(slot) = items.get_mut(at) {
                    *slot = self.value.clone();
                }
            }
            Value::Object(members) => {
                members.insert(key, self.value.clone());
            }
            _ => {}
        }
        Ok(())
    }

    fn r#move(&self, document: &mut Value) -> Result<(), String> {
        let from = self.from("move")?;
        let (parent, key) = find(document, from).ok_or_else(|| {
            format!("move operation does not apply: doc is missing from path: {from}: {MISSING}")
        })?;
        let value =
            take(parent, &key).map_err(|error| format!("error in move for path: '{key}': {error}"))?;
        let path = self.path("move")?;
        let (parent, key) = find(document, path).ok_or_else(|| {
            format!("move operation does not apply: doc is missing destination path: {path}: {MISSING}")
        })?;
        insert(parent, key, value).map_err(|error| format!("error in move for path: '{path}': {error}"))
    }

    fn copy(&self, document: &mut Value, copied: &mut usize) -> Result<(), String> {
        let from = self.from("copy")?;
        let (parent, key) = find(document, from).ok_or_else(|| {
            format!("copy operation does not apply: doc is missing from path: {from}: {MISSING}")
        })?;
        let value =
            get(parent, &key).map_err(|error| format!("error in copy for from: '{from}': {error}"))?.clone();
        let path = self.path("copy")?;
        let (parent, key) = find(document, path).ok_or_else(|| {
            format!("copy operation does not apply: doc is missing destination path: {path}: {MISSING}")
        })?;
        let mut text = Vec::new();
        json_write::untyped(&value, &mut text).map_err(|error| error.to_string())?;
        *copied += text.len();
        if *copied > COPIED_LENGTH_MAX {
            return Err(format!(
                "Unable to complete the copy, the accumulated size increase of copy is {copied}, exceeding the limit {COPIED_LENGTH_MAX}"
            ));
        }
        insert(parent, key, value).map_err(|error| format!("error while adding value during copy: {error}"))
    }

    fn test(&self, document: &mut Value) -> Result<(), String> {
        let path = self.path("test")?;
        let failed = || Err(format!("testing value {path} failed: test failed"));
        if path.is_empty() {
            return if *document == self.value { Ok(()) } else { failed() };
        }
        let (parent, key) = find(document, path)
            .ok_or_else(|| format!("test operation does not apply: is missing path: {path}: {MISSING}"))?;
        let value =
            get(parent, &key).map_err(|error| format!("error in test for path: '{path}': {error}"))?;
        if *value == self.value { Ok(()) } else { failed() }
    }
}

/// The collection that holds the last step of a path, and that step. Steps before it must lead
/// through objects and lists.
fn find<'v>(document: &'v mut Value, path: &str) -> Option<(&'v mut Value, String)> {
    let steps: Vec<&str> = path.split('/').skip(1).collect();
    let (last, steps) = steps.split_last()?;
    let mut at = document;
    for step in steps {
        let step = unescape(step);
        at = match at {
            Value::Object(members) => members.get_mut(&step)?,
            Value::Array(items) => {
                let index = index(items.len(), &step).ok()?;
                items.get_mut(index)?
            }
            _ => return None,
        };
        if !at.is_object() && !at.is_array() {
            return None;
        }
    }
    Some((at, unescape(last)))
}

fn unescape(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

/// The value at a key; null where an object has none.
fn get<'v>(parent: &'v Value, key: &str) -> Result<&'v Value, String> {
    match parent {
        Value::Array(items) => {
            let at = index(items.len(), key)?;
            Ok(items.get(at).unwrap_or(&Value::Null))
        }
        parent => Ok(parent.get(key).unwrap_or(&Value::Null)),
    }
}

fn take(parent: &mut Value, key: &str) -> Result<Value, String> {
    match parent {
        Value::Array(items) => {
            let at = index(items.len(), key)?;
            Ok(items.remove(at))
        }
        Value::Object(members) => {
            members.remove(key).ok_or_else(|| format!("Unable to remove nonexistent key: {key}: {MISSING}"))
        }
        _ => Ok(Value::Null),
    }
}

fn insert(parent: &mut Value, key: String, value: Value) -> Result<(), String> {
    match parent {
        Value::Array(items) if key == "-" => items.push(value),
        Value::Array(items) => {
            let at = atoi(&key)
                .map_err(|error| format!("value was not a proper array index: '{key}': {error}"))?;
            let at = within(items.len() + 1, at)?;
            items.insert(at, value);
        }
        Value::Object(members) => {
            members.insert(key, value);
        }
        _ => {}
    }
    Ok(())
}

/// The index of an item that exists.
fn index(length: usize, key: &str) -> Result<usize, String> {
    within(length, atoi(key).map_err(|error| error.to_string())?)
}

/// An index below `length`; a negative one counts from the end.
fn within(length: usize, index: i64) -> Result<usize, String> {
    let from_start = if index < 0 { index.checked_add_unsigned(length as u64) } else { Some(index) };
    from_start
        .and_then(|at| usize::try_from(at).ok())
        .filter(|&at| at < length)
        .ok_or_else(|| format!("Unable to access invalid index: {index}: invalid index referenced"))
}
