//! Defaults of dynamic resource allocation: device requests, tolerations, taints.

use crate::defaults::fill::{default_struct, each, if_present, if_zero, text};
use crate::defaults::object::{Object, Rule};
use apimachinery::time::UnixTime;

const EXACT_COUNT: &str = "ExactCount";

pub(super) fn resource_claim(claim: &mut Object, request: Rule) {
    if_present(claim, "spec", |spec| claim_spec(spec, request));
    if_present(claim, "status", |status| {
        if_present(status, "allocation", |allocation| {
            if_present(allocation, "devices", |devices| each(devices, "results", tolerations));
        });
    });
}

pub(super) fn claim_template(template: &mut Object, request: Rule) {
    if_present(template, "spec", |outer| if_present(outer, "spec", |spec| claim_spec(spec, request)));
}

pub(super) fn request(request: &mut Object) {
    if_present(request, "exactly", exact_request);
    each(request, "firstAvailable", exact_request);
}

/// In v1beta1 the fields of an exact request are in the request itself. A device class identifies an exact
/// request.
pub(super) fn request_v1beta1(request: &mut Object) {
    if !text(request, "deviceClassName").is_empty() {
        device_count(request);
    }
    tolerations(request);
    each(request, "firstAvailable", exact_request);
}

fn each_device(slice: &mut Object, rule: impl FnMut(&mut Object)) {
    if_present(slice, "spec", |spec| each(spec, "devices", rule));
}

fn claim_spec(spec: &mut Object, request: Rule) {
    if_present(spec, "devices", |devices| each(devices, "requests", request));
}

/// Sets the defaults of a request for devices of one class, also as an alternative.
fn exact_request(request: &mut Object) {
    device_count(request);
    tolerations(request);
}

fn device_count(request: &mut Object) {
    if_zero(request, "allocationMode", EXACT_COUNT);
    if text(request, "allocationMode") == EXACT_COUNT {
        if_zero(request, "count", 1);
    }
}

fn tolerations(holder: &mut Object) {
    each(holder, "tolerations", |toleration| if_zero(toleration, "operator", "Equal"));
}

/// Sets the time of a taint that has none.
fn stamp(taint: &mut Object, now: UnixTime) {
    // A time that is set to zero is `null` here, so the check is for presence, not for nil.
    if taint.is_absent("timeAdded") {
        taint.set("timeAdded", now.rfc3339().to_string());
    }
}

pub(super) fn stamp_rule(rule: &mut Object, now: UnixTime) {
    default_struct(rule, "spec", |spec| default_struct(spec, "taint", |taint| stamp(taint, now)));
}

pub(super) fn stamp_slice(slice: &mut Object, now: UnixTime) {
    each_device(slice, |device| each(device, "taints", |taint| stamp(taint, now)));
}

pub(super) fn stamp_slice_v1beta1(slice: &mut Object, now: UnixTime) {
    each_device(slice, |device| {
        if_present(device, "basic", |basic| each(basic, "taints", |taint| stamp(taint, now)));
    });
}
