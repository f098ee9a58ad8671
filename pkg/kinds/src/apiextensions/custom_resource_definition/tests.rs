//! Tests of CustomResourceDefinitions: rejected values, with the paths and texts of the errors.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use super::{ValidationContext, create, update};
use apimachinery::field::{Error, ErrorList};
use jsontree::{Value, json};
use schema::object::Object;

fn definition(changes: Value) -> Object {
    let mut definition = json!({
        "metadata": {"name": "widgets.example.com", "uid": "u", "resourceVersion": "1",
            "creationTimestamp": "2026-01-02T03:04:05Z"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "version": "v1", "preserveUnknownFields": false,
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "validation": {"openAPIV3Schema": {"type": "object"}},
            "versions": [{"name": "v1", "served": true, "storage": true}],
            "conversion": {"strategy": "None"},
        },
        "status": {"storedVersions": ["v1"]},
    });
    let changes = changes.as_object().unwrap().clone();
    for (pointer, value) in changes {
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        let parent = definition.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        match value {
            Value::Null => parent.remove(name),
            value => parent.insert(name.to_owned(), value),
        };
    }
    definition.as_object().unwrap().clone()
}

fn texts(errors: &ErrorList) -> Vec<String> {
    errors.iter().map(Error::to_string).collect()
}

/// Checks the starts of the error texts of a definition that is changed at JSON pointers.
fn check(changes: Value, expected: &[&str]) {
    let errors = texts(&create(&definition(changes.clone()), &ValidationContext::default()));
    assert_eq!(errors.len(), expected.len(), "{changes}: {errors:?}");
    for (error, expected) in errors.iter().zip(expected) {
        assert!(error.starts_with(expected), "{changes}: {error}");
    }
}

/// Checks a property's schema, without the start of the error path.
fn check_schema(property: Value, expected: &[&str]) {
    let schema = json!({"type": "object", "properties": {"a": property}});
    let path = "spec.validation.openAPIV3Schema.properties[a]";
    let expected: Vec<String> = expected.iter().map(|error| format!("{path}{error}")).collect();
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    check(json!({"/spec/validation/openAPIV3Schema": schema}), &expected);
}

#[test]
fn name_consists_of_plural_and_group() {
    check(json!({}), &[]);
    check(
        json!({"/spec/group": "example"}),
        &["metadata.name: Invalid", "spec.group: Invalid value: \"example\": should be"],
    );
    check(
        json!({"/spec/names/kind": "W_", "/spec/names/categories": ["all", "A"]}),
        &[
            "spec.names.kind: Invalid value: \"W_\": may have mixed case, but",
            "spec.names.categories[1]: Invalid",
        ],
    );
    check(
        json!({"/spec/names/listKind": "Widget"}),
        &["spec.names.listKind: Invalid value: \"Widget\": kind and"],
    );
    check(json!({"/spec/names/singular": null}), &["spec.names.singular: Required"]);
    check(json!({"/spec/scope": "Global"}), &["spec.scope: Unsupported"]);
}

#[test]
fn one_version_is_stored_and_has_been() {
    let version = "[{\"Name\":\"v1\",\"Served\":true,\"Storage\":false,\"Deprecated\":false,\
                   \"DeprecationWarning\":null,\"Schema\":null,\"Subresources\":null,\
                   \"AdditionalPrinterColumns\":null,\"SelectableFields\":null}]";
    check(
        json!({"/spec/versions": [{"name": "v1", "served": true}]}),
        &[&format!("spec.versions: Invalid value: {version}: must have exactly one")],
    );
    let two = json!([{"name": "v1", "storage": true}, {"name": "v1"}]);
    check(json!({"/spec/versions": two}), &["spec.versions: Invalid"]);
    check(
        json!({"/status/storedVersions": null}),
        &["status.storedVersions: Invalid value: null: must have at least"],
    );
    check(
        json!({"/status/storedVersions": ["v1", "v0"]}),
        &["status.storedVersions[1]: Invalid value: \"v0\": missing"],
    );
    check(
        json!({"/status/storedVersions": ["v0"]}),
        &[
            "status.storedVersions: Invalid value: [\"v0\"]: must have the storage version v1",
            "status.storedVersions[0]: Invalid",
        ],
    );
    let warns = json!([{"name": "v1", "storage": true, "deprecationWarning": "x"}]);
    check(
        json!({"/spec/versions": warns}),
        &["spec.versions[0].deprecationWarning: Invalid value: \"x\": can only"],
    );
}

#[test]
fn protected_groups_need_approval() {
    let approved = |annotation: Value, expected: &[&str]| {
        let changes = json!({
            "/spec/group": "x.k8s.io", "/metadata/name": "widgets.x.k8s.io",
            "/metadata/annotations": {"api-approved.kubernetes.io": annotation},
        });
        check(changes, expected);
    };
    let path = "metadata.annotations[api-approved.kubernetes.io]";
    approved(json!(""), &[&format!("{path}: Required")]);
    approved(json!("yes"), &[&format!("{path}: Invalid")]);
    approved(json!("unapproved, experimental"), &[]);
    approved(json!("https://github.com/kubernetes/kubernetes/pull/1"), &[]);
}

#[test]
fn conversion_has_a_webhook_or_none() {
    let conversion = |conversion, expected: &[&str]| check(json!({"/spec/conversion": conversion}), expected);
    conversion(
        json!({"strategy": "Webhook"}),
        &[
            "spec.conversion.webhookClientConfig: Required",
            "spec.conversion.conversionReviewVersions: Required",
        ],
    );
    let config = json!({"url": "https://a", "caBundle": "AAAA"});
    let of = |versions: Value| json!({"strategy": "Webhook", "webhookClientConfig": config, "conversionReviewVersions": versions});
    conversion(of(json!(["v1", "v2"])), &[]);
    conversion(
        of(json!(["v2", "v2"])),
        &[
            "spec.conversion.conversionReviewVersions[1]: Invalid value: \"v2\": duplicate",
            "spec.conversion.conversionReviewVersions: Invalid value: [\"v2\",\"v2\"]: must include at least one of v1, v1beta1",
        ],
    );
    conversion(
        json!({"strategy": "None", "conversionReviewVersions": ["v1"]}),
        &["spec.conversion.conversionReviewVersions: Forbidden"],
    );
    conversion(json!({"strategy": "X"}), &["spec.conversion.strategy: Unsupported"]);
}

#[test]
fn columns_subresources_and_selectable_fields_are_paths() {
    let columns = json!([{"name": "A", "type": "x", "JSONPath": "a"}]);
    check(
        json!({"/spec/additionalPrinterColumns": columns}),
        &[
            "spec.additionalPrinterColumns[0].type: Invalid",
            "spec.additionalPrinterColumns[0].JSONPath: Invalid",
        ],
    );
    let scale = json!({"scale": {"specReplicasPath": ".spec.a", "statusReplicasPath": ".spec.b", "labelSelectorPath": "x"}});
    check(
        json!({"/spec/subresources": scale}),
        &[
            "spec.subresources.scale.statusReplicasPath: Invalid value: \".spec.b\": should be",
            "spec.subresources.scale.labelSelectorPath: Invalid value: \"x\": must be",
        ],
    );
    let long = format!(".spec{}", ".a".repeat(400));
    let scale = json!({"scale": {"specReplicasPath": long, "statusReplicasPath": ".status.b"}});
    check(
        json!({"/spec/subresources": scale}),
        &["spec.subresources.scale.specReplicasPath: Too many: 401: must have at most 400 items"],
    );
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "object"}}});
    let fields = json!([{"jsonPath": ".a"}, {"jsonPath": ".a"}, {"jsonPath": ".b"}, {"jsonPath": ".c"}, {"jsonPath": "['a']"}]);
    check(
        json!({"/spec/validation/openAPIV3Schema": schema, "/spec/selectableFields": fields}),
        &[
            "spec.selectableFields[1].jsonPath: Duplicate",
            "spec.selectableFields[2].jsonPath: Invalid value: \".b\": must point to",
            "spec.selectableFields[3].jsonPath: Invalid value: \".c\": is an invalid path: does not refer",
            "spec.selectableFields[4].jsonPath: Invalid value: \"['a']\": is an invalid path: array notation",
        ],
    );
}

#[test]
fn schemas_are_structural() {
    check_schema(json!({"type": "array"}), &[".items: Required"]);
    check_schema(json!({}), &[".type: Required value: must not be empty for specified object fields"]);
    check_schema(
        json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}),
        &[],
    );
    check_schema(json!({"type": "string", "anyOf": [{"type": "integer"}]}), &[".anyOf[0].type: Forbidden"]);
    check_schema(
        json!({"type": "string", "pattern": "("}),
        &[".pattern: Invalid value: \"(\": must be a valid"],
    );
    check(
        json!({"/spec/validation/openAPIV3Schema": {"type": "object", "not": {"properties": {"b": {"minimum": 1}}}}}),
        &["spec.validation.openAPIV3Schema.properties[b]: Required value: because it is defined in \
         spec.validation.openAPIV3Schema.not.properties[b]"],
    );
    check_schema(
        json!({"type": "object", "x-kubernetes-embedded-resource": true}),
        &[".properties: Required"],
    );
    let metadata = |properties| {
        let schema = json!({"type": "object", "properties": {"metadata": {"type": "object", "properties": properties}}});
        json!({"/spec/validation/openAPIV3Schema": schema})
    };
    check(metadata(json!({"name": {"type": "string"}})), &[]);
    check(
        metadata(json!({"labels": {"type": "object"}})),
        &["spec.validation.openAPIV3Schema.properties[metadata]: Forbidden"],
    );
    check(
        json!({"/spec/validation/openAPIV3Schema": {"type": "object", "$schema": "x"}}),
        &["spec.validation.openAPIV3Schema: Invalid value: \"\": OpenAPIV3Schema 'schema' is not supported"],
    );
    check(json!({"/spec/validation": null}), &["spec.versions[0].schema.openAPIV3Schema: Required"]);
}

#[test]
fn a_status_keeps_its_schema() {
    let at_root = |schema: Value, expected: &[&str]| {
        check(
            json!({"/spec/subresources": {"status": {}}, "/spec/validation/openAPIV3Schema": schema}),
            expected,
        );
    };
    at_root(json!({"type": "object", "description": "d"}), &[]);
    at_root(
        json!({"type": "object", "maxProperties": 1}),
        &[
            "spec.validation.openAPIV3Schema: Invalid value: {\"ID\":\"\",\"Schema\":\"\",\"Ref\":null,\"Description\":\"\",\"Type\":\"object\",\"Nullable\":false,",
        ],
    );
}

#[test]
fn lists_and_maps_are_of_known_types() {
    let keyed = |item: Value| json!({"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]});
    let item = |required: Value| json!({"type": "object", "required": required, "properties": {"k": {"type": "string"}}});
    check_schema(keyed(item(json!(["k"]))), &[]);
    check_schema(keyed(item(json!([]))), &[".items.properties[k].default: Required"]);
    check_schema(
        keyed(json!({"type": "string"})),
        &[".items.type: Invalid value: \"string\": must be object"],
    );
    check_schema(
        keyed(json!({"type": "object"})),
        &[".x-kubernetes-list-map-keys: Invalid value: [\"k\"]: entries"],
    );
    let set = |item: Value| json!({"type": "array", "items": item, "x-kubernetes-list-type": "set"});
    check_schema(
        set(json!({"type": "object"})),
        &[".items.x-kubernetes-map-type: Invalid value: null: must be atomic"],
    );
    check_schema(set(json!({"type": "string", "nullable": true})), &[".items.nullable: Forbidden"]);
    check_schema(
        json!({"type": "string", "x-kubernetes-map-type": "x"}),
        &[".type: Invalid", ".x-kubernetes-map-type: Unsupported"],
    );
}

#[test]
fn rules_have_a_shape() {
    let rule = |rule: Value, expected: &[&str]| {
        let expected: Vec<String> =
            expected.iter().map(|suffix| format!(".x-kubernetes-validations[0]{suffix}")).collect();
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        let schema = json!({"type": "object", "properties": {"b": {"type": "string"}}, "x-kubernetes-validations": [rule]});
        check_schema(schema, &expected);
    };
    rule(json!({"rule": " "}), &[".rule: Required"]);
    rule(json!({"rule": "a\nb"}), &[".message: Required"]);
    rule(
        json!({"rule": "a", "message": "a\nb", "reason": "X"}),
        &[".message: Invalid", ".reason: Unsupported"],
    );
    rule(json!({"rule": "true", "fieldPath": ".b"}), &[]);
    rule(json!({"rule": "true", "fieldPath": "['b']"}), &[]);
    rule(
        json!({"rule": "a", "fieldPath": ".c"}),
        &[".fieldPath: Invalid value: \".c\": must be a valid path"],
    );
    rule(json!({"rule": "self.c"}), &[".rule: Invalid value"]);
    rule(
        json!({"rule": "true", "optionalOldSelf": true}),
        &[".optionalOldSelf: Invalid value: true: may not"],
    );
}

#[test]
fn update_allows_existing_errors_and_protects_used_fields() {
    let check = |new: Value, old: Value, expected: &[&str]| {
        let errors =
            texts(&update("", &definition(new.clone()), &definition(old), &ValidationContext::default()));
        assert_eq!(errors.len(), expected.len(), "{new}: {errors:?}");
        assert!(
            errors.iter().zip(expected).all(|(error, expected)| error.starts_with(expected)),
            "{errors:?}"
        );
    };
    let established = json!([{"type": "Established", "status": "True"}]);
    check(json!({"/spec/scope": "Cluster"}), json!({}), &[]);
    check(
        json!({"/spec/scope": "Cluster"}),
        json!({"/status/conditions": established}),
        &["spec.scope: Invalid value: \"Cluster\": field is immutable"],
    );
    let bad = json!({"/spec/validation/openAPIV3Schema": {"type": "object", "properties": {"a": {"type": "null"}}}});
    check(bad.clone(), bad, &["spec.validation.openAPIV3Schema.properties[a].type: Forbidden"]);
    let preserving = json!({"/spec/preserveUnknownFields": true});
    check(preserving.clone(), preserving.clone(), &[]);
    check(preserving, json!({}), &["spec.preserveUnknownFields: Invalid value: true: cannot"]);
    let loose = json!({"/spec/preserveUnknownFields": true, "/spec/validation/openAPIV3Schema": {}});
    check(loose.clone(), loose, &[]);
}
