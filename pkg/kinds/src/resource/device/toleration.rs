//! Tolerations of device taints (KEP-5055).

use crate::validation::value::{invalid_each, qualified_name, required_one_of, supported_value};
use api::tree::text;
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::names;
use schema::object::Object;

pub(super) fn toleration(path: &Path<'_>, toleration: &Object, errors: &mut ErrorList) {
    let key = text(toleration, "key");
    let value = text(toleration, "value");
    if !key.is_empty() {
        qualified_name(&path.child("key"), key, errors);
    }
    match text(toleration, "operator") {
        "Exists" if !value.is_empty() => {
            errors.push(Error::invalid(&path.child("value"), value, "must be empty for operator `Exists`"));
        }
        "Equal" => invalid_each(&path.child("value"), value, names::is_label_value(value), errors),
        operator => required_one_of(&path.child("operator"), operator, &["Equal", "Exists"], errors),
    }
    let effect = text(toleration, "effect");
    if !effect.is_empty() {
        supported_value(&path.child("effect"), effect, &["NoExecute", "NoSchedule", "None"], errors);
    }
}
