//! POST.

use api::resources::StorageSpec;
use apimachinery::field::ErrorList;
use apimachinery::names;
use apimachinery::status::{Reason, Status};
use apimachinery::time::UnixTime;
use apimachinery::user_info::UserInfo;
use bytes::Bytes;
use jsontree::Value;
use schema::object::Object;
use storage::{PutResult, Revision};

use super::allocate::{WriteResult, finish_claim};
use super::dryrun::DryRun;
use super::namespace::ensure_namespace;
use super::{Admit, Registry, Result, Target, error, trace};
use crate::{StoredObject, StoredRef, codec, meta};
use kinds::strategy;

/// Metadata of the system, which clients cannot set when they create an object.
const SYSTEM_FIELDS: [&str; 5] =
    ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"];

/// Maximum number of generated names to try.
const GENERATE_ATTEMPTS: usize = 8;

/// Clears the system fields of a new object (upstream's `WipeObjectMetaSystemFields`).
pub fn wipe_system_fields(object: &mut Object) {
    let metadata = meta::metadata_mut(object);
    for name in SYSTEM_FIELDS {
        metadata.remove(name);
    }
}

/// Parameters of a create, besides the object.
#[derive(Clone, Copy)]
pub struct CreateRequest<'a> {
    /// User of the request, for the strategy.
    pub user: &'a UserInfo,
    /// True to check everything and write nothing.
    pub dry_run: bool,
    /// The object's labels are those of its pod template ([`kinds::defaults::shares_labels`]).
    pub shares_labels: bool,
    /// Admission of the request.
    pub admit: &'a dyn Admit,
}

impl Registry {
    /// Creates an object, given in its storage version with the namespace filled in. If it is too large for
    /// the store, the write is retried without managed fields.
    ///
    /// # Errors
    /// 409 if it exists (or eight generated names did), 422 if it is invalid, rejections by admission, and
    /// storage errors.
    pub async fn create(
        &self,
        target: &Target<'_>,
        mut object: Object,
        mut request: CreateRequest<'_>,
    ) -> Result<StoredObject> {
        let edits = request.admit.mutate(&mut object, None).await?;
        request.shares_labels = edits.shares_labels.unwrap_or(request.shares_labels);
        let generates =
            meta::text(&object, "name").is_empty() && !meta::text(&object, "generateName").is_empty();
        // Upstream copies the object for each name that it tries, and a copy shares nothing.
        request.shares_labels &= !generates;
        // A copy is only needed for retries.
        let retries = if generates { GENERATE_ATTEMPTS - 1 } else { 0 };
        for _ in 0..retries {
            match self.create_once(target, object.clone(), request).await {
                Err(status) if status.reason == Reason::AlreadyExists => {}
                created => return created,
            }
        }
        self.create_once(target, object, request).await
    }

    /// One attempt, with its allocations.
    async fn create_once(
        &self,
        target: &Target<'_>,
        mut object: Object,
        request: CreateRequest<'_>,
    ) -> Result<StoredObject> {
        let storage = self.storage_of(target, "create")?;
        self.fill_system_metadata(&mut object);
        let claim = match self.allocator(storage.prefix) {
            Some(allocator) => allocator.allocate(&mut object, None, request.dry_run).await?,
            None => None,
        };
        let created = self.write_new(target, storage, object, request).await;
        finish_claim(claim, WriteResult::of(&created)).await;
        created
    }

    async fn write_new(
        &self,
        target: &Target<'_>,
        storage: &StorageSpec<'_>,
        mut object: Object,
        request: CreateRequest<'_>,
    ) -> Result<StoredObject> {
        let CreateRequest { dry_run, admit, .. } = request;
        self.prepare_create(target, &mut object, &request).await?;
        admit.validate(&object, None).await?;
        let version = meta::text(&object, "resourceVersion");
        let sent_revision =
            apimachinery::resource_version::parse(version).map_or(0, |version| version.revision());
        if !dry_run && sent_revision != 0 {
            return Err(Status::unmapped("resourceVersion should not be set on objects to be created").into());
        }
        let name = meta::text(&object, "name").to_owned();
        let named = Target { name: &name, ..*target };
        codec::strip_revision(&mut object);
        codec::prune_for_storage(target.resource, storage, &mut object)
            .map_err(|error| Status::unmapped(error.to_string()))?;
        let key = self.key(storage, &named)?;
        let (value, stored, written) = match self.put_new(target, storage, &key, &object, dry_run).await {
            Err(status)
                if error::is_too_large(&status)
                    && meta::metadata_mut(&mut object).remove("managedFields").is_some() =>
            {
                self.put_new(target, storage, &key, &object, dry_run).await?
            }
            failed => failed?,
        };
        match written {
            PutResult::Done(revision) => {
                // Only storage rejects an object with a version, and a dry run does not reach it. So the sent
                // version is returned.
                let revision = if dry_run {
                    Revision::try_from(sent_revision).unwrap_or(Revision::MAX)
                } else {
                    revision
                };
                let value = self.reader_form(target, storage, value, &stored).await?;
                Ok(StoredObject { key, value, revision })
            }
            PutResult::Stale { current, .. } => {
                let mut status = match meta::text(&object, "generateName") {
                    "" => Status::already_exists(&target.group_resource(), &name),
                    _ => Status::generate_name_conflict(&target.group_resource(), &name),
                };
                let existing = current.and_then(|kv| self.decode(storage, &key, StoredRef::of(&kv)).ok());
                if existing.is_some_and(|existing| meta::is_deleting(&existing)) {
                    status.message = format!("object is being deleted: {}", status.message);
                }
                Err(status.into())
            }
        }
    }

    /// Writes a complete object. Returns it with its bytes and their stored form.
    async fn put_new(
        &self,
        target: &Target<'_>,
        storage: &StorageSpec<'_>,
        key: &str,
        object: &Object,
        dry_run: bool,
    ) -> Result<(Bytes, Bytes, PutResult)> {
        let span = trace::write("Create etcd3", target, self.delegator.relative_key(key));
        span.event("About to Encode");
        let value = codec::encode(storage, object)?;
        span.event_with("Encode succeeded", "len", value.len());
        span.event("TransformToStorage succeeded");
        let dry = DryRun::of(&self.delegator);
        let (store, _) = if dry_run { dry.writer() } else { self.writer() };
        let stored = self.to_store(target, storage, object, &value).await?;
        let put = store.put(key, stored.clone(), 0, self.ttl(target.resource));
        let result = span.clone().instrument(put).await;
        span.event(if result.is_ok() { "Txn call succeeded" } else { "Txn call failed" });
        let result = result.map_err(|e| error::storage(&target.group_resource(), "create", e))?;
        if matches!(result, PutResult::Done(_)) {
            span.event_with("Decode succeeded", "len", value.len());
        }
        Ok((value, stored, result))
    }

    /// Fills in the system metadata, including a generated name.
    pub(super) fn fill_system_metadata(&self, object: &mut Object) {
        let now = UnixTime { nanos: 0, ..self.clock.now() };
        meta::set_text(object, "creationTimestamp", &now.rfc3339().to_string());
        meta::set_text(object, "uid", &self.entropy.uid());
        if meta::text(object, "name").is_empty() {
            let base = meta::text(object, "generateName").to_owned();
            if !base.is_empty() {
                let name = names::generate(&base, &mut || self.entropy.number());
                meta::set(object, "name", Some(Value::from(name)));
            }
        }
    }

    /// Calls the kind's strategy for an object with system metadata, validates it, and forwards the kind's
    /// warnings.
    pub(super) async fn prepare_create(
        &self,
        target: &Target<'_>,
        object: &mut Object,
        request: &CreateRequest<'_>,
    ) -> Result<()> {
        let CreateRequest { user, shares_labels, admit, .. } = *request;
        let now = UnixTime { nanos: 0, ..self.clock.now() };
        let settings = self.settings;
        let context = strategy::Context { user, now, entropy: &*self.entropy, settings, shares_labels };
        ensure_namespace(target.resource, target.namespace, object)?;
        for text in kinds::warnings::before_create(target.resource, object, self.gates()) {
            admit.warn(text);
        }
        strategy::prepare_for_create(target.resource, object, &context);
        let mut errors = match admit.validation_errors(object, None) {
            Some(faults) => faults.await,
            None => ErrorList::new(),
        };
        errors.append(strategy::validate(target.resource, object, &context));
        if !errors.is_empty() {
            return Err(Status::invalid(&target.kind_of(object), meta::text(object, "name"), &errors).into());
        }
        kinds::warnings::on_create(target.resource, object, self.gates())
            .into_iter()
            .for_each(|text| admit.warn(text));
        strategy::canonicalize(target.resource, object);
        Ok(())
    }
}
