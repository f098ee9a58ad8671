//! View of an object at an endpoint: the object itself or its Scale.

use std::borrow::Cow;

use api::managed_fields::replicas_paths;
use api::resources::{EndpointOperation, Resource};
use apimachinery::field::ErrorList;
use apimachinery::gvk::{GroupKind, GroupResource};
use apimachinery::status::Status;
use fieldmanager::{to_parent, to_scale};
use kinds::strategy;
use registry::meta;
use schema::object::Object;

use crate::response::encode;
use crate::scope::RequestScope;

pub(super) fn is_scale(call: &RequestScope<'_>) -> bool {
    call.endpoint().operation == EndpointOperation::Scale
}

/// Returns the view of an object in the storage version. A view other than a Scale is also in the storage
/// version.
///
/// # Errors
/// 500 when the managed fields of an object with a Scale cannot be decoded.
pub(super) fn of<'o>(call: &RequestScope<'_>, object: &'o Object) -> Result<Cow<'o, Object>, Box<Status>> {
    if !is_scale(call) {
        return Ok(Cow::Borrowed(object));
    }
    let mut view =
        strategy::scale_of(call.resource(), object).map_err(|error| Status::unmapped(error.to_string()))?;
    if strategy::missing_replicas(call.resource(), object).is_some() {
        schema::object::set(&mut view, &["spec", "replicas"], strategy::NO_REPLICAS);
    }
    to_scale(object, &replicas_paths(call.resource()), &mut view)
        .map_err(|error| Status::unmapped(error.to_string()))?;
    Ok(Cow::Owned(view))
}

/// Converts a view to the endpoint's version.
pub(super) fn served<'o>(call: &RequestScope<'_>, view: &'o Object) -> Cow<'o, Object> {
    match &call.resource().storage {
        Some(storage) if !is_scale(call) && storage.group_version != call.endpoint().kind_group_version => {
            Cow::Owned(encode::served(view.clone(), storage, call.endpoint()))
        }
        _ => Cow::Borrowed(view),
    }
}

/// Applies an edited view to `old` and returns the new object.
///
/// # Errors
/// 422 for an invalid Scale, 404 for the Scale of a missing object, 409 for the Scale of another object.
pub(super) fn merge(
    call: &RequestScope<'_>,
    old: Option<&Object>,
    edited: Object,
) -> Result<Object, Box<Status>> {
    if !is_scale(call) {
        return Ok(edited);
    }
    let old = old.ok_or_else(|| Status::not_found(&call.target().group_resource(), call.name()))?;
    let mut object = old.clone();
    put_scale(call.resource(), &mut object, &edited)?;
    same_uid(call.resource(), old, &edited)?;
    to_parent(&edited, &replicas_paths(call.resource()), call.resource().group_version, &mut object)
        .map_err(|error| Status::unmapped(error.to_string()))?;
    Ok(object)
}

/// A Scale with a uid belongs to the object with that uid. Upstream does not check it for custom resources.
fn same_uid(row: &Resource<'_>, object: &Object, scale: &Object) -> Result<(), Box<Status>> {
    let requested = meta::text(scale, "uid");
    let actual = meta::text(object, "uid");
    if row.custom.is_some() || requested.is_empty() || requested == actual {
        return Ok(());
    }
    let resource = GroupResource::new(row.group, format!("{}/scale", row.plural));
    let cause =
        format!("Precondition failed: UID in precondition: {requested}, UID in object meta: {actual}");
    Err(Status::conflict(&resource, meta::text(object, "name"), &cause).into())
}

/// Applies a Scale to its object.
///
/// # Errors
/// 422 for an invalid Scale.
pub(super) fn put_scale(row: &Resource<'_>, object: &mut Object, scale: &Object) -> Result<(), Box<Status>> {
    let requested = schema::object::get_i64(scale, &["spec", "replicas"]);
    if let Some(path) =
        strategy::missing_replicas(row, object).filter(|_| requested == Some(strategy::NO_REPLICAS))
    {
        return Err(Status::bad_request(format!("the spec replicas field {path:?} cannot be empty")).into());
    }
    // The schema validates a custom object.
    let errors = if row.custom.is_some() { ErrorList::new() } else { strategy::validate_scale(scale) };
    if !errors.is_empty() {
        let kind = GroupKind::new("autoscaling", "Scale");
        return Err(Status::invalid(&kind, meta::text(scale, "name"), &errors).into());
    }
    strategy::apply_scale(row, object, scale);
    Ok(())
}
