//! Tests of metadata validation.

use super::*;

const NAME_PART: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must \
    start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used \
    for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

fn object(meta: Value) -> Object {
    Object::from_iter([("metadata".to_owned(), meta)])
}

fn messages(errors: ErrorList) -> Vec<String> {
    errors.iter().map(Error::to_string).collect()
}

fn check(meta: Value, expected: &[&str]) {
    let errors = validate_object_meta(&object(meta), true, NameRule::DnsSubdomain, &Path::root("metadata"));
    assert_eq!(messages(errors), expected);
}

fn check_update(new: Value, old: Value, expected: &[&str]) {
    let errors = validate_object_meta_update(&object(new), &object(old), &Path::root("metadata"));
    assert_eq!(messages(errors), expected);
}

#[test]
fn a_full_metadata_is_valid() {
    check(
        json!({
            "name": "a", "generateName": "a-", "namespace": "ns", "generation": 3,
            "labels": {"a.b/c": "d", "e": ""}, "annotations": {"Upper.Case/k": "any\nthing"},
            "finalizers": ["a.b/c", "orphan"],
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "D", "name": "d", "uid": "u", "controller": true}],
            "managedFields": [{"manager": "kubectl", "operation": "Apply", "fieldsType": "FieldsV1"}],
        }),
        &[],
    );
}

#[test]
fn name_and_namespace_are_required() {
    check(
        json!({}),
        &[
            "metadata.name: Required value: name or generateName is required",
            "metadata.namespace: Required value",
        ],
    );
    let errors = validate_object_meta(
        &object(json!({"name": "a", "namespace": "ns"})),
        false,
        NameRule::DnsSubdomain,
        &Path::root("metadata"),
    );
    assert_eq!(messages(errors), ["metadata.namespace: Forbidden: not allowed on this type"]);
}

#[test]
fn long_name_is_checked_only_when_final() {
    let check = |rule, meta: Value, expected: &[&str]| {
        let errors = validate_object_meta(&object(meta), true, rule, &Path::root("metadata"));
        let fields: Vec<&str> = errors.iter().map(Error::field).collect();
        assert_eq!(fields, expected);
    };
    let meta = json!({"generateName": "A_", "name": "A_x", "namespace": "ns"});
    check(NameRule::DnsSubdomain, meta.clone(), &["metadata.generateName", "metadata.name"]);
    check(NameRule::LongName, meta, &["metadata.name"]);
    check(
        NameRule::LongName,
        json!({"generateName": "a-", "namespace": "ns"}),
        &["metadata.name", "metadata.name"],
    );
}

#[test]
fn labels_and_annotations_are_reported_under_their_map() {
    check(
        json!({"name": "a", "namespace": "ns", "labels": {"a b": "x"}, "annotations": {"A B": "x"}}),
        &[
            &format!("metadata.labels: Invalid value: \"a b\": {NAME_PART}"),
            &format!("metadata.annotations: Invalid value: \"A B\": {NAME_PART}"),
        ],
    );
}

#[test]
fn annotations_are_limited_as_a_whole() {
    let half = "x".repeat(TOTAL_ANNOTATIONS_BYTES_MAX / 2);
    let annotations =
        |a: &str, b: &str| json!({"name": "a", "namespace": "ns", "annotations": {"a": a, "b": b}});
    check(annotations(&half[..half.len() - 1], &half[..half.len() - 1]), &[]);
    check(
        annotations(&half, &half[..half.len() - 1]),
        &["metadata.annotations: Too long: may not be more than 262144 bytes"],
    );
}

#[test]
fn owner_references_have_one_controller_and_no_event() {
    let owner =
        |name: &str| json!({"controller": true, "uid": "1", "name": name, "kind": "Pod", "apiVersion": "v1"});
    check(
        json!({"name": "a", "namespace": "ns", "ownerReferences": [owner("x"), owner("y")]}),
        &[concat!(
            "metadata.ownerReferences: Invalid value: [",
            r#"{"apiVersion":"v1","kind":"Pod","name":"x","uid":"1","controller":true},"#,
            r#"{"apiVersion":"v1","kind":"Pod","name":"y","uid":"1","controller":true}]: "#,
            "Only one reference can have Controller set to true. ",
            r#"Found "true" in references for Pod/x and Pod/y"#,
        )],
    );
    let event = json!({"apiVersion": "v1", "kind": "Event", "name": "x", "uid": "1"});
    check(
        json!({"name": "a", "namespace": "ns", "ownerReferences": [event]}),
        &[concat!(
            r#"metadata.ownerReferences[0]: Invalid value: {"apiVersion":"v1","kind":"Event","name":"x","uid":"1"}: "#,
            "/v1, Kind=Event is disallowed from being an owner",
        )],
    );
    check(
        json!({"name": "a", "namespace": "ns", "ownerReferences": [{"apiVersion": "a/b/c"}]}),
        &[
            "metadata.ownerReferences[0].apiVersion: Invalid value: \"a/b/c\": must be <group>/<version> or <version>",
            "metadata.ownerReferences[0].kind: Required value: must not be empty",
            "metadata.ownerReferences[0].name: Required value: must not be empty",
            "metadata.ownerReferences[0].uid: Required value: must not be empty",
        ],
    );
}

#[test]
fn deletion_policies_exclude_each_other() {
    check(
        json!({"name": "a", "namespace": "ns", "finalizers": ["orphan", "foregroundDeletion"]}),
        &[concat!(
            r#"metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: "#,
            "finalizer orphan and foregroundDeletion cannot be both set",
        )],
    );
}

#[test]
fn qualified_kinds_refuse_bare_finalizers() {
    let meta = json!({"finalizers": ["a.b/c", "kubernetes", "orphan", "bare", ""]});
    let errors = validate_finalizers_are_qualified(&object(meta), &Path::root("metadata"));
    let detail = "name is neither a standard finalizer name nor is it fully qualified";
    assert_eq!(
        messages(errors),
        [
            format!("metadata.finalizers[3]: Invalid value: \"bare\": {detail}"),
            format!("metadata.finalizers[4]: Invalid value: \"\": {detail}"),
        ]
    );
}

#[test]
fn managed_fields_are_checked_for_form() {
    check(
        json!({"name": "a", "namespace": "ns", "managedFields": [
            {"operation": "Apply"},
            {"operation": "Replace", "fieldsType": "X", "manager": "a\u{7}", "subresource": "s".repeat(257)},
        ]}),
        &[
            "metadata.managedFields[1].operation: Unsupported value: \"Replace\": supported values: \"Apply\", \"Update\"",
            "metadata.managedFields[1].fieldsType: Invalid value: \"X\": must be `FieldsV1`",
            "metadata.managedFields[1].manager: Invalid value: \"a\\a\": invalid character U+0007 (at position 1)",
            "metadata.managedFields[1].subresource: Too long: may not be more than 256 bytes",
        ],
    );
}

#[test]
fn identity_and_deletion_marks_are_immutable() {
    let old = json!({"name": "a", "namespace": "ns", "uid": "1", "generation": 2, "creationTimestamp": "2020-01-01T00:00:00Z"});
    check_update(
        json!({"name": "a", "namespace": "ns", "uid": "1", "generation": 2, "resourceVersion": "1",
            "creationTimestamp": "2020-01-01T00:00:00Z"}),
        old.clone(),
        &[],
    );
    check_update(
        json!({"name": "b", "uid": "2", "generation": 1, "deletionTimestamp": "2020-01-01T00:00:00Z",
            "deletionGracePeriodSeconds": 30}),
        old,
        &[
            "metadata.resourceVersion: Invalid value: \"\": must be specified for an update",
            "metadata.generation: Invalid value: 1: must not be decremented",
            "metadata.name: Invalid value: \"b\": field is immutable",
            "metadata.namespace: Invalid value: \"\": field is immutable",
            "metadata.uid: Invalid value: \"2\": field is immutable",
            "metadata.creationTimestamp: Invalid value: null: field is immutable",
            "metadata.deletionTimestamp: Invalid value: \"2020-01-01T00:00:00Z\": field is immutable",
            "metadata.deletionGracePeriodSeconds: Invalid value: 30: field is immutable",
        ],
    );
}

#[test]
fn a_deleting_object_gets_no_new_finalizers() {
    let old =
        json!({"resourceVersion": "1", "finalizers": ["a.b/c"], "deletionTimestamp": "2020-01-01T00:00:00Z"});
    let new = |finalizers: Value| json!({"resourceVersion": "1", "finalizers": finalizers, "deletionTimestamp": "2020-01-01T00:00:00Z"});
    check_update(new(json!([])), old.clone(), &[]);
    check_update(
        new(json!(["x.test/y", "a.b/c", "a.test/z"])),
        old,
        &[concat!(
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, ",
            r#"found new finalizers []string{"a.test/z", "x.test/y"}"#,
        )],
    );
}
