//! Claims about conversions between versions.

#![allow(clippy::unwrap_used)]

use super::*;
use serde_json::json;

fn object(value: Value) -> Object {
    value.as_object().cloned().unwrap()
}

/// Converts `before`, which is of version `from`, to `to`.
fn check(kind: &str, (from, before): (&str, Value), (to, after): (&str, Value)) {
    let with = |mut value: Value, version: &str| {
        value["apiVersion"] = json!(version);
        object(value)
    };
    let converted = convert(with(before, from), from, to, kind);
    assert_eq!(Value::Object(converted), Value::Object(with(after, to)));
}

/// Converts there and back.
fn check_both_ways(kind: &str, a: (&str, Value), b: (&str, Value)) {
    check(kind, a.clone(), b.clone());
    check(kind, b, a);
}

const HPA: &str = "HorizontalPodAutoscaler";
const V1: &str = "autoscaling/v1";
const V2: &str = "autoscaling/v2";

fn annotated(name: &str, text: &str) -> Value {
    json!({"annotations": {format!("autoscaling.alpha.kubernetes.io/{name}"): text}})
}

#[test]
fn versions_of_one_shape_only_change_their_name() {
    let policy = json!({"kind": "MutatingAdmissionPolicy", "spec": {"failurePolicy": "Fail"}});
    check_both_ways(
        "MutatingAdmissionPolicy",
        ("admissionregistration.k8s.io/v1", policy.clone()),
        ("admissionregistration.k8s.io/v1beta1", policy),
    );
}

#[test]
fn events_rename_their_members() {
    check_both_ways(
        "Event",
        (
            "v1",
            json!({
                "involvedObject": {"kind": "Pod"}, "message": "m", "source": {"component": "c"}, "count": 2,
                "firstTimestamp": "f", "lastTimestamp": "l", "reportingComponent": "r", "reportingInstance": "i",
                "eventTime": "t", "reason": "x", "type": "Normal", "series": {"count": 3},
            }),
        ),
        (
            "events.k8s.io/v1",
            json!({
                "regarding": {"kind": "Pod"}, "note": "m", "deprecatedSource": {"component": "c"}, "deprecatedCount": 2,
                "deprecatedFirstTimestamp": "f", "deprecatedLastTimestamp": "l", "reportingController": "r",
                "reportingInstance": "i", "eventTime": "t", "reason": "x", "type": "Normal", "series": {"count": 3},
            }),
        ),
    );
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
    // Only the first one survives.
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
        ("conditions", "[]"),
        ("scale-up-tolerance", "x"),
    ] {
        let mut metadata = annotated(name, text);
        metadata["annotations"]["kept"] = json!("x");
        check(HPA, (V1, json!({"metadata": metadata, "spec": {}})), (V2, v2.clone()));
    }
}

const CRD: &str = "CustomResourceDefinition";
const CRD_V1: &str = "apiextensions.k8s.io/v1";
const CRD_V1BETA1: &str = "apiextensions.k8s.io/v1beta1";

#[test]
fn what_all_versions_agree_on_is_hoisted() {
    let version = |name: &str, storage: bool, rest: Value| {
        let mut version = json!({"name": name, "served": true, "storage": storage});
        version.as_object_mut().unwrap().extend(object(rest));
        version
    };
    let schema =
        json!({"openAPIV3Schema": {"type": "object", "properties": {"a": {"default": "{\"x\":1}"}}}});
    check_both_ways(
        CRD,
        (
            CRD_V1,
            json!({"spec": {"group": "g", "versions": [
                version("v1", true, json!({"schema": schema, "subresources": {"status": {}},
                    "additionalPrinterColumns": [{"name": "A", "jsonPath": ".a"}], "selectableFields": [{"jsonPath": ".a"}]})),
                version("v2", false, json!({"schema": schema,
                    "additionalPrinterColumns": [{"name": "B", "jsonPath": ".b"}], "selectableFields": [{"jsonPath": ".a"}]})),
            ]}}),
        ),
        (
            CRD_V1BETA1,
            json!({"spec": {"group": "g", "version": "v1", "preserveUnknownFields": false, "validation": schema,
            "selectableFields": [{"jsonPath": ".a"}],
            "versions": [
                version("v1", true, json!({"subresources": {"status": {}}, "additionalPrinterColumns": [{"name": "A", "JSONPath": ".a"}]})),
                version("v2", false, json!({"additionalPrinterColumns": [{"name": "B", "JSONPath": ".b"}]})),
            ]}}),
        ),
    );
}

#[test]
fn a_single_version_is_hoisted_whole() {
    check_both_ways(
        CRD,
        (
            CRD_V1,
            json!({"spec": {"preserveUnknownFields": true, "versions": [
                {"name": "v1", "additionalPrinterColumns": [{"jsonPath": ".a"}], "subresources": {"scale": {}}}]}}),
        ),
        (
            CRD_V1BETA1,
            json!({"spec": {"preserveUnknownFields": true, "version": "v1", "versions": [{"name": "v1"}],
                "additionalPrinterColumns": [{"JSONPath": ".a"}], "subresources": {"scale": {}}}}),
        ),
    );
}

#[test]
fn an_old_definition_has_only_a_version() {
    check(
        CRD,
        (CRD_V1BETA1, json!({"spec": {"version": "v1", "validation": {"openAPIV3Schema": {}}}})),
        (
            CRD_V1,
            json!({"spec": {"versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {}}}]}}),
        ),
    );
}

#[test]
fn webhook_conversion_is_flat_in_storage() {
    let service = json!({"service": {"name": "s", "namespace": "n"}});
    check_both_ways(
        CRD,
        (
            CRD_V1,
            json!({"spec": {"conversion": {"strategy": "Webhook",
                "webhook": {"clientConfig": service, "conversionReviewVersions": ["v1"]}}}}),
        ),
        (
            CRD_V1BETA1,
            json!({"spec": {"preserveUnknownFields": false, "conversion": {"strategy": "Webhook",
                "webhookClientConfig": service, "conversionReviewVersions": ["v1"]}}}),
        ),
    );
    check_both_ways(
        CRD,
        (CRD_V1, json!({"spec": {"conversion": {"strategy": "None"}}})),
        (CRD_V1BETA1, json!({"spec": {"preserveUnknownFields": false, "conversion": {"strategy": "None"}}})),
    );
}

#[test]
fn raw_values_in_schemas_are_rewritten_before_they_are_compared() {
    let version = |name: &str, default: &str, item: &str| {
        json!({"name": name, "schema": {"openAPIV3Schema": {"properties": {
            "a": {"default": default, "enum": ["1.0", " 2"]}, "b": {"items": {"example": item}}}}}})
    };
    check(
        CRD,
        (
            CRD_V1,
            json!({"spec": {"versions": [
                version("v1", r#"{ "b":"<", "a":1e2 }"#, "[ ]"),
                version("v2", r#"{"a":100,"b":"<"}"#, "[]"),
            ]}}),
        ),
        (
            CRD_V1BETA1,
            json!({"spec": {"version": "v1", "preserveUnknownFields": false, "versions": [{"name": "v1"}, {"name": "v2"}],
                "validation": {"openAPIV3Schema": {"properties": {
                    "a": {"default": r#"{"a":100,"b":"\u003c"}"#, "enum": ["1", "2"]}, "b": {"items": {"example": "[]"}}}}}}}),
        ),
    );
}
