//! Custom resources, validated by their definition (upstream's
//! `registry/customresource/{strategy,validator}.go`).

use std::borrow::Cow;

use apimachinery::field::{BadValue, Error, ErrorList, ErrorType, Path};
use cel::eval::PER_CALL_LIMIT;
use cel::structural::RunOptions;
use jsontree::Value;
use schema::object::Object;

use crate::validation::{NameRule, validate_object_meta, validate_object_meta_update};
use api::resources::Resource;
use api::resources::custom::{CustomVersion, ScalePaths};
use api::tree::text;

/// Cost budget of all CEL rules for one object.
pub(crate) const COST_MAX: i64 = 10_000_000;

/// Returns an object in the version of its row, which may differ from the storage version. Only `apiVersion`
/// is changed here; a conversion webhook has already made any other change.
fn in_version<'o>(row: &Resource, object: &'o Object) -> Cow<'o, Object> {
    let is_other = object.get("apiVersion").is_some_and(|version| *version != *row.group_version);
    if !is_other || row.custom.is_none() {
        return Cow::Borrowed(object);
    }
    let mut object = object.clone();
    object.insert("apiVersion", row.group_version.into());
    Cow::Owned(object)
}

pub(crate) fn validate(row: &Resource, new: &Object) -> ErrorList {
    let new = &*in_version(row, new);
    let mut errors = validate_type(row, new);
    if !errors.is_empty() {
        return errors;
    }
    let path = Path::root("metadata");
    errors.append(validate_object_meta(new, row.namespaced, NameRule::DnsSubdomain, &path).distinct());
    let Some(custom) = row.custom else { return errors };
    let version = custom.version;
    if let Some(schema) = version.structural() {
        errors.append(schema.validate(new));
    }
    scale(version, new, true, &mut errors);
    if let Some(schema) = version.structural() {
        errors.append(schema.validate_embedded(new));
        errors.append(schema.validate_lists(new));
    }
    rules(version, new, None, &mut errors, &mut Vec::new());
    errors
}

/// Validates an object that replaces another through a subresource. Rules that fail for unchanged values add
/// warnings (KEP-4008).
pub(crate) fn validate_update(
    row: &Resource,
    subresource: &str,
    new: &Object,
    old: &Object,
    warnings: &mut Vec<String>,
) -> ErrorList {
    let new = &*in_version(row, new);
    let old = &*in_version(row, old);
    let mut errors = validate_type(row, new);
    if !errors.is_empty() {
        return errors;
    }
    errors.append(validate_object_meta_update(new, old, &Path::root("metadata")).distinct());
    let Some(custom) = row.custom else { return errors };
    let version = custom.version;
    let of_status = subresource == "status";
    if let Some(schema) = version.structural() {
        match (of_status, new.get("status")) {
            (true, Some(status)) => errors.append(schema.validate_status_update(status, old.get("status"))),
            (true, None) => {}
            (false, _) => errors.append(schema.validate_update(new, old)),
        }
    }
    scale(version, new, !of_status, &mut errors);
    if let Some(schema) = version.structural() {
        if !of_status {
            errors.append(schema.validate_embedded(new));
        }
        let repeated = schema.validate_lists(new);
        // Existing duplicates are allowed.
        if !repeated.is_empty() && schema.validate_lists(old).is_empty() {
            errors.append(repeated);
        }
    }
    rules(version, new, Some(old), &mut errors, warnings);
    errors
}

/// Validates the kind of an object. The version was checked and converted earlier.
fn validate_type(row: &Resource, new: &Object) -> ErrorList {
    match text(new, "kind") {
        kind if kind == row.kind => ErrorList::new(),
        kind => [Error::invalid(&Path::root("kind"), kind, format!("must be {}", row.kind))].into(),
    }
}

/// Validates the fields of a Scale; the desired replicas only if `required`, because they may have changed.
fn scale(version: &CustomVersion, new: &Object, required: bool, errors: &mut ErrorList) {
    let Some(paths) = &version.scale else { return };
    if required {
        replicas(&paths.spec_replicas, new, errors);
    }
    replicas(&paths.status_replicas, new, errors);
    if let Some(path) = &paths.selector
        && let Err(error) = ScalePaths::selector_at(new, path)
    {
        errors.push(Error::invalid(&Path::root(&dotted(path)), "", error.to_string()));
    }
}

fn replicas(path: &[String], new: &Object, errors: &mut ErrorList) {
    let (value, detail) = match ScalePaths::replicas_at(new, path) {
        Err(error) => (0, error.to_string()),
        Ok(Some(value)) if value < 0 => (value, "should be a non-negative integer".to_owned()),
        Ok(Some(value)) if value > i64::from(i32::MAX) => {
            (value, format!("should be less than or equal to {}", i32::MAX))
        }
        Ok(_) => return,
    };
    errors.push(Error::invalid(&Path::root(&dotted(path)), value, detail));
}

/// Formats a path as in definitions.
fn dotted(path: &[String]) -> String {
    path.iter().fold(String::new(), |text, name| text + "." + name)
}

/// Evaluates the CEL rules, unless earlier errors make the object unsuitable.
fn rules(
    version: &CustomVersion,
    new: &Object,
    old: Option<&Object>,
    errors: &mut ErrorList,
    warnings: &mut Vec<String>,
) {
    let Some(rules) = version.rules() else { return };
    let blocks = |error: &Error| {
        matches!(
            error.kind(),
            ErrorType::NotSupported
                | ErrorType::Required
                | ErrorType::TooLong
                | ErrorType::TooMany
                | ErrorType::TypeInvalid
        )
    };
    if errors.iter().any(blocks) {
        let detail = "some validation rules were not checked because the object was invalid; correct the existing \
                      errors to complete validation";
        errors.push(Error::invalid(&Path::NIL, BadValue::from(&Value::Null), detail));
        return;
    }
    let options =
        RunOptions { ratcheting: old.is_some(), budget: COST_MAX, call_limit: PER_CALL_LIMIT, cancel: None };
    let value = |object: &Object| Value::Object(object.clone());
    let new = value(new);
    let old = old.map(value);
    let findings = version.evaluating(|| rules.run(&Path::NIL, &new, old.as_ref(), options));
    errors.extend(findings.errors);
    warnings.extend(findings.warnings);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use jsontree::json;

    use super::*;
    use api::resources;

    #[test]
    fn deleting_object_gets_no_new_finalizers() {
        // Equivalent to a resource whose definition has no schema.
        let row = resources::find("", "v1", "configmaps", "").unwrap();
        let widget = |finalizers: &[&str]| {
            let metadata = json!({
                "name": "a", "resourceVersion": "1", "deletionTimestamp": "2024-01-01T00:00:00Z",
                "finalizers": finalizers,
            });
            Object::from_iter([("kind", "ConfigMap".into()), ("metadata", metadata)])
        };
        let fields = |finalizers: &[&str]| {
            let errors =
                validate_update(row, "", &widget(finalizers), &widget(&["a.test/f"]), &mut Vec::new());
            errors.iter().map(|error| error.field().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(fields(&["a.test/f"]), [""; 0]);
        assert_eq!(fields(&["a.test/f", "a.test/g"]), ["metadata.finalizers"]);
    }
}
