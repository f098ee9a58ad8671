//! Custom resources, as far as no definition is needed to judge them (upstream's
//! `registry/customresource/validator.go`).

use apimachinery::field::{Error, ErrorList, Path};
use schema::object::Object;

use crate::resources::Resource;
use crate::tree::text;
use crate::validation::{NameRule, validate_object_meta};

/// What is wrong with a new object.
pub(super) fn validate(row: &Resource, new: &Object) -> ErrorList {
    match validate_type(row, new) {
        errors if errors.is_empty() => {
            validate_object_meta(new, row.namespaced, NameRule::DnsSubdomain, &Path::root("metadata"))
        }
        errors => errors,
    }
}

/// What is wrong with what an object says it is. Its version was checked, and converted, before.
pub(super) fn validate_type(row: &Resource, new: &Object) -> ErrorList {
    match text(new, "kind") {
        kind if kind == row.kind => ErrorList::new(),
        kind => [Error::invalid(&Path::root("kind"), kind, format!("must be {}", row.kind))].into(),
    }
}
