//! Conversion between the versions of the built-in kinds, and normalization for storage.
//!
//! Upstream converts everything through internal types. Here one version of each kind is its hub: the newest
//! one, or the stored one for Events. A version with the shape and meaning of the hub only changes its
//! `apiVersion`. Every other version is a spoke, with conversions to and from the hub. All versions in
//! upstream's scheme are covered, including those that are no longer served, because old objects in storage
//! may use them.

mod access_review;
mod certificate_signing_request;
mod custom_resource_definition;
mod device;
mod endpoint_slice;
mod event;
mod horizontal_pod_autoscaler;
mod ingress;
mod json_text;
mod kind;
mod kinds;
mod node;
mod normalise;
mod pod;
mod pod_certificate_request;
mod pod_disruption_budget;
mod pod_group;
mod priority_level_configuration;
mod role_binding;
mod runtime_class;
mod scaling_behavior;
mod scaling_metrics;
mod secret;
mod workload;

pub use kind::NormaliseError;
pub use normalise::{internal_field_annotation, normalise_for_storage};

use crate::resources::{self, Resource};
use jsontree::Value;
use kinds::spoke;
use schema::object::{self, Object};

/// The audit types are in the tables but belong to a separate scheme. Their Events are different from other
/// Events.
const AUDIT: &str = "audit.k8s.io/";

/// Converts an object from one group version (`v1`, `autoscaling/v2`) to another. Defaults are not applied:
/// an absent field stays absent unless the conversion itself sets it.
///
/// The group may change too, for kinds that have moved: Events, and the kinds of `extensions/v1beta1`. An
/// unregistered version is treated like one with the shape of the hub. If that can happen, check
/// [`is_registered`] first.
pub fn convert(mut object: Object, from: &str, to: &str, kind: &str) -> Object {
    if from != to {
        if let Some(spoke) = spoke(from, kind) {
            (spoke.to_hub)(&mut object);
        }
        if let Some(spoke) = spoke(to, kind) {
            (spoke.from_hub)(&mut object);
        }
    }
    object.insert("apiVersion", Value::from(to));
    object
}

/// Returns true if upstream's scheme contains this version of the kind, so that it can be decoded and
/// converted.
///
/// A registered version is not necessarily served: `apps/v1beta1`, `extensions/v1beta1`, `policy/v1beta1` and
/// many more are registered for old objects in storage. Versions that upstream has removed completely
/// (`autoscaling/v2beta2`, `resource.k8s.io/v1alpha2`) are not registered, and neither are the kinds of the
/// audit log. Kinds of every group (`Status`, `DeleteOptions`) are registered in any version.
pub fn is_registered(api_version: &str, kind: &str) -> bool {
    !api_version.starts_with(AUDIT)
        && schema::builtin::kind(api_version, kind).is_some_and(|message| !message.info.unregistered)
}

/// Returns the resources that serve a kind of a group, one for each version, including those that are off by
/// default.
///
/// Managed fields can be in these versions. Upstream's managers are typed by the OpenAPI models of the
/// installed versions. An entry in a version that is registered but not served (by this server, with its
/// `--runtime-config`) is dropped at the next write, like an entry in an unknown version. The models of
/// `/api` and `/apis` are separate, so entries of the other group are also dropped on Events. This is the
/// reason for the `group` parameter.
pub fn versions_of<'k>(
    group: &str,
    kind: &'k str,
) -> impl Iterator<Item = &'static Resource<'static>> + use<'k> {
    let rows = resources::groups().iter().find(|row| row.name == group).map_or(&[][..], |row| row.resources);
    rows.iter().filter(move |row| row.kind == kind && row.subresource.is_empty())
}

/// Moves a member to another object under a new name, unless it is absent or null.
fn move_member(from: &mut Object, name: &str, to: &mut Object, new_name: &str) {
    if let Some(value) = from.remove(name).filter(|value| !value.is_null()) {
        to.insert(new_name, value);
    }
}

/// Sets the zero value where a pointer is nil, because the other version has a non-pointer field.
fn fill(object: &mut Object, path: &[&str], zero: impl Into<Value>) {
    if object::get(object, path).is_none_or(Value::is_null) {
        object::set(object, path, zero);
    }
}

#[cfg(test)]
mod tests;
