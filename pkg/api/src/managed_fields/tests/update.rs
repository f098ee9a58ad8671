//! Updates.

use super::{Story, at, config_map, deployment, entries_of, entry, field_manager, object, untimed};
use jsontree::json;

const A: &str = r#"{"f:data":{"f:a":{}}}"#;
const B: &str = r#"{"f:data":{"f:b":{}}}"#;
const A_CREATED: &str = r#"{"f:data":{".":{},"f:a":{}}}"#;

#[test]
fn creator_owns_all_set_fields() {
    let fields = r#"{"f:data":{".":{},"f:a":{}},"f:metadata":{"f:labels":{".":{},"f:l":{}}}}"#;
    let mut new = config_map(json!({"a": "1"}));
    new["metadata"]["labels"] = json!({"l": "1"});
    Story::at("v1/configmaps").update("m", new).owned(json!([entry("m", "Update", "v1", 1, fields)]));
}

#[test]
fn changed_field_belongs_to_updater() {
    Story::at("v1/configmaps")
        .update("m", config_map(json!({"a": "1"})))
        .update("n", config_map(json!({"a": "2", "b": "2"})))
        .owned(json!([
            entry("m", "Update", "v1", 1, r#"{"f:data":{}}"#),
            entry("n", "Update", "v1", 2, r#"{"f:data":{"f:a":{},"f:b":{}}}"#),
        ]))
        .update("m", config_map(json!({"a": "1", "b": "2"})))
        .owned(json!([entry("n", "Update", "v1", 2, B), entry("m", "Update", "v1", 3, A_CREATED),]));
}

#[test]
fn removed_fields_have_no_owner() {
    Story::at("v1/configmaps")
        .update("m", config_map(json!({"a": "1"})))
        .update("n", config_map(json!({"a": "1", "b": "2"})))
        .update("m", config_map(json!({"a": "1"})))
        .owned(json!([entry("m", "Update", "v1", 1, A_CREATED)]));
}

#[test]
fn unchanged_update_keeps_entries_and_times() {
    Story::at("v1/configmaps")
        .update("m", config_map(json!({"a": "1"})))
        .update("n", config_map(json!({"a": "1"})))
        .update("m", config_map(json!({"a": "1"})))
        .owned(json!([entry("m", "Update", "v1", 1, A_CREATED)]));
}

#[test]
fn a_nameless_manager_is_unknown() {
    Story::at("v1/configmaps")
        .update("", config_map(json!({"a": "1"})))
        .owned(json!([entry("unknown", "Update", "v1", 1, A_CREATED)]));
}

#[test]
fn object_identity_has_no_owner() {
    let mut new = config_map(json!({}));
    new["metadata"] = json!({
        "name": "c", "namespace": "n", "uid": "u", "resourceVersion": "1", "generation": 1,
        "creationTimestamp": "2026-01-01T00:00:00Z", "selfLink": "s", "generateName": "g",
        "finalizers": ["f"],
    });
    let fields = r#"{"f:metadata":{"f:finalizers":{".":{},"v:\"f\"":{}},"f:generateName":{}}}"#;
    let mut new = object(new);
    field_manager("v1/configmaps").update(None, &mut new, "m", at(1)).unwrap();
    assert_eq!(entries_of(&new), json!([entry("m", "Update", "v1", 1, fields)]));
}

#[test]
fn a_request_may_edit_entries() {
    let edited = json!([entry("x", "Apply", "v1", 0, A)]);
    Story::at("v1/configmaps")
        .update("m", config_map(json!({"a": "1"})))
        .edit("m", |object| object["metadata"]["managedFields"] = edited.clone())
        .owned(edited);
}

#[test]
fn invalid_or_missing_entries_keep_live_ones() {
    let created = json!([entry("m", "Update", "v1", 1, A_CREATED)]);
    Story::at("v1/configmaps")
        .update("m", config_map(json!({"a": "1"})))
        .edit("m", |object| object["metadata"]["managedFields"] = json!([{"operation": "Other"}]))
        .owned(created.clone())
        .edit("m", |object| drop(object["metadata"].as_object_mut().unwrap().remove("managedFields")))
        .owned(created);
}

#[test]
fn reset_removes_all_managers() {
    for reset in [json!([]), json!([{}])] {
        Story::at("v1/configmaps")
            .update("m", config_map(json!({"a": "1"})))
            .edit("m", |object| object["metadata"]["managedFields"] = reset)
            .owned(json!(null))
            .update("m", config_map(json!({"a": "2"})))
            .owned(json!(null));
    }
}

#[test]
fn subresource_keeps_live_entries() {
    let created = entry("m", "Update", "apps/v1", 1, r#"{"f:spec":{"f:paused":{}}}"#);
    let live = deployment(json!({}));
    Story::at("apps/v1/deployments/status")
        .live(live)
        .edit("m", |_| {})
        .edit("m", |object| {
            object["metadata"] = json!({"name": "d", "uid": "u", "managedFields": [created]});
        })
        .owned(json!(null));
}

#[test]
fn reset_fields_have_no_owner() {
    let mut new = deployment(json!({}));
    new["metadata"]["managedFields"] = json!([untimed("m", "Apply", "apps/v1", r#"{"f:x":{}}"#)]);
    new["metadata"]["uid"] = json!("u");
    let fields = r#"{"f:status":{"f:observedGeneration":{}}}"#;
    Story::at("apps/v1/deployments/status")
        .live(new)
        .edit("k", |object| {
            object["spec"]["paused"] = json!(true);
            object["metadata"]["labels"] = json!({"l": "1"});
            object["status"] = json!({"observedGeneration": 1});
        })
        .owned(json!([
            untimed("m", "Apply", "apps/v1", r#"{"f:x":{}}"#),
            entry("k/status", "Update", "apps/v1", 1, fields),
        ]))
        .endpoint("apps/v1/deployments")
        .edit("k", |object| object["status"]["observedGeneration"] = json!(2))
        .owned(json!([
            untimed("m", "Apply", "apps/v1", r#"{"f:x":{}}"#),
            entry("k/status", "Update", "apps/v1", 1, fields),
        ]));
}

#[test]
fn many_updaters_become_one() {
    let mut story = Story::at("v1/configmaps");
    let mut data = json!({});
    for n in 0..12 {
        data[format!("k{n}")] = json!("v");
        story = story.update(&format!("m{n}"), config_map(data.clone()));
    }
    let entries = entries_of(story.live.as_ref().unwrap());
    let entries = entries.as_array().unwrap();
    assert_eq!(entries.len(), 10);
    let fields = r#"{"f:data":{".":{},"f:k0":{},"f:k1":{},"f:k2":{}}}"#;
    assert_eq!(entries[0], entry("ancient-changes", "Update", "v1", 3, fields));
}

/// The name of a secret is its key in the list, as in upstream.
#[test]
fn unnamed_secrets_drop_managed_fields() {
    let fields = field_manager("v1/serviceaccounts");
    let account = |secrets| {
        let metadata = json!({"name": "a", "managedFields": [entry("m", "Update", "v1", 1, A)]});
        object(
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata, "secrets": secrets}),
        )
    };
    for secrets in [json!([{"kind": "Secret"}]), json!([{"name": "x"}, {}])] {
        let mut new = account(secrets.clone());
        let error = fields.update(None, &mut new, "m", at(1)).unwrap_err();
        assert!(error.to_string().contains("an element that omits all key fields [\"name\"]"), "{error}");
        assert_eq!(entries_of(&new), json!(null), "{secrets}");
    }
    let mut named = account(json!([{"name": "x"}]));
    fields.update(None, &mut named, "m", at(1)).unwrap();
}

#[test]
fn failures_are_logged_once_per_second() {
    let fields = field_manager("v1/serviceaccounts");
    let logged: Vec<bool> = [1, 1, 2, 2].map(|seconds| fields.should_log_failure(at(seconds))).into();
    assert_eq!(logged, [true, false, true, false]);
}
