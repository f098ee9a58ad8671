//! `OwnerReferencesPermissionEnforcement` prevents indirect deletions and blocked deletions without
//! permission. A user without `delete` permission cannot change owner references, and one without `update`
//! permission on an owner's finalizers cannot block the owner's deletion (upstream's
//! `plugin/pkg/admission/gc`).

use std::collections::BTreeMap;
use std::sync::Arc;

use api::resources;
use api::tree::{child, children, flag, list, text};
use apimachinery::go_quote::Quoted;
use apimachinery::status::Status;
use async_trait::async_trait;
use authorization::Authorizer;
use schema::object::Object;

use crate::{AdmissionNotes, Attributes, Plugin, Verdict};

pub struct OwnerReferencesPermissionEnforcement {
    authorizer: Arc<dyn Authorizer>,
}

impl OwnerReferencesPermissionEnforcement {
    /// Checks permissions to delete and to finalize with `authorizer`.
    pub fn new(authorizer: Arc<dyn Authorizer>) -> Self {
        OwnerReferencesPermissionEnforcement { authorizer }
    }

    /// Returns the reason of a denial, with the error in Go's format; `None` if the user is authorized.
    async fn denial(&self, attributes: authorization::Attributes<'_>) -> Option<String> {
        let refused = self.authorizer.decide(attributes).await.outcome().err()?;
        Some(format!("{}, {}", refused.reason, refused.error.as_deref().unwrap_or("<nil>")))
    }

    async fn check_blocking(&self, a: &Attributes<'_>, owner: &Object) -> Verdict {
        for attributes in finalizers_of(a, owner)? {
            if let Some(reason) = self.denial(attributes).await {
                return Err(a.forbidden(format!(
                    "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set \
                     finalizers on: {reason}"
                )));
            }
        }
        Ok(())
    }
}

#[async_trait]
impl Plugin for OwnerReferencesPermissionEnforcement {
    fn name(&self) -> &'static str {
        "OwnerReferencesPermissionEnforcement"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        a.writes() && !a.is("", "pods", "status")
    }

    async fn validate(&self, a: &Attributes<'_>, object: Option<&Object>, _: &mut AdmissionNotes) -> Verdict {
        let empty = Object::new();
        let metadata = |object| child(object, "metadata").unwrap_or(&empty);
        let new = object.map_or(&empty, metadata);
        let old = a.old.map_or(&empty, metadata);
        if list(new, "ownerReferences") == list(old, "ownerReferences") {
            return Ok(());
        }
        if !a.creates()
            && let Some(reason) = self.denial(delete_attributes(a)).await
        {
            let cause = format!("cannot set an ownerRef on a resource you can't delete: {reason}");
            return Err(a.forbidden(&cause));
        }
        let blocking = newly_blocked_owners(new, old);
        if blocking.is_empty() || self.denial(finalize_all_attributes(a)).await.is_none() {
            return Ok(());
        }
        for owner in blocking {
            self.check_blocking(a, owner).await?;
        }
        Ok(())
    }
}

/// Returns the owners whose deletion this write newly blocks.
fn newly_blocked_owners<'o>(new: &'o Object, old: &Object) -> Vec<&'o Object> {
    let blocks = |owner: &Object| flag(owner, "blockOwnerDeletion");
    let before: BTreeMap<&str, bool> =
        children(old, "ownerReferences").map(|owner| (text(owner, "uid"), blocks(owner))).collect();
    let begins = |owner: &&Object| blocks(owner) && !before.get(text(owner, "uid")).is_some_and(|was| *was);
    children(new, "ownerReferences").filter(begins).collect()
}

fn delete_attributes<'a>(a: &Attributes<'a>) -> authorization::Attributes<'a> {
    authorization::Attributes {
        verb: "delete",
        resource_request: true,
        group: a.resource.group,
        version: a.resource.version,
        namespace: a.namespace,
        resource: a.resource.plural,
        subresource: a.subresource(),
        name: a.name,
        ..authorization::Attributes::of_user(a.user)
    }
}

fn finalize_all_attributes<'a>(a: &Attributes<'a>) -> authorization::Attributes<'a> {
    authorization::Attributes {
        verb: "update",
        resource_request: true,
        group: "*",
        version: "*",
        resource: "*",
        subresource: "finalizers",
        name: "*",
        ..authorization::Attributes::of_user(a.user)
    }
}

/// Returns the permissions required to block the deletion of an owner: one for each resource of its kind.
fn finalizers_of<'a>(
    a: &Attributes<'a>,
    owner: &'a Object,
) -> Result<Vec<authorization::Attributes<'a>>, Box<Status>> {
    let group_version = text(owner, "apiVersion");
    let kind = text(owner, "kind");
    let rows = resources::all().filter(|row| {
        row.subresource.is_empty() && row.kind == kind && row.kind_group_version == group_version
    });
    let requests: Vec<_> = rows
        .map(|row| authorization::Attributes {
            verb: "update",
            resource_request: true,
            group: row.group,
            version: row.version,
            namespace: if row.namespaced { a.namespace } else { "" },
            resource: row.plural,
            subresource: "finalizers",
            name: text(owner, "name"),
            ..authorization::Attributes::of_user(a.user)
        })
        .collect();
    if !requests.is_empty() {
        Ok(requests)
    } else {
        Err(a.forbidden(format!(
            "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion \
         {group_version} Kind {kind}: no matches for kind {} in version {}",
            Quoted(kind),
            Quoted(group_version)
        )))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use jsontree::{Value, json};

    use super::*;
    use crate::testing::{Permits, Write};

    fn pod(owners: Value) -> Value {
        json!({"metadata": {"name": "p", "ownerReferences": owners}})
    }

    fn owner(kind: &str, blocks: bool) -> Value {
        json!({"apiVersion": "apps/v1", "kind": kind, "name": "o", "uid": "u", "blockOwnerDeletion": blocks})
    }

    #[test]
    fn owner_changes_need_delete_permission() {
        let check =
            |permitted: &'static [&'static str], old: Option<Value>, new: Value, expected: Option<&str>| {
                let plugin = OwnerReferencesPermissionEnforcement::new(Arc::new(Permits(permitted)));
                let write = old.map_or_else(Write::default, |old| Write::default().over(pod(old)));
                let got = write.validated(&plugin, pod(new)).err();
                let got = got.map(|message| message.split(": ").nth(1).unwrap_or_default().to_owned());
                assert_eq!(got.as_deref(), expected, "{permitted:?}");
            };
        let plain = json!([owner("ReplicaSet", false)]);
        let blocking = json!([owner("ReplicaSet", true)]);
        let undeletable = Some("cannot set an ownerRef on a resource you can't delete");
        let unfinalizable = Some(
            "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on",
        );
        check(&[], None, plain.clone(), None);
        check(&[], Some(plain.clone()), plain.clone(), None);
        check(&[], Some(json!([])), plain.clone(), undeletable);
        check(&["delete pods p"], Some(json!([])), plain.clone(), None);
        check(&[], None, blocking.clone(), unfinalizable);
        check(&["update replicasets/finalizers o"], None, blocking.clone(), None);
        check(&["update */finalizers *"], None, blocking.clone(), None);
        check(&["delete pods p"], Some(plain), blocking, unfinalizable);
        let unknown = Some(
            "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion apps/v1 Kind Odd",
        );
        check(&[], None, json!([owner("Odd", true)]), unknown);
    }
}
