//! Pods: what is filled in for pods themselves, and not for the templates that workloads make them from.

use super::fill::{behind, copy_missing, each, flag, if_nil, if_zero, integer, within};
use super::object::Object;
use super::resource_list::{round, round_requirements};
use super::{pod_level_resources, pod_spec};
use component_base::features::Gate;

/// The lists of containers whose requests and host ports are filled in; ephemeral ones have neither.
const CONTAINER_LISTS: [&str; 2] = ["containers", "initContainers"];

/// The lists of container statuses.
const STATUS_LISTS: [&str; 3] = ["initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"];

/// The defaults of a pod. The pod's own rules see quantities before they are rounded.
pub(super) fn pod(pod: &mut Object) {
    within(pod, "spec", |spec| {
        for list in CONTAINER_LISTS {
            each(spec, list, |container| {
                behind(container, "resources", |resources| copy_missing(resources, "limits", "requests"));
            });
        }
        if spec.enabled(Gate::PodLevelResources) {
            pod_level_resources::fill(spec);
        }
        if_nil(spec, "enableServiceLinks", true);
        if flag(spec, "hostNetwork") {
            for list in CONTAINER_LISTS {
                each(spec, list, |container| each(container, "ports", host_port));
            }
        }
        pod_spec::pod_spec(spec);
    });
    behind(pod, "status", status);
}

/// On the host's network a container's port is the host's.
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

/// What a container, or the whole pod, has got.
fn allocated(holder: &mut Object) {
    round(holder, "allocatedResources");
    behind(holder, "resources", round_requirements);
}
