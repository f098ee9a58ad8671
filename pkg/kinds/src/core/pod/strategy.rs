//! Pods: initial state, changes by subresources, and graceful deletion (upstream's
//! `registry/core/pod/strategy.go`).

mod app_armor;
pub mod conditions;
mod label_keys;
mod resize;
mod status;

use crate::strategy::hooks::{Context, Strategy, child, restore, restore_metadata, text_at};
use api::options::DeleteOptions;
use api::tree;
use jsontree::{Value, json};
use schema::object::{self, Object};

/// Default grace period (default of `terminationGracePeriodSeconds`).
const DEFAULT_GRACE_SECONDS: i64 = 30;

pub(crate) struct Pods;

impl Strategy for Pods {
    /// Only the QoS class of a client's status is kept.
    fn prepare_for_create(&self, pod: &mut Object, context: &Context<'_>) {
        let class = api::qos::of(pod).to_owned();
        let gated = !object::get_list(pod, &["spec", "schedulingGates"]).is_empty();
        if let Some(status) = child(pod, "status") {
            status.clear();
            status.insert("phase", "Pending".into());
            status.insert("qosClass", class.into());
            if gated {
                status.insert("conditions", vec![scheduling_gated(context)].into());
            }
        }
        label_keys::merge(pod, context.gates());
        app_armor::fill_in(pod);
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Object, old: &Object, context: &Context<'_>) {
        match subresource {
            "status" => status::preserve(new, old),
            "ephemeralcontainers" => keep_ephemeral_containers(new, old),
            "resize" => resize::keep_resources(new, old, context.gates()),
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
