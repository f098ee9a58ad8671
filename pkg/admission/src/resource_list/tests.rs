//! Tests of pod resource totals.

use jsontree::json;

use super::*;
use crate::testing::object;

fn check(pod: Value, side: ResourceSide, counting: CountOptions, expected: Value) {
    assert_eq!(of_pod(&object(pod), side, counting).to_value(), expected);
}

fn container(cpu: &str) -> Value {
    json!({"name": "c", "resources": {"requests": {"cpu": cpu}, "limits": {"cpu": cpu}}})
}

#[test]
fn pod_total_is_maximum_of_sum_and_steps() {
    let plain = CountOptions::default();
    let containers = json!([container("100m"), container("200m")]);
    let pod = |init: Value| json!({"spec": {"containers": containers, "initContainers": init}});
    check(pod(json!([])), ResourceSide::Requests, plain, json!({"cpu": "300m"}));
    check(pod(json!([container("1"), container("2")])), ResourceSide::Limits, plain, json!({"cpu": "2"}));
    let mut sidecar = container("50m");
    sidecar["restartPolicy"] = json!("Always");
    check(pod(json!([sidecar])), ResourceSide::Requests, plain, json!({"cpu": "350m"}));
    check(pod(json!([sidecar, container("1")])), ResourceSide::Requests, plain, json!({"cpu": "1050m"}));
}

#[test]
fn pod_level_resources_take_precedence() {
    let resources = json!({"requests": {"cpu": "2", "hugepages-2Mi": "4Mi"}, "limits": {"cpu": "3"}});
    let pod = json!({"spec": {"containers": [container("100m")], "resources": resources,
        "overhead": {"cpu": "1", "memory": "1Mi"}}});
    check(pod.clone(), ResourceSide::Requests, CountOptions::default(), json!({"cpu": "2"}));
    let all = CountOptions { all_of_pod: true, use_status_resources: false };
    check(
        pod.clone(),
        ResourceSide::Requests,
        all,
        json!({"cpu": "3", "hugepages-2Mi": "4Mi", "memory": "1Mi"}),
    );
    check(pod, ResourceSide::Limits, all, json!({"cpu": "4"}));
}

#[test]
fn allocated_resources_of_status_count() {
    let status = json!({"containerStatuses": [
        {"name": "c", "resources": {"requests": {"cpu": "300m"}}, "allocatedResources": {"cpu": "400m"}}]});
    let counting = CountOptions { all_of_pod: false, use_status_resources: true };
    let pod = |cpu: &str, status: &Value| json!({"spec": {"containers": [container(cpu)]}, "status": status});
    check(pod("100m", &status), ResourceSide::Requests, counting, json!({"cpu": "400m"}));
    check(pod("1", &status), ResourceSide::Requests, counting, json!({"cpu": "1"}));
    let mut infeasible = status;
    infeasible["conditions"] = json!([{"type": "PodResizePending", "reason": "Infeasible"}]);
    check(pod("1", &infeasible), ResourceSide::Requests, counting, json!({"cpu": "400m"}));
}
