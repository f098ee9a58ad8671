//! Volumes with files: keys of secrets and config maps, fields of the pod, a git repository.

use super::super::field_ref;
use super::super::security_context::user_or_group_id;
use super::Owner;
use crate::validation::value::local_relative_path;
use crate::validation::volume_source::required;
use api::tree::{child, children, maybe_integer, text};
use apimachinery::field::{Error, ErrorList, Path};
use schema::object::Object;

/// Pod fields for files.
const FIELDS: &[&str] =
    &["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];

/// Validates a checkout of a git repository.
pub(super) fn git_repo(path: &Path<'_>, source: &Object, _: Owner<'_>, errors: &mut ErrorList) {
    required(path, source, &["repository"], errors);
    local_relative_path(&path.child("directory"), text(source, "directory"), errors);
}

/// Validates keys of a secret or config map, whose name is in the member `name`.
pub(super) fn keys(path: &Path<'_>, source: &Object, name: &str, errors: &mut ErrorList) {
    required(path, source, &[name], errors);
    mode(path, source, "defaultMode", errors);
    user(path, source, "defaultUser", errors);
    let path = path.child("items");
    for (index, item) in children(source, "items").enumerate() {
        key_to_path(&path.index(index), item, errors);
    }
}

/// Validates a key and its path in the volume.
pub(super) fn key_to_path(path: &Path<'_>, item: &Object, errors: &mut ErrorList) {
    required(path, item, &["key", "path"], errors);
    local_path(&path.child("path"), text(item, "path"), errors);
    mode(path, item, "mode", errors);
    user(path, item, "user", errors);
}

/// Validates files with fields of the pod and resources of its containers. The paths of upstream's errors
/// lack the item.
pub(super) fn downward(path: &Path<'_>, source: &Object, errors: &mut ErrorList) {
    mode(path, source, "defaultMode", errors);
    user(path, source, "defaultUser", errors);
    for file in children(source, "items") {
        downward_file(path, file, errors);
    }
}

pub(super) fn downward_file(path: &Path<'_>, file: &Object, errors: &mut ErrorList) {
    required(path, file, &["path"], errors);
    local_path(&path.child("path"), text(file, "path"), errors);
    match (child(file, "fieldRef"), child(file, "resourceFieldRef")) {
        (Some(field), resource) => {
            field_ref::field(field, FIELDS, &path.child("fieldRef"), errors);
            if resource.is_some() {
                let detail = "fieldRef and resourceFieldRef can not be specified simultaneously";
                errors.push(Error::invalid(path, "resource", detail));
            }
        }
        (None, Some(resource)) => {
            field_ref::resource(resource, true, &path.child("resourceFieldRef"), errors);
        }
        (None, None) => {
            errors.push(Error::required(path, "one of fieldRef and resourceFieldRef is required"));
        }
    }
    mode(path, file, "mode", errors);
    user(path, file, "user", errors);
}

/// Validates the permissions of a file, if set.
pub(super) fn mode(path: &Path<'_>, owner: &Object, member: &str, errors: &mut ErrorList) {
    if let Some(mode) = maybe_integer(owner, member).filter(|mode| !(0..=0o777).contains(mode)) {
        let detail = "must be a number between 0 and 0777 (octal), both inclusive";
        errors.push(Error::invalid(&path.child(member), mode, detail));
    }
}

/// Validates the owner of a file, if set.
pub(super) fn user(path: &Path<'_>, owner: &Object, member: &str, errors: &mut ErrorList) {
    if let Some(id) = maybe_integer(owner, member) {
        user_or_group_id(&path.child(member), id, errors);
    }
}

/// Validates a path in the volume. Names that start with `..` are reserved for the kubelet.
pub(super) fn local_path(path: &Path<'_>, value: &str, errors: &mut ErrorList) {
    local_relative_path(path, value, errors);
    if value.starts_with("..") && !value.starts_with("../") {
        errors.push(Error::invalid(path, value, "must not start with '..'"));
    }
}
