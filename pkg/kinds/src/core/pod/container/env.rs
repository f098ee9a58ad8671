//! The environment of a container.

use crate::core::pod::field_ref;
use crate::validation::value::{dns_label, invalid_each, no_backsteps};
use api::tree::{child, children, text};
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::names;
use schema::object::Object;

const TOO_MANY_SOURCES: &str = "may not have more than one field specified at a time";

/// Rule for a source of a variable's value; appends errors.
type SourceRule = fn(source: &Object, path: &Path<'_>, errors: &mut ErrorList);

/// Sources of a variable's value.
const VALUE_SOURCES: &[(&str, SourceRule)] = &[
    ("fieldRef", field_ref::env_field),
    ("resourceFieldRef", field_ref::env_resource),
    ("configMapKeyRef", key_selector),
    ("secretKeyRef", key_selector),
    ("fileKeyRef", file_key_selector),
];

/// Validates the variables. `path` is that of the list.
pub(super) fn env(container: &Object, path: &Path<'_>, errors: &mut ErrorList) {
    for (index, variable) in children(container, "env").enumerate() {
        let path = path.index(index);
        match text(variable, "name") {
            "" => errors.push(Error::required(&path.child("name"), "")),
            name => invalid_each(&path.child("name"), name, names::is_relaxed_env_var_name(name), errors),
        }
        if let Some(from) = child(variable, "valueFrom") {
            let has_value = !text(variable, "value").is_empty();
            value_from(from, has_value, &path.child("valueFrom"), errors);
        }
    }
}

/// Validates the sources of sets of variables. `path` is that of the list.
pub(super) fn env_from(container: &Object, path: &Path<'_>, errors: &mut ErrorList) {
    for (index, source) in children(container, "envFrom").enumerate() {
        let item = path.index(index);
        let prefix = text(source, "prefix");
        if !prefix.is_empty() {
            invalid_each(&item.child("prefix"), prefix, names::is_relaxed_env_var_name(prefix), errors);
        }
        let mut sources = 0;
        for member in ["configMapRef", "secretRef"] {
            let Some(reference) = child(source, member) else { continue };
            sources += 1;
            let item = item.child(member);
            let name = text(reference, "name");
            let path = item.child("name");
            match name {
                "" => errors.push(Error::required(&path, "")),
                // Upstream validates it as a name prefix, so a final dash is allowed.
                name => invalid_each(&path, name, names::name_is_dns_subdomain(name, true), errors),
            }
        }
        match sources {
            0 => errors.push(Error::invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")),
            1 => {}
            _ => errors.push(Error::invalid(path, "", TOO_MANY_SOURCES)),
        }
    }
}

fn value_from(from: &Object, has_value: bool, path: &Path<'_>, errors: &mut ErrorList) {
    let mut sources = 0;
    for (member, rule) in VALUE_SOURCES {
        let Some(source) = child(from, member) else { continue };
        sources += 1;
        rule(source, &path.child(member), errors);
    }
    let detail = match sources {
        0 => {
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or \
             `fileKeyRef`"
        }
        _ if has_value => "may not be specified when `value` is not empty",
        1 => return,
        _ => TOO_MANY_SOURCES,
    };
    errors.push(Error::invalid(path, "", detail));
}

/// Validates a reference to a key of a ConfigMap or Secret.
fn key_selector(selector: &Object, path: &Path<'_>, errors: &mut ErrorList) {
    let name = text(selector, "name");
    invalid_each(&path.child("name"), name, names::name_is_dns_subdomain(name, false), errors);
    match text(selector, "key") {
        "" => errors.push(Error::required(&path.child("key"), "")),
        key => invalid_each(&path.child("key"), key, names::is_config_map_key(key), errors),
    }
}

/// Validates a reference to a variable in a file (KEP-3721).
fn file_key_selector(selector: &Object, path: &Path<'_>, errors: &mut ErrorList) {
    match text(selector, "key") {
        "" => errors.push(Error::required(&path.child("key"), "")),
        key => invalid_each(&path.child("key"), key, names::is_relaxed_env_var_name(key), errors),
    }
    match text(selector, "volumeName") {
        "" => errors.push(Error::required(&path.child("volumeName"), "")),
        name => dns_label(&path.child("volumeName"), name, errors),
    }
    match text(selector, "path") {
        "" => errors.push(Error::required(&path.child("path"), "")),
        file => no_backsteps(&path.child("path"), file, errors),
    }
}
