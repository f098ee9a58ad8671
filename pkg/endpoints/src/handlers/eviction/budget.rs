//! Evaluates a PodDisruptionBudget for one eviction and updates its status. Pure.

use api::tree;
use apimachinery::gvk::GroupResource;
use apimachinery::labels;
use apimachinery::status::{Cause, Status};
use apimachinery::time::UnixTime;
use jsontree::{Value, json};
use registry::meta;
use schema::object::{self, Object};

/// Maximum number of evictions that the controller has not processed yet (upstream's `MaxDisruptedPodSize`).
const DISRUPTED_PODS_MAX: usize = 2000;
/// `Retry-After` in seconds while a budget is being processed.
const RETRY_SECONDS: i32 = 10;
/// Reason of a cause for evictions that a budget does not allow.
const BUDGET_CAUSE: &str = "DisruptionBudget";
/// Condition type for allowed evictions.
const ALLOWED: &str = "DisruptionAllowed";

/// True if the budget covers the pod. A budget with an invalid selector covers no pod.
pub(super) fn covers(budget: &Object, pod: &Object) -> bool {
    let Ok(selector) = labels::from_label_selector(object::get_object(budget, &["spec", "selector"])) else {
        return false;
    };
    let labels = meta::metadata(pod).and_then(|metadata| tree::child(metadata, "labels"));
    selector.matches(|key| labels?.get(key)?.as_str())
}

/// True if an unready pod may be evicted although the budget allows no disruption. Such a pod does not count
/// as available.
pub(super) fn allows_unready_eviction(budget: &Object) -> bool {
    let status = |name: &str| object::get_i64(budget, &["status", name]).unwrap_or(0);
    let desired = status("desiredHealthy");
    object::get_str(budget, &["spec", "unhealthyPodEvictionPolicy"]) == Some("AlwaysAllow")
        || (status("currentHealthy") >= desired && desired > 0)
}

/// 429 with a short retry.
pub(super) fn retry_soon(budget: &str) -> Box<Status> {
    let message = format!("The disruption budget {budget} is still being processed by the server.");
    budget_violation(RETRY_SECONDS, message)
}

fn budget_violation(retry_after: i32, cause: String) -> Box<Status> {
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    let mut status = Status::too_many_requests(message, retry_after);
    let cause = Cause { reason: BUDGET_CAUSE.to_owned(), message: cause, ..Cause::default() };
    status.details.get_or_insert_default().causes.push(cause);
    status.into()
}

/// 403 for a budget that no controller seems to process.
fn broken_budget(budget: &str, reason: &str, detail: &str) -> Box<Status> {
    let mut status = Status::forbidden(&GroupResource::new("policy", "poddisruptionbudget"), budget, reason);
    let message = format!("The disruption budget {budget} does not allow evicting pods currently: {detail}");
    let cause = Cause { reason: BUDGET_CAUSE.to_owned(), message, ..Cause::default() };
    status.details.get_or_insert_default().causes.push(cause);
    status.into()
}

/// Takes one disruption from a budget, for a pod.
///
/// # Errors
/// 429 when none is left, 403 for a budget that no controller seems to process.
pub(super) fn consume_disruption(budget: &mut Object, pod: &str, now: UnixTime) -> Result<(), Box<Status>> {
    let name = meta::text(budget, "name").to_owned();
    let number = |budget: &Object, name: &str| object::get_i64(budget, &["status", name]).unwrap_or(0);
    if number(budget, "observedGeneration") < meta::generation(budget) {
        return Err(retry_soon(&name));
    }
    let allowed = number(budget, "disruptionsAllowed");
    if allowed < 0 {
        let reason = "pdb disruptions allowed is negative";
        return Err(broken_budget(&name, reason, reason));
    }
    let disrupted = object::get_object(budget, &["status", "disruptedPods"]).map_or(0, Object::len);
    if disrupted > DISRUPTED_PODS_MAX {
        let reason = "DisruptedPods map too big - too many evictions not confirmed by PDB controller";
        let detail = "too many pending evictions not confirmed by PDB controller";
        return Err(broken_budget(&name, reason, detail));
    }
    if allowed == 0 {
        return Err(budget_violation(0, denial_reason(&name, budget)));
    }
    object::set(budget, &["status", "disruptionsAllowed"], allowed - 1);
    if allowed == 1 {
        set_exhausted_condition(budget, now);
    }
    object::set(budget, &["status", "disruptedPods", pod], timestamp(now));
    Ok(())
}

/// Text of the reason that a budget allows no disruption.
fn denial_reason(name: &str, budget: &Object) -> String {
    let conditions = object::get_list(budget, &["status", "conditions"]).iter().filter_map(Value::as_object);
    let condition = conditions.into_iter().find(|c| tree::text(c, "type") == ALLOWED);
    let condition =
        condition.filter(|c| tree::text(c, "status") == "False" && !tree::text(c, "message").is_empty());
    let (reason, message) =
        condition.map_or(("", ""), |c| (tree::text(c, "reason"), tree::text(c, "message")));
    let number = |name: &str| object::get_i64(budget, &["status", name]).unwrap_or(0);
    let current = number("currentHealthy");
    let desired = number("desiredHealthy");
    let budget = format!("The disruption budget {name}");
    match condition {
        Some(_) if reason == "SyncFailed" => {
            format!("{budget} does not allow evicting pods currently because it failed sync: {message}")
        }
        _ if current <= desired => {
            format!("{budget} needs {desired} healthy pods and has {current} currently")
        }
        Some(_) => format!("{budget} does not allow evicting pods currently ({reason}): {message}"),
        None => format!("{budget} does not allow evicting pods currently"),
    }
}

/// Sets the condition of a budget without remaining disruptions, like its controller.
fn set_exhausted_condition(budget: &mut Object, now: UnixTime) {
    let observed = object::get_i64(budget, &["status", "observedGeneration"]).unwrap_or(0);
    let mut conditions = object::get_list(budget, &["status", "conditions"]).to_vec();
    let is_ours = |c: &Value| c.get("type").and_then(Value::as_str) == Some(ALLOWED);
    let at = conditions.iter().position(is_ours);
    let old_condition =
        at.and_then(|at| conditions.get(at)).filter(|old| old.get("status") == Some(&"False".into()));
    let since = old_condition.and_then(|old| old.get("lastTransitionTime").cloned());
    let mut condition = json!({
        "type": ALLOWED,
        "status": "False",
        "lastTransitionTime": since.unwrap_or_else(|| timestamp(now)),
        "reason": "InsufficientPods",
        "message": "",
    });
    if observed != 0 {
        condition["observedGeneration"] = observed.into();
    }
    match at.and_then(|at| conditions.get_mut(at)) {
        Some(old) => *old = condition,
        None => conditions.push(condition),
    }
    object::set(budget, &["status", "conditions"], conditions);
}

fn timestamp(now: UnixTime) -> Value {
    UnixTime { nanos: 0, ..now }.rfc3339().to_string().into()
}

#[cfg(test)]
mod tests;
