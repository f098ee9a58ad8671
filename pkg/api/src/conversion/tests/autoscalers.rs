//! Tests of HorizontalPodAutoscalers and the annotations of `autoscaling/v1`. The results for malformed
//! annotations were observed with upstream.

use super::{check, check_both_ways};
use jsontree::{Value, json};

const HPA: &str = "HorizontalPodAutoscaler";
const V1: &str = "autoscaling/v1";
const V2: &str = "autoscaling/v2";

fn annotated(name: &str, text: &str) -> Value {
    json!({"annotations": {format!("autoscaling.alpha.kubernetes.io/{name}"): text}})
}

#[test]
fn processor_utilization_needs_no_annotation() {
    let cpu = |percent: i64| json!({"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": percent}}});
    check_both_ways(
        HPA,
        (V1, json!({"spec": {"maxReplicas": 5, "targetCPUUtilizationPercentage": 70}})),
        (V2, json!({"spec": {"maxReplicas": 5, "metrics": [cpu(70)]}})),
    );
    check(
        HPA,
        (V1, json!({"spec": {"maxReplicas": 5}})),
        (V2, json!({"spec": {"maxReplicas": 5, "metrics": [cpu(80)]}})),
    );
    // Only the first metric is kept.
    check(
        HPA,
        (V2, json!({"spec": {"metrics": [cpu(1), cpu(2)]}})),
        (V1, json!({"spec": {"targetCPUUtilizationPercentage": 1}})),
    );
}

#[test]
fn every_metric_round_trips_through_its_annotation() {
    let pairs = [
        (
            r#"{"type":"Object","object":{"target":{"kind":"Service","name":"s","apiVersion":"v1"},"metricName":"m","targetValue":"2","selector":{"matchLabels":{"a":"b"}}}}"#,
            json!({"type": "Object", "object": {"describedObject": {"kind": "Service", "name": "s", "apiVersion": "v1"},
                "metric": {"name": "m", "selector": {"matchLabels": {"a": "b"}}}, "target": {"type": "Value", "value": "2"}}}),
        ),
        (
            r#"{"type":"Object","object":{"target":{"kind":"Service","name":"s"},"metricName":"m","targetValue":"0","averageValue":"3"}}"#,
            json!({"type": "Object", "object": {"describedObject": {"kind": "Service", "name": "s"},
                "metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "3"}}}),
        ),
        (
            r#"{"type":"Pods","pods":{"metricName":"p","targetAverageValue":"1k"}}"#,
            json!({"type": "Pods", "pods": {"metric": {"name": "p"}, "target": {"type": "AverageValue", "averageValue": "1k"}}}),
        ),
        (
            r#"{"type":"Resource","resource":{"name":"memory","targetAverageUtilization":50}}"#,
            json!({"type": "Resource", "resource": {"name": "memory", "target": {"type": "Utilization", "averageUtilization": 50}}}),
        ),
        (
            r#"{"type":"Resource","resource":{"name":"cpu","targetAverageValue":"500m"}}"#,
            json!({"type": "Resource", "resource": {"name": "cpu", "target": {"type": "AverageValue", "averageValue": "500m"}}}),
        ),
        (
            r#"{"type":"ContainerResource","containerResource":{"name":"cpu","targetAverageUtilization":5,"container":"c"}}"#,
            json!({"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "c",
                "target": {"type": "Utilization", "averageUtilization": 5}}}),
        ),
        (
            r#"{"type":"External","external":{"metricName":"\u003cq\u003e","metricSelector":{"matchExpressions":[{"key":"k","operator":"Exists"}]},"targetValue":"4"}}"#,
            json!({"type": "External", "external": {
                "metric": {"name": "<q>", "selector": {"matchExpressions": [{"key": "k", "operator": "Exists"}]}},
                "target": {"type": "Value", "value": "4"}}}),
        ),
    ];
    let text = format!("[{}]", pairs.each_ref().map(|(text, _)| *text).join(","));
    let metrics = pairs.map(|(_, metric)| metric);
    check_both_ways(
        HPA,
        (V1, json!({"metadata": annotated("metrics", &text), "spec": {}})),
        (V2, json!({"metadata": {}, "spec": {"metrics": metrics}})),
    );
}

#[test]
fn the_status_keeps_raw_values_in_annotations() {
    let text = concat!(
        r#"[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":40,"currentAverageValue":"10m"}},"#,
        r#"{"type":"Object","object":{"target":{"kind":"K","name":"n"},"metricName":"m","currentValue":"1","averageValue":"2"}},"#,
        r#"{"type":"Pods","pods":{"metricName":"p","currentAverageValue":"3"}},"#,
        r#"{"type":"External","external":{"metricName":"e","currentValue":"0","currentAverageValue":"4"}}]"#,
    );
    check_both_ways(
        HPA,
        (
            V1,
            json!({"metadata": annotated("current-metrics", text), "spec": {"targetCPUUtilizationPercentage": 1},
                "status": {"desiredReplicas": 1, "currentCPUUtilizationPercentage": 40}}),
        ),
        (
            V2,
            json!({
                "metadata": {},
                "spec": {"metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 1}}}]},
                "status": {"desiredReplicas": 1, "currentMetrics": [
                    {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 40, "averageValue": "10m"}}},
                    {"type": "Object", "object": {"describedObject": {"kind": "K", "name": "n"}, "metric": {"name": "m"},
                        "current": {"value": "1", "averageValue": "2"}}},
                    {"type": "Pods", "pods": {"metric": {"name": "p"}, "current": {"averageValue": "3"}}},
                    {"type": "External", "external": {"metric": {"name": "e"}, "current": {"value": "0", "averageValue": "4"}}},
                ]},
            }),
        ),
    );
}

#[test]
fn conditions_and_behavior_live_in_annotations() {
    let cpu = json!([{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 1}}}]);
    check_both_ways(
        HPA,
        (
            V1,
            json!({"metadata": annotated("conditions", concat!(
                    r#"[{"type":"AbleToScale","status":"True","lastTransitionTime":"2020-01-01T00:00:00Z","reason":"R","message":"m"},"#,
                    r#"{"type":"X","status":"","lastTransitionTime":null}]"#)),
                "spec": {"targetCPUUtilizationPercentage": 1}, "status": {}}),
        ),
        (
            V2,
            json!({"metadata": {}, "spec": {"metrics": cpu}, "status": {"conditions": [
                {"type": "AbleToScale", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z", "reason": "R", "message": "m"},
                {"type": "X", "status": ""},
            ]}}),
        ),
    );
    let behavior = json!({
        "scaleUp": {"stabilizationWindowSeconds": 7, "selectPolicy": "Max", "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}]},
        "scaleDown": {"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}], "tolerance": "100m"},
    });
    check_both_ways(
        HPA,
        (
            V1,
            json!({"metadata": annotated("behavior", concat!(
                r#"{"ScaleUp":{"StabilizationWindowSeconds":7,"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15}],"Tolerance":null},"#,
                r#""ScaleDown":{"StabilizationWindowSeconds":null,"SelectPolicy":"Max","Policies":[{"Type":"Percent","Value":100,"PeriodSeconds":15}],"Tolerance":"100m"}}"#)),
                "spec": {"targetCPUUtilizationPercentage": 1}}),
        ),
        (V2, json!({"metadata": {}, "spec": {"metrics": cpu, "behavior": behavior}})),
    );
}

#[test]
fn malformed_annotations_are_dropped() {
    let v2 = json!({"metadata": {"annotations": {"kept": "x"}}, "spec": {"metrics":
        [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}]}});
    for (name, text) in [
        ("metrics", "nope"),
        ("metrics", "{}"),
        ("metrics", r#"[{"type":5}]"#),
        ("metrics", r#"[{"type":"Pods","pods":{"targetAverageValue":"x"}}]"#),
        ("metrics", "[]"),
        ("metrics", "null"),
        ("behavior", "{}"),
        ("behavior", r#"{"ScaleUp":null}"#),
        ("behavior", r#"{"ScaleUp":{"StabilizationWindowSeconds":"x"}}"#),
        ("scale-up-tolerance", "x"),
        ("metrics", "[] x"),
        ("metrics", r#"[{"type":"Pods","pods":{"targetAverageValue":""}}]"#),
        ("metrics", r#"[{"type":"Resource","resource":{"targetAverageUtilization":5.0}}]"#),
        ("behavior", "[]"),
        ("behavior", r#"{"ScaleUp":{"StabilizationWindowSeconds":3000000000}}"#),
        ("conditions", r#"[{"type":"T","status":"S","lastTransitionTime":"bad"}]"#),
        ("conditions", r#"[{"type":"T","status":"S","lastTransitionTime":""}]"#),
    ] {
        let mut metadata = annotated(name, text);
        metadata["annotations"]["kept"] = json!("x");
        check(HPA, (V1, json!({"metadata": metadata, "spec": {}})), (V2, v2.clone()));
    }
}

#[test]
fn annotations_parse_like_gos_json() {
    let pods = |value: &str| {
        json!([{"type": "Pods", "pods": {"metric": {"name": "p"},
        "target": {"type": "AverageValue", "averageValue": value}}}])
    };
    for (text, metrics) in [
        (r#"[{"TYPE":"Pods","pods":{"METRICNAME":"p","TargetAverageValue":"1k"}}]"#, pods("1k")),
        (r#"[{"type":"Pods","pods":{"metricName":"p","targetAverageValue":5}}]"#, pods("5")),
        (r#"[{"type":"Pods","pods":{"metricName":"p","targetAverageValue":" 5 "}}]"#, pods("5")),
        (r#"[{"type":"Pods","pods":{"metricName":"p","targetAverageValue":0.10}}]"#, pods("100m")),
        (r#"[{"type":"Pods","pods":{"metricName":"p","targetAverageValue":null}}]"#, pods("0")),
        (r#"[{"type":"Pods","unknown":{"a":[1]}}]"#, json!([{"type": "Pods"}])),
        (r#"[{"type":"a","type":"b"}]"#, json!([{"type": "b"}])),
        ("[null]", json!([{}])),
    ] {
        check(
            HPA,
            (V1, json!({"metadata": annotated("metrics", text), "spec": {}})),
            (V2, json!({"metadata": {}, "spec": {"metrics": metrics}})),
        );
    }
    let defaulted = json!([{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}]);
    for (text, behavior) in [
        (
            r#"{"scaleup":{"SELECTPOLICY":"Max","Tolerance":0.1}}"#,
            json!({"selectPolicy": "Max", "tolerance": "100m"}),
        ),
        (r#"{"ScaleUp":{"Tolerance":" 1 "}}"#, json!({"tolerance": "1"})),
        (r#"{"ScaleUp":{"Policies":[null,{"Value":3}]}}"#, json!({"policies": [{}, {"value": 3}]})),
        (r#"{"ScaleUp":{}}"#, json!({})),
    ] {
        check(
            HPA,
            (V1, json!({"metadata": annotated("behavior", text), "spec": {}})),
            (V2, json!({"metadata": {}, "spec": {"metrics": defaulted, "behavior": {"scaleUp": behavior}}})),
        );
    }
    for (text, metrics) in [
        ("null", json!([])),
        ("[]", json!([])),
        (
            r#"[{"type":"External","external":{"metricName":"e"}}]"#,
            json!([{"type": "External", "external": {"metric": {"name": "e"}, "current": {"value": "0"}}}]),
        ),
    ] {
        check(
            HPA,
            (
                V1,
                json!({"metadata": annotated("current-metrics", text), "spec": {}, "status": {"currentCPUUtilizationPercentage": 4}}),
            ),
            (
                V2,
                json!({"metadata": {}, "spec": {"metrics": defaulted}, "status": {"currentMetrics": metrics}}),
            ),
        );
    }
}

#[test]
fn empty_behavior_is_written_but_sets_nothing() {
    let cpu = json!([{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 1}}}]);
    let v1 = json!({"metadata": annotated("behavior", r#"{"ScaleUp":null,"ScaleDown":null}"#),
        "spec": {"targetCPUUtilizationPercentage": 1}});
    check(HPA, (V2, json!({"metadata": {}, "spec": {"metrics": cpu, "behavior": {}}})), (V1, v1.clone()));
    check(HPA, (V1, v1), (V2, json!({"metadata": {}, "spec": {"metrics": cpu}})));
}
