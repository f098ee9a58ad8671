//! Device selectors and opaque driver configuration.

use super::{ITEMS_MAX, ValidationContext, at_most};
use crate::validation::expression::Releases;
use crate::validation::volume_source::csi_driver;
use api::tree::{child, children, list, text};
use apimachinery::field::{Error, ErrorList, Path};
use cel::devices::{Features, SelectorError, Selectors};
use component_base::features::Gate;
use jsontree::Value;
use schema::object::Object;
use schema::{json, json_write};

/// Length limit of a selector expression in bytes.
const EXPRESSION_BYTES_MAX: usize = 10 * 1024;
/// Size limit of the JSON for a driver in bytes.
const RAW_BYTES_MAX: usize = 10 * 1024;

/// Returns the compiler of new expressions. Stored ones are not compiled again.
pub(super) fn compiler(context: &ValidationContext) -> Selectors {
    let gates = &context.settings.gates;
    let features = Features {
        multiple_allocations: gates.enabled(Gate::DRAConsumableCapacity),
        lists: gates.enabled(Gate::DRAListTypeAttributes),
    };
    Selectors::new(Releases::of(context).minor(false), features)
}

/// Validates the selectors of a class or a request. `path` is that of the list. Without a compiler, expressions are
/// not checked.
pub(super) fn selectors(
    path: &Path<'_>,
    owner: &Object,
    compiler: Option<&Selectors>,
    errors: &mut ErrorList,
) {
    if !at_most(path, list(owner, "selectors").len(), ITEMS_MAX, errors) {
        return;
    }
    for (index, selector) in children(owner, "selectors").enumerate() {
        let path = path.index(index);
        let path = path.child("cel");
        match (child(selector, "cel"), compiler) {
            (None, _) => errors.push(Error::required(&path, "")),
            (Some(cel), Some(compiler)) => {
                let expression = text(cel, "expression");
                let compile = |text: &str| compiler.compile(text).map(drop);
                errors.extend(compiled(&path.child("expression"), expression, compile).err());
            }
            (Some(_), None) => {}
        }
    }
}

/// Compiles an expression, unless it is too long.
///
/// # Errors
/// The expression is not valid.
pub(super) fn compiled<T>(
    path: &Path<'_>,
    expression: &str,
    compile: impl FnOnce(&str) -> Result<T, SelectorError>,
) -> Result<T, Error> {
    if expression.len() > EXPRESSION_BYTES_MAX {
        return Err(Error::too_long(path, Some(EXPRESSION_BYTES_MAX)));
    }
    compile(expression).map_err(|error| match error {
        SelectorError::Invalid(detail) => Error::invalid(path, expression, detail),
        SelectorError::Program(detail) => Error::internal(path, detail),
        SelectorError::Cost => too_complex(path),
    })
}

/// Returns the error for an expression that costs too much.
pub(super) fn too_complex(path: &Path<'_>) -> Error {
    Error::forbidden(path, "too complex, exceeds cost limit")
}

/// Validates the configuration for a driver. A `stored` one may be too long, from before there was a limit.
pub(super) fn configuration(path: &Path<'_>, config: &Object, stored: bool, errors: &mut ErrorList) {
    let path = path.child("opaque");
    let Some(opaque) = child(config, "opaque") else {
        errors.push(Error::required(&path, ""));
        return;
    };
    csi_driver(&path.child("driver"), text(opaque, "driver"), errors);
    let json = text(opaque, "parameters");
    if json.is_empty() {
        errors.push(Error::required(&path.child("parameters"), ""))
    } else {
        raw_object(&path.child("parameters"), json, stored, errors)
    }
}

/// Validates JSON that must be an object. A `stored` one may be too long.
pub(super) fn raw_object(path: &Path<'_>, json: &str, stored: bool, errors: &mut ErrorList) {
    if json.len() > RAW_BYTES_MAX && !stored {
        errors.push(Error::too_long(path, Some(RAW_BYTES_MAX)));
        return;
    }
    let not_an_object = || Error::invalid(path, "<value omitted>", "must be a valid JSON object");
    match json::decode_untyped(json.as_bytes()).map(|decoded| decoded.value) {
        Ok(Value::Object(_)) => {}
        Ok(Value::Null) => errors.push(Error::required(path, "")),
        Ok(_) => errors.push(not_an_object()),
        // Valid JSON that is too deep for a tree. Upstream accepts it.
        Err(json::Error::Syntax(_)) if json_write::compact(json.as_bytes(), &mut Vec::new()).is_ok() => {
            if !json.trim_start().starts_with('{') {
                errors.push(not_an_object());
            }
        }
        // Only Protobuf bodies can contain invalid JSON.
        Err(error) => {
            let detail = format!("error parsing data as JSON: {error}");
            errors.push(Error::invalid(path, "<value omitted>", detail));
        }
    }
}
