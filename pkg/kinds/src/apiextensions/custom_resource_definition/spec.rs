//! The spec of a CRD.

use super::subschemas::{any_in_spec, schema_in};
use super::validation_rules::ValidationRules;
use super::{names, schema, version, webhook};
use crate::validation::go_value::go_values;
use ::schema::builtin::IO_K8S_APIEXTENSIONS_APISERVER_PKG_APIS_APIEXTENSIONS_V1BETA1_CUSTOMRESOURCEDEFINITIONVERSION as VERSION;
use ::schema::object::Object;
use api::tree::{child, children, flag, is_set, list, maybe_flag, text};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::names::is_dns1123_subdomain;
use std::collections::HashMap;

pub(super) fn validate(spec: &Object, rules: &ValidationRules<'_>, errors: &mut ErrorList) {
    let root = Path::root("spec");
    group(&root.child("group"), text(spec, "group"), errors);
    match text(spec, "scope") {
        "" => errors.push(Error::required(&root.child("scope"), "")),
        "Cluster" | "Namespaced" => {}
        other => errors.push(Error::not_supported(&root.child("scope"), other, &["Cluster", "Namespaced"])),
    }
    let preserves = maybe_flag(spec, "preserveUnknownFields");
    // Without a schema, all fields would be pruned.
    required_schemas(&root.child("versions"), spec, rules, preserves == Some(true), errors);
    let has_defaults = any_in_spec(spec, &|schema| is_set(schema, "default"));
    if has_defaults && preserves != Some(false) {
        let detail = "must be false in order to use defaults in the schema";
        errors.push(Error::invalid(&root.child("preserveUnknownFields"), true, detail));
    }
    let structural = rules.structural
        || preserves != Some(true)
        || has_defaults
        || any_in_spec(spec, &schema::has_kubernetes_extensions);
    let rules = &ValidationRules { structural, new: Some(spec), ..*rules };
    versions(&root, spec, rules, errors);
    required_names(&root.child("names"), child(spec, "names"), errors);
    let any_status = version::has_status(spec) || children(spec, "versions").any(version::has_status);
    let version = text(spec, "version");
    schema::validate(
        &root.child("validation"),
        child(spec, "validation"),
        version,
        any_status,
        rules,
        errors,
    );
    version::subresources(&root.child("subresources"), spec, errors);
    version::columns(&root.child("additionalPrinterColumns"), spec, errors);
    selectable_fields(&root, spec, rules, errors);
    if let Some(conversion) = child(spec, "conversion") {
        let path = root.child("conversion");
        let strategy = text(conversion, "strategy");
        if strategy != "None" && preserves != Some(false) {
            let detail = "must be None if spec.preserveUnknownFields is true";
            errors.push(Error::invalid(&path.child("strategy"), BadValue::json_text(strategy), detail));
        }
        webhook::validate(&path, conversion, rules, errors);
    }
}

fn group(path: &Path<'_>, group: &str, errors: &mut ErrorList) {
    let messages = is_dns1123_subdomain(group);
    if group.is_empty() {
        errors.push(Error::required(path, ""));
    } else if !messages.is_empty() {
        errors.push(Error::invalid(path, group, messages.join(",")));
    } else if !group.contains('.') {
        errors.push(Error::invalid(path, group, "should be a domain with at least one dot"));
    }
}

/// Checks that schemas are present: for every version, or for the served ones of an old definition without
/// schemas.
fn required_schemas(
    path: &Path<'_>,
    spec: &Object,
    rules: &ValidationRules<'_>,
    preserves: bool,
    errors: &mut ErrorList,
) {
    if schema_in(spec, "validation").is_some() || (!rules.schemas && preserves) {
        return;
    }
    let detail = if rules.schemas { "" } else { "because otherwise all fields are pruned" };
    for (index, version) in children(spec, "versions").enumerate() {
        if schema_in(version, "schema").is_none() && (rules.schemas || flag(version, "served")) {
            errors.push(Error::required(&path.index(index).child("schema.openAPIV3Schema"), detail));
        }
    }
}

fn versions(root: &Path<'_>, spec: &Object, rules: &ValidationRules<'_>, errors: &mut ErrorList) {
    let path = root.child("versions");
    let each_has_own = children(spec, "versions").any(|version| child(version, "subresources").is_some());
    let mut seen = HashMap::new();
    let mut unique = true;
    let mut storage = 0;
    for (index, this) in children(spec, "versions").enumerate() {
        storage += usize::from(flag(this, "storage"));
        let name = text(this, "name");
        // If versions have the same name, the first one determines the subresources.
        let first = *seen.entry(name).or_insert(this);
        unique &= std::ptr::eq(first, this);
        let path = path.index(index);
        names::label(&path.child("name"), name, errors);
        let holder = if each_has_own { first } else { spec };
        version::validate(&path, this, version::has_status(holder), rules, errors);
    }
    let value = || go_values(&VERSION, spec.get("versions"));
    if !unique {
        errors.push(Error::invalid(&path, value(), "must contain unique version names"));
    }
    if storage != 1 {
        let detail = "must have exactly one version marked as storage version";
        errors.push(Error::invalid(&path, value(), detail));
    }
    let version = text(spec, "version");
    if version.is_empty() {
        return;
    }
    names::label(&root.child("version"), version, errors);
    if children(spec, "versions").next().is_some_and(|first| text(first, "name") != version) {
        let detail = "must match the first version in spec.versions";
        errors.push(Error::invalid(&root.child("version"), version, detail));
    }
}

fn required_names(path: &Path<'_>, names: Option<&Object>, errors: &mut ErrorList) {
    let empty = Object::new();
    let names = names.unwrap_or(&empty);
    let required = ["plural", "singular", "kind", "listKind"];
    let missing = required.into_iter().filter(|member| text(names, member).is_empty());
    errors.extend(missing.map(|member| Error::required(&path.child(member), "")));
    names::validate(path, names, errors);
}

fn selectable_fields(root: &Path<'_>, spec: &Object, rules: &ValidationRules<'_>, errors: &mut ErrorList) {
    if list(spec, "selectableFields").is_empty() {
        return;
    }
    let path = root.child("selectableFields");
    match child(spec, "validation") {
        None => {
            errors.push(Error::invalid(&path, "", "may only be set when validations.schema is included"));
        }
        Some(validation) => {
            let schema = child(validation, "openAPIV3Schema");
            let schema_path = root.child("schema.openAPIV3Schema");
            version::selectable_fields(&path, &schema_path, spec, "", schema, rules, errors);
        }
    }
}
