//! Garbage collection of one object: looks up its owners and deletes, releases or orphans it (upstream's
//! `garbagecollector/garbagecollector.go`).

use std::collections::HashSet;
use std::sync::Arc;

use api::options::{DeleteOptions, Preconditions};
use apimachinery::status::{Reason, Status};
use apimachinery::user_info::UserInfo;
use cacher::Element;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use registry::generic::{AdmitAll, DeleteRequest, UpdateRequest};
use registry::{Registry, Result, Target, meta};
use schema::object::Object;

use super::FIELD_MANAGER;
use super::graph::{DependentState, ObjectKey, Plan, Step};
use super::resources::{ManagedResource, ResourceTable};
use super::stored_meta::{
    FOREGROUND_FINALIZER, ORPHAN_FINALIZER, OwnerReference, StoredMeta, remove_finalizer, remove_owners,
    unblock_owners,
};

/// Maximum number of dependents of one owner that are edited at the same time.
const EDITS_MAX: usize = 8;

/// Dependent of an owner.
pub(super) struct Dependent {
    pub(super) key: ObjectKey,
    /// Storage prefix of its resource.
    pub(super) prefix: Arc<str>,
}

/// Result of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CollectionOutcome {
    /// Nothing to do until the next event.
    Done,
    /// An owner has a kind that is not served.
    UnknownKind,
}

/// Reads and writes objects of any resource.
#[derive(Clone)]
pub(super) struct Collector {
    pub(super) registry: Registry,
    pub(super) user: Arc<UserInfo>,
}

/// State of an object's owners.
#[derive(Debug, Default)]
struct Owners {
    /// True if an owner exists and does not wait for its dependents.
    has_solid: bool,
    /// UIDs of owners that do not exist.
    absent: Vec<String>,
    /// UIDs of owners in foreground deletion.
    waiting: Vec<String>,
}

impl Collector {
    /// Performs a step that needs reads or writes. `dependents` are those to orphan.
    ///
    /// # Errors
    /// The step must be retried.
    pub(super) async fn collect(
        &self,
        table: &ResourceTable,
        key: &ObjectKey,
        plan: &Plan,
        dependents: &[Dependent],
    ) -> Result<CollectionOutcome> {
        let Some(resource) = table.find(&plan.prefix) else { return Ok(CollectionOutcome::Done) };
        match &plan.step {
            Step::WaitFor { .. } => {}
            Step::FinishForeground => {
                let finish = |object: &mut Object| remove_finalizer(object, FOREGROUND_FINALIZER);
                self.edit(resource, key, Some(&plan.uid), finish).await?;
            }
            Step::Orphan { .. } => {
                self.orphan(table, &plan.uid, dependents).await?;
                let finish = |object: &mut Object| remove_finalizer(object, ORPHAN_FINALIZER);
                self.edit(resource, key, Some(&plan.uid), finish).await?;
            }
            Step::CheckOwners(dependents) => {
                return self.check_owners(table, resource, key, &plan.uid, *dependents).await;
            }
        }
        Ok(CollectionOutcome::Done)
    }

    /// Removes the reference to an owner from its dependents.
    async fn orphan(&self, table: &ResourceTable, owner: &str, dependents: &[Dependent]) -> Result<()> {
        let owner = HashSet::from([owner.to_owned()]);
        let remove = |object: &mut Object| remove_owners(object, &owner);
        let mut edits: Vec<BoxFuture<'_, Result<()>>> = Vec::new();
        for Dependent { key, prefix } in dependents {
            if let Some(resource) = table.find(prefix) {
                edits.push(self.edit(resource, key, None, remove).boxed());
            }
        }
        stream::iter(edits).buffer_unordered(EDITS_MAX).try_collect().await
    }

    async fn check_owners(
        &self,
        table: &ResourceTable,
        resource: &ManagedResource,
        key: &ObjectKey,
        uid: &str,
        dependents: DependentState,
    ) -> Result<CollectionOutcome> {
        let target = resource.target(key);
        let Some(latest) = self.find(&target, "").await? else { return Ok(CollectionOutcome::Done) };
        let storage = resource.row().stored_form();
        let Some(stored) = latest.value().ok().and_then(|bytes| StoredMeta::read(storage, bytes)) else {
            return Ok(CollectionOutcome::Done);
        };
        let references = stored.owners().unwrap_or_default();
        let deletion = stored.deletion();
        if stored.uid() != uid || references.is_empty() || deletion.deleting {
            return Ok(CollectionOutcome::Done);
        }
        let Some(owners) = self.classify(table, &target, &references).await? else {
            return Ok(CollectionOutcome::UnknownKind);
        };
        if owners.has_solid {
            let removed: HashSet<String> = owners.absent.into_iter().chain(owners.waiting).collect();
            if !removed.is_empty() {
                let edit = |object: &mut Object| remove_owners(object, &removed);
                self.edit(resource, key, Some(uid), edit).await?;
            }
            return Ok(CollectionOutcome::Done);
        }
        let waits = !owners.waiting.is_empty() && dependents != DependentState::None;
        if waits && dependents == DependentState::MayWaitForObject && references.iter().any(|o| o.blocks) {
            // The event of this write leads to the deletion.
            self.edit(resource, key, Some(uid), unblock_owners).await?;
            return Ok(CollectionOutcome::Done);
        }
        let policy = match deletion {
            _ if waits => "Foreground",
            deletion if deletion.orphan => "Orphan",
            deletion if deletion.foreground => "Foreground",
            _ => "Background",
        };
        self.delete(&target, &latest, uid, policy).await?;
        Ok(CollectionOutcome::Done)
    }

    /// Looks up all owners; `None` if one has an unknown kind.
    async fn classify(
        &self,
        table: &ResourceTable,
        dependent: &Target<'_>,
        references: &[OwnerReference],
    ) -> Result<Option<Owners>> {
        let mut owners = Owners::default();
        for reference in references {
            let Some(resource) = table.of_kind(&reference.api_version, &reference.kind) else {
                return Ok(None);
            };
            let row = resource.row();
            // A cluster-scoped object cannot have an owner in a namespace. As in upstream, it is kept.
            if dependent.namespace.is_empty() && row.namespaced {
                return Ok(None);
            }
            let namespace = if row.namespaced { dependent.namespace } else { "" };
            let target = Target { resource: row, namespace, name: &reference.name };
            match self.owner(&target, &reference.uid).await? {
                None => owners.absent.push(reference.uid.clone()),
                Some(OwnerState::Waiting) => owners.waiting.push(reference.uid.clone()),
                Some(OwnerState::Solid) => owners.has_solid = true,
            }
        }
        Ok(Some(owners))
    }

    /// Returns the state of an owner; `None` if the latest state has no object with this UID.
    async fn owner(&self, target: &Target<'_>, uid: &str) -> Result<Option<OwnerState>> {
        for resource_version in ["0", ""] {
            let Some(element) = self.find(target, resource_version).await? else { continue };
            let bytes = element.value();
            // An unreadable owner may be the right one.
            let Ok(bytes) = bytes else { return Ok(Some(OwnerState::Solid)) };
            let Some(stored) = StoredMeta::read(target.resource.stored_form(), bytes) else {
                return Ok(Some(OwnerState::Solid));
            };
            if stored.uid() == uid {
                let waits = stored.deletion().deletes_dependents();
                return Ok(Some(if waits { OwnerState::Waiting } else { OwnerState::Solid }));
            }
        }
        Ok(None)
    }

    /// Reads an object, if it exists.
    async fn find(&self, target: &Target<'_>, resource_version: &str) -> Result<Option<Arc<Element>>> {
        match self.registry.get(target, resource_version).await {
            Ok(element) => Ok(Some(element)),
            Err(status) if status.reason == Reason::NotFound => Ok(None),
            // A reference may contain any text as its name, and no object has an invalid one.
            Err(status) if status.reason == Reason::BadRequest => Ok(None),
            Err(status) => Err(status),
        }
    }

    /// Deletes exactly this state of an object. A missing object is no error.
    async fn delete(&self, target: &Target<'_>, latest: &Element, uid: &str, policy: &str) -> Result<()> {
        let preconditions = Preconditions {
            uid: Some(uid.to_owned()),
            resource_version: Some(latest.revision().to_string()),
        };
        let options = DeleteOptions {
            preconditions: Some(preconditions),
            propagation_policy: Some(policy.to_owned()),
            ..DeleteOptions::default()
        };
        let request = DeleteRequest { options: &options, dry_run: false, admit: &AdmitAll };
        ignore_missing(self.registry.delete(target, &request).await.map(drop))
    }

    /// Edits an object with this UID. `edit` returns false if nothing must change. A missing or replaced
    /// object is no error.
    async fn edit(
        &self,
        resource: &ManagedResource,
        key: &ObjectKey,
        uid: Option<&str>,
        edit: impl Fn(&mut Object) -> bool + Send + Sync,
    ) -> Result<()> {
        let target = resource.target(key);
        let missing = || Box::new(Status::not_found(&target.group_resource(), target.name));
        let now = self.registry.now();
        let mut change = |old: Option<&Object>| {
            let old = old.filter(|old| uid.is_none_or(|uid| meta::text(old, "uid") == uid));
            let old = old.ok_or_else(missing)?;
            let mut new = old.clone();
            if !edit(&mut new) {
                return Ok(new);
            }
            let fields = resource.endpoint.fields.as_ref();
            // The managers of a kind with a conversion webhook would need calls of the webhook. They stay.
            let converts = resource.row().custom.is_some_and(|custom| custom.kind.converts_by_webhook);
            if let Some(fields) = fields.filter(|_| !converts)
                && let Err(error) = fields.update(Some(old), &mut new, FIELD_MANAGER, now)
            {
                tracing::debug!(%key, error = error.to_string(), "cannot update managed fields");
            }
            Ok(new)
        };
        let request = UpdateRequest {
            endpoint: resource.row(),
            uid: String::new(),
            user: &self.user,
            dry_run: false,
            force_allow_create: false,
            pending_conversions: None,
            keeps_managers: false,
            admit: &AdmitAll,
        };
        ignore_missing(self.registry.update(&target, &request, &mut change).await.map(drop))
    }
}

/// State of an existing owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OwnerState {
    Solid,
    /// In foreground deletion.
    Waiting,
}

fn ignore_missing(result: Result<()>) -> Result<()> {
    match result {
        Err(status) if status.reason == Reason::NotFound => Ok(()),
        result => result,
    }
}
