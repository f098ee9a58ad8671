//! Checks that all fields with restricted values are also specified outside of the junctors.

use crate::apiextensions::custom_resource_definition::subschemas::{properties, property, schemas};
use api::tree::child;
use apimachinery::field::{Error, ErrorList, Path};
use schema::object::Object;

/// Validates the junctors of a schema against the structural schema that they restrict.
pub(super) fn of_value(
    value: &Object,
    structure: &Object,
    at: &Path<'_>,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    if let Some(not) = child(value, "not") {
        of_nested(not, Some(structure), at, &path.child("not"), errors);
    }
    for member in ["allOf", "anyOf", "oneOf"] {
        for (index, nested) in schemas(value, member).enumerate() {
            of_nested(nested, Some(structure), at, &path.child(member).index(index), errors);
        }
    }
}

/// Validates a schema below a junctor; `at` is the required path of its structure.
fn of_nested(
    nested: &Object,
    structure: Option<&Object>,
    at: &Path<'_>,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    let Some(structure) = structure else {
        errors.push(Error::required(at, format!("because it is defined in {path}")));
        return;
    };
    of_value(nested, structure, at, path, errors);
    if let Some(items) = child(nested, "items") {
        of_nested(items, child(structure, "items"), &at.child("items"), &path.child("items"), errors);
    }
    let structure_path = at.child("properties");
    let field_path = path.child("properties");
    for (name, field) in properties(nested) {
        of_nested(field, property(structure, name), &structure_path.key(name), &field_path.key(name), errors);
    }
}
