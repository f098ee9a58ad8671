//! Specs of persistent volume claims and of claim templates (in stateful sets and ephemeral volumes).

use super::resources::{positive_quantity, quantity};
use super::selector::label_selector;
use super::value::{dns_label, dns_subdomain, supported_value};
use super::volume_source::required;
use super::{validate_annotations, validate_labels};
use api::tree::{child, list, maybe_text, text, texts};
use apimachinery::field::{Error, ErrorList, Path};
use jsontree::Value;
use schema::object::Object;

const ACCESS_MODES: &[&str] = &["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

/// Metadata fields, in upstream's order, that a template must not have.
const FORBIDDEN_IN_TEMPLATES: &[&str] = &[
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "ownerReferences",
    "finalizers",
    "managedFields",
];

/// Relaxed rules for updates of objects that already break them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClaimOptions {
    /// Allows selector values that are not valid label values.
    pub bad_selector: bool,
    /// Allows API groups of data sources that are not valid domains.
    pub bad_data_source_group: bool,
}

/// Validates the claim template at `path`; its metadata may only have labels and annotations.
pub(crate) fn validate_claim_template(path: &Path<'_>, template: &Object, errors: &mut ErrorList) {
    let empty = Object::new();
    let meta = child(template, "metadata").unwrap_or(&empty);
    let spec = child(template, "spec").unwrap_or(&empty);
    template_metadata(&path.child("metadata"), meta, errors);
    validate_claim_spec(&path.child("spec"), spec, ClaimOptions::default(), errors);
}

/// Validates the metadata of a template. Upstream builds the paths from Go names with a lower-case first
/// letter, hence `uID`.
pub(crate) fn template_metadata(path: &Path<'_>, meta: &Object, errors: &mut ErrorList) {
    errors.append(validate_annotations(meta, &path.child("annotations")));
    errors.append(validate_labels(meta, "labels", &path.child("labels")));
    for member in FORBIDDEN_IN_TEMPLATES.iter().filter(|member| is_non_zero(meta, member)) {
        let step = if *member == "uid" { "uID" } else { member };
        errors.push(Error::forbidden(&path.child(step), "cannot be set"));
    }
}

/// True if a metadata field differs from the zero value of its Go type. A time or a grace period is a pointer, so that
/// every value differs.
fn is_non_zero(meta: &Object, member: &str) -> bool {
    match meta.get(member) {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(value) if member == "generation" => value.as_i64() != Some(0),
        Some(_) => true,
    }
}

/// Validates the claim spec at `path`.
pub(crate) fn validate_claim_spec(
    path: &Path<'_>,
    spec: &Object,
    options: ClaimOptions,
    errors: &mut ErrorList,
) {
    let modes_path = path.child("accessModes");
    if list(spec, "accessModes").is_empty() {
        errors.push(Error::required(&modes_path, "at least 1 access mode is required"));
    }
    label_selector(&path.child("selector"), child(spec, "selector"), options.bad_selector, errors);
    let mut alone = false;
    let mut others = false;
    for mode in texts(spec, "accessModes") {
        supported_value(&modes_path, mode, ACCESS_MODES, errors);
        alone |= mode == "ReadWriteOncePod";
        others |= mode != "ReadWriteOncePod" && ACCESS_MODES.contains(&mode);
    }
    if alone && others {
        let detail = "may not use ReadWriteOncePod with other access modes";
        errors.push(Error::forbidden(&modes_path, detail));
    }
    storage(&path.child("resources"), spec, errors);
    class_name(path, spec, "storageClassName", errors);
    if let Some(mode) = maybe_text(spec, "volumeMode") {
        supported_value(&path.child("volumeMode"), mode, &["Block", "Filesystem"], errors);
    }
    data_sources(path, spec, options, errors);
    class_name(path, spec, "volumeAttributesClassName", errors);
}

/// Validates the storage request. Upstream's path lacks `requests`.
fn storage(path: &Path<'_>, spec: &Object, errors: &mut ErrorList) {
    let requests = child(spec, "resources").and_then(|resources| child(resources, "requests"));
    let path = path.key("storage");
    match requests.and_then(|requests| requests.get("storage")) {
        None => errors.push(Error::required(&path, "")),
        Some(value) => positive_quantity(&path, &quantity(Some(value)), errors),
    }
}

fn class_name(path: &Path<'_>, spec: &Object, member: &str, errors: &mut ErrorList) {
    let name = text(spec, member);
    if !name.is_empty() {
        dns_subdomain(&path.child(member), name, errors);
    }
}

/// Validates the data sources. The older of the two fields must equal the newer one, and must be absent if
/// the newer one has a namespace. The value in the errors is the path, as in upstream.
fn data_sources(path: &Path<'_>, spec: &Object, options: ClaimOptions, errors: &mut ErrorList) {
    for member in ["dataSource", "dataSourceRef"] {
        if let Some(source) = child(spec, member) {
            data_source(&path.child(member), source, options, errors);
        }
    }
    let (Some(old), Some(new)) = (child(spec, "dataSource"), child(spec, "dataSourceRef")) else { return };
    let equal_sources =
        ["apiGroup", "kind", "name"].iter().all(|member| old.get(*member) == new.get(*member));
    let detail = if !text(new, "namespace").is_empty() {
        "may not be specified when dataSourceRef.namespace is specified"
    } else if !equal_sources {
        "must match dataSourceRef"
    } else {
        return;
    };
    // Go prints the path as a struct without exported fields.
    errors.push(Error::invalid(path, &Value::Object(Object::new()), detail));
}

fn data_source(path: &Path<'_>, source: &Object, options: ClaimOptions, errors: &mut ErrorList) {
    required(path, source, &["name", "kind"], errors);
    let group = text(source, "apiGroup");
    let kind = text(source, "kind");
    if group.is_empty() && kind != "PersistentVolumeClaim" {
        let detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
        errors.push(Error::invalid(path, kind, detail));
    }
    if !group.is_empty() && !options.bad_data_source_group {
        dns_subdomain(&path.child("apiGroup"), group, errors);
    }
    let namespace = text(source, "namespace");
    if !namespace.is_empty() {
        dns_label(&path.child("namespace"), namespace, errors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::json;

    fn check(mut spec: Value, changes: Value, expected: &[(&str, &str)]) {
        if let (Some(spec), Some(changes)) = (spec.as_object_mut(), changes.as_object()) {
            spec.extend(changes.clone());
        }
        let mut errors = ErrorList::new();
        let spec = spec.as_object().cloned().unwrap_or_default();
        validate_claim_spec(&Path::root("spec"), &spec, ClaimOptions::default(), &mut errors);
        let got: Vec<(&str, &str)> = errors.iter().map(|e| (e.reason(), e.field())).collect();
        assert_eq!(got, expected, "{spec:?}");
    }

    #[test]
    fn claims_need_storage_and_access_modes() {
        let good = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
        check(good.clone(), json!({}), &[]);
        check(
            json!({}),
            json!({}),
            &[("FieldValueRequired", "spec.accessModes"), ("FieldValueRequired", "spec.resources[storage]")],
        );
        let modes = json!({"accessModes": ["ReadWriteOncePod", "ReadOnlyMany", "x"]});
        check(
            good.clone(),
            modes,
            &[("FieldValueNotSupported", "spec.accessModes"), ("FieldValueForbidden", "spec.accessModes")],
        );
        let zero =
            json!({"resources": {"requests": {"storage": "0"}}, "volumeMode": "x", "storageClassName": "X"});
        check(
            good.clone(),
            zero,
            &[
                ("FieldValueInvalid", "spec.resources[storage]"),
                ("FieldValueInvalid", "spec.storageClassName"),
                ("FieldValueNotSupported", "spec.volumeMode"),
            ],
        );
        let sources = json!({"dataSource": {"kind": "Pod", "name": "a"}, "dataSourceRef": {"kind": "A", "name": "b", "apiGroup": "g"}});
        check(good, sources, &[("FieldValueInvalid", "spec.dataSource"), ("FieldValueInvalid", "spec")]);
    }

    #[test]
    fn templates_have_no_names() {
        let template = json!({"metadata": {"name": "a", "uid": "b", "labels": {"a": "b"}}, "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}}});
        let mut errors = ErrorList::new();
        let template = template.as_object().cloned().unwrap_or_default();
        validate_claim_template(&Path::root("t"), &template, &mut errors);
        let got: Vec<&str> = errors.iter().map(Error::field).collect();
        assert_eq!(got, ["t.metadata.name", "t.metadata.uID"]);
    }
}
