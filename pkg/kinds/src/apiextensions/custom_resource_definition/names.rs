//! The names of a custom resource.

use super::subschemas::strings;
use api::tree::text;
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::names::is_dns1035_label;
use schema::object::Object;

/// Validates the names that are set.
pub(super) fn validate(path: &Path<'_>, names: &Object, errors: &mut ErrorList) {
    for member in ["plural", "singular"] {
        let name = text(names, member);
        if !name.is_empty() {
            label(&path.child(member), name, errors);
        }
    }
    for member in ["kind", "listKind"] {
        let name = text(names, member);
        let messages = is_dns1035_label(&name.to_lowercase());
        if !name.is_empty() && !messages.is_empty() {
            let detail = format!("may have mixed case, but should otherwise match: {}", messages.join(","));
            errors.push(Error::invalid(&path.child(member), name, detail));
        }
    }
    labels(&path.child("shortNames"), strings(names, "shortNames"), errors);
    let kind = text(names, "kind");
    let list_kind = text(names, "listKind");
    if !kind.is_empty() && kind == list_kind {
        let detail = "kind and listKind may not be the same";
        errors.push(Error::invalid(&path.child("listKind"), list_kind, detail));
    }
    labels(&path.child("categories"), strings(names, "categories"), errors);
}

fn labels<'n>(path: &Path<'_>, names: impl Iterator<Item = &'n str>, errors: &mut ErrorList) {
    for (index, name) in names.enumerate() {
        label(&path.index(index), name, errors);
    }
}

/// Checks for a DNS label (RFC 1035); all problems are one error.
pub(super) fn label(path: &Path<'_>, name: &str, errors: &mut ErrorList) {
    let messages = is_dns1035_label(name);
    if !messages.is_empty() {
        errors.push(Error::invalid(path, name, messages.join(",")));
    }
}
