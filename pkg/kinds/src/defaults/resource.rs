//! resource.k8s.io (dynamic resource allocation): device requests, tolerations, taints.

use super::Rule;
use super::fill::{each, each_value, if_nil, if_present, if_zero, text, within};
use super::object::Object;
use apimachinery::time::UnixTime;

const EXACT_COUNT: &str = "ExactCount";

pub(super) fn rule(version: &str, kind: &str) -> Option<Rule> {
    Some(match (version, kind) {
        ("v1" | "v1beta2", "ResourceClaim") => |claim| resource_claim(claim, request),
        ("v1beta1", "ResourceClaim") => |claim| resource_claim(claim, request_v1beta1),
        ("v1" | "v1beta2", "ResourceClaimTemplate") => |template| claim_template(template, request),
        ("v1beta1", "ResourceClaimTemplate") => |template| claim_template(template, request_v1beta1),
        ("v1" | "v1beta2", "ResourceSlice") => |slice| each_device(slice, device),
        ("v1beta1", "ResourceSlice") => {
            |slice| each_device(slice, |outer| if_present(outer, "basic", device))
        }
        ("v1alpha3", "ResourcePoolStatusRequest") => {
            |request| within(request, "spec", |spec| if_nil(spec, "limit", 100))
        }
        _ => return None,
    })
}

/// See [`super::stamp_taints`].
pub(super) fn stamp_taints(version: &str, kind: &str, object: &mut Object, now: UnixTime) {
    let stamp = |taint: &mut Object| {
        // A time that is set to zero is `null` here, so the check is for presence, not for nil.
        if taint.is_absent("timeAdded") {
            taint.set("timeAdded", now.rfc3339().to_string());
        }
    };
    match (version, kind) {
        ("v1alpha3" | "v1beta2", "DeviceTaintRule") => {
            within(object, "spec", |spec| within(spec, "taint", stamp));
        }
        ("v1" | "v1beta2", "ResourceSlice") => each_device(object, |device| each(device, "taints", stamp)),
        ("v1beta1", "ResourceSlice") => each_device(object, |device| {
            if_present(device, "basic", |basic| each(basic, "taints", stamp));
        }),
        _ => {}
    }
}

fn resource_claim(claim: &mut Object, request: Rule) {
    if_present(claim, "spec", |spec| claim_spec(spec, request));
    if_present(claim, "status", |status| {
        if_present(status, "allocation", |allocation| {
            if_present(allocation, "devices", |devices| each(devices, "results", tolerations));
        });
    });
}

fn claim_template(template: &mut Object, request: Rule) {
    if_present(template, "spec", |outer| if_present(outer, "spec", |spec| claim_spec(spec, request)));
}

fn claim_spec(spec: &mut Object, request: Rule) {
    if_present(spec, "devices", |devices| each(devices, "requests", request));
}

fn request(request: &mut Object) {
    if_present(request, "exactly", exact_request);
    each(request, "firstAvailable", exact_request);
}

/// In v1beta1 the fields of an exact request are in the request itself. A device class identifies an exact
/// request.
fn request_v1beta1(request: &mut Object) {
    if !text(request, "deviceClassName").is_empty() {
        how_many(request);
    }
    tolerations(request);
    each(request, "firstAvailable", exact_request);
}

/// Sets the defaults of a request for devices of one class, also as an alternative.
fn exact_request(request: &mut Object) {
    how_many(request);
    tolerations(request);
}

fn how_many(request: &mut Object) {
    if_zero(request, "allocationMode", EXACT_COUNT);
    if text(request, "allocationMode") == EXACT_COUNT {
        if_zero(request, "count", 1);
    }
}

fn tolerations(holder: &mut Object) {
    each(holder, "tolerations", |toleration| if_zero(toleration, "operator", "Equal"));
}

fn each_device(slice: &mut Object, rule: impl FnMut(&mut Object)) {
    if_present(slice, "spec", |spec| each(spec, "devices", rule));
}

fn device(device: &mut Object) {
    each_value(device, "nodeAllocatableResourceMappings", |mapping| {
        if_nil(mapping, "allocationMultiplier", "1")
    });
}
