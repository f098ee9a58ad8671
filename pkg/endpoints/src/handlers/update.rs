//! PUT.

use admission::Options;
use api::options::UpdateOptions;
use api::resources::EndpointOperation;
use apimachinery::gvk::GroupKind;
use apimachinery::status::Status;
use kinds::strategy;
use registry::generic::{Change, UpdateOutcome, UpdateRequest};
use registry::{codec, meta};
use schema::object::Object;

use super::admission::Admission;
use super::write::{Dedup, Writer, dedup_owners};
use super::{audit_object, ensure_namespace, to_storage_version, view};
use crate::body::{self, ExpectedType, FieldValidation};
use crate::negotiation::{self, Format};
use crate::routing::dispatch::{Body, Response};
use crate::scope::RequestScope;
use crate::warning::Warnings;

pub(crate) async fn update(call: &mut RequestScope<'_>, mut body: Body) -> Result<Response, Box<Status>> {
    let bytes = call.read_body(&mut body).await?;
    let options = UpdateOptions::from_query(call.query);
    let errors = kinds::validation::validate_update_options(&options);
    if !errors.is_empty() {
        return Err(Status::invalid(&GroupKind::new("meta.k8s.io", "UpdateOptions"), "", &errors).into());
    }
    let format = negotiation::negotiate_input(call.headers, call.formats)?;
    let validation = FieldValidation::parse(&options.field_validation);
    call.trace.span.event("About to convert to expected version");
    let object = read(call, &bytes, format, validation, &call.warnings)?;
    call.trace.span.event("Conversion done");
    // The first decode has already recorded the warnings.
    let again = || read(call, &bytes, format, validation, &Warnings::default());
    let outcome = call.time_storage(replace(call, object, &again, &options)).await?;
    respond(call, outcome)
}

/// Decodes the object of a body in the storage version. Adds warnings to `warnings`.
fn read(
    call: &RequestScope<'_>,
    bytes: &[u8],
    format: Format,
    validation: FieldValidation,
    warnings: &Warnings,
) -> Result<Object, Box<Status>> {
    let decoded = body::decode(bytes, format, ExpectedType::of(call.endpoint()), validation, warnings)?;
    let mut object = to_storage_version(call, decoded.object, &decoded.api_version)?;
    audit_object::object(call, &object, &decoded.api_version);
    ensure_namespace(call.resource(), &call.info.namespace, &mut object)?;
    check_name(call, &object)?;
    warnings.extend(dedup_owners(&mut object, Dedup::AsSent));
    Ok(object)
}

/// The name in the body must be the one in the path.
fn check_name(call: &RequestScope<'_>, object: &Object) -> Result<(), Box<Status>> {
    let object_name = meta::text(object, "name");
    let name = call.name();
    if object_name.is_empty() {
        let message =
            format!("the name of the object ({name} based on URL) was undeterminable: name must be provided");
        return Err(Status::bad_request(message).into());
    }
    if object_name != name {
        let message =
            format!("the name of the object ({object_name}) does not match the name on the URL ({name})");
        return Err(Status::bad_request(message).into());
    }
    Ok(())
}

/// Replaces the object. The first attempt consumes the decoded body; a retry calls `again` to decode it.
async fn replace(
    call: &RequestScope<'_>,
    object: Object,
    again: &(dyn Fn() -> Result<Object, Box<Status>> + Sync),
    options: &UpdateOptions,
) -> Result<UpdateOutcome, Box<Status>> {
    let writer = Writer::of(call, &options.field_manager);
    let write = WriteRequest { uid: meta::text(&object, "uid").to_owned(), ..WriteRequest::new(options) };
    let mut object = Some(object);
    self::write(call, &writer, write, &mut |old| {
        let live = old.map(|old| view::of(call, old)).transpose()?;
        let mut new = match object.take() {
            Some(object) => object,
            None => again()?,
        };
        writer.track(live.as_deref(), &mut new);
        view::merge(call, old, new)
    })
    .await
}

/// Options of an update.
pub(super) struct WriteRequest<'o> {
    /// Precondition on the uid; empty for none.
    pub(super) uid: String,
    /// Options of the client. With `dryRun` all checks run and nothing is written.
    pub(super) options: Options<'o>,
    /// True to create a missing object even if its kind does not allow it on update.
    pub(super) creates: bool,
    /// True for an apply, which needs managed fields.
    pub(super) applies: bool,
}

impl<'o> WriteRequest<'o> {
    /// Creates an update without precondition that creates objects only if their kind allows it.
    pub(super) fn new(options: impl Into<Options<'o>>) -> Self {
        WriteRequest { uid: String::new(), options: options.into(), creates: false, applies: false }
    }
}

/// Runs an update through the registry, as `writer`.
pub(super) async fn write(
    call: &RequestScope<'_>,
    writer: &Writer<'_>,
    write: WriteRequest<'_>,
    change: &mut Change<'_>,
) -> Result<UpdateOutcome, Box<Status>> {
    let WriteRequest { uid, options, creates, applies } = write;
    let request = UpdateRequest {
        endpoint: call.endpoint(),
        uid,
        user: call.user,
        dry_run: options.dry_run(),
        force_allow_create: creates,
        keeps_managers: applies,
        pending_conversions: writer.pending_conversions(),
        admit: &Admission::of(call, options),
    };
    call.api.registry.update(&call.target(), &request, change).await
}

/// Returns the updated object in the endpoint's version.
pub(super) fn respond(call: &mut RequestScope<'_>, outcome: UpdateOutcome) -> Result<Response, Box<Status>> {
    let storage = call.storage()?;
    let code = if outcome.created { 201 } else { 200 };
    if call.endpoint().operation == EndpointOperation::Scale {
        let object = codec::decode(storage, outcome.stored.as_ref())
            .map_err(crate::response::encode::encoding_error)?;
        let scale = strategy::scale_of(call.resource(), &object)
            .map_err(|error| Status::bad_request(error.to_string()))?;
        return call.reply()?.tree(code, &scale);
    }
    call.reply()?.stored(code, storage, outcome.stored.as_ref())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
mod tests;
