//! PUT.

use api::options::UpdateOptions;
use apimachinery::gvk::GroupKind;
use apimachinery::status::Status;
use registry::generic::{Change, UpdateOutcome, UpdateRequest};
use registry::{codec, meta, strategy};
use schema::object::Object;

use super::{create, ensure_namespace, to_storage_version};
use crate::api::Call;
use crate::body::{self, Expected, FieldValidation};
use crate::dispatch::{Body, Response};
use crate::negotiate;

pub(crate) async fn update(call: &mut Call<'_>, mut body: Body) -> Result<Response, Box<Status>> {
    let bytes = body::read(&mut body).await?;
    let options = UpdateOptions::from_query(call.query.pairs());
    let errors = api::validation::validate_update_options(&options);
    if !errors.is_empty() {
        return Err(Status::invalid(&GroupKind::new("meta.k8s.io", "UpdateOptions"), "", &errors).into());
    }
    let format = negotiate::input(call.headers)?;
    let validation = FieldValidation::parse(&options.field_validation);
    let decoded = body::decode(&bytes, format, Expected::of(call.endpoint()), validation)?;
    call.warnings.extend(decoded.warnings);
    let mut object = decoded.object;
    ensure_namespace(call.route.main, &call.info.namespace, &mut object)?;
    check_name(call, &object)?;
    if call.endpoint().subresource == "scale" {
        return replace_scale(call, &object, !options.dry_run.is_empty()).await;
    }
    let object = to_storage_version(call.route.main, object, &decoded.api_version)?;
    let outcome = replace(call, &object, !options.dry_run.is_empty()).await?;
    answer(call, &outcome)
}

/// The name in the body must be the one in the path.
fn check_name(call: &Call<'_>, object: &Object) -> Result<(), Box<Status>> {
    let (given, name) = (meta::text(object, "name"), call.name());
    if given.is_empty() {
        let message =
            format!("the name of the object ({name} based on URL) was undeterminable: name must be provided");
        return Err(Status::bad_request(message).into());
    }
    if given != name {
        let message = format!("the name of the object ({given}) does not match the name on the URL ({name})");
        return Err(Status::bad_request(message).into());
    }
    Ok(())
}

/// Replaces the object. Only a PUT that is about to create its object has to ask admission, as a POST
/// would; it finds that out inside the update, where admission cannot be waited for, and tries again.
async fn replace(call: &Call<'_>, object: &Object, dry_run: bool) -> Result<UpdateOutcome, Box<Status>> {
    let (mut admitted, mut must_ask) = (false, false);
    loop {
        let uid = meta::text(object, "uid").to_owned();
        let outcome = write(call, uid, dry_run, &mut |old| {
            must_ask = old.is_none() && !admitted;
            match must_ask {
                true => Err(Status::not_found(&call.target().group_resource(), call.name()).into()),
                false => Ok(object.clone()),
            }
        })
        .await;
        if !must_ask {
            return outcome;
        }
        create::admit(call, &call.info.namespace, object, dry_run).await?;
        (admitted, must_ask) = (true, false);
    }
}

/// Runs an update through the registry.
pub(super) async fn write(
    call: &Call<'_>,
    uid: String,
    dry_run: bool,
    change: &mut Change<'_>,
) -> Result<UpdateOutcome, Box<Status>> {
    let request =
        UpdateRequest { endpoint: call.endpoint(), uid, user: call.user, dry_run, force_allow_create: false };
    call.api.registry.update(&call.target(), &request, change).await
}

/// The updated object, as the endpoint shows it.
pub(super) fn answer(call: &Call<'_>, outcome: &UpdateOutcome) -> Result<Response, Box<Status>> {
    let storage = call.storage()?;
    let code = if outcome.created { 201 } else { 200 };
    if call.endpoint().subresource == "scale" {
        let object = codec::decode(storage, outcome.stored.as_ref()).map_err(crate::encode::failed)?;
        return call.reply()?.tree(code, call.endpoint().message, &strategy::scale_of(&object));
    }
    call.reply()?.stored(code, call.endpoint(), storage, outcome.stored.as_ref())
}

async fn replace_scale(call: &Call<'_>, scale: &Object, dry_run: bool) -> Result<Response, Box<Status>> {
    let uid = meta::text(scale, "uid").to_owned();
    let mut change = |old: Option<&Object>| {
        let old = old.ok_or_else(|| Status::not_found(&call.target().group_resource(), call.name()))?;
        let mut object = old.clone();
        strategy::apply_scale(&mut object, scale);
        Ok(object)
    };
    let outcome = write(call, uid, dry_run, &mut change).await?;
    answer(call, &outcome)
}
