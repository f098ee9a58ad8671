//! PUT and PATCH: updates an object, or creates it if the kind allows that.

use std::pin::pin;

use api::resources::{Resource, StorageSpec};
use api::semantic;
use apimachinery::field::{self, ErrorList};
use apimachinery::gvk::GroupKind;
use apimachinery::status::{OPTIMISTIC_LOCK, Status};
use apimachinery::user_info::UserInfo;
use component_base::trace::Span;
use fieldmanager::{PendingConversions, ignore_timestamps};
use kinds::IssuedDuration;
use kinds::warnings;
use schema::object::Object;
use storage::{KeyValue, Update, UpdateResult};

use super::allocate::{Claim, WriteResult, finish_claim};
use super::create::wipe_system_fields;
use super::dryrun::DryRun;
use super::namespace::ensure_namespace;
use super::{Admit, CreateRequest, Registry, Result, Target, error, trace};
use crate::codec::{self, CodecError};
use crate::{StoredObject, meta};
use kinds::strategy;

/// Computes the new object from the current one, which is `None` if it does not exist. May run several times,
/// each time with a newer state.
pub type Change<'c> = dyn FnMut(Option<&Object>) -> Result<Object> + Send + 'c;

/// Parameters of an update, besides the change.
pub struct UpdateRequest<'a> {
    /// Row of the endpoint: the resource itself or a subresource.
    pub endpoint: &'a Resource<'a>,
    /// Uid that the client expects; empty for none.
    pub uid: String,
    /// User of the request, for the strategy.
    pub user: &'a UserInfo,
    /// True to check everything and write nothing.
    pub dry_run: bool,
    /// True to create a missing object even if its kind does not normally allow that.
    pub force_allow_create: bool,
    /// Pending conversions of the change to other versions. The change is repeated until none is pending.
    pub pending_conversions: Option<&'a PendingConversions>,
    /// True to never drop the managed fields of an object that is too large, because it is an apply.
    pub keeps_managers: bool,
    /// Admission of the request, also for the create of a missing object.
    pub admit: &'a dyn Admit,
}

/// Result of an update.
pub struct UpdateOutcome {
    /// Current object. If the update removed the last finalizer of a terminating object, its last state.
    pub stored: StoredObject,
    /// True if the object did not exist before.
    pub created: bool,
}

/// Attempts of one update, and the data of the last one for the response.
struct Attempts<'a, 'c> {
    registry: &'a Registry,
    target: &'a Target<'a>,
    storage: &'a StorageSpec<'a>,
    key: &'a str,
    request: &'a UpdateRequest<'a>,
    change: &'a mut Change<'c>,
    /// Bytes of the result, and their stored form.
    value: bytes::Bytes,
    stored_bytes: bytes::Bytes,
    created: bool,
    existing_revision: i64,
    claim: Option<Box<dyn Claim>>,
    /// The certificate that the update issues, if it is one for a request with a duration.
    issued: Option<IssuedDuration>,
    /// True if the object was too large with its managed fields.
    drops_managers: bool,
    span: Span,
}

impl Registry {
    /// Applies `change` to the current object (`None` if it does not exist). Retries until the result
    /// replaces exactly the state that it was computed from. If the result is too large for the store, the
    /// write is retried without managed fields.
    ///
    /// # Errors
    /// 404, 409 (stale version, wrong uid), 422, the error of `change`, rejections by admission.
    pub async fn update(
        &self,
        target: &Target<'_>,
        request: &UpdateRequest<'_>,
        change: &mut Change<'_>,
    ) -> Result<UpdateOutcome> {
        let storage = self.storage_of(target, "update")?;
        let key = self.key(storage, target)?;
        let dry = DryRun::of(&self.delegator);
        let (store, queues) = if request.dry_run { dry.writer() } else { self.writer() };
        let suggestion = self.suggestion(storage, &key)?;
        let mut attempts = Attempts {
            registry: self,
            target,
            storage,
            key: &key,
            request,
            change,
            value: bytes::Bytes::new(),
            stored_bytes: bytes::Bytes::new(),
            created: false,
            existing_revision: 0,
            claim: None,
            issued: None,
            drops_managers: false,
            span: trace::write("GuaranteedUpdate etcd3", target, self.delegator.relative_key(&key)),
        };
        let updated = loop {
            let span = attempts.span.clone();
            let suggestion = suggestion.clone();
            let outcome =
                span.instrument(pin!(queues.guaranteed_update(store, &key, suggestion, &mut attempts))).await;
            let outcome =
                outcome.map_err(|error| self.update_failed(target, storage, request.dry_run, error));
            finish_claim(attempts.claim.take(), WriteResult::of(&outcome)).await;
            match outcome {
                Err(status)
                    if error::is_too_large(&status)
                        && !request.keeps_managers
                        && !attempts.drops_managers =>
                {
                    attempts.drops_managers = true;
                }
                outcome => break outcome?,
            }
        };
        let Attempts { value, stored_bytes, created, existing_revision, issued, span, .. } = attempts;
        if let Some(issued) = issued.filter(|_| !request.dry_run) {
            self.csr_durations.record(&issued);
        }
        trace::record_update(&span, &updated, value.len());
        let revision = match updated {
            UpdateResult::Written(revision) | UpdateResult::Unchanged(revision) => revision,
            UpdateResult::Deleted(_) => existing_revision,
        };
        let value = match updated {
            UpdateResult::Deleted(_) => codec::reader_form(storage, value, self.gates()),
            _ => self.reader_form(target, storage, value, &stored_bytes).await?,
        };
        let stored = StoredObject { key, value, revision };
        if matches!(updated, UpdateResult::Deleted(_)) {
            self.release(storage, &stored, request.dry_run).await;
        }
        Ok(UpdateOutcome { stored, created })
    }
}

/// Storage prefix of certificate signing requests.
const SIGNING_REQUESTS: &str = "certificatesigningrequests";

/// The duration of the certificate that an update of a status issues.
fn issued_duration(
    storage: &StorageSpec<'_>,
    endpoint: &Resource<'_>,
    new: &Object,
    old: &Object,
) -> Option<IssuedDuration> {
    let of_status = storage.prefix == SIGNING_REQUESTS && endpoint.subresource == "status";
    of_status.then(|| IssuedDuration::of_update(new, old))?
}

impl storage::Change<AttemptError> for &mut Attempts<'_, '_> {
    async fn change(&mut self, current: Option<&KeyValue>) -> std::result::Result<Update, AttemptError> {
        finish_claim(self.claim.take(), WriteResult::NotWritten).await;
        self.span.event("initial value restored");
        let Attempts { target, storage, request, .. } = **self;
        let existing = match current {
            None => None,
            Some(kv) => Some(self.registry.decode_current(target, storage, kv).await?),
        };
        let old = existing.as_ref();
        if old.is_none() && !target.resource.allow_create_on_update && !request.force_allow_create {
            return Err(Status::not_found(&target.group_resource(), target.name).into());
        }
        let key = self.registry.key_in_errors(storage, self.key, request.dry_run)?;
        check_uid(target, &key, request, old)?;
        let mut object = loop {
            let result = (self.change)(old);
            match request.pending_conversions.filter(|pending| pending.is_open()) {
                Some(pending) => self.registry.resolve_pending(target, storage, pending).await?,
                None => break result?,
            }
        };
        self.created = old.is_none();
        self.existing_revision = current.map_or(0, |kv| kv.mod_revision);
        request.admit.mutate(&mut object, old).await?;
        if self.drops_managers {
            meta::set(&mut object, "managedFields", None);
        }
        match old {
            Some(old) => check_version(target, &mut object, old)?,
            None => {
                // The value is not compared, but it must be valid.
                body_resource_version(&object)?;
                wipe_system_fields(&mut object);
                self.registry.fill_system_metadata(&mut object);
            }
        }
        // Changes through a subresource need no allocation.
        if let Some(allocator) = self.registry.allocator(storage.prefix)
            && request.endpoint.subresource.is_empty()
        {
            self.claim = allocator.allocate(&mut object, old, request.dry_run).await?;
        }
        match old {
            None => {
                // Only an apply reaches this point, and its object is a copy that does not share its labels.
                let UpdateRequest { user, dry_run, admit, .. } = *request;
                let request = CreateRequest { user, dry_run, shares_labels: false, admit };
                self.registry.prepare_create(target, &mut object, &request).await?;
            }
            Some(old) => self.prepare(&mut object, old).await?,
        }
        request.admit.validate(&object, old).await?;
        self.issued = old.and_then(|old| issued_duration(storage, request.endpoint, &object, old));
        let deletes = old.is_some_and(|old| strategy::deletes_on_update(target.resource, &object, old));
        codec::strip_revision(&mut object);
        self.span.event("About to Encode");
        codec::prune_for_storage(target.resource, storage, &mut object)
            .map_err(|error| Status::unmapped(error.to_string()))?;
        self.value = codec::encode(storage, &object)?;
        self.span.event_with("Encode succeeded", "len", self.value.len());
        self.span.event("TransformToStorage succeeded");
        self.span.event("Transaction prepared");
        Ok(if deletes {
            Update::Delete
        } else {
            self.stored_bytes = self.registry.to_store(target, storage, &object, &self.value).await?;
            Update::Write(self.stored_bytes.clone(), self.registry.ttl(target.resource))
        })
    }
}

impl Attempts<'_, '_> {
    /// Calls the strategy for an object that replaces `old`, and validates it.
    async fn prepare(&mut self, object: &mut Object, old: &Object) -> Result<()> {
        let target = self.target;
        let UpdateRequest { endpoint, user, admit, .. } = self.request;
        let Registry { clock, entropy, settings, .. } = self.registry;
        let entropy = &**entropy;
        let settings = *settings;
        let context = strategy::Context { user, now: clock.now(), entropy, settings, shares_labels: false };
        ensure_namespace(target.resource, target.namespace, object)?;
        strategy::prepare_for_update(endpoint, target.resource, object, old, &context);
        let mut errors = match admit.validation_errors(object, Some(old)) {
            Some(faults) => faults.await,
            None => ErrorList::new(),
        };
        let mut ratcheted = Vec::new();
        let row = target.resource;
        errors.append(strategy::validate_update(endpoint, row, object, old, &context, &mut ratcheted));
        ratcheted.into_iter().for_each(|text| admit.warn(text));
        if !errors.is_empty() {
            return Err(Status::invalid(&target.kind_of(object), meta::text(object, "name"), &errors).into());
        }
        let warnings =
            warnings::on_update(target.resource, endpoint.subresource, object, old, &settings.gates);
        warnings.into_iter().for_each(|text| admit.warn(text));
        strategy::canonicalize(target.resource, object);
        ignore_timestamps(old, object, |a, b| semantic::equal(self.storage.message, a, b));
        Ok(())
    }
}

/// A different uid in the body is a failed precondition.
fn check_uid(
    target: &Target<'_>,
    key: &str,
    request: &UpdateRequest<'_>,
    old: Option<&Object>,
) -> Result<()> {
    // A missing object has an empty uid, so a write with a uid never recreates it.
    let actual = old.map_or("", |old| meta::text(old, "uid"));
    if request.uid.is_empty() || actual == request.uid {
        return Ok(());
    }
    let cause = format!(
        "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: \
         Precondition failed: UID in precondition: {}, UID in object meta: {actual}",
        request.uid
    );
    Err(Status::conflict(&target.group_resource(), target.name, &cause).into())
}

/// Resource version in the body; 0 for none.
fn body_resource_version(object: &Object) -> Result<i64> {
    let revision = super::revision(meta::text(object, "resourceVersion"));
    Ok(revision.map_err(|e| Status::unmapped(e.detail().to_owned()))?)
}

/// The resource version in the body must be the object's, or absent if the kind allows that.
fn check_version(target: &Target<'_>, object: &mut Object, old: &Object) -> Result<()> {
    let sent = body_resource_version(object)?;
    if sent == 0 {
        if target.resource.allow_unconditional_update {
            meta::set_text(object, "resourceVersion", meta::text(old, "resourceVersion"));
            return Ok(());
        }
        let kind = GroupKind::new(target.resource.group, target.resource.plural);
        let path = field::Path::root("metadata");
        let path = path.child("resourceVersion");
        let error = field::Error::invalid(&path, 0, "must be specified for an update");
        return Err(Status::invalid(&kind, target.name, &[error].into()).into());
    }
    if meta::text(old, "resourceVersion") != sent.to_string() {
        return Err(Status::conflict(&target.group_resource(), target.name, OPTIMISTIC_LOCK).into());
    }
    Ok(())
}

/// Error of an attempt. Storage errors get their resource later.
#[derive(Debug, thiserror::Error)]
pub(super) enum AttemptError {
    #[error(transparent)]
    Status(#[from] Box<Status>),
    #[error(transparent)]
    Storage(#[from] storage::Error),
}

impl AttemptError {
    pub(super) fn status(self, target: &Target<'_>, operation: &str) -> Box<Status> {
        match self {
            AttemptError::Status(status) => status,
            AttemptError::Storage(e) => error::storage(&target.group_resource(), operation, e),
        }
    }
}

impl From<Status> for AttemptError {
    fn from(status: Status) -> Self {
        AttemptError::Status(status.into())
    }
}

impl From<CodecError> for AttemptError {
    fn from(error: CodecError) -> Self {
        AttemptError::Status(error.into())
    }
}
