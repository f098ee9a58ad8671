//! Tests of the status and restart columns of pods, and of their row conditions.

use super::*;

/// Checks ready, status and restarts of a pod with two containers.
fn check_pod(status: Value, expected: [&str; 3]) {
    let pod = json!({"spec": {"containers": [{"name": "a"}, {"name": "b"}]}, "status": status});
    check_columns(&pod, expected);
}

fn check_columns(pod: &Value, [ready, status, restarts]: [&str; 3]) {
    let subject = Subject::tree(pod.as_object().unwrap());
    let cells = printer("v1", "pods").row(&subject, NOW).unwrap().cells;
    assert_eq!(cells.get(1..4).unwrap(), [ready, status, restarts].map(Cell::from), "{pod}");
}

#[test]
fn the_phase_gives_way_to_reasons() {
    check_pod(json!({"phase": "Pending"}), ["0/2", "Pending", "0"]);
    check_pod(json!({"phase": "Failed", "reason": "Evicted"}), ["0/2", "Evicted", "0"]);
    check_pod(
        json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]}),
        ["0/2", "SchedulingGated", "0"],
    );
    check_pod(
        json!({"phase": "Running", "containerStatuses": [
            {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "restartCount": 4,
                "lastState": {"terminated": {"finishedAt": "2024-01-02T03:04:00Z"}}},
            {"ready": true, "state": {"running": {}}}]}),
        ["1/2", "CrashLoopBackOff", "4 (5s ago)"],
    );
    check_pod(
        json!({"phase": "Running", "containerStatuses": [{"state": {"terminated": {"exitCode": 3, "signal": 9}}}]}),
        ["0/2", "Signal:9", "0"],
    );
}

#[test]
fn a_completed_container_does_not_hide_the_others() {
    let completed = json!({"state": {"terminated": {"exitCode": 0, "reason": "Completed"}}});
    let running = json!({"ready": true, "state": {"running": {}}});
    let failed = json!({"state": {"terminated": {"exitCode": 1, "reason": "Error"}}});
    let ready = json!([{"type": "Ready", "status": "True"}]);
    let check = |second: &Value, conditions: &Value, expected: [&str; 3]| {
        let statuses = json!([completed, second]);
        check_pod(json!({"containerStatuses": statuses, "conditions": conditions}), expected);
    };
    check(&running, &ready, ["1/2", "Running", "0"]);
    check(&running, &json!([]), ["1/2", "NotReady", "0"]);
    check(&failed, &json!([]), ["0/2", "Error", "0"]);
    check(&completed, &json!([]), ["0/2", "Completed", "0"]);
}

#[test]
fn init_containers_come_first() {
    let check = |init: Value, expected: [&str; 3]| {
        let pod = json!({
            "spec": {"containers": [{}], "initContainers": [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}]},
            "status": {"phase": "Pending", "initContainerStatuses": init,
                "containerStatuses": [{"state": {"waiting": {"reason": "PodInitializing"}}}]}});
        check_columns(&pod, expected);
    };
    let done = json!({"name": "i", "state": {"terminated": {"exitCode": 0}}, "restartCount": 2});
    check(json!([{"name": "i", "state": {"running": {}}}]), ["0/2", "Init:0/2", "0"]);
    check(
        json!([{"name": "i", "state": {"waiting": {"reason": "ErrImagePull"}}}]),
        ["0/2", "Init:ErrImagePull", "0"],
    );
    check(json!([{"name": "i", "state": {"terminated": {"exitCode": 2}}}]), ["0/2", "Init:ExitCode:2", "0"]);
    check(json!([done, {"name": "s"}]), ["0/2", "Init:1/2", "2"]);
    check(
        json!([done, {"name": "s", "started": true, "ready": true, "restartCount": 1}]),
        ["1/2", "PodInitializing", "1"],
    );
}

#[test]
fn deletion_takes_precedence() {
    let check = |status: Value, expected: &str| {
        let pod = json!({"metadata": {"deletionTimestamp": "2024-01-02T03:04:05Z"}, "status": status});
        check_columns(&pod, ["0/0", expected, "0"]);
    };
    check(json!({"phase": "Running"}), "Terminating");
    check(json!({"phase": "Running", "reason": "NodeLost"}), "Unknown");
    check(json!({"phase": "Succeeded"}), "Succeeded");
}

#[test]
fn wide_columns_show_placement() {
    check(
        "v1",
        "pods",
        json!({"metadata": {"name": "p"},
            "spec": {"nodeName": "n", "readinessGates": [{"conditionType": "x"}, {"conditionType": "y"}]},
            "status": {"podIPs": [{"ip": "10.0.0.1"}], "conditions": [{"type": "x", "status": "True"}]}}),
        json!(["p", "0/0", "", "0", "<unknown>", "10.0.0.1", "n", "<none>", "1/2"]),
    );
}

#[test]
fn only_finished_pods_have_a_row_condition() {
    let check = |resource: &str, phase: &str, expected: Option<&str>| {
        let object = json!({"status": {"phase": phase}});
        let subject = Subject::tree(object.as_object().unwrap());
        let row = printer("v1", resource).row(&subject, NOW).unwrap();
        assert_eq!(row.condition.map(|c| c.reason), expected);
    };
    check("pods", "Succeeded", Some("Succeeded"));
    check("pods", "Failed", Some("Failed"));
    check("pods", "Running", None);
    check("namespaces", "Failed", None);
}
