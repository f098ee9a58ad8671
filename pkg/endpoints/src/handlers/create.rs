//! POST.

use api::options::CreateOptions;
use api::resources::{Builtin, EndpointOperation, Resource};
use apimachinery::gvk::{GroupKind, GroupResource};
use apimachinery::status::Status;
use registry::generic::{CreateRequest, wipe_system_fields};
use registry::{Target, meta};
use schema::object::Object;

use super::admission::Admission;
use super::write::{Dedup, Writer, dedup_owners};
use super::{audit_object, binding, ensure_namespace, eviction, review, to_storage_version, token};
use crate::body::{self, ExpectedType, FieldValidation};
use crate::negotiation;
use crate::routing::dispatch::{Body, Response};
use crate::scope::RequestScope;

pub(crate) async fn create(call: &mut RequestScope<'_>, mut body: Body) -> Result<Response, Box<Status>> {
    let format = negotiation::negotiate_input(call.headers, call.formats)?;
    let bytes = call.read_body(&mut body).await?;
    let options = CreateOptions::from_query(call.query);
    let errors = kinds::validation::validate_create_options(&options);
    if !errors.is_empty() {
        return Err(Status::invalid(&GroupKind::new("meta.k8s.io", "CreateOptions"), "", &errors).into());
    }
    let row = call.resource();
    let validation = FieldValidation::parse(&options.field_validation);
    call.trace.span.event("About to convert to expected version");
    let decoded = body::decode(&bytes, format, expected(call), validation, &call.warnings)?;
    let shares_labels = kinds::defaults::shares_labels(&decoded.api_version, row.kind, &decoded.object);
    let mut object = to_storage_version(call, decoded.object, &decoded.api_version)?;
    call.trace.span.event("Conversion done");
    audit_object::object(call, &object, &decoded.api_version);
    if call.endpoint().operation == EndpointOperation::IssueToken {
        return token::create(call, object, &options).await;
    }
    let uid = meta::text(&object, "uid").to_owned();
    wipe_system_fields(&mut object);
    call.warnings.extend(dedup_owners(&mut object, Dedup::AsSent));
    let own_name = meta::text(&object, "name").to_owned();
    may_create(row, &own_name)?;
    let namespace = namespace_of(call, &own_name);
    ensure_namespace(row, &namespace, &mut object)?;
    let object = with_managed_fields(call, object, &options.field_manager).await?;
    let admit = Admission::of(call, &options).in_namespace(&namespace, &own_name);
    if let Some(response) = run_action(call, &admit, &object, &uid, &options).await {
        return response;
    }
    let storage = call.storage()?;
    if !call.endpoint().subresource.is_empty() {
        return Err(Status::method_not_supported(&call.target().group_resource(), "create").into());
    }
    let dry_run = !options.dry_run.is_empty();
    let request = CreateRequest { user: call.user, dry_run, shares_labels, admit: &admit };
    let target = Target { resource: row, namespace: &call.info.namespace, name: "" };
    let created = call.time_storage(call.api.registry.create(&target, object, request)).await?;
    call.reply()?.stored(201, storage, created.as_ref())
}

/// Builds the new object with its managed fields.
async fn with_managed_fields(
    call: &RequestScope<'_>,
    sent: Object,
    field_manager: &str,
) -> Result<Object, Box<Status>> {
    let writer = Writer::of(call, field_manager);
    let Some(outside) = writer.pending_conversions() else {
        let mut object = sent;
        writer.track(None, &mut object);
        return Ok(object);
    };
    loop {
        let mut object = sent.clone();
        writer.track(None, &mut object);
        if !outside.is_open() {
            return Ok(object);
        }
        call.api.registry.run_conversions(&call.target(), outside).await?;
    }
}

/// Returns the accepted type of the body. Evictions are also accepted in a version that is no longer served.
fn expected<'c>(call: &RequestScope<'c>) -> ExpectedType<'c> {
    let expected = ExpectedType::of(call.endpoint());
    match call.endpoint().operation {
        EndpointOperation::Evict => ExpectedType { other_versions: &["policy/v1beta1"], ..expected },
        _ => expected,
    }
}

/// Handles a POST that creates no object of its resource, for example a binding; `None` for any other. `uid`
/// is the body's uid before it was wiped.
async fn run_action(
    call: &RequestScope<'_>,
    admit: &Admission<'_>,
    object: &Object,
    uid: &str,
    options: &CreateOptions,
) -> Option<Result<Response, Box<Status>>> {
    match call.endpoint().operation {
        EndpointOperation::Bind => {
            // Only a binding at the pod's subresource may specify the pod's uid.
            let uid = if call.endpoint().subresource.is_empty() { "" } else { uid };
            Some(binding::bind(call, admit, object.clone(), uid, options).await)
        }
        EndpointOperation::Evict => Some(eviction::evict(call, admit, object.clone(), options).await),
        EndpointOperation::Review(question) => {
            Some(review::review(call, admit, question, object.clone()).await)
        }
        _ => None,
    }
}

/// Namespace for admission. A namespace object is "in" itself.
fn namespace_of(call: &RequestScope<'_>, name: &str) -> String {
    match call.resource().builtin {
        Some(Builtin::Namespace) => name.to_owned(),
        _ => call.info.namespace.clone(),
    }
}

/// Rejects new custom resources while their CRD is being deleted.
///
/// # Errors
/// 403.
pub(super) fn may_create(row: &Resource<'_>, name: &str) -> Result<(), Box<Status>> {
    if !row.custom.is_some_and(|custom| custom.kind.terminating) {
        return Ok(());
    }
    let resource = GroupResource::new(row.group, row.plural);
    let reason = "create not allowed while custom resource definition is terminating";
    Err(Status::forbidden(&resource, name, reason).into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
mod tests;
