//! Defaults of bindings: API groups of roles and subjects.

use crate::defaults::fill::{default_struct, each, if_zero, text};
use crate::defaults::object::Object;

const GROUP: &str = "rbac.authorization.k8s.io";

pub(super) fn binding(binding: &mut Object) {
    default_struct(binding, "roleRef", |role| if_zero(role, "apiGroup", GROUP));
    each(binding, "subjects", |subject| {
        // Service accounts are in the core group, whose name is empty.
        if matches!(text(subject, "kind"), "User" | "Group") {
            if_zero(subject, "apiGroup", GROUP);
        }
    });
}

/// In v1alpha1, subjects have an API version in place of a group.
pub(super) fn binding_v1alpha1(binding: &mut Object) {
    default_struct(binding, "roleRef", |role| if_zero(role, "apiGroup", GROUP));
    each(binding, "subjects", |subject| match text(subject, "kind") {
        "ServiceAccount" => if_zero(subject, "apiVersion", "v1"),
        "User" | "Group" => if_zero(subject, "apiVersion", "rbac.authorization.k8s.io/v1alpha1"),
        _ => {}
    });
}
