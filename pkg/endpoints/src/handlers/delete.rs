//! DELETE of an object or a collection.

use admission::Options;
use api::options::DeleteOptions;
use api::validation::kinds::undeletable;
use apimachinery::gvk::GroupKind;
use apimachinery::status::Status;
use registry::generic::{DeleteOutcome, DeleteRequest};
use schema::builtin;

use super::admission::Admission;
use super::list::list_options;
use crate::api::Call;
use crate::body;
use crate::dispatch::{Body, Response};
use crate::negotiate;

pub(crate) async fn delete(call: &mut Call<'_>, body: Body) -> Result<Response, Box<Status>> {
    let options = delete_options(call, body).await?;
    let storage = call.storage()?;
    if let Some(why) = undeletable(call.main(), call.name()) {
        return Err(Status::forbidden(&call.target().group_resource(), call.name(), why).into());
    }
    let admit = Admission::of(call, Options::Delete(&options));
    let request = DeleteRequest { options: &options, dry_run: !options.dry_run.is_empty(), admit: &admit };
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

pub(crate) async fn delete_collection(call: &mut Call<'_>, body: Body) -> Result<Response, Box<Status>> {
    let list = list_options(call)?;
    let options = delete_options(call, body).await?;
    call.storage()?;
    let admit = Admission::of(call, Options::Delete(&options));
    let request = DeleteRequest { options: &options, dry_run: !options.dry_run.is_empty(), admit: &admit };
    let page = call.api.registry.delete_collection(&call.target(), &list, &request).await?;
    call.reply()?.list(page, None)
}

/// Options come from the body where there is one, and only else from the query.
async fn delete_options(call: &Call<'_>, mut body: Body) -> Result<DeleteOptions, Box<Status>> {
    let bytes = call.read(&mut body).await?;
    let options = match bytes.is_empty() {
        true => DeleteOptions::from_query(call.query).map_err(|e| Status::bad_request(e.to_string()))?,
        false => {
            let format = negotiate::input(call.headers, call.formats)?;
            let object = body::decode_options(
                &bytes,
                format,
                &builtin::IO_K8S_APIMACHINERY_PKG_APIS_META_V1_DELETEOPTIONS,
            )?;
            call.trace.span.event("Decoded delete options");
            DeleteOptions::from_object(&object)
        }
    };
    let errors = api::validation::validate_delete_options(&options);
    if !errors.is_empty() {
        return Err(Status::invalid(&GroupKind::new("meta.k8s.io", "DeleteOptions"), "", &errors).into());
    }
    call.warnings.extend(api::warnings::on_delete(call.main(), &options));
    Ok(options)
}
