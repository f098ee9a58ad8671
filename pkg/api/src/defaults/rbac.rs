//! rbac.authorization.k8s.io: which group roles and subjects belong to.

use super::Rule;
use super::fill::{each, if_zero, within};
use crate::tree::text;
use schema::object::Object;

const GROUP: &str = "rbac.authorization.k8s.io";

pub(super) fn rule(version: &str, kind: &str) -> Option<Rule> {
    Some(match (version, kind) {
        ("v1" | "v1beta1", "RoleBinding" | "ClusterRoleBinding") => binding,
        _ => return None,
    })
}

fn binding(binding: &mut Object) {
    within(binding, "roleRef", |role| if_zero(role, "apiGroup", GROUP));
    each(binding, "subjects", |subject| {
        // Service accounts are of the core group, whose name is empty.
        if matches!(text(subject, "kind"), "User" | "Group") {
            if_zero(subject, "apiGroup", GROUP);
        }
    });
}
