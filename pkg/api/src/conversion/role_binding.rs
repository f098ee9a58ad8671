//! RoleBindings and ClusterRoleBindings: `rbac.authorization.k8s.io/v1`, and `v1alpha1`. In `v1alpha1` a
//! subject has an API version in place of a group, and the user `*` means every authenticated user.

use super::kind::{Conversion, NONE, Spoke};
use crate::tree::{children_mut, text};
use apimachinery::user_info::GROUP_AUTHENTICATED;
use jsontree::Value;
use schema::object::Object;

pub(super) static CONVERSION: Conversion =
    Conversion { spokes: &[Spoke::of("rbac.authorization.k8s.io/v1alpha1", to_hub, from_hub)], ..NONE };

const RBAC: &str = "rbac.authorization.k8s.io";
const RBAC_V1ALPHA1: &str = "rbac.authorization.k8s.io/v1alpha1";

fn to_hub(binding: &mut Object) {
    children_mut(binding, "subjects").for_each(subject_to_hub);
}

fn from_hub(binding: &mut Object) {
    children_mut(binding, "subjects").for_each(subject_from_hub);
}

fn subject_to_hub(subject: &mut Object) {
    let version = subject.remove("apiVersion");
    let group = match text(subject, "kind") {
        "ServiceAccount" => "",
        "User" | "Group" => RBAC,
        _ => version.as_ref().and_then(Value::as_str).map_or("", group_of),
    };
    subject.insert("apiGroup", Value::from(group));
    if text(subject, "kind") == "User" && text(subject, "name") == "*" {
        subject.insert("kind", Value::from("Group"));
        subject.insert("name", Value::from(GROUP_AUTHENTICATED));
    }
}

fn subject_from_hub(subject: &mut Object) {
    let group = subject.remove("apiGroup");
    let group = group.as_ref().and_then(Value::as_str).unwrap_or_default();
    let version = match (text(subject, "kind"), group) {
        ("ServiceAccount", "") => "v1".to_owned(),
        ("User" | "Group", RBAC) => RBAC_V1ALPHA1.to_owned(),
        (_, "") => String::new(),
        // A group without a version keeps its slash.
        (_, group) => format!("{group}/"),
    };
    subject.insert("apiVersion", Value::from(version));
}

/// Returns the group of an `apiVersion`; empty for the core group and for a text with too many slashes.
fn group_of(version: &str) -> &str {
    match version.split_once('/') {
        Some((group, version)) if !version.contains('/') => group,
        _ => "",
    }
}
