//! Coercion of custom resources, equivalent to decoding a Go struct for built-in kinds. Unknown fields are
//! dropped and embedded objects get valid metadata (upstream's `unstructuredSchemaCoercer`).

use apimachinery::field::{BadValue, Error, Path};
use jsontree::Value;
use schema::builtin::IO_K8S_APIMACHINERY_PKG_APIS_META_V1_OBJECTMETA as OBJECT_META;
use schema::object::Object;
use schema::patch::{collapse, expand};

use super::node::{Additional, Node};
use super::prune::{PrunedPaths, drop_nulls, prune, prune_members};

/// Handling of unknown or malformed fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coercion {
    /// Drops them silently, for converted objects.
    Silent,
    /// Drops them and returns their paths.
    Reported,
    /// Drops them silently, including malformed metadata, for objects stored before this check existed.
    Lenient,
}

/// Error about malformed metadata of an embedded object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct CoercionError(#[from] Error);

/// Coerces an object. Returns the paths of unknown fields for [`Coercion::Reported`].
pub(super) fn coerce(
    node: &Node,
    object: &mut Object,
    coercion: Coercion,
) -> Result<Vec<String>, CoercionError> {
    let mut unknown = PrunedPaths::new(coercion == Coercion::Reported);
    prune_members(object, node, &mut unknown);
    drop_nulls(object, node);
    let mut paths = unknown.into_paths();
    if node.has_structure {
        let mut inside = Vec::new();
        members(node, object, &Path::NIL, coercion, &mut inside)?;
        inside.sort_unstable();
        paths.append(&mut inside);
    }
    Ok(paths)
}

/// Coerces a default to its schema.
pub(super) fn coerce_default(node: &Node, value: &mut Value) {
    prune(value, Some(node), &mut PrunedPaths::new(false));
    // Malformed parts are dropped, so there is nothing to report.
    _ = below(node, value, &Path::NIL, Coercion::Lenient, &mut Vec::new());
}

/// Coerces the metadata defaults of an embedded object to valid metadata. `default` is the schema's default
/// for all metadata.
pub(super) fn coerce_metadata_default(metadata: &mut Node, default: Option<Value>) {
    metadata.default = default.as_ref().and_then(well_formed_members);
    for (name, member) in &mut metadata.properties {
        let is_metadata = |default: &Value| {
            let only = Object::from_iter([(name.to_string(), default.clone())]);
            well_formed_members(&Value::Object(only)).is_some_and(|members| members.get(&**name).is_some())
        };
        member.default = member.default.take().filter(is_metadata);
    }
}

/// Drops malformed metadata of an object that was stored before this check existed.
pub fn drop_malformed_metadata(object: &mut Object) {
    if let Some(salvaged) = object.get("metadata").and_then(well_formed_members) {
        object.insert("metadata", salvaged);
    }
}

fn members(
    node: &Node,
    object: &mut Object,
    path: &Path<'_>,
    coercion: Coercion,
    unknown: &mut Vec<String>,
) -> Result<(), Error> {
    for (name, value) in object.iter_mut() {
        match (node.property(name), &node.additional) {
            (Some(node), _) => below(node, value, &path.child(name), coercion, unknown)?,
            (None, Additional::Schema(node)) => below(node, value, &path.key(name), coercion, unknown)?,
            _ => {}
        }
    }
    Ok(())
}

fn below(
    node: &Node,
    value: &mut Value,
    path: &Path<'_>,
    coercion: Coercion,
    unknown: &mut Vec<String>,
) -> Result<(), Error> {
    if !node.has_structure {
        return Ok(());
    }
    match value {
        Value::Object(object) => {
            if node.embedded {
                embedded(object, path, coercion, unknown)?;
            }
            members(node, object, path, coercion, unknown)
        }
        Value::Array(items) => {
            let Some(node) = &node.items else { return Ok(()) };
            let mut items = items.iter_mut().enumerate();
            items.try_for_each(|(index, item)| below(node, item, &path.index(index), coercion, unknown))
        }
        _ => Ok(()),
    }
}

/// Validates and normalizes the type and the metadata of an embedded object.
fn embedded(
    object: &mut Object,
    path: &Path<'_>,
    coercion: Coercion,
    unknown: &mut Vec<String>,
) -> Result<(), Error> {
    let lenient = coercion == Coercion::Lenient;
    for name in ["apiVersion", "kind"] {
        match object.get(name) {
            None | Some(Value::String(_)) => {}
            Some(_) if lenient => drop(object.remove(name)),
            Some(other) => return Err(Error::invalid(&path.child(name), other, "must be a string")),
        }
    }
    let Some(metadata) = object.get("metadata") else { return Ok(()) };
    let path = path.child("metadata");
    let refused = |error: String| Error::invalid(&path, BadValue::from(metadata), error);
    match metadata_of(metadata.clone()) {
        Ok((metadata, strict)) => {
            if coercion == Coercion::Reported {
                unknown.extend(strict.into_iter().map(|name| format!("{path}.{name}")));
            }
            object.insert("metadata", metadata);
        }
        Err(_) if lenient => {
            let salvaged = well_formed_members(metadata);
            if let Some(metadata) = salvaged {
                object.insert("metadata", metadata);
            }
        }
        Err(error) => return Err(refused(error)),
    }
    Ok(())
}

/// Returns metadata in Go's form, and the paths of unknown fields.
fn metadata_of(value: Value) -> Result<(Value, Vec<String>), String> {
    let decoded = collapse(&OBJECT_META, value).map_err(|error| error.to_string())?;
    let strict = decoded.strict.into_iter().map(|error| error.path).collect();
    let mut object = expand(&OBJECT_META, &decoded.object).map_err(|error| error.to_string())?;
    if let Value::Object(members) = &mut object
        && members.get("creationTimestamp").is_some_and(Value::is_null)
    {
        members.remove("creationTimestamp");
    }
    Ok((object, strict))
}

/// Returns the well-formed members of malformed metadata.
fn well_formed_members(metadata: &Value) -> Option<Value> {
    let members = metadata.as_object()?;
    let good = members.iter().filter(|(name, value)| {
        let only = Object::from_iter([((*name).clone(), (*value).clone())]);
        metadata_of(Value::Object(only)).is_ok()
    });
    let good: Object = good.map(|(name, value)| (name.clone(), value.clone())).collect();
    metadata_of(Value::Object(good)).ok().map(|(metadata, _)| metadata)
}
