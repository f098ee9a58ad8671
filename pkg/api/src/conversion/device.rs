//! Dynamic resource allocation: `resource.k8s.io/v1` (and `v1beta2`, which has the same shape), and
//! `v1beta1`. In `v1beta1` a request for one kind of device is a sibling of the alternatives that exclude it.
//! A device has its properties in a `basic` part.

use super::kind::{Conversion, NONE, Spoke};
use crate::tree::{child_mut, children_mut};
use jsontree::Value;
use schema::builtin::{
    IO_K8S_API_RESOURCE_V1_EXACTDEVICEREQUEST as EXACT_DEVICE_REQUEST,
    IO_K8S_API_RESOURCE_V1BETA1_BASICDEVICE as BASIC_DEVICE,
};
use schema::object::Object;
use schema::table::Message;

pub(super) static CLAIM: Conversion =
    Conversion { spokes: &[Spoke::of("resource.k8s.io/v1beta1", claim_to_hub, claim_from_hub)], ..NONE };

pub(super) static CLAIM_TEMPLATE: Conversion = Conversion {
    spokes: &[Spoke::of("resource.k8s.io/v1beta1", claim_template_to_hub, claim_template_from_hub)],
    ..NONE
};

pub(super) static SLICE: Conversion =
    Conversion { spokes: &[Spoke::of("resource.k8s.io/v1beta1", slice_to_hub, slice_from_hub)], ..NONE };

fn claim_to_hub(claim: &mut Object) {
    for_each_request(claim, request_to_hub);
}

fn claim_from_hub(claim: &mut Object) {
    for_each_request(claim, request_from_hub);
}

fn claim_template_to_hub(template: &mut Object) {
    child_mut(template, "spec").into_iter().for_each(claim_to_hub);
}

fn claim_template_from_hub(template: &mut Object) {
    child_mut(template, "spec").into_iter().for_each(claim_from_hub);
}

/// `v1beta1` does not distinguish an empty node name from an absent one, or `allNodes: false` from an absent
/// field.
fn slice_to_hub(slice: &mut Object) {
    let Some(spec) = child_mut(slice, "spec") else { return };
    spec.retain(|name, value| !matches!(name.as_str(), "nodeName" | "allNodes") || is_set(value));
    for device in children_mut(spec, "devices") {
        if let Some(Value::Object(basic)) = device.remove("basic") {
            device.extend(basic);
        }
    }
}

fn slice_from_hub(slice: &mut Object) {
    let Some(spec) = child_mut(slice, "spec") else { return };
    for device in children_mut(spec, "devices") {
        let basic = remove_members(&BASIC_DEVICE, device);
        device.insert("basic", Value::Object(basic));
    }
}

fn for_each_request(claim: &mut Object, convert: fn(&mut Object)) {
    let devices = child_mut(claim, "spec").and_then(|spec| child_mut(spec, "devices"));
    devices.into_iter().flat_map(|devices| children_mut(devices, "requests")).for_each(convert);
}

/// If any field for a single kind of device is set, the request becomes an exact one. In combination with
/// alternatives that is an error, which validation reports.
fn request_to_hub(request: &mut Object) {
    let exactly = remove_members(&EXACT_DEVICE_REQUEST, request);
    let pointer = |name: &str| EXACT_DEVICE_REQUEST.member(name).is_some_and(|field| field.pointer);
    if exactly.iter().any(|(name, value)| is_set(value) || (pointer(name) && !value.is_null())) {
        request.insert("exactly", Value::Object(exactly));
    }
}

fn request_from_hub(request: &mut Object) {
    if let Some(Value::Object(exactly)) = request.remove("exactly") {
        request.extend(exactly);
    }
}

/// Removes the members of a type from an object and returns them.
fn remove_members(message: &Message, object: &mut Object) -> Object {
    message.members.iter().filter_map(|member| object.remove_entry(member.name)).collect()
}

/// True if a value is not the zero of its Go type. A list or map counts if it is present.
fn is_set(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Number(number) => number.as_i64() != Some(0),
        _ => true,
    }
}
