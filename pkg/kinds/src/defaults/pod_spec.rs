//! Defaults of the pod spec of every kind, alone or in a template: containers, probes, volumes.
//!
//! Further defaults apply only to pods, see [`super::pod`]. A new default in this module would trigger a
//! rollout of every workload.

use super::field_ref::field_ref;
use super::fill::{default_struct, each, if_nil, if_present, if_zero, is_zero, text};
use super::object::Object;
use super::resource_list::{round, round_requirements};
use super::{image, volumes};
use jsontree::json;

pub(crate) const CONTAINER_LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

pub(crate) fn pod_spec(spec: &mut Object) {
    if_zero(spec, "dnsPolicy", "ClusterFirst");
    if_zero(spec, "restartPolicy", "Always");
    if_nil(spec, "securityContext", json!({}));
    if_nil(spec, "terminationGracePeriodSeconds", 30);
    if_zero(spec, "schedulerName", "default-scheduler");
    each(spec, "volumes", volumes::volume);
    for list in CONTAINER_LISTS {
        each(spec, list, container);
    }
    round(spec, "overhead");
    if_present(spec, "resources", round_requirements);
}

pub(crate) fn template(template: &mut Object) {
    default_struct(template, "spec", pod_spec);
}

fn container(container: &mut Object) {
    if is_zero(container, "imagePullPolicy") {
        let policy = image::pull_policy(text(container, "image"));
        if_zero(container, "imagePullPolicy", policy);
    }
    if_zero(container, "terminationMessagePath", "/dev/termination-log");
    if_zero(container, "terminationMessagePolicy", "File");
    each(container, "ports", |port| if_zero(port, "protocol", "TCP"));
    each(container, "env", |variable| if_present(variable, "valueFrom", value_from));
    if_present(container, "resources", round_requirements);
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if_present(container, name, probe);
    }
    if_present(container, "lifecycle", |lifecycle| {
        for hook in ["postStart", "preStop"] {
            if_present(lifecycle, hook, |hook| if_present(hook, "httpGet", http_get));
        }
    });
}

fn value_from(source: &mut Object) {
    field_ref(source);
    if_present(source, "fileKeyRef", |key| if_nil(key, "optional", false));
}

fn probe(probe: &mut Object) {
    if_zero(probe, "timeoutSeconds", 1);
    if_zero(probe, "periodSeconds", 10);
    if_zero(probe, "successThreshold", 1);
    if_zero(probe, "failureThreshold", 3);
    if_present(probe, "httpGet", http_get);
    if_present(probe, "grpc", |grpc| if_nil(grpc, "service", ""));
}

fn http_get(action: &mut Object) {
    if_zero(action, "path", "/");
    if_zero(action, "scheme", "HTTP");
}
