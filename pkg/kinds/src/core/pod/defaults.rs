//! Defaults of pods that do not apply to the templates of workloads.

pub(super) mod pod_level_resources;

use crate::core::pod::defaults::pod_level_resources::fill;
use crate::defaults::fill::{copy_missing, default_struct, each, flag, if_nil, if_present, if_zero, integer};
use crate::defaults::object::Object;
use crate::defaults::pod_spec;
use crate::defaults::resource_list::{round, round_requirements};
use component_base::features::Gate;

/// Container lists whose requests and host ports are set. Ephemeral containers have neither.
const CONTAINER_LISTS: [&str; 2] = ["containers", "initContainers"];

const STATUS_LISTS: [&str; 3] = ["initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"];

/// Sets the defaults of a pod. The pod's own rules run before quantities are rounded.
pub(super) fn pod(pod: &mut Object) {
    default_struct(pod, "spec", |spec| {
        for list in CONTAINER_LISTS {
            each(spec, list, |container| {
                if_present(container, "resources", |resources| copy_missing(resources, "limits", "requests"));
            });
        }
        if spec.enabled(Gate::PodLevelResources) && !spec.enabled(Gate::PodLevelResourcesFixDefaulting) {
            fill(spec);
        }
        if_nil(spec, "enableServiceLinks", true);
        if flag(spec, "hostNetwork") {
            for list in CONTAINER_LISTS {
                each(spec, list, |container| each(container, "ports", host_port));
            }
        }
        pod_spec::pod_spec(spec);
        if spec.enabled(Gate::H2CContainerProbe) {
            for list in pod_spec::CONTAINER_LISTS {
                each(spec, list, http_protocols);
            }
        }
    });
    if_present(pod, "status", status);
}

/// Sets the protocol of HTTP probes and hooks.
fn http_protocols(container: &mut Object) {
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if_present(container, probe, http_protocol);
    }
    if_present(container, "lifecycle", |lifecycle| {
        for hook in ["postStart", "preStop"] {
            if_present(lifecycle, hook, http_protocol);
        }
    });
}

fn http_protocol(handler: &mut Object) {
    if_present(handler, "httpGet", |action| if_nil(action, "protocol", "HTTP1"));
}

/// On the host's network, the host port is the container port.
fn host_port(port: &mut Object) {
    let container_port = integer(port, "containerPort");
    if container_port != 0 {
        if_zero(port, "hostPort", container_port);
    }
}

fn status(status: &mut Object) {
    for list in STATUS_LISTS {
        each(status, list, allocated);
    }
    allocated(status);
}

/// Rounds the resources that are allocated to a container or to the whole pod.
fn allocated(holder: &mut Object) {
    round(holder, "allocatedResources");
    if_present(holder, "resources", round_requirements);
}
