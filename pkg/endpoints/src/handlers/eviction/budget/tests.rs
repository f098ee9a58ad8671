//! Tests of disruption budgets.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::*;

fn budget(status: Value) -> Object {
    let value = json!({"metadata": {"name": "b", "generation": 3}, "status": status});
    value.as_object().unwrap().clone()
}

/// Compares code, message or cause, and Retry-After of an error; none for a success.
fn check(status: Value, expected: Option<(u16, &str, i32)>) {
    let actual =
        consume_disruption(&mut budget(status.clone()), "p", UnixTime::from_seconds(0)).err().map(|status| {
            let retry = status.retry_after_seconds();
            let cause = status.details.as_ref().and_then(|details| details.causes.first());
            let text = cause.map_or(status.message.clone(), |cause| cause.message.clone());
            (status.code, text, retry)
        });
    let expected = expected.map(|(code, text, retry)| (code, text.to_owned(), retry));
    assert_eq!(actual, expected, "{status}");
}

#[test]
fn lagging_controller_blocks_evictions() {
    let busy = "The disruption budget b is still being processed by the server.";
    check(json!({"observedGeneration": 2, "disruptionsAllowed": 1}), Some((429, busy, 10)));
    check(json!({"observedGeneration": 3, "disruptionsAllowed": 1}), None);
    let refusal =
        |cause: &str| format!("The disruption budget b does not allow evicting pods currently: {cause}");
    let negative = refusal("pdb disruptions allowed is negative");
    check(json!({"observedGeneration": 3, "disruptionsAllowed": -1}), Some((403, &negative, 0)));
    let pods = |n: usize| (0..n).map(|i| (i.to_string(), Value::Null)).collect::<Object>();
    let status = |n| json!({"observedGeneration": 3, "disruptionsAllowed": 1, "disruptedPods": pods(n)});
    check(status(2000), None);
    let full = refusal("too many pending evictions not confirmed by PDB controller");
    check(status(2001), Some((403, &full, 0)));
}

#[test]
fn exhausted_budget_returns_reason() {
    let check = |healthy: (i64, i64), condition: Value, cause: &str| {
        let status = json!({
            "observedGeneration": 3, "currentHealthy": healthy.0, "desiredHealthy": healthy.1,
            "conditions": [condition],
        });
        check(status, Some((429, &format!("The disruption budget b {cause}"), 0)));
    };
    let condition = |reason: &str, message: &str| json!({"type": ALLOWED, "status": "False", "reason": reason, "message": message});
    check((1, 2), json!({}), "needs 2 healthy pods and has 1 currently");
    check((3, 2), json!({}), "does not allow evicting pods currently");
    check((3, 2), condition("Why", ""), "does not allow evicting pods currently");
    check((3, 2), condition("Why", "so"), "does not allow evicting pods currently (Why): so");
    let failed = "does not allow evicting pods currently because it failed sync: so";
    check((1, 2), condition("SyncFailed", "so"), failed);
}

#[test]
fn last_disruption_sets_condition() {
    let status_after = |allowed: i64| {
        let mut budget = budget(json!({
            "observedGeneration": 3, "disruptionsAllowed": allowed,
            "conditions": [{"type": ALLOWED, "status": "True"}],
        }));
        consume_disruption(&mut budget, "p", UnixTime::from_seconds(60)).unwrap();
        budget["status"].clone()
    };
    let first = status_after(2);
    let last = status_after(1);
    assert_eq!(first["disruptedPods"], json!({"p": "1970-01-01T00:01:00Z"}));
    assert_eq!(
        (&first["disruptionsAllowed"], &first["conditions"][0]["status"]),
        (&json!(1), &json!("True"))
    );
    assert_eq!(last["disruptionsAllowed"], json!(0));
    let condition = json!({
        "type": ALLOWED, "status": "False", "reason": "InsufficientPods", "message": "",
        "lastTransitionTime": "1970-01-01T00:01:00Z", "observedGeneration": 3,
    });
    assert_eq!(last["conditions"], json!([condition]));
}

#[test]
fn unready_pod_follows_eviction_policy() {
    let check = |policy: Option<&str>, current: i64, desired: i64, expected: bool| {
        let value = json!({
            "spec": {"unhealthyPodEvictionPolicy": policy},
            "status": {"currentHealthy": current, "desiredHealthy": desired},
        });
        assert_eq!(allows_unready_eviction(value.as_object().unwrap()), expected, "{value}");
    };
    check(None, 2, 2, true);
    check(None, 1, 2, false);
    check(None, 0, 0, false);
    check(Some("IfHealthyBudget"), 1, 2, false);
    check(Some("AlwaysAllow"), 0, 2, true);
}

#[test]
fn budget_covers_selected_pods() {
    let check = |selector: Value, expected: bool| {
        let budget = json!({"spec": {"selector": selector}});
        let pod = json!({"metadata": {"labels": {"a": "b"}}});
        assert_eq!(covers(budget.as_object().unwrap(), pod.as_object().unwrap()), expected, "{budget}");
    };
    check(json!({}), true);
    check(Value::Null, false);
    check(json!({"matchLabels": {"a": "b"}}), true);
    check(json!({"matchLabels": {"a": "c"}}), false);
    check(json!({"matchExpressions": [{"key": "a", "operator": "Bogus"}]}), false);
}
