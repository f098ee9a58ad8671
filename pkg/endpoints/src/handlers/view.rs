//! What an endpoint edits: the object itself, or the Scale that stands for it.

use std::borrow::Cow;

use api::managed_fields::{replicas_paths, to_parent, to_scale};
use api::resources::{EndpointOperation, Resource};
use apimachinery::field::ErrorList;
use apimachinery::gvk::GroupKind;
use apimachinery::status::Status;
use kinds::strategy;
use registry::meta;
use schema::object::Object;

use crate::response::encode;
use crate::scope::Call;

/// Whether the endpoint shows Scales.
pub(super) fn scales(call: &Call<'_>) -> bool {
    call.endpoint().act == EndpointOperation::Scale
}

/// The view of an object that has the storage version's shape. So has the view, unless it is a Scale.
///
/// # Errors
/// 500 when the managed fields of an object with a Scale cannot be read.
pub(super) fn of<'o>(call: &Call<'_>, object: &'o Object) -> Result<Cow<'o, Object>, Box<Status>> {
    if !scales(call) {
        return Ok(Cow::Borrowed(object));
    }
    let mut view = strategy::scale_of(call.resource(), object).map_err(Status::unmapped)?;
    if strategy::missing_replicas(call.resource(), object).is_some() {
        schema::object::set(&mut view, &["spec", "replicas"], strategy::NO_REPLICAS);
    }
    to_scale(object, &replicas_paths(call.resource()), &mut view).map_err(Status::unmapped)?;
    Ok(Cow::Owned(view))
}

/// A view as the endpoint's version shows it.
pub(super) fn served<'o>(call: &Call<'_>, view: &'o Object) -> Cow<'o, Object> {
    match &call.resource().storage {
        Some(storage) if !scales(call) && storage.group_version != call.endpoint().kind_group_version => {
            Cow::Owned(encode::served(view.clone(), storage, call.endpoint()))
        }
        _ => Cow::Borrowed(view),
    }
}

/// The object that an edited view makes of `old`.
///
/// # Errors
/// 422 for a Scale that asks for the impossible, 404 for one of an object that does not exist.
pub(super) fn merge(call: &Call<'_>, old: Option<&Object>, edited: Object) -> Result<Object, Box<Status>> {
    if !scales(call) {
        return Ok(edited);
    }
    let old = old.ok_or_else(|| Status::not_found(&call.target().group_resource(), call.name()))?;
    let mut object = old.clone();
    put_scale(call.resource(), &mut object, &edited)?;
    to_parent(&edited, &replicas_paths(call.resource()), call.resource().group_version, &mut object)
        .map_err(Status::unmapped)?;
    Ok(object)
}

/// Puts what a Scale asks for into the object that it stands for.
///
/// # Errors
/// 422 for a Scale that asks for the impossible.
pub(super) fn put_scale(row: &Resource<'_>, object: &mut Object, scale: &Object) -> Result<(), Box<Status>> {
    let wanted = schema::object::get_i64(scale, &["spec", "replicas"]);
    if let Some(path) =
        strategy::missing_replicas(row, object).filter(|_| wanted == Some(strategy::NO_REPLICAS))
    {
        return Err(Status::bad_request(format!("the spec replicas field {path:?} cannot be empty")).into());
    }
    // What is wrong with a custom object, its schema tells.
    let errors = if row.custom.is_some() { ErrorList::new() } else { strategy::validate_scale(scale) };
    if !errors.is_empty() {
        let kind = GroupKind::new("autoscaling", "Scale");
        return Err(Status::invalid(&kind, meta::text(scale, "name"), &errors).into());
    }
    strategy::apply_scale(row, object, scale);
    Ok(())
}
