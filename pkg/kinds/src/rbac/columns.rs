//! Table columns of bindings.

use crate::printers::column::{AGE, Column, NAME};
use api::table::view::View;

pub(super) static CLUSTER_ROLE_BINDING: &[Column] = &[
    NAME,
    Column::text("Role", |object, _| role(object).into()).with_description("roleRef can only reference a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error."),
    AGE,
    Column::text("Users", |object, _| subjects(object, "User", name).into()).with_description("Users in the clusterRoleBinding").wide(),
    Column::text("Groups", |object, _| subjects(object, "Group", name).into()).with_description("Groups in the clusterRoleBinding").wide(),
    Column::text("ServiceAccounts", |object, _| subjects(object, "ServiceAccount", namespace_and_name).into()).with_description("ServiceAccounts in the clusterRoleBinding").wide(),
];

pub(super) static ROLE_BINDING: &[Column] = &[
    NAME,
    Column::text("Role", |object, _| role(object).into()).with_description("roleRef can reference a Role in the current namespace or a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error."),
    AGE,
    Column::text("Users", |object, _| subjects(object, "User", name).into()).with_description("Users in the roleBinding").wide(),
    Column::text("Groups", |object, _| subjects(object, "Group", name).into()).with_description("Groups in the roleBinding").wide(),
    Column::text("ServiceAccounts", |object, _| subjects(object, "ServiceAccount", namespace_and_name).into()).with_description("ServiceAccounts in the roleBinding").wide(),
];

fn role(binding: View<'_>) -> String {
    let role = binding.get("roleRef");
    format!("{}/{}", role.get("kind").text(), role.get("name").text())
}

fn subjects(binding: View<'_>, kind: &str, text: fn(View<'_>) -> String) -> String {
    let subjects = binding.get("subjects").items().filter(|s| s.get("kind").text() == kind);
    let texts: Vec<String> = subjects.map(text).collect();
    texts.join(", ")
}

fn name(subject: View<'_>) -> String {
    subject.get("name").text().to_owned()
}

fn namespace_and_name(subject: View<'_>) -> String {
    format!("{}/{}", subject.get("namespace").text(), subject.get("name").text())
}
