//! Pods: they start as Pending and go gracefully (upstream's `registry/core/pod/strategy.go`).

use api::options::DeleteOptions;
use apimachinery::user_info::UserInfo;
use schema::object::Object;
use serde_json::Value;

use super::{Strategy, child, text_at};

/// The grace period of a pod that names none (`terminationGracePeriodSeconds`' default).
const DEFAULT_GRACE_SECONDS: i64 = 30;

pub(super) struct Pods;

impl Strategy for Pods {
    fn prepare_for_create(&self, object: &mut Object, _user: &UserInfo) {
        let class = qos_class(object);
        if let Some(status) = child(object, "status") {
            status.clear();
            status.insert("phase".to_owned(), Value::from("Pending"));
            status.insert("qosClass".to_owned(), Value::from(class));
        }
    }

    fn grace_period(&self, object: &Object, options: &DeleteOptions) -> Option<i64> {
        let unscheduled = text_at(object, "spec", "nodeName").is_empty();
        let ended = matches!(text_at(object, "status", "phase"), "Succeeded" | "Failed");
        if unscheduled || ended {
            return Some(0);
        }
        let own =
            object.get("spec").and_then(|s| s.get("terminationGracePeriodSeconds")).and_then(Value::as_i64);
        let period = options.grace_period_seconds.or(own).unwrap_or(DEFAULT_GRACE_SECONDS);
        Some(if period < 0 { 1 } else { period })
    }
}

/// The quality of service class: `Guaranteed` when every container has equal limits and requests for
/// both cpu and memory, `BestEffort` when none has any, else `Burstable`
/// (upstream's `apis/core/helper/qos`).
fn qos_class(object: &Object) -> &'static str {
    let spec = object.get("spec").and_then(Value::as_object);
    let lists = ["containers", "initContainers"];
    let containers = lists.iter().filter_map(|list| spec?.get(*list)?.as_array()).flatten();
    let (mut any, mut guaranteed) = (false, true);
    for container in containers {
        for resource in ["cpu", "memory"] {
            let at = |side: &str| {
                container.get("resources").and_then(|r| r.get(side)).and_then(|s| s.get(resource))
            };
            // A request that is left out defaults to the limit.
            let (limit, request) = (at("limits"), at("requests").or(at("limits")));
            any |= limit.is_some() || request.is_some();
            guaranteed &= limit.is_some() && limit == request;
        }
    }
    match (any, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}
