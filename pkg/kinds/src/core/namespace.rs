//! Namespaces.

mod defaults;
mod strategy;

use crate::kind::{Columns, Kind, RareProperties, Validation, Version, WarningRules};
use crate::printers::column::{AGE, Column, NAME};
use crate::validation::NameRule;
use crate::validation::rules::{Rules, metadata, metadata_update};
use crate::validation::value::invalid_each;
use api::tree::{child, is_set, text, texts};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::names;
use schema::object::Object;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsLabel,
    qualified_finalizers: true,
    defaults: &[Version::with_defaults("v1", defaults::namespace)],
    validation: Validation::Objects(RULES),
    warnings: WarningRules::NONE,
    columns: Columns::Custom(&[
        NAME,
        Column::text("Status", |object, _| object.get_path("status.phase").into())
            .with_description("The status of the namespace"),
        AGE,
    ]),
    gated: &[],
    strategy: &strategy::Namespaces,
    rare_properties: RareProperties { early_preconditions: true, ..RareProperties::NONE },
};

pub(crate) const RULES: Rules = Rules { create, update };

const STANDARD_FINALIZERS: &[&str] = &["foregroundDeletion", "kubernetes", "orphan"];

fn create(new: &Object) -> ErrorList {
    let mut errors = metadata(new, false, NameRule::DnsLabel);
    let path = Path::root("spec.finalizers");
    for finalizer in finalizers(new) {
        validate_finalizer(&path, finalizer, &mut errors);
    }
    errors
}

fn update(subresource: &str, new: &Object, old: &Object) -> ErrorList {
    let mut errors = match subresource {
        "" => create(new),
        _ => ErrorList::new(),
    };
    errors.append(metadata_update(new, old));
    match subresource {
        "status" => errors.extend(phase(new)),
        "finalize" => {
            let path = Path::root("spec.finalizers");
            for (index, finalizer) in finalizers(new).enumerate() {
                validate_finalizer(&path.index(index), finalizer, &mut errors);
            }
        }
        _ => {}
    }
    errors
}

fn finalizers(namespace: &Object) -> impl Iterator<Item = &str> {
    child(namespace, "spec").into_iter().flat_map(|spec| texts(spec, "finalizers"))
}

fn validate_finalizer(path: &Path<'_>, name: &str, errors: &mut ErrorList) {
    invalid_each(path, name, names::is_label_key(name), errors);
    if !name.contains('/') && !STANDARD_FINALIZERS.contains(&name) {
        let detail = "name is neither a standard finalizer name nor is it fully qualified";
        errors.push(Error::invalid(path, name, detail));
    }
}

/// Checks that the phase matches the deletion state. The path is upstream's.
fn phase(namespace: &Object) -> Option<Error> {
    let phase = child(namespace, "status").map_or("", |status| text(status, "phase"));
    let deleted = child(namespace, "metadata").is_some_and(|meta| is_set(meta, "deletionTimestamp"));
    let (expected, detail) = if !deleted {
        ("Active", "may only be 'Active' if `deletionTimestamp` is empty")
    } else {
        ("Terminating", "may only be 'Terminating' if `deletionTimestamp` is not empty")
    };
    let invalid = || Error::invalid(&Path::root("status.Phase"), BadValue::json_text(phase), detail);
    (phase != expected).then(invalid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::{Value, json};

    fn check(subresource: &str, rest: Value, expected: &[&str]) {
        let mut object = rest.as_object().cloned().unwrap_or_default();
        object.insert("metadata", json!({"name": "n", "resourceVersion": "1"}));
        let errors = update(subresource, &object, &object);
        assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), expected, "{rest}");
    }

    #[test]
    fn finalizers_are_standard_or_qualified() {
        check("", json!({"spec": {"finalizers": ["kubernetes", "a.b/c"]}}), &[]);
        check("", json!({"spec": {"finalizers": ["x"]}}), &["spec.finalizers"]);
        check("finalize", json!({"spec": {"finalizers": ["kubernetes", "x"]}}), &["spec.finalizers[1]"]);
    }

    #[test]
    fn a_namespace_without_deletion_is_active() {
        check("status", json!({"status": {"phase": "Active"}}), &[]);
        check("status", json!({"status": {"phase": "Terminating"}}), &["status.Phase"]);
    }
}
