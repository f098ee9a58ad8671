//! Server-side apply.

use super::{Story, config_map, deployment, entry, untimed};
use apimachinery::status::Cause;
use jsontree::json;

const A: &str = r#"{"f:data":{"f:a":{}}}"#;

#[test]
fn apply_creates_missing_object() {
    Story::at("v1/configmaps")
        .apply("one", config_map(json!({"a": "1"})))
        .owned(json!([entry("one", "Apply", "v1", 1, A)]))
        .holds("/data", json!({"a": "1"}))
        .holds("/metadata/name", json!("c"));
}

#[test]
fn applying_the_same_again_changes_nothing() {
    Story::at("v1/configmaps")
        .apply("one", config_map(json!({"a": "1"})))
        .apply("one", config_map(json!({"a": "1"})))
        .owned(json!([entry("one", "Apply", "v1", 1, A)]));
}

#[test]
fn equal_applies_share_a_field() {
    Story::at("v1/configmaps")
        .apply("one", config_map(json!({"a": "1"})))
        .apply("two", config_map(json!({"a": "1"})))
        .owned(json!([untimed("two", "Apply", "v1", A), entry("one", "Apply", "v1", 1, A)]));
}

#[test]
fn changing_foreign_fields_conflicts() {
    Story::at("v1/configmaps")
        .apply("one", config_map(json!({"a": "1", "b": "1"})))
        .refused(
            "two",
            config_map(json!({"a": "2"})),
            409,
            "Apply failed with 1 conflict: conflict with \"one\": .data.a",
        )
        .update("three", config_map(json!({"a": "1", "b": "3"})))
        .refused(
            "two",
            config_map(json!({"a": "2", "b": "2"})),
            409,
            "Apply failed with 2 conflicts: conflicts with \"one\":\n- .data.a\n\
             conflicts with \"three\" using v1:\n- .data.b",
        );
}

#[test]
fn a_conflict_lists_a_cause_for_each_field() {
    let mut story = Story::at("apps/v1/deployments/scale").live(json!({
        "apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": 1},
        "metadata": {"name": "d", "uid": "u", "managedFields": [
            untimed("k/scale", "Update", "autoscaling/v1", r#"{"f:spec":{"f:replicas":{}}}"#),
        ]},
    }));
    let patch = json!({
        "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d"},
        "spec": {"replicas": 2},
    });
    let status = story.try_apply("two", false, &patch).unwrap_err();
    assert_eq!((status.code, status.reason.as_str()), (409, "Conflict"));
    let cause = Cause {
        reason: "FieldManagerConflict".to_owned(),
        message: "conflict with \"k\" with subresource \"scale\" using autoscaling/v1".to_owned(),
        field: ".spec.replicas".to_owned(),
    };
    let details = status.details.unwrap();
    assert_eq!((details.causes, details.name), (vec![cause], String::new()));
}

#[test]
fn force_takes_over() {
    Story::at("v1/configmaps")
        .apply("one", config_map(json!({"a": "1"})))
        .force("two", config_map(json!({"a": "2"})))
        .owned(json!([entry("two", "Apply", "v1", 2, A)]))
        .holds("/data", json!({"a": "2"}));
}

#[test]
fn omitted_fields_without_other_owner_are_removed() {
    let both = r#"{"f:data":{"f:b":{}}}"#;
    Story::at("v1/configmaps")
        .apply("one", config_map(json!({"a": "1", "b": "1", "c": "1"})))
        .apply("two", config_map(json!({"b": "1"})))
        .apply("one", config_map(json!({"c": "1"})))
        .holds("/data", json!({"b": "1", "c": "1"}))
        .owned(json!([
            untimed("two", "Apply", "v1", both),
            entry("one", "Apply", "v1", 3, r#"{"f:data":{"f:c":{}}}"#),
        ]));
}

#[test]
fn a_manager_that_applies_nothing_owns_nothing() {
    Story::at("v1/configmaps")
        .apply("one", config_map(json!({"a": "1"})))
        .apply("two", config_map(json!({})))
        .apply("one", json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}))
        .owned(json!([untimed("two", "Apply", "v1", r#"{"f:data":{}}"#)]));
}

#[test]
fn first_apply_assigns_existing_fields_to_one_manager() {
    let mut live = config_map(json!({"a": "1"}));
    live["metadata"]["uid"] = json!("u");
    Story::at("v1/configmaps")
        .live(live)
        .refused(
            "one",
            config_map(json!({"a": "2"})),
            409,
            "Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: .data.a",
        )
        .force("one", config_map(json!({"a": "2"})))
        .owned(json!([
            entry("one", "Apply", "v1", 2, A),
            entry("before-first-apply", "Update", "v1", 2, r#"{"f:data":{}}"#),
        ]));
}

#[test]
fn configuration_of_other_kind_is_refused() {
    let kind = |api_version: &str, kind: &str| json!({"apiVersion": api_version, "kind": kind});
    Story::at("v1/configmaps")
        .refused("m", kind("v1", "Secret"), 400, "invalid object type: /v1, Kind=Secret")
        .refused("m", kind("apps/v1", "ConfigMap"), 400, "invalid object type: apps/v1, Kind=ConfigMap")
        .refused("m", kind("a/b/c", "ConfigMap"), 400, "invalid object type: /, Kind=")
        .refused("m", json!({}), 400, "invalid object type: /, Kind=");
}

#[test]
fn managed_fields_cannot_be_applied() {
    let mut patch = config_map(json!({}));
    for managed in [json!([]), json!([untimed("m", "Apply", "v1", "{}")])] {
        patch["metadata"]["managedFields"] = managed;
        Story::at("v1/configmaps").refused("m", patch.clone(), 400, "metadata.managedFields must be nil");
    }
    patch["metadata"]["managedFields"] = json!(null);
    Story::at("v1/configmaps").apply("m", patch);
}

#[test]
fn configuration_of_wrong_type_is_an_error() {
    let prefix = "failed to create typed patch object (/c; /v1, Kind=ConfigMap): ";
    Story::at("v1/configmaps")
        .refused(
            "m",
            config_map(json!({"a": 1})),
            500,
            &format!("{prefix}.data.a: expected string, got &value.valueUnstructured{{Value:1}}"),
        )
        .refused(
            "m",
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "bogus": 1}),
            500,
            &format!("{prefix}.bogus: field not declared in schema"),
        );
}

#[test]
fn value_of_wrong_type_is_an_error() {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "=bad="},
    });
    Story::at("v1/secrets").refused(
        "m",
        secret,
        500,
        "failed to convert new object (/s; /v1, Kind=Secret) to proper version: unable to convert \
         unstructured object to /v1, Kind=Secret: error decoding from json: illegal base64 data at input byte 0",
    );
    Story::at("apps/v1/deployments").refused(
        "m",
        deployment(json!({"replicas": 1.5})),
        500,
        "failed to convert new object (/d; apps/v1, Kind=Deployment) to proper version: unable to convert \
         unstructured object to apps/v1, Kind=Deployment: cannot convert float64 to int32",
    );
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"},
        "spec": {"ports": [{"port": 80, "targetPort": [{}]}]},
    });
    Story::at("v1/services").refused(
        "m",
        service,
        500,
        "failed to convert new object (/s; /v1, Kind=Service) to proper version: unable to convert unstructured \
         object to /v1, Kind=Service: json: cannot unmarshal array into Go value of type int32",
    );
}

#[test]
fn lists_of_maps_are_merged_by_their_keys() {
    let container = |name: &str, image: &str| {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
            "spec": {"template": {"spec": {"containers": [{"name": name, "image": image}]}}},
        })
    };
    let owned = |name: &str| {
        format!(
            r#"{{"f:spec":{{"f:template":{{"f:spec":{{"f:containers":{{"k:{{\"name\":\"{name}\"}}":{{".":{{}},"f:image":{{}},"f:name":{{}}}}}}}}}}}}}}"#
        )
    };
    Story::at("apps/v1/deployments")
        .apply("one", container("a", "i:1"))
        .apply("two", container("b", "i:1"))
        .owned(json!([
            entry("one", "Apply", "apps/v1", 1, &owned("a")),
            entry("two", "Apply", "apps/v1", 2, &owned("b")),
        ]))
        .refused(
            "two",
            container("a", "i:2"),
            409,
            "Apply failed with 1 conflict: conflict with \"one\": \
             .spec.template.spec.containers[name=\"a\"].image",
        );
}

#[test]
fn defaults_have_no_owner_until_applied() {
    let mut story = Story::at("apps/v1/deployments");
    let patch = deployment(json!({}));
    let options = super::ApplyOptions { manager: "one", force: false, now: super::at(1), outside: None };
    let new = story
        .fields
        .apply(None, patch, options, |object| {
            schema::object::set(object, &["spec", "replicas"], 1);
            Ok(())
        })
        .unwrap();
    story.store(new);
    story.seconds = 1;
    let replicas = r#"{"f:spec":{"f:replicas":{}}}"#;
    story
        .holds("/spec/replicas", json!(1))
        .apply("two", {
            let mut patch = deployment(json!({"replicas": 1}));
            patch["spec"].as_object_mut().unwrap().remove("template");
            patch
        })
        .holds("/metadata/managedFields/0", untimed("two", "Apply", "apps/v1", replicas));
}

#[test]
fn excess_conflicts_are_counted() {
    let data =
        |value: &str| (0..10_000).map(|at| (format!("{at:060}"), json!(value))).collect::<jsontree::Object>();
    let mut story = Story::at("v1/configmaps").apply("one", config_map(json!(data("1"))));
    let status = story.try_apply("two", false, &config_map(json!(data("2")))).unwrap_err();
    let causes = &status.details.as_ref().unwrap().causes;
    let left_out = 10_000 - (causes.len() - 1);
    assert!((1..9_000).contains(&left_out), "{left_out}");
    assert_eq!(causes.last().unwrap().message, format!("{left_out} more conflicts are left out"));
    assert!(
        status.message.starts_with("Apply failed with 10000 conflicts: conflicts with \"one\":\n- .data.")
    );
    assert!(status.message.len() < 1 << 20);
}
