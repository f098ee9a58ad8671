//! Applies a mutation to an object (upstream's `mutating/patch`): as a JSON patch, or as a merge by the rules
//! of its type.

use std::fmt::Write;

use api::resources::Resource;
use fieldmanager::structured_merge::model::{Items, Schema, TypeRef};
use fieldmanager::structured_merge::typed::{Duplicates, merge, validate};
use jsontree::Value as Json;
use schema::json_write;
use schema::object::Object;
use schema::patch::expand;
use schema::patch::json_patch::JsonPatch;

use super::mutations::Change;

/// Error of applying a mutation. The texts are upstream's.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(super) enum ApplyError {
    /// A `test` operation of the patch failed.
    #[error("JSON Patch: test failed")]
    TestFailed,
    /// The mutation is invalid.
    #[error("{0}")]
    Invalid(String),
    /// The result is not a valid object of its kind.
    #[error("{0}")]
    Result(String),
}

/// Applies a change and returns the JSON of the new object. `text` is the JSON of the object for clients of
/// the endpoint.
///
/// # Errors
/// [`ApplyError`].
pub(super) fn apply(
    change: &Change,
    object: &Object,
    text: &[u8],
    endpoint: &Resource<'_>,
) -> Result<Vec<u8>, ApplyError> {
    match change {
        Change::Patch(patch) => {
            let text = apply_json_patch(patch, text)?;
            check_strictly(&text, endpoint)?;
            Ok(text)
        }
        Change::Configuration(configuration) => apply_configuration(configuration, object, endpoint),
    }
}

fn apply_json_patch(patch: &Json, text: &[u8]) -> Result<Vec<u8>, ApplyError> {
    let failed = |error: schema::patch::Error| {
        let message = error.to_string();
        if message.ends_with(": test failed") {
            ApplyError::TestFailed
        } else {
            ApplyError::Invalid(format!("JSON Patch: {message}"))
        }
    };
    let patch = patch.to_string();
    let (patch, _) = JsonPatch::parse(patch.as_bytes(), false).map_err(failed)?;
    patch.apply(text).map_err(failed)
}

/// Rejects unknown and duplicate fields. Custom resources may have any fields.
fn check_strictly(text: &[u8], endpoint: &Resource<'_>) -> Result<(), ApplyError> {
    if endpoint.message.open {
        return Ok(());
    }
    // Other errors are reported by the later decoder.
    let Ok(decoded) = schema::json::decode(endpoint.message, text) else { return Ok(()) };
    if decoded.strict.is_empty() {
        return Ok(());
    }
    let mut errors = "strict decoding error: ".to_owned();
    for (place, error) in decoded.strict.iter().enumerate() {
        // Writing to a string cannot fail.
        _ = write!(errors, "{}{error}", if place > 0 { ", " } else { "" });
    }
    Err(ApplyError::Result(errors))
}

/// Returns the type with the merge rules for an endpoint's objects.
fn type_of<'r>(endpoint: &'r Resource<'_>) -> TypeRef<'r> {
    if !endpoint.message.open {
        TypeRef::builtin(endpoint.message)
    } else {
        let schema = endpoint.custom.and_then(|custom| custom.version.merge());
        schema.map_or(TypeRef::DEDUCED, Schema::type_ref)
    }
}

fn apply_configuration(
    configuration: &Object,
    object: &Object,
    endpoint: &Resource<'_>,
) -> Result<Vec<u8>, ApplyError> {
    let failed = |message: String| ApplyError::Invalid(format!("error applying patch: {message}"));
    let ty = type_of(endpoint);
    let mut configuration = configuration.clone();
    configuration.insert("kind", endpoint.kind.into());
    configuration.insert("apiVersion", endpoint.kind_group_version.into());
    let configuration = Json::Object(configuration);
    validate(&configuration, ty, Duplicates::Reject)
        .map_err(|error| failed(format!("failed to convert patch object to typed object: {error}")))?;
    let mut atomics = Vec::new();
    find_atomics(&mut String::new(), ty, &configuration, &mut atomics);
    if !atomics.is_empty() {
        return Err(failed(format!(
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {}",
            atomics.join(", ")
        )));
    }
    let original = |error: &dyn std::fmt::Display| {
        failed(format!("failed to convert original object to typed object: {error}"))
    };
    let live = expand(endpoint.message, object).map_err(|error| original(&error))?;
    validate(&live, ty, Duplicates::Allow).map_err(|error| original(&error))?;
    let merged =
        merge(&live, configuration, ty).map_err(|error| failed(format!("failed to merge patch: {error}")))?;
    let mut text = Vec::new();
    json_write::untyped(&merged, &mut text).map_err(|error| failed(error.to_string()))?;
    Ok(text)
}

/// Collects the paths of atomic lists, maps and structs in a value. Setting a part of one would drop the
/// rest. An undeclared field is read with the type of its parent, as in upstream.
fn find_atomics(path: &mut String, ty: TypeRef<'_>, value: &Json, atomics: &mut Vec<String>) {
    let length = path.len();
    match value {
        Json::Object(members) => {
            let Some(map) = ty.map() else { return };
            if map.atomic {
                atomics.push(path.clone());
            }
            for (name, member) in members {
                if let Some(ty) = map.field(name) {
                    path.push('.');
                    path.push_str(name);
                    find_atomics(path, ty, member, atomics);
                    path.truncate(length);
                }
            }
        }
        Json::Array(items) => {
            let Some(list) = ty.list() else { return };
            if matches!(list.items, Items::Atomic) {
                atomics.push(path.clone());
            }
            for (place, item) in items.iter().enumerate() {
                // Writing to a string cannot fail.
                _ = write!(path, "[{place}]");
                find_atomics(path, list.element, item, atomics);
                path.truncate(length);
            }
        }
        _ => {}
    }
}
