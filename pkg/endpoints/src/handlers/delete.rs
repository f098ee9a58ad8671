//! DELETE of an object or a collection.

use admission::Options;
use api::options::{DeleteOptions, IGNORE_STORE_READ_ERROR, ListOptions};

use apimachinery::field::{Error, Path};
use apimachinery::gvk::GroupKind;
use apimachinery::status::Status;
use authorization::Attributes;
use component_base::features::Gate;
use kinds::validation::kinds::undeletable;
use registry::generic::{DeleteOutcome, DeleteRequest};

use super::admission::Admission;
use super::audit_object;
use super::list::respond;
use super::list_options::list_options;
use crate::routing::dispatch::{Body, Response};
use crate::scope::RequestScope;
use crate::{body, negotiation};

/// Verb for deleting objects that cannot be decoded.
const UNSAFE_DELETE: &str = "unsafe-delete-ignore-read-errors";

pub(crate) async fn delete(call: &mut RequestScope<'_>, body: Body) -> Result<Response, Box<Status>> {
    let options = delete_options(call, body).await?;
    let storage = call.storage()?;
    let dry_run = !options.dry_run.is_empty();
    if options.ignore_store_read_error {
        call.context.notes.annotate("apiserver.k8s.io/unsafe-delete-ignore-read-error", "");
        may_delete_corrupt(call).await?;
        let removed = call.api.registry.delete_corrupt(&call.target(), dry_run).await?;
        return Ok(call.reply()?.success(&removed));
    }
    if let Some(why) = undeletable(call.resource(), call.name()) {
        return Err(Status::forbidden(&call.target().group_resource(), call.name(), why).into());
    }
    let admit = Admission::of(call, Options::Delete(&options));
    let request = DeleteRequest { options: &options, dry_run, admit: &admit };
    call.trace.span.event("About to delete object from database");
    let deleted = call.api.registry.delete(&call.target(), &request).await?;
    call.trace.span.event("Object deleted from database");
    match deleted {
        DeleteOutcome::Status(status) => Ok(call.reply()?.success(&status)),
        DeleteOutcome::Object { stored, gone } => {
            let cascades = options.orphan_dependents == Some(false);
            let code = if !gone && cascades { 202 } else { 200 };
            call.reply()?.stored(code, storage, stored.as_ref())
        }
    }
}

/// Checks the permission to delete an object that cannot be decoded.
async fn may_delete_corrupt(call: &RequestScope<'_>) -> Result<(), Box<Status>> {
    let attributes = Attributes { verb: UNSAFE_DELETE, ..Attributes::of_request(call.user, call.info) };
    let refuse = |why: &str| Status::forbidden(&call.target().group_resource(), call.name(), why).into();
    if !attributes.subresource.is_empty() {
        return Err(refuse(
            "ignoreStoreReadErrorWithClusterBreakingPotential delete option is not allowed on a subresource or \
             non-resource request",
        ));
    }
    let Err(refused) = call.api.authorizer.decide(attributes).await.outcome() else { return Ok(()) };
    Err(refuse(&match refused.error {
        Some(error) => format!("error while checking permission for \"{UNSAFE_DELETE}\", {error}"),
        None => format!("not permitted to do \"{UNSAFE_DELETE}\", reason: {}", refused.reason),
    }))
}

pub(crate) async fn delete_collection(
    call: &mut RequestScope<'_>,
    body: Body,
) -> Result<Response, Box<Status>> {
    let list = list_options(call)?;
    let options = delete_options(call, body).await?;
    if options.ignore_store_read_error {
        let detail = "is not allowed with DELETECOLLECTION, try again after removing the option";
        let error = Error::invalid(&Path::root(IGNORE_STORE_READ_ERROR), true, detail);
        return Err(Status::invalid(&options_kind(), "", &[error].into()).into());
    }
    call.storage()?;
    if call.resource().namespaced && call.info.namespace.is_empty() {
        return no_namespace(call, &list).await;
    }
    let admit = Admission::of(call, Options::Delete(&options));
    let request = DeleteRequest { options: &options, dry_run: !options.dry_run.is_empty(), admit: &admit };
    let page = call.api.registry.delete_collection(&call.target(), &list, &request).await?;
    respond(call, call.reply()?, page, None).await
}

/// Responds to the deletion of a collection in an empty namespace, which deletes nothing. Upstream fails to
/// make the key of the first object of the list.
async fn no_namespace(call: &mut RequestScope<'_>, list: &ListOptions) -> Result<Response, Box<Status>> {
    let page = call.api.registry.list(&call.target(), list).await?;
    if page.items.iter().next().is_some() {
        return Err(Status::bad_request("Namespace parameter required.").into());
    }
    respond(call, call.reply()?, page, None).await
}

/// Options come from the body if there is one, otherwise from the query.
async fn delete_options(call: &RequestScope<'_>, mut body: Body) -> Result<DeleteOptions, Box<Status>> {
    let bytes = call.read_body(&mut body).await?;
    let mut options = if bytes.is_empty() {
        DeleteOptions::from_query(call.query).map_err(|e| Status::bad_request(e.to_string()))?
    } else {
        let format = negotiation::negotiate_input(call.headers, call.formats)?;
        let object = body::decode_options(&bytes, format)?;
        call.trace.span.event("Decoded delete options");
        audit_object::options(call, &object);
        DeleteOptions::from_object(&object)
    };
    options.ignore_store_read_error &=
        call.api.registry.gates().enabled(Gate::AllowUnsafeMalformedObjectDeletion);
    let errors = kinds::validation::validate_delete_options(&options);
    if !errors.is_empty() {
        return Err(Status::invalid(&options_kind(), "", &errors).into());
    }
    call.warnings.extend(kinds::warnings::on_delete(call.resource(), &options));
    Ok(options)
}

fn options_kind() -> GroupKind {
    GroupKind::new("meta.k8s.io", "DeleteOptions")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
mod tests;
