//! Conversion between the versions of the built-in kinds, and what the way into storage changes.
//!
//! Upstream converts everything through internal types. Here one version of a kind is its hub: the
//! newest, or for Events the stored one. Versions of the hub's shape and meaning only change their
//! `apiVersion`; each other version is a spoke with a way to the hub and a way back. All versions
//! that upstream's scheme knows are covered, those that are no longer served included: objects that an
//! old cluster wrote in them may still be in storage.

mod access_review;
mod certificate_signing_request;
mod custom_resource_definition;
mod device;
mod endpoint_slice;
mod event;
mod horizontal_pod_autoscaler;
mod ingress;
mod json_text;
mod normalise;
mod pod_disruption_budget;
mod priority_level_configuration;
mod role_binding;
mod runtime_class;
mod scaling_behavior;
mod scaling_metrics;
mod spokes;
mod workload;

pub use normalise::{NormaliseError, internal_field_annotation, normalise_for_storage};

use crate::resources::{self, Resource};
use jsontree::Value;
use schema::object::{self, Object};
use spokes::spoke;

/// Its types are in the tables, but in a scheme of their own: its Events are not the others'.
const AUDIT: &str = "audit.k8s.io/";

/// Converts an object of a kind from one group version (`v1`, `autoscaling/v2`) to another. Defaults
/// are not applied: what is absent stays absent unless the conversion itself fills it in.
///
/// The group may change too, where a kind has moved: Events, and what `extensions/v1beta1` had. A
/// version that is not registered is taken for one of the hub's shape; ask [`is_registered`] first
/// where that may happen.
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

/// Whether upstream's scheme has the version of the kind, so that it can be decoded and converted.
///
/// That says nothing about its being served: `apps/v1beta1`, `extensions/v1beta1`, `policy/v1beta1` and
/// many more are registered for the sake of old objects in storage. Versions that upstream has dropped
/// altogether (`autoscaling/v2beta2`, `resource.k8s.io/v1alpha2`) are not, nor are the kinds of the
/// audit log. Kinds that every group has (`Status`, `DeleteOptions`) are registered in any version.
pub fn is_registered(api_version: &str, kind: &str) -> bool {
    !api_version.starts_with(AUDIT) && schema::builtin::kind(api_version, kind).is_some()
}

/// The rows that serve a kind of a group, one for each version, those that are off by default included.
///
/// These are the versions that managed fields can be in. Upstream's managers are typed by the OpenAPI
/// models of what is installed, so an entry in a version that is registered but not served (now, and by
/// this server: `--runtime-config` counts) is dropped at the next write, like one in a version that
/// never was. Models are made apart for `/api` and `/apis`, so that on Events entries of the other
/// group are dropped, too; hence the group.
pub fn versions_of<'k>(
    group: &str,
    kind: &'k str,
) -> impl Iterator<Item = &'static Resource<'static>> + use<'k> {
    let rows = resources::groups().iter().find(|row| row.name == group).map_or(&[][..], |row| row.resources);
    rows.iter().filter(move |row| row.kind == kind && row.subresource.is_empty())
}

/// Moves a member to another object under another name, unless it is absent or null.
fn move_member(from: &mut Object, name: &str, to: &mut Object, new_name: &str) {
    if let Some(value) = from.remove(name).filter(|value| !value.is_null()) {
        to.insert(new_name, value);
    }
}

/// Puts a value where a pointer would be nil: what is no pointer elsewhere comes from there as its zero.
fn fill(object: &mut Object, path: &[&str], zero: impl Into<Value>) {
    if object::get(object, path).is_none_or(Value::is_null) {
        object::set(object, path, zero);
    }
}

#[cfg(test)]
mod tests;
