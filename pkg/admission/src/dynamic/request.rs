//! `AdmissionRequest`: the part of an `AdmissionReview` that is the same for all webhooks and policies.

use api::resources::Resource;
use jsontree::{Value, json};
use schema::object::Object;

use super::VersionedAttributes;

/// Builds an `AdmissionRequest` without uid, object and old object, in the order of Go's fields. It includes
/// `options` and `dryRun`.
pub fn admission_request(versioned: &VersionedAttributes<'_>) -> Object {
    let a = versioned.attributes;
    let mut request = Object::new();
    let mut put = |name: &str, value: Value| _ = request.insert(name, value);
    put("kind", kind(versioned.endpoint));
    put("resource", resource(versioned.endpoint));
    let subresource = a.subresource();
    if !subresource.is_empty() {
        put("subResource", subresource.into());
    }
    put("requestKind", kind(a.endpoint));
    put("requestResource", resource(a.endpoint));
    if !subresource.is_empty() {
        put("requestSubResource", subresource.into());
    }
    for (member, text) in [("name", a.name), ("namespace", a.namespace)] {
        if !text.is_empty() {
            put(member, text.into());
        }
    }
    put("operation", a.operation.name().into());
    put("userInfo", user(a.user));
    put("dryRun", a.dry_run().into());
    put("options", a.options_object().map_or(Value::Null, Value::Object));
    request
}

fn kind(endpoint: &Resource<'_>) -> Value {
    let (group, version) = apimachinery::gvk::split_api_version(endpoint.kind_group_version);
    json!({"group": group, "version": version, "kind": endpoint.kind})
}

fn resource(endpoint: &Resource<'_>) -> Value {
    json!({"group": endpoint.group, "version": endpoint.version, "resource": endpoint.plural})
}

fn user(user: &apimachinery::user_info::UserInfo) -> Value {
    let mut info = Object::new();
    info.insert("username", user.name.as_str().into());
    if !user.uid.is_empty() {
        info.insert("uid", user.uid.as_str().into());
    }
    if !user.groups.is_empty() {
        info.insert("groups", user.groups.clone().into());
    }
    if !user.extra.is_empty() {
        let extra = user.extra.iter().map(|(key, values)| (key.clone(), values.clone().into()));
        info.insert("extra", Value::Object(extra.collect()));
    }
    Value::Object(info)
}
