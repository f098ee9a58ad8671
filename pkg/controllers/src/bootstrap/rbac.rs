//! Bootstrap RBAC roles and bindings (upstream's `rbac/rest` and component-helpers'
//! `auth/rbac/reconciliation`). Missing objects, permissions and subjects are added. Additions by users are
//! never removed. An annotation disables this for an object.

use api::tree;
use authorization::rbac::{self, Rule};
use component_base::features::Gates;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};
use jsontree::{Value, json};
use registry::client::{Client, ReadFreshness, Reconciled};
use registry::{Registry, meta};
use schema::object::{self, Object};

use super::objects;
use crate::error::Error;

const GROUP: &str = "rbac.authorization.k8s.io";
const GROUP_VERSION: &str = "rbac.authorization.k8s.io/v1";
/// The annotation; `false` disables reconciliation of an object.
const AUTO_UPDATE: &str = "rbac.authorization.kubernetes.io/autoupdate";
/// Maximum number of concurrent writes. A store that syncs each write to disk can group them.
const CONCURRENT_WRITES_MAX: usize = 16;

/// Roles that became aggregated roles, and the roles that now contain their former rules.
const AGGREGATED: [(&str, &str); 3] = [
    ("admin", "system:aggregate-to-admin"),
    ("edit", "system:aggregate-to-edit"),
    ("view", "system:aggregate-to-view"),
];
/// A split binding: subjects of the first role are bound to the second one too.
const SPLIT: (&str, &str) = ("system:discovery", "system:public-info-viewer");

/// Reconciles the four kinds.
pub(super) struct Policy {
    roles: [(Client, Vec<Object>); 2],
    bindings: [(Client, Vec<Object>); 2],
}

impl Policy {
    /// Loads the bootstrap objects of these feature gates.
    ///
    /// # Errors
    /// The built-in data is invalid.
    pub(super) fn new(registry: &Registry, gates: &Gates) -> Result<Self, Error> {
        let of = |plural: &str, kind: &str| {
            let client = Client::find(registry, GROUP, plural)?;
            Ok::<_, Error>((client, objects::of_kind(GROUP_VERSION, kind, gates)?))
        };
        Ok(Policy {
            roles: [of("clusterroles", "ClusterRole")?, of("roles", "Role")?],
            bindings: [of("clusterrolebindings", "ClusterRoleBinding")?, of("rolebindings", "RoleBinding")?],
        })
    }

    /// Reconciles all objects. A failure does not stop the others.
    ///
    /// # Errors
    /// The first failure.
    pub(super) async fn ensure(&self) -> Result<(), Error> {
        self.migrate_customizations().await?;
        let mut work: Vec<BoxFuture<'_, Result<(), Error>>> = Vec::new();
        for (client, roles) in &self.roles {
            for role in roles {
                work.push(Box::pin(async move { outcome(role, ensure_role(client, role).await) }));
            }
        }
        for (client, bindings) in &self.bindings {
            for binding in bindings {
                work.push(Box::pin(async move { outcome(binding, ensure_binding(client, binding).await) }));
            }
        }
        let outcomes: Vec<_> = stream::iter(work).buffered(CONCURRENT_WRITES_MAX).collect().await;
        outcomes.into_iter().collect()
    }

    /// Migrates customizations from an older release.
    async fn migrate_customizations(&self) -> registry::Result<()> {
        let [(roles, _), _] = &self.roles;
        for (from, to) in AGGREGATED {
            if roles.get("", to, ReadFreshness::Cached).await?.is_some() {
                continue;
            }
            match roles.get("", from, ReadFreshness::Cached).await? {
                Some(old) if old.contains_key("aggregationRule") => break,
                Some(old) => keep_missing(roles, to, old).await?,
                None => {}
            }
        }
        let [(bindings, expected), _] = &self.bindings;
        let (from, to) = SPLIT;
        let template = expected.iter().find(|binding| meta::text(binding, "name") == to);
        let Some(template) = template else { return Ok(()) };
        match bindings.get("", from, ReadFreshness::Cached).await? {
            Some(old) => keep_missing(bindings, to, with_subjects_of(template, &old)).await,
            None => Ok(()),
        }
    }
}

/// Creates a copy under another name, unless an object with that name exists.
async fn keep_missing(client: &Client, name: &str, mut object: Object) -> registry::Result<()> {
    for system in ["uid", "resourceVersion", "creationTimestamp", "managedFields"] {
        meta::set(&mut object, system, None);
    }
    meta::set_text(&mut object, "name", name);
    client.reconcile("", name, &|current| current.is_none().then(|| object.clone())).await.map(drop)
}

/// Builds a binding to the role of `template` with the subjects of `old`.
fn with_subjects_of(template: &Object, old: &Object) -> Object {
    let mut binding = template.clone();
    match old.get("subjects") {
        Some(subjects) => binding.insert("subjects", subjects.clone()),
        None => binding.remove("subjects"),
    };
    for member in ["labels", "annotations"] {
        let value = meta::metadata(old).and_then(|metadata| metadata.get(member)).cloned();
        meta::set(&mut binding, member, value);
    }
    binding
}

async fn ensure_role(client: &Client, expected: &Object) -> registry::Result<Reconciled> {
    let (namespace, name) = namespace_and_name(expected);
    client.reconcile(namespace, name, &|current| role(current, expected)).await
}

/// Replaces a binding to another role instead of updating it, so that the permission to bind the role is
/// checked again.
async fn ensure_binding(client: &Client, expected: &Object) -> registry::Result<Reconciled> {
    let (namespace, name) = namespace_and_name(expected);
    let current = client.get(namespace, name, ReadFreshness::Cached).await?;
    if let Some(current) = current.filter(|current| !is_protected(current) && !same_role(current, expected)) {
        client.delete_exact(&current).await?;
    }
    client.reconcile(namespace, name, &|current| binding(current, expected)).await
}

fn namespace_and_name(object: &Object) -> (&str, &str) {
    (meta::text(object, "namespace"), meta::text(object, "name"))
}

/// Converts a failure to a message with the object's name.
fn outcome(object: &Object, outcome: registry::Result<Reconciled>) -> Result<(), Error> {
    let kind = tree::text(object, "kind").to_ascii_lowercase();
    let (namespace, name) = namespace_and_name(object);
    let reconciled = outcome.map_err(|status| {
        Error::Status(status).context(format!("unable to reconcile {kind}.{GROUP}/{name}"))
    })?;
    if reconciled.written {
        tracing::debug!(kind, namespace, name, "created or completed");
    }
    Ok(())
}

fn is_protected(current: &Object) -> bool {
    object::get_str(current, &["metadata", "annotations", AUTO_UPDATE]) == Some("false")
}

fn same_role(current: &Object, expected: &Object) -> bool {
    let role = |binding: &Object| {
        let reference = tree::child(binding, "roleRef");
        let text = |name: &str| reference.map_or("", |reference| tree::text(reference, name)).to_owned();
        [text("apiGroup"), text("kind"), text("name")]
    };
    role(current) == role(expected)
}

/// Returns the desired role; `None` if it is up to date or protected.
fn role(current: Option<&Object>, expected: &Object) -> Option<Object> {
    let Some(current) = current else { return Some(expected.clone()) };
    if is_protected(current) {
        return None;
    }
    let mut role = current.clone();
    let mut changed = complete_metadata(&mut role, expected);
    let held = Rule::all_of(current);
    let missing = rbac::missing(&held.iter().collect::<Vec<_>>(), &Rule::all_of(expected));
    // A role that cannot be compared was created by a user.
    let missing = missing.unwrap_or_default().iter().map(Rule::value).collect();
    changed |= append(&mut role, "rules", missing);
    changed |= complete_aggregation(&mut role, expected);
    changed.then_some(role)
}

/// Returns the desired binding to the same role; `None` if it is up to date or protected.
fn binding(current: Option<&Object>, expected: &Object) -> Option<Object> {
    let Some(current) = current else { return Some(expected.clone()) };
    if is_protected(current) || !same_role(current, expected) {
        return None;
    }
    let mut binding = current.clone();
    let mut changed = complete_metadata(&mut binding, expected);
    let bound = tree::list(current, "subjects");
    let missing = tree::list(expected, "subjects").iter().filter(|subject| !bound.contains(subject));
    changed |= append(&mut binding, "subjects", missing.cloned().collect());
    changed.then_some(binding)
}

/// Adds missing labels and annotations. Values set by users are kept.
fn complete_metadata(object: &mut Object, expected: &Object) -> bool {
    let mut changed = false;
    for member in ["annotations", "labels"] {
        let entries = meta::metadata(expected).and_then(|metadata| metadata.get(member));
        for (key, value) in entries.and_then(Value::as_object).into_iter().flatten() {
            if object::get(object, &["metadata", member, key]).is_none() {
                object::set(object, &["metadata", member, key], value.clone());
                changed = true;
            }
        }
    }
    changed
}

/// Removes an obsolete aggregation rule, or adds missing selectors.
fn complete_aggregation(role: &mut Object, expected: &Object) -> bool {
    let Some(selectors) = tree::child(expected, "aggregationRule") else {
        return role.remove("aggregationRule").is_some();
    };
    let present = tree::child(role, "aggregationRule")
        .map(|rule| tree::list(rule, "clusterRoleSelectors"))
        .unwrap_or_default();
    let selectors = tree::list(selectors, "clusterRoleSelectors").iter();
    let missing: Vec<Value> = selectors.filter(|selector| !present.contains(selector)).cloned().collect();
    if missing.is_empty() {
        return false;
    }
    let rule = role.entry("aggregationRule").or_insert_with(|| json!({}));
    rule.as_object_mut().is_some_and(|rule| append(rule, "clusterRoleSelectors", missing))
}

/// Appends to a list. Returns false if there was nothing to append.
fn append(object: &mut Object, member: &str, more: Vec<Value>) -> bool {
    if more.is_empty() {
        return false;
    }
    match object.get_mut(member) {
        Some(Value::Array(list)) => list.extend(more),
        _ => {
            object.insert(member.to_owned(), more.into());
        }
    }
    true
}

#[cfg(test)]
mod tests;
