//! Pods: initial state, changes by subresources, and graceful deletion (upstream's
//! `registry/core/pod/strategy.go`).

mod app_armor;
pub mod conditions;
mod label_keys;
mod resize;
mod status;

use super::defaults::pod_level_resources;
use crate::strategy::hooks::{Context, Strategy, child, restore, restore_metadata, text_at};
use api::options::DeleteOptions;
use api::qos::{self, EmptyPodResources};
use api::tree;
use component_base::features::{Gate, Gates};
use jsontree::{Value, json};
use schema::object::{self, Object};

/// Default grace period (default of `terminationGracePeriodSeconds`).
const DEFAULT_GRACE_SECONDS: i64 = 30;

pub(crate) struct Pods;

impl Strategy for Pods {
    fn prepare_for_create(&self, pod: &mut Object, context: &Context<'_>) {
        label_keys::merge(pod, context.gates());
        app_armor::fill_in(pod);
        complete_resources(pod, context.gates());
        let class = qos::compute(pod, EmptyPodResources::of(context.gates()));
        let gated = !object::get_list(pod, &["spec", "schedulingGates"]).is_empty();
        if let Some(status) = child(pod, "status") {
            status.clear();
            status.insert("phase", "Pending".into());
            status.insert("qosClass", class.into());
            if gated {
                status.insert("conditions", vec![scheduling_gated(context)].into());
            }
        }
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Object, old: &Object, context: &Context<'_>) {
        match subresource {
            "status" => status::preserve(new, old),
            "ephemeralcontainers" => keep_ephemeral_containers(new, old),
            "resize" => {
                resize::keep_resources(new, old, context.gates());
                keep_pod_resources(new, old, context.gates());
                complete_resources(new, context.gates());
            }
            "" => keep_pod_resources(new, old, context.gates()),
            _ => {}
        }
    }

    fn grace_period(&self, object: &Object, options: &DeleteOptions) -> Option<i64> {
        let unscheduled = text_at(object, "spec", "nodeName").is_empty();
        let ended = matches!(text_at(object, "status", "phase"), "Succeeded" | "Failed");
        if unscheduled || ended {
            return Some(0);
        }
        let of_pod = object::get_i64(object, &["spec", "terminationGracePeriodSeconds"]);
        let period = options.grace_period_seconds.or(of_pod).unwrap_or(DEFAULT_GRACE_SECONDS);
        Some(if period < 0 { 1 } else { period })
    }
}

/// Condition for a pod with scheduling gates (KEP-3521).
fn scheduling_gated(context: &Context<'_>) -> Value {
    json!({
        "type": "PodScheduled",
        "status": "False",
        "lastTransitionTime": context.timestamp(),
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
    })
}

/// Sets the defaults of pod-level resources. Mutating webhooks may add containers, so upstream sets these after
/// admission, not on decoding.
fn complete_resources(pod: &mut Object, gates: &Gates) {
    let is_enabled =
        gates.enabled(Gate::PodLevelResources) && gates.enabled(Gate::PodLevelResourcesFixDefaulting);
    if let Some(spec) = tree::child_mut(pod, "spec").filter(|_| is_enabled) {
        pod_level_resources::complete(spec);
    }
}

/// Keeps pod-level resources that a client without this field omits.
fn keep_pod_resources(new: &mut Object, old: &Object, gates: &Gates) {
    let is_absent = object::get(new, &["spec", "resources"]).is_none_or(Value::is_null);
    if is_absent && gates.enabled(Gate::PodLevelResourcesFixDefaulting) {
        restore(new, Some(old), ".spec.resources");
    }
}

/// Takes everything except the ephemeral containers from `old`.
fn keep_ephemeral_containers(new: &mut Object, old: &Object) {
    let containers = object::remove(new, &["spec", "ephemeralContainers"]);
    restore(new, Some(old), ".spec");
    restore(new, Some(old), ".status");
    restore_metadata(new, old);
    match (containers, tree::child_mut(new, "spec")) {
        (Some(containers), Some(spec)) => spec.insert("ephemeralContainers", containers),
        (None, Some(spec)) => spec.remove("ephemeralContainers"),
        (_, None) => None,
    };
}
