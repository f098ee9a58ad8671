//! Settings of a single version, or of the spec for all versions.

use super::validation_rules::{SELECTABLE_FIELDS_MAX, ValidationRules};
use super::{schema, structural};
use ::schema::object::Object;
use api::resources::custom::ScalePaths;
use api::tree::{child, children, flag, is_set, list, maybe_text, text};
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::go_quote::is_printable;
use cel::structural::field_path::{self, Brackets};
use std::collections::HashSet;

const WARNING_BYTES_MAX: usize = 256;
const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] =
    ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];

/// Validates a version; `has_status` is true if its objects have a status subresource.
pub(super) fn validate(
    path: &Path<'_>,
    version: &Object,
    has_status: bool,
    rules: &ValidationRules<'_>,
    errors: &mut ErrorList,
) {
    deprecation(&path.child("deprecationWarning"), version, errors);
    let name = text(version, "name");
    schema::validate(&path.child("schema"), child(version, "schema"), name, has_status, rules, errors);
    subresources(&path.child("subresources"), version, errors);
    columns(&path.child("additionalPrinterColumns"), version, errors);
    if list(version, "selectableFields").is_empty() {
        return;
    }
    let fields = path.child("selectableFields");
    match super::subschemas::schema_in(version, "schema") {
        None => {
            let detail = "may only be set when `version.schema.openAPIV3Schema` is not included";
            errors.push(Error::invalid(&fields, "", detail));
        }
        schema => {
            let schema_path = path.child("schema.openAPIV3Schema");
            let name = text(version, "name");
            selectable_fields(&fields, &schema_path, version, name, schema, rules, errors);
        }
    }
}

fn deprecation(path: &Path<'_>, version: &Object, errors: &mut ErrorList) {
    let Some(warning) = maybe_text(version, "deprecationWarning") else { return };
    let mut wrong = |detail: String| errors.push(Error::invalid(path, warning, detail));
    if !flag(version, "deprecated") {
        return wrong("can only be set for deprecated versions".to_owned());
    }
    if warning.len() > WARNING_BYTES_MAX {
        wrong(format!("must be <= {WARNING_BYTES_MAX} characters long"));
    }
    if warning.is_empty() {
        wrong("must not be an empty string".to_owned());
    }
    if let Some((index, _)) = warning.char_indices().find(|(_, c)| !is_printable(*c)) {
        let words = "must only contain printable UTF-8 characters; non-printable character found at index";
        wrong(format!("{words} {index}"));
    }
}

/// True if a version or a spec has the status subresource.
pub(super) fn has_status(holder: &Object) -> bool {
    child(holder, "subresources").is_some_and(|subresources| is_set(subresources, "status"))
}

/// Validates the subresources of a version or a spec: the paths of the scale.
pub(super) fn subresources(path: &Path<'_>, holder: &Object, errors: &mut ErrorList) {
    let Some(scale) = child(holder, "subresources").and_then(|subresources| child(subresources, "scale"))
    else {
        return;
    };
    let path = path.child("scale");
    let within: [(&str, &[&str], &str); 3] = [
        ("specReplicasPath", &[".spec."], "should be a json path under .spec"),
        ("statusReplicasPath", &[".status."], "should be a json path under .status"),
        ("labelSelectorPath", &[".spec.", ".status."], "should be a json path under either .spec or .status"),
    ];
    for (member, prefixes, detail) in within {
        let path = path.child(member);
        let value = text(scale, member);
        if value.is_empty() {
            if member != "labelSelectorPath" {
                errors.push(Error::required(&path, ""));
            }
        } else if json_path(&path, value, errors) && !prefixes.iter().any(|prefix| value.starts_with(prefix))
        {
            errors.push(Error::invalid(&path, value, detail));
        }
        let steps = ScalePaths::steps(value).count();
        if steps > ScalePaths::STEPS_MAX {
            errors.push(Error::too_many(&path, Some(steps), Some(ScalePaths::STEPS_MAX)));
        }
    }
}

/// Validates a simple JSON path that must not be empty. Returns true if it is valid.
fn json_path(path: &Path<'_>, value: &str, errors: &mut ErrorList) -> bool {
    let right = value.starts_with('.');
    if !right {
        errors.push(Error::invalid(path, value, "must be a simple json path starting with ."));
    }
    right
}

/// Validates the printer columns of a version or a spec.
pub(super) fn columns(path: &Path<'_>, holder: &Object, errors: &mut ErrorList) {
    for (index, column) in children(holder, "additionalPrinterColumns").enumerate() {
        let path = path.index(index);
        if text(column, "name").is_empty() {
            errors.push(Error::required(&path.child("name"), ""));
        }
        let types = format!("must be one of {}", COLUMN_TYPES.join(","));
        match text(column, "type") {
            "" => errors.push(Error::required(&path.child("type"), types)),
            ty if COLUMN_TYPES.contains(&ty) => {}
            other => errors.push(Error::invalid(&path.child("type"), other, types)),
        }
        let format = text(column, "format");
        if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
            let detail = format!("must be one of {}", COLUMN_FORMATS.join(","));
            errors.push(Error::invalid(&path.child("format"), format, detail));
        }
        match text(column, "JSONPath") {
            "" => errors.push(Error::required(&path.child("JSONPath"), "")),
            value => _ = json_path(&path.child("JSONPath"), value, errors),
        }
    }
}

/// Validates the selectable fields against the schema: of a version, or of the spec if `version` is empty.
pub(super) fn selectable_fields(
    path: &Path<'_>,
    schema_path: &Path<'_>,
    holder: &Object,
    version: &str,
    schema: Option<&Object>,
    rules: &ValidationRules<'_>,
    errors: &mut ErrorList,
) {
    let Some(schema) = schema else { return };
    if let Some(refusal) = structural::rejection_reason(schema) {
        errors.push(Error::invalid(schema_path, "", refusal));
        return;
    }
    let mut seen = HashSet::new();
    for (index, field) in children(holder, "selectableFields").enumerate() {
        let item = path.index(index);
        let path = item.child("jsonPath");
        let value = text(field, "jsonPath");
        if value.is_empty() {
            errors.push(Error::required(&path, ""));
            continue;
        }
        let to = match field_path::resolve(value, schema, Brackets::Forbidden) {
            Ok(to) => to,
            Err(reason) => {
                errors.push(Error::invalid(&path, value, format!("is an invalid path: {reason}")));
                continue;
            }
        };
        if to.steps.first().is_some_and(|step| step.name == "metadata") {
            errors.push(Error::invalid(&path, value, "must not point to fields in metadata"));
        }
        if !["string", "boolean", "integer"].contains(&to.schema.map_or("", |schema| text(schema, "type"))) {
            let detail = "must point to a field of type string, boolean or integer. Enum string fields and \
                          strings with formats are allowed.";
            errors.push(Error::invalid(&path, value, detail));
        }
        if !seen.insert(to.steps) {
            errors.push(Error::duplicate(&path, value));
        }
    }
    if seen.len() > SELECTABLE_FIELDS_MAX && !rules.may_select_too_many(version, holder) {
        errors.push(Error::too_many(path, Some(seen.len()), Some(SELECTABLE_FIELDS_MAX)));
    }
}
