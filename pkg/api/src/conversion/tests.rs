//! Tests of conversions between versions.

#![allow(clippy::unwrap_used)]

mod autoscalers;
mod devices;
mod old_versions;
mod table;

use super::*;
use jsontree::json;

fn object(value: Value) -> Object {
    value.as_object().cloned().unwrap()
}

/// Converts `before` from version `from` to version `to` and compares the result.
fn check(kind: &str, old: (&str, Value), new: (&str, Value)) {
    let (from, before) = old;
    let (to, after) = new;
    let with = |mut value: Value, version: &str| {
        value["apiVersion"] = json!(version);
        object(value)
    };
    let converted = convert(with(before, from), from, to, kind);
    assert_eq!(Value::Object(converted), Value::Object(with(after, to)));
}

fn check_both_ways(kind: &str, a: (&str, Value), b: (&str, Value)) {
    check(kind, a.clone(), b.clone());
    check(kind, b, a);
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

const CRD: &str = "CustomResourceDefinition";
const CRD_V1: &str = "apiextensions.k8s.io/v1";
const CRD_V1BETA1: &str = "apiextensions.k8s.io/v1beta1";

#[test]
fn common_settings_are_hoisted() {
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
fn raw_schema_values_are_canonicalized_before_comparison() {
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
